"""Exports the demo's index, reads every file with DuckDB, Spark and Polars, asks the questions of docs/analysts in all three,
and compares what they answer with each other and with the API. Runs the examples of the analysts' guide and the notebook.

Usage: analysts.py BASE_URL CAIRN_BINARY DATADIR WORK_FOLDER
"""

import collections
import datetime
import decimal
import hashlib
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import urllib.parse

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs" / "analysts"
SPARK = pathlib.Path(__file__).resolve().parents[2] / "snapshots" / "spark"
sys.path[:0] = [str(DOCS), str(SPARK)]

import cairn_views
import clusters
import exposures
import polars
from analysts_api import compare_with_api
from analysts_checks import CAIRN, DATADIR, WORK, ask, check, same, say, stop_if_wrong
from pyspark.sql import SparkSession, functions

EXPORT, EXPORT_HEX = WORK / "export", WORK / "export-hex"


# What is in the files.


def export(folder, *options):
    command = [CAIRN, "snapshot", "export", "--datadir", DATADIR, "--out", str(folder), *options]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=120)
    subprocess.run([CAIRN, "snapshot", "verify", str(folder)], check=True, stdout=subprocess.DEVNULL, timeout=60)
    return json.loads((folder / "manifest.json").read_text())


def check_hashes(folder, manifest):
    for entry in manifest["datasets"]:
        for file in entry["files"]:
            data = (folder / file["path"]).read_bytes()
            same((len(data), hashlib.sha256(data).hexdigest()), (file["bytes"], file["sha256"]), file["path"])
    there = {str(path.relative_to(folder)) for path in folder.rglob("*.parquet")}
    same(there, {file["path"] for entry in manifest["datasets"] for file in entry["files"]}, "files in the folder")


def plain(value):
    """A value as all engines can tell it: moments in microseconds, bytes in hexadecimal digits."""
    if isinstance(value, (bytes, bytearray)):
        return value.hex()
    if isinstance(value, datetime.datetime):
        raise TypeError("moments are asked for in microseconds")
    return int(value) if isinstance(value, decimal.Decimal) and value == value.to_integral_value() else value


def plain_rows(rows):
    return [tuple(plain(value) for value in row) for row in rows]


def columns(entry, moment):
    """The columns for SELECT; `moment` is what makes microseconds of a moment."""
    for column in entry["columns"]:
        name = f"v.{column['name']}"
        yield f"{moment}({name})" if column["type"].startswith("Timestamp") else name


def duckdb_rows(db, entry):
    return plain_rows(db.sql(f"SELECT {', '.join(columns(entry, 'epoch_us'))} FROM {entry['name']} v").fetchall())


def spark_rows(spark, folder, entry):
    """All rows, and how many each file has."""
    read = spark.read.parquet(*(str(folder / file["path"]) for file in entry["files"])).alias("v")
    rows = read.selectExpr("_metadata.file_path", *columns(entry, "unix_micros")).collect()
    paths = collections.Counter(row[0] for row in rows)
    paths = {urllib.parse.unquote(urllib.parse.urlparse(path).path): count for path, count in paths.items()}
    return plain_rows(row[1:] for row in rows), {str(pathlib.Path(path).relative_to(folder)): count for path, count in paths.items()}


def polars_rows(frames, entry):
    frame = frames[entry["name"]].select(column["name"] for column in entry["columns"])
    return plain_rows(frame.with_columns(polars.col(polars.Datetime).dt.epoch("us")).collect().rows())


def check_rows(folder, manifest, db, spark, frames):
    """Rows of each file as two engines count them, the same values from all three, and the order that the manifest tells."""
    found = {}
    for entry in manifest["datasets"]:
        name, files = entry["name"], {file["path"]: file["rows"] for file in entry["files"]}
        listed = ", ".join(f"'{folder / path}'" for path in files)
        counted = db.sql(f"SELECT filename, count(*) FROM read_parquet([{listed}], filename = true) GROUP BY ALL").fetchall()
        # Files without rows are not in a group.
        wanted = {path: rows for path, rows in files.items() if rows}
        same({str(pathlib.Path(path).relative_to(folder)): rows for path, rows in counted}, wanted, f"rows of {name} by DuckDB")
        in_spark, counted = spark_rows(spark, folder, entry)
        same(counted, wanted, f"rows of {name} by Spark")

        rows = duckdb_rows(db, entry)
        same(len(rows), entry["rows"], f"rows of {name}")
        places = [[column["name"] for column in entry["columns"]].index(column) for column in entry["sorted_by"]]
        keys = [tuple((row[place] is not None, row[place]) for place in places) for row in rows]
        check(all(one <= next for one, next in zip(keys, keys[1:])), f"{name} is not in the order of {entry['sorted_by']}")
        rows.sort(key=repr)
        check(rows == sorted(in_spark, key=repr), f"{name}: Spark and DuckDB read different values")
        check(rows == sorted(polars_rows(frames, entry), key=repr), f"{name}: Polars and DuckDB read different values")
        found[name] = rows
    return found


