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
import statistics
import subprocess
import sys
import time
import urllib.parse
import urllib.request

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs" / "analysts"
SPARK = pathlib.Path(__file__).resolve().parents[2] / "snapshots" / "spark"
sys.path[:0] = [str(DOCS), str(SPARK)]

import cairn_views
import clusters
import exposures
import polars
from pyspark.sql import SparkSession, functions

BASE, CAIRN, DATADIR = sys.argv[1:4]
WORK = pathlib.Path(sys.argv[4])
EXPORT, EXPORT_HEX = WORK / "export", WORK / "export-hex"
BEGAN = time.monotonic()
WRONG = []


def say(what):
    print(f"analysts: {time.monotonic() - BEGAN:5.1f} s: {what}", flush=True)


def check(is_right, what):
    if not is_right:
        WRONG.append(what)


def stop_if_wrong():
    if WRONG:
        sys.exit(f"analysts: {len(WRONG)} things are wrong; the first:\n" + "\n".join(WRONG[:40]))


def same(found, wanted, what):
    check(found == wanted, f"{what}: {str(found)[:300]} is not {str(wanted)[:300]}")


def near(found, wanted, slack, what):
    check(abs(found - wanted) <= slack + 1e-12 * abs(wanted), f"{what}: {found} is not {wanted}")


def ask(path, **query):
    query = {name: value for name, value in query.items() if value is not None}
    url = BASE + path + ("?" + urllib.parse.urlencode(query) if query else "")
    with urllib.request.urlopen(url, timeout=30) as answer:
        return json.load(answer)


def pages(path, rows, **query):
    """All rows of a list, page by page."""
    cursor = None
    while True:
        answer = ask(path, cursor=cursor, **query)
        yield from answer[rows]
        cursor = answer["next_cursor"]
        if cursor is None:
            return


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


# The same from the API.


def days_of_onchain(first, last):
    """All days of /v1/onchain, by date."""
    found = {}
    while first <= last:
        until = min(last, first + datetime.timedelta(days=999))
        for day in ask("/v1/onchain", **{"from": first, "to": until})["days"]:
            found[datetime.date.fromisoformat(day["date"])] = day
        first = until + datetime.timedelta(days=1)
    return found


def blocks_of_api():
    """All blocks by height, each with its monotone time: the latest header time up to it."""
    blocks = sorted(pages("/v1/chain/recent-blocks", "blocks", limit=50), key=lambda block: block["height"])
    same([block["height"] for block in blocks], list(range(len(blocks))), "heights of the API's blocks")
    latest = 0
    for block in blocks:
        latest = block["monotone"] = max(latest, block["time_unix"])
        block["day"] = datetime.datetime.fromtimestamp(latest, datetime.UTC).date()
    return blocks


def compare_top_holders(rows, db):
    for kind in ["cluster", "entity", "script"]:
        mine = [row for row in rows if row["kind"] == kind]
        same([row["place"] for row in mine], list(range(1, len(mine) + 1)), f"places of {kind}")
        check(all(one["balance_sats"] >= next["balance_sats"] for one, next in zip(mine, mine[1:])), f"{kind}: not by balance")
    # None is left out: as many as the API counts from the lowest band on that they fill.
    least = min(row["balance_sats"] for row in rows if row["kind"] == "script")
    by_balance = ask("/v1/chain/supply-distribution")["by_balance"]
    same(sum(row["kind"] == "script" for row in rows), min(20, by_balance["holders"]), "number of scripts")
    bands = [band for band in by_balance["bands"] if band["from_sats"] >= least]
    counted = sum(row["kind"] == "script" and row["balance_sats"] >= bands[0]["from_sats"] for row in rows)
    same(counted, sum(band["holders"] for band in bands), "scripts of the largest bands")
    listed = [one["name"] for one in ask("/v1/entities/list", sort="balance", limit=20)["entities"] if one["balance_sats"]]
    same([row["holder"] for row in rows if row["kind"] == "entity"], listed, "entities by balance")
    for row in rows:
        holder, what = row["holder"], f"{row['kind']} {row['holder']}"
        if row["kind"] == "script":
            same(row["scripts"], 1, what)
            is_hex = re.fullmatch("([0-9a-f]{2})+", holder)
            path = f"scripthash:{hashlib.sha256(bytes.fromhex(holder)).hexdigest()}" if is_hex else holder
            same(row["balance_sats"], ask(f"/v1/wallets/{path}/overview")["balance"]["confirmed_sats"], what)
        elif row["kind"] == "entity":
            card = ask(f"/v1/entities/{holder}")
            scripts = card["address_count"] + card["inherited"]["address_count"]
            same((row["balance_sats"], row["scripts"]), (card["balance_sats"], scripts), what)
        else:
            found = db.sql(f"SELECT address FROM scripts JOIN cluster_scripts USING (script_id) WHERE cluster = {holder}")
            address = found.fetchall()[0][0]
            command = [CAIRN, "cluster", address, "--datadir", DATADIR, "--json", "--limit", "1"]
            told = json.loads(subprocess.run(command, check=True, capture_output=True, timeout=30).stdout)
            same((row["balance_sats"], row["scripts"]), (told["balance_sats"], told["scripts"]), what)


