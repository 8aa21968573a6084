"""Follows the money of small graphs with snapshots/spark/exposure.py, for a Rust test that compares the amounts.

Usage: exposure_graphs.py FOLDER

FOLDER has `graphs.json`; `found.json` is written beside it. Each graph becomes a part of one export, and each of its sources a
source of the program; the subject of a graph is one, too.
"""

import json
import pathlib
import sys
import tempfile

import polars
from pyspark.sql import SparkSession

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "snapshots" / "spark"))
import exposure  # noqa: E402

# Transactions between the graphs.
APART = 1_000
# Scripts with more transactions end paths.
MOST = 1_000


def script_id(graph, script):
    return None if script is None else f"{graph:06}{script:02}"


def export(graphs, folder):
    """Writes the datasets that the program reads."""
    transactions, inputs, outputs, scripts = [], [], [], {}
    for at, graph in enumerate(graphs):
        first = at * APART
        for tx in graph["txs"]:
            number = first + tx["number"]
            brought = sum(sats for _, _, sats in tx["inputs"])
            transactions.append((number, brought, sum(sats for sats, _ in tx["outputs"]), tx["is_coinjoin"]))
            inputs += [(number, vin, first + made, vout, sats) for vin, (made, vout, sats) in enumerate(tx["inputs"])]
            outputs += [(number, vout, sats, script_id(at, script)) for vout, (sats, script) in enumerate(tx["outputs"])]
        for script in range(graph["scripts"]):
            scripts[script_id(at, script)] = 2 * MOST if script in graph["busy"] else 1
    spent = {(made, vout) for _, _, made, vout, _ in inputs}
    coins = [(number, vout) for number, vout, _, script in outputs if script is not None and (number, vout) not in spent]
    whole, text = polars.Int64, polars.String
    for name, rows, columns in [
        ("transactions", transactions, {"tx_num": whole, "input_sats": whole, "output_sats": whole, "is_coinjoin": polars.Boolean}),
        ("inputs", inputs, dict.fromkeys(["tx_num", "vin", "prev_tx_num", "prev_vout", "value_sats"], whole)),
        ("outputs", outputs, {"tx_num": whole, "vout": whole, "value_sats": whole, "script_id": text}),
        ("coins", coins, {"tx_num": whole, "vout": whole}),
        ("scripts", [(script, None, count) for script, count in scripts.items()],
            {"script_id": text, "address": text, "transactions": whole}),
    ]:  # fmt: skip
        (folder / name).mkdir()
        polars.DataFrame(rows, schema=columns, orient="row").write_parquet(folder / name / "part.parquet")


def millionths(sats):
    return int(sats.scaleb(6))


def follow(spark, folder, graphs, chosen, hops):
    """Amounts of the graphs at these places, as lists: by source at the subject, by end of the subject's money, and its fees."""
    sources = [
        (f"{at}:{script}", script_id(at, script)) for at in chosen for script in {*graphs[at]["sources"], graphs[at]["subject"]}
    ]
    services = [
        (script_id(at, script),)
        for at in chosen
        for script in {*graphs[at]["sources"], *graphs[at]["services"]} - {graphs[at]["subject"]}
    ]
    given = spark.createDataFrame(sources, "source string, script_id string")
    ends = spark.createDataFrame(services, "script_id string")
    found = exposure.follow(spark, str(folder), given, hops, ends, MOST)
    rows = [{"received": [], "ends": [], "fees": [0, 0]} for _ in graphs]

    def place(row):
        at, script = row["source"].split(":")
        return int(at), int(script)

    for row in found.scripts.collect():
        at, source = place(row)
        if row["script_id"] == script_id(at, graphs[at]["subject"]):
            amounts = [millionths(row["received_haircut_sats"]), row["received_fifo_sats"]]
            rows[at]["received"].append([source, *amounts])
    for row in found.ends.collect():
        at, source = place(row)
        if source == graphs[at]["subject"]:
            script = row["script_id"] and int(row["script_id"][6:])
            rows[at]["ends"].append([row["part"], script, millionths(row["haircut_sats"]), row["fifo_sats"]])
    for row in found.summary.where("part = 'fees'").collect():
        at, source = place(row)
        if source == graphs[at]["subject"]:
            rows[at]["fees"] = [millionths(row["haircut_sats"]), row["fifo_sats"]]
    return {at: rows[at] for at in chosen}


def main():
    folder = pathlib.Path(sys.argv[1])
    graphs = json.loads((folder / "graphs.json").read_text())
    spark = SparkSession.builder.master("local[2]").appName("exposure-graphs").config("spark.ui.enabled", "false")
    spark = spark.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    found = [{} for _ in graphs]
    with tempfile.TemporaryDirectory() as made:
        made = pathlib.Path(made)
        export(graphs, made)
        # One hop for all: what is not of it is indirect.
        for at, rows in follow(spark, made, graphs, range(len(graphs)), 1).items():
            found[at]["one"] = rows
        for hops in sorted({graph["hops"] for graph in graphs} - {1}):
            chosen = [at for at, graph in enumerate(graphs) if graph["hops"] == hops]
            for at, rows in follow(spark, made, graphs, chosen, hops).items():
                found[at]["all"] = rows
    spark.stop()
    (folder / "found.json").write_text(json.dumps(found))


main()