def check_sums(db):
    """Sums that have to agree within an export."""

    def one(sql):
        (values,) = db.sql(sql).fetchall()
        return values if len(values) > 1 else values[0]

    supply = one("SELECT sum(value_sats) FROM coins")
    same(ask("/v1/onchain")["day"]["supply_sats"], supply, "supply")
    made = one("SELECT sum(value_sats) FROM outputs WHERE script_id IS NOT NULL")
    gone = one("SELECT sum(value_sats) FROM inputs") + one("SELECT sum(overwritten_sats) FROM blocks")
    same(made - gone, supply, "outputs less inputs and overwritten")
    same(one("SELECT sum(received_sats) - sum(sent_sats) FROM scripts"), supply, "received less sent, by script")
    same(one("SELECT sum(balance_sats) FROM scripts"), supply, "balances of scripts")
    same(one("SELECT sum(change_sats) FROM supply_changes"), supply, "supply by day of birth")
    same(one("SELECT sum(created_sats - spent_sats - overwritten_sats) FROM daily"), supply, "supply by day")
    same(one("SELECT sum(scripts_balance_sats) FROM balance_bands"), supply, "supply by balance of scripts")
    same(one("SELECT sum(clusters_balance_sats) FROM balance_bands"), supply, "supply by balance of clusters")
    # Rows that another dataset contradicts: none.
    for what, sql in {
        "exchanges whose flows do not add up to their balance": """
            FROM entities e JOIN (SELECT entity, sum(inflow_sats - outflow_sats - fee_sats + reclassified_sats) AS sats
                FROM entity_flows WHERE mode = 'latest' GROUP BY ALL) f USING (entity)
            WHERE e.balance_sats <> f.sats""",
        "inputs that spend another value or script than the output has": """
            FROM inputs i ANTI JOIN outputs o ON o.tx_num = i.prev_tx_num AND o.vout = i.prev_vout
                AND o.value_sats = i.value_sats AND o.script_id = i.script_id AND o.height = i.birth_height""",
        "coins that are no unspent outputs": """
            FROM coins c ANTI JOIN outputs o ON o.tx_num = c.tx_num AND o.vout = c.vout AND o.value_sats = c.value_sats
                AND o.script_id = c.script_id""",
        "coins that an input spends": "FROM coins c SEMI JOIN inputs i ON i.prev_tx_num = c.tx_num AND i.prev_vout = c.vout",
        "balances that are not the coins of the script": """
            FROM scripts s LEFT JOIN (SELECT script_id, sum(value_sats) AS sats FROM coins GROUP BY ALL) c USING (script_id)
            WHERE s.balance_sats <> coalesce(c.sats, 0)""",
        "clusters whose scripts hold something else": """
            FROM clusters c LEFT JOIN (SELECT cluster, count(*) AS n, sum(balance_sats) AS sats FROM cluster_scripts
                JOIN scripts USING (script_id) GROUP BY ALL) s USING (cluster)
            WHERE (c.scripts, c.balance_sats) IS DISTINCT FROM (s.n, s.sats)""",
        "transactions whose inputs and outputs add up to something else": """
            FROM transactions t
            LEFT JOIN (SELECT tx_num, sum(value_sats) AS sats, count(*) AS n FROM inputs GROUP BY ALL) i USING (tx_num)
            LEFT JOIN (SELECT tx_num, sum(value_sats) AS sats, count(*) AS n FROM outputs GROUP BY ALL) o USING (tx_num)
            WHERE (t.inputs, t.input_sats) <> (coalesce(i.n, 0), coalesce(i.sats, 0)) OR (t.outputs, t.output_sats) <> (o.n, o.sats)
                OR t.position > 0 AND t.input_sats - t.output_sats <> t.fee_sats""",
        "blocks whose transactions add up to something else": """
            FROM blocks b JOIN (SELECT height, count(*) AS n, min(tx_num) AS first, sum(fee_sats) AS fee, sum(output_sats) AS out
                FROM transactions GROUP BY ALL) t USING (height)
            WHERE (b.transactions, b.first_tx_num, b.fee_sats, b.output_sats) <> (t.n, t.first, t.fee, t.out)""",
    }.items():
        same(one(f"SELECT count(*) {sql}"), 0, what)