def compare_ages(rows, db):
    classes = ask("/v1/chain/supply-distribution")["by_age"]
    wanted = [(one["from_days"], one["coins"], one["sats"]) for one in classes if one["coins"]]
    same([tuple(row.values()) for row in rows], wanted, "coin ages")
    waves = ask("/v1/onchain")["hodl_waves"]
    same([(row["from_days"], row["sats"]) for row in rows], [(w["from_days"], w["sats"]) for w in waves if w["sats"]], "HODL waves")
    coins = db.sql("SELECT CAST((SELECT max(day) FROM blocks) - day AS INT) AS age, count(*), sum(value_sats) FROM coins GROUP BY age")
    starts = [one["from_days"] for one in classes]
    counted = {}
    for age, count, sats in coins.fetchall():
        start = max(start for start in starts if start <= age)
        before = counted.get(start, (0, 0))
        counted[start] = (before[0] + count, before[1] + sats)
    same(sorted((start, *sums) for start, sums in counted.items()), wanted, "ages of the coins themselves")


def compare_exchange_flows(rows, tip):
    names = {
        "inflow_sats": "inflow_sats", "outflow_sats": "outflow_sats", "net_sats": "net_sats", "internal_sats": "internal_sats",
        "fee_sats": "fees_sats", "from_exchanges_sats": "from_exchanges_sats", "to_exchanges_sats": "to_exchanges_sats",
        "transactions": "tx_count",
    }
    exchanges = {row["entity"] for row in rows if row["entity"]}
    check(len(exchanges) > 0, "no exchange has flows")
    for exchange in exchanges:
        mine = {row["day"]: row for row in rows if row["entity"] == exchange}
        first, theirs = min(mine), {}
        while first <= tip:
            until = min(tip, first + datetime.timedelta(days=365))
            answer = ask("/v1/exchange/flows", exchange=exchange, mode="latest", **{"from": first, "to": until})
            for day in (day for one in answer["exchanges"] for day in one["days"]):
                theirs[datetime.date.fromisoformat(day["date"])] = day
            first = until + datetime.timedelta(days=1)
        same(sorted(mine), sorted(theirs), f"days of {exchange}")
        for day in mine.keys() & theirs.keys():
            found = {theirs_name: mine[day][name] for name, theirs_name in names.items()}
            same(found, {name: theirs[day][name] for name in names.values()}, f"{exchange} on {day}")
    first = min(row["day"] for row in rows)
    while first <= tip:
        until = min(tip, first + datetime.timedelta(days=30))
        totals = ask("/v1/exchange/flows", **{"from": first, "to": until})["totals"]
        for name in ["inflow_sats", "outflow_sats", "net_sats", "internal_sats", "fee_sats", "transactions"]:
            found = sum(row[name] for row in rows if row["entity"] is None and first <= row["day"] <= until)
            same(found, totals[names[name]], f"{name} of all exchanges from {first} to {until}")
        first = until + datetime.timedelta(days=1)


def compare_dormancy(rows, onchain):
    weeks = {}
    for row in rows:
        weeks.setdefault(row["week"], []).append(row)
    old = [week for week, found in weeks.items() if any(row["from_years"] for row in found)]
    check(len(old) > 20, f"{len(old)} weeks with old coins")
    for week in [week for week in old if week < max(weeks)]:
        year, number, _ = week.isocalendar()
        for one in ask("/v1/dormancy/weekly.json", week=f"{year}-W{number:02}")["classes"]:
            mine = [row for row in weeks[week] if row["from_years"] == one["from_years"]]
            sums = (sum(row["coins"] for row in mine), sum(row["sats"] for row in mine))
            same(sums, (one["coin_count"], one["old_sats"]), f"coins of {one['from_years']} years in week {year}-{number}")
            near(sum(row["coin_days_destroyed"] for row in mine), one["coin_days_destroyed"], 1e-8, f"their coin-days, {week}")
    spending = {day - datetime.timedelta(days=day.weekday()) for day, one in onchain.items() if one["spent_coins"]}
    same(set(weeks), spending, "weeks in which coins were spent")
    for week, mine in weeks.items():
        days = [onchain[day] for day in (week + datetime.timedelta(days=at) for at in range(7)) if day in onchain]
        same(sum(row["sats"] for row in mine), sum(day["spent_sats"] for day in days), f"spent in the week of {week}")
        same(sum(row["coins"] for row in mine), sum(day["spent_coins"] for day in days), f"coins spent in the week of {week}")
        wanted = sum(day["coin_days_destroyed"] for day in days)
        near(sum(row["coin_days_destroyed"] for row in mine), wanted, 1e-8 * len(days), f"coin-days in the week of {week}")