# The questions, in three engines.


def top_holders(frames):
    col, lit = polars.col, polars.lit
    kinds = [
        ("script", frames["scripts"], polars.coalesce("address", col("script").bin.encode("hex")), lit(1, polars.Int64)),
        ("cluster", frames["clusters"], col("cluster").cast(polars.String), col("scripts")),
        ("entity", frames["entities"], col("entity"), col("members") + col("inherited_scripts")),
    ]
    tops = [
        frame.filter(col("balance_sats") > 0)
        .select(lit(kind).alias("kind"), holder.alias("holder"), scripts.alias("scripts"), "balance_sats")
        .sort(col("balance_sats"), col("holder"), descending=[True, False])
        .head(20)
        .with_row_index("place", offset=1)
        for kind, frame, holder, scripts in kinds
    ]
    return polars.concat(tops).sort("kind", "place").select("kind", "place", "holder", "scripts", "balance_sats")


def coin_ages(frames):
    col = polars.col
    starts = [1, 7, 30, 90, 180, 365, 730, 1095, 1825, 2555, 3650]
    tip = frames["blocks"].select(col("day").max()).collect().item()
    age = polars.lit(tip).sub(col("birth_day")).dt.total_days()
    start = polars.max_horizontal(polars.when(age >= start).then(start).otherwise(0) for start in starts)
    return (
        frames["supply_changes"]
        .group_by(start.alias("from_days"))
        .agg(col("coins").sum().cast(polars.Int64), col("change_sats").sum().alias("sats"))
        .filter(col("coins") != 0)
        .sort("from_days")
    )


def fees(frames):
    col = polars.col
    rate = col("fee_sats").cast(polars.Float64) / col("vsize")
    vbytes = (col("weight").cast(polars.Int64).sum() + 3) // 4
    return (
        frames["transactions"]
        .filter(col("position") > 0)
        .group_by("day")
        .agg(
            polars.len().alias("payments"),
            col("fee_sats").sum().alias("fees_sats"),
            vbytes.alias("vbytes"),
            (col("fee_sats").sum() / vbytes).alias("mean_sat_vb"),
            rate.median().alias("median_sat_vb"),
        )
        .sort("day")
    )


def coin_days(frames):
    col = polars.col
    is_old = col("age_seconds") >= 157_680_000
    seconds = col("value_sats").cast(polars.Int128) * col("age_seconds")
    return (
        frames["inputs"]
        .group_by("tx_num")
        .agg(
            seconds.sum().alias("seconds"),
            seconds.filter(is_old).sum().alias("old_seconds"),
            col("value_sats").filter(is_old).sum().alias("old_sats"),
        )
        .sort("seconds", "tx_num", descending=[True, False])
        .head(20)
        .with_row_index("place", offset=1)
        .join(frames["transactions"], on="tx_num")
        .sort("place")
        .select(
            "place", col("txid").bin.encode("hex"), "height", "day", "inputs", "input_sats",
            (col("seconds").cast(polars.Float64) / 8.64e12).alias("coin_days_destroyed"),
            (col("seconds").cast(polars.Float64) / col("input_sats") / 86_400).alias("average_age_days"),
            "old_sats",
            (col("old_seconds").cast(polars.Float64) / 8.64e12).alias("old_coin_days"),
        )
    )


# Polars' SQL has no hex() and no percentile_cont(), and makes no number of a difference of days: these are asked with expressions.
EXPRESSIONS = {"01-top-holders": top_holders, "02-coin-ages": coin_ages, "05-fees": fees, "10-coin-days-destroyed": coin_days}