def compare_fees(rows, onchain, blocks):
    for row in rows:
        day = onchain[row["day"]]
        same((row["fees_sats"], row["payments"]), (day["fees_sats"], day["txs"] - day["blocks"]), f"fees of {row['day']}")
    wanted = sum(day["fees_sats"] for day in onchain.values())
    same(sum(row["fees_sats"] for row in rows), wanted, "fees of all days")
    # The API tells feerates by block and transaction, with three decimals: comparable where a day has one block.
    by_day, blocks_of, compared = {row["day"]: row for row in rows}, {}, 0
    for block in blocks:
        blocks_of.setdefault(block["day"], []).append(block)
    for day, row in by_day.items():
        if len(blocks_of[day]) > 1:
            continue
        (block,) = blocks_of[day]
        near(row["fees_sats"] / row["vbytes"], row["mean_sat_vb"], 1e-9, f"bytes of {day}")
        near(row["mean_sat_vb"], block["average_fee_rate_sat_vb"], 0.001, f"mean feerate of {day}")
        compared += 1
        if compared % 8 == 0:
            paid = ask(f"/v1/blocks/{block['height']}", tx_limit=100)["transactions"][1:]
            same(len(paid), row["payments"], f"payments of {day}")
            near(row["median_sat_vb"], statistics.median(tx["fee_rate_sat_vb"] for tx in paid), 0.001, f"median feerate of {day}")
    check(compared > 500, f"only {compared} days could be compared")


def compare_entities(rows):
    for row in rows:
        card = ask(f"/v1/entities/{row['entity']}")
        wanted = {
            "category": card["category"],
            "members": card["address_count"],
            "inherited_scripts": card["inherited"]["address_count"],
            "balance_sats": card["balance_sats"],
            "direct_balance_sats": card["direct_balance_sats"],
            "inherited_balance_sats": card["inherited_balance_sats"],
            "left_out_balance_sats": card["inherited"]["suspect_balance_sats"],
        }
        same({name: row[name] for name in wanted}, wanted, row["entity"])
    listed = {one["name"] for one in ask("/v1/entities/list", limit=100)["entities"]}
    check(listed <= {row["entity"] for row in rows}, f"entities of the list are missing: {listed}")


def compare_clusters(rows, db):
    answer = ask("/v1/chain/supply-distribution")
    wanted = [(at, band["holders"], band["sats"]) for at, band in enumerate(answer["by_cluster"]["bands"]) if band["holders"]]
    same([(row["band"], row["holders"], row["sats"]) for row in rows], wanted, "holders by balance")
    scripts = db.sql(
        "SELECT least(length(CAST(balance_sats AS VARCHAR)) - 1, 13) AS band, count(*), sum(balance_sats) FROM scripts"
        " WHERE balance_sats > 0 GROUP BY band ORDER BY band"
    ).fetchall()
    wanted = [(at, band["holders"], band["sats"]) for at, band in enumerate(answer["by_balance"]["bands"]) if band["holders"]]
    same(scripts, wanted, "scripts by balance")


def compare_cost_basis(rows):
    day = ask("/v1/onchain")["day"]
    same(sum(row["gap_sats"] for row in rows), 0, "coins of days without a close")
    same(sum(row["unpriced_sats"] for row in rows), day["unpriced_sats"], "coins older than the prices")
    same(sum(row["sats"] for row in rows), day["supply_sats"], "coins of all birth years")
    cap = sum(row["realized_cap_usd"] for row in rows)
    check(day["realized_cap_usd"] - 1e-5 <= cap < day["realized_cap_usd"] + 0.01 + 1e-5, f"realized cap {cap}: {day}")