def is_same(one, other):
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-12, abs_tol=1e-12)
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def check_same_rows(found, wanted, what):
    if len(found) != len(wanted):
        return check(False, f"{what}: {len(found)} rows, not {len(wanted)}")
    for at, (row, other) in enumerate(zip(found, wanted)):
        if len(row) != len(other) or not all(map(is_same, row, other)):
            return check(False, f"{what}, row {at}: {row} is not {other}")


def questions(db, spark, frames):
    """The answers by name: rows as dictionaries."""
    answers, sql_context = {}, polars.SQLContext(frames)
    for path in sorted(DOCS.glob("questions/*.sql")):
        sql, name = path.read_text(), path.stem
        asked = db.sql(sql)
        names, rows = asked.columns, plain_rows(asked.fetchall())
        check(len(rows) > 0, f"{name}: no rows")
        answer = spark.sql(sql)
        same(answer.columns, names, f"{name}: Spark's columns")
        check_same_rows(plain_rows(answer.collect()), rows, f"{name} by Spark")
        if name in EXPRESSIONS:
            answer = EXPRESSIONS[name](frames).collect()
        else:
            answer = sql_context.execute(sql).collect()
            same(answer.columns, names, f"{name}: Polars' columns")
        check_same_rows(plain_rows(answer.rows()), rows, f"{name} by Polars")
        answers[name] = [dict(zip(names, row)) for row in rows]
    return answers


def check_clusters(spark, manifest):
    """Clusters found from scratch are those of the export, and the comparison sees a script that is in the wrong one."""
    found = clusters.components(clusters.ties(spark, str(EXPORT))).cache()
    exported = spark.read.parquet(str(EXPORT / "cluster_scripts"))
    for what, count in clusters.differences(found, exported).items():
        same(count, 0, what)
    (listed,) = [entry["rows"] for entry in manifest["datasets"] if entry["name"] == "clusters"]
    same(found.select("component").distinct().count(), listed, "clusters from scratch")
    one, other = [row.component for row in found.select("component").distinct().orderBy("component").limit(2).collect()]
    lit, component = functions.lit, functions.col("component")
    merged = found.withColumn("component", functions.when(component == lit(other), lit(one)).otherwise(component))
    same(list(clusters.differences(merged, exported).values()), [0, 0, 1, 0], "differences if two clusters are merged")


# The guide and the notebook.


def check_other_forms(db):
    """Amounts in bitcoin, other parts, and the columns that are there on request: the same as in the first export."""
    folder = WORK / "export-forms"
    export(folder, "--partition", "700", "--amounts", "btc", "--txids", "--addresses", "--datasets", "transactions,inputs,outputs")
    for name in ["inputs", "outputs"]:
        db.sql(f"CREATE OR REPLACE TEMP VIEW other AS FROM '{folder}/{name}/**/*.parquet'")
        key = {"inputs": "vin", "outputs": "vout"}[name]
        (row,) = db.sql(f"""
            SELECT count(*), count(*) FILTER (CAST(o.value_btc AS DECIMAL(38, 8)) * 100000000 = v.value_sats
                    AND o.script_id IS NOT DISTINCT FROM v.script_id),
                count(*) FILTER (o.address IS NOT DISTINCT FROM s.address), count(o.address)
            FROM other o JOIN {name} v USING (tx_num, {key}) LEFT JOIN scripts s ON s.script_id = v.script_id""").fetchall()
        (wanted,) = db.sql(f"SELECT count(*) FROM {name}").fetchall()[0]
        same(row[:3], (wanted,) * 3, f"{name} in bitcoin, with addresses")
        check(row[3] > 0, f"{name} have no addresses")
    db.sql(f"CREATE OR REPLACE TEMP VIEW other AS FROM '{folder}/inputs/**/*.parquet'")
    (wrong,) = db.sql("""SELECT count(*) FROM other o LEFT JOIN transactions t ON t.tx_num = o.prev_tx_num
        WHERE o.prev_txid IS DISTINCT FROM t.txid""").fetchall()[0]
    same(wrong, 0, "inputs with another txid than the transaction that made the coin")