def compare_miners(rows, blocks, db):
    mined = {}
    for block in blocks:
        mined.setdefault(block["day"], []).append(block["reward_sats"])
    found = {row["day"]: (row["blocks"], row["mined_sats"]) for row in rows}
    same(found, {day: (len(rewards), sum(rewards)) for day, rewards in mined.items()}, "blocks and what they paid, by day")
    compared = 0
    for days in ["1d", "7d", "30d"]:
        answer = ask("/v1/miner/flows", range=days, limit=50)
        since = answer["since_height"]
        if blocks[since]["day"] == blocks[since - 1]["day"]:
            continue
        told = sum(one["mined_sats"] for one in [*answer["pools"], answer["other"], answer["unidentified"]])
        same(sum(row["mined_sats"] for row in rows if row["day"] >= blocks[since]["day"]), told, f"mined in {days}")
        compared += 1
    check(compared > 0, "no range begins with a day")
    # The days that spent most, and some others: every output of the coinbases that they spent, as the API tells it.
    rows = sorted((row for row in rows if row["coins_first_spent"]), key=lambda row: -row["first_spent_sats"])
    check(len(rows) > 20, "coinbases are spent on few days")
    for row in [*rows[:3], *rows[3 :: len(rows) // 12]]:
        coinbases = db.sql(f"""SELECT DISTINCT lower(hex(txid)), height FROM transactions SEMI JOIN inputs
            ON is_coinbase AND prev_tx_num = transactions.tx_num AND inputs.day = DATE '{row['day']}'""").fetchall()
        check(len(coinbases) <= 400, f"{row['day']}: too many coinbases to ask for")
        coins, sats, seconds = 0, 0, 0
        for txid, height in coinbases[:400]:
            for output in ask(f"/v1/tx/{txid}")["outputs"]:
                spend = output["spent_by"]
                if spend and spend["height"] is not None and blocks[spend["height"]]["day"] == row["day"]:
                    coins, sats = coins + 1, sats + output["value_sats"]
                    seconds += output["value_sats"] * (blocks[spend["height"]]["monotone"] - blocks[height]["monotone"])
        same((row["coins_first_spent"], row["first_spent_sats"]), (coins, sats), f"coinbases spent on {row['day']}")
        near(row["coin_days_destroyed"], seconds / 8.64e12, 1e-9, f"coin-days of coinbases on {row['day']}")


def compare_coin_days(rows, blocks, onchain):
    same([row["place"] for row in rows], list(range(1, 21)), "places of transactions")
    moved = {one["txid"]: one for one in pages("/v1/chain/dormant-movements", "movements", since=0, limit=200)}
    least = rows[-1]["coin_days_destroyed"]
    missing = {txid for txid, one in moved.items() if one["coin_days_destroyed"] > least} - {row["txid"] for row in rows}
    same(missing, set(), "dormant movements with more coin-days that are not in the list")
    check(any(row["txid"] in moved for row in rows), "no transaction is a dormant movement")
    for row in rows:
        told = moved.get(row["txid"])
        same(told is not None, row["old_sats"] >= 1_000_000_000, f"{row['txid']} is a dormant movement")
        if told:
            same(row["old_sats"], told["old_sats"], f"old coins of {row['txid']}")
            near(row["old_coin_days"], told["coin_days_destroyed"], 1e-8, f"old coin-days of {row['txid']}")
        found = ask(f"/v1/tx/{row['txid']}")
        height = found["status"]["block"]["height"]
        wanted = (height, blocks[height]["day"], found["input_count"], found["input_sats"])
        same((row["height"], row["day"], row["inputs"], row["input_sats"]), wanted, row["txid"])
        of_day = onchain[row["day"]]["coin_days_destroyed"] * (1 + 1e-12) + 1e-8
        check(row["coin_days_destroyed"] <= of_day, f"{row['txid']}: its day has less")
        if found["inputs_omitted"] == 0:
            coins, spent = [one["prevout"] for one in found["inputs"]], blocks[height]["monotone"]
            ages = [(coin["value_sats"], spent - blocks[coin["height"]]["monotone"]) for coin in coins]
            seconds = sum(sats * age for sats, age in ages)
            near(row["coin_days_destroyed"], seconds / 8.64e12, 1e-9, f"coin-days of {row['txid']}")
            near(row["average_age_days"], seconds / found["input_sats"] / 86_400, 1e-9, f"average age of {row['txid']}")
            old = [(sats, age) for sats, age in ages if age >= 5 * 365 * 86_400]
            same(row["old_sats"], sum(sats for sats, _ in old), f"old coins of {row['txid']}")
            near(row["old_coin_days"], sum(sats * age for sats, age in old) / 8.64e12, 1e-9, f"old coin-days of {row['txid']}")


def compare_with_api(answers, db):
    (first, last) = db.sql("SELECT min(day), max(day) FROM blocks").fetchall()[0]
    onchain, blocks = days_of_onchain(first, last), blocks_of_api()
    compare_top_holders(answers["01-top-holders"], db)
    compare_ages(answers["02-coin-ages"], db)
    compare_exchange_flows(answers["03-exchange-flows"], last)
    compare_dormancy(answers["04-dormancy"], onchain)
    compare_fees(answers["05-fees"], onchain, blocks)
    compare_entities(answers["06-entity-balances"])
    compare_clusters(answers["07-cluster-sizes"], db)
    compare_cost_basis(answers["08-cost-basis"])
    compare_miners(answers["09-miner-outflows"], blocks, db)
    compare_coin_days(answers["10-coin-days-destroyed"], blocks, onchain)


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