def export_again(manifest):
    """An export that continues one of the same block keeps every file that belongs to blocks alone."""
    again = export(EXPORT, "--since", str(EXPORT / "manifest.json"))
    kept = sum(len(one["files"]) for one in manifest["datasets"] if one["name"] in ("blocks", "transactions", "inputs", "outputs"))
    since = again["since"]
    same((since["tip_hash"], since["kept"], since["rewritten"]), (manifest["tip_hash"], kept, []), "what the second export kept")
    check_hashes(EXPORT, again)
    same([one["files"] for one in again["datasets"]], [one["files"] for one in manifest["datasets"]], "files of the second export")


def run_examples():
    """Runs the guide's examples in Python where an export lies in the folder `export`; a block of text behind one is its output."""
    guide = (DOCS / "README.md").read_text()
    examples = re.findall(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```\n)?", guide, re.S)
    check(len(examples) >= 4, f"{len(examples)} examples in the guide")
    for code, output in examples:
        environment = os.environ | {"PYTHONPATH": str(DOCS)}
        command = [sys.executable, "-W", "ignore", "-c", code]
        done = subprocess.run(command, cwd=WORK, env=environment, capture_output=True, text=True, timeout=120)
        what = f"example {code.strip().splitlines()[0]!r}"
        check(done.returncode == 0, f"{what}: {done.stderr[-800:]}")
        if output:
            same(done.stdout.strip(), output.strip(), what)


def run_notebook():
    import nbclient
    import nbformat

    notebook = nbformat.read(DOCS / "plots.ipynb", as_version=4)
    check(not any(cell.get("outputs") for cell in notebook.cells), "the notebook has outputs in it")
    os.environ["CAIRN_EXPORT"] = str(EXPORT)
    client = nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(DOCS)}})
    client.execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    pictures = [output for output in outputs if "image/png" in output.get("data", {})]
    check(len(pictures) >= 4, f"{len(pictures)} pictures in the notebook")
    nbformat.write(notebook, WORK / "plots.ipynb")


def open_spark():
    return (
        SparkSession.builder.master("local[2]")
        .appName("cairn-analysts")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.warehouse.dir", str(WORK / "warehouse"))
        .getOrCreate()
    )


def main():
    manifest = export(EXPORT)
    manifest_hex = export(EXPORT_HEX, "--hashes", "hex")
    check_hashes(EXPORT, manifest)
    check_hashes(EXPORT_HEX, manifest_hex)
    tip = (manifest["tip_height"], manifest["tip_hash"])

    def check_tip():
        told = ask("/v1/onchain")["_meta"]["tip"]
        same((told["height"], told["hash"]), tip, "the API's tip and the export's")

    check_tip()
    count = sum(len(entry["files"]) for entry in manifest["datasets"])
    say(f"exported twice, {count} files of {sum(entry['rows'] for entry in manifest['datasets'])} rows; SHA-256 as in the manifest")

    spark = open_spark()
    spark.sparkContext.setLogLevel("ERROR")
    db, frames = cairn_views.open_duckdb(EXPORT_HEX), cairn_views.open_polars(EXPORT_HEX)
    in_hex = check_rows(EXPORT_HEX, manifest_hex, db, spark, frames)
    db, frames = cairn_views.open_duckdb(EXPORT), cairn_views.open_polars(EXPORT)
    in_bytes = check_rows(EXPORT, manifest, db, spark, frames)
    for name, rows in in_bytes.items():
        check(rows == in_hex[name], f"{name}: bytes and hexadecimal digits differ")
    stop_if_wrong()
    say("DuckDB, Spark and Polars read the same values from every file, in both forms")
    check_sums(db)
    say("sums within the export agree")
    answers = questions(db, cairn_views.open_spark(EXPORT, spark), frames)
    stop_if_wrong()
    say(f"{len(answers)} questions: the three engines agree")
    check_clusters(spark, manifest)
    stop_if_wrong()
    say("Spark finds the same clusters from scratch")
    rows = exposures.check(spark, EXPORT, EXPORT_HEX, 35, same)
    spark.stop()
    stop_if_wrong()
    say(f"Spark follows money as a second program does, {rows} rows")
    compare_with_api(answers, db)
    check_tip()
    stop_if_wrong()
    say("the API tells the same")
    export_again(manifest)
    check_other_forms(db)
    stop_if_wrong()
    say("exports in other forms, and one that continues, have the same")
    run_examples()
    say("the guide's examples run")
    run_notebook()
    say("the notebook runs")
    stop_if_wrong()


main()
