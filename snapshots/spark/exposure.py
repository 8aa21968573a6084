"""Exposure to many sources at once, with Spark: where the money of each source went, over the datasets of an export.

Usage: exposure.py EXPORT SOURCES [--hops N] [--services FILE] [--most-transactions N] [--out FOLDER]

A source is a name and a set of scripts. Its money starts at every output that pays one of them (hop 0), and each transaction that
spends it takes it one hop on. Three measures follow it side by side:

- haircut: each output of a transaction gets its share by value of what came in, and so does the fee;
- FIFO: the satoshis of the inputs fill the outputs in order, and the last ones are the fee;
- poison: every output that a path reaches counts wholly, once: no measure tells more.

What is told is evidence of paths on the chain, not a score. README.md beside this file has the definitions and the limits.

Haircut and FIFO add up over paths, so each hop is one step for all amounts that are there, whatever their paths were. A step reads
columns of the datasets, and keeps no more than what is reached.
"""

import argparse
import os
import sys
from typing import NamedTuple

from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as f

# What Spark fails with. Some of Java's errors come as they are.
SPARK_ERRORS = (PySparkException, Py4JJavaError)
# A set of this many rows goes to all executors, so that what it is joined with is read but not sorted.
BROADCAST_ROWS = 1_000_000
# Haircut amounts are whole millionths of a satoshi. Times an amount in satoshis, they fit into 38 digits.
MILLIONTHS = 1_000_000
COIN = ["tx_num", "vout"]
ROWS_SHOWN = 20
DATASETS = {
    "transactions": ["tx_num", "input_sats", "output_sats", "is_coinjoin"],
    "inputs": ["tx_num", "vin", "prev_tx_num", "prev_vout", "value_sats"],
    "outputs": ["tx_num", "vout", "value_sats", "script_id"],
    "coins": ["tx_num", "vout"],
    "scripts": ["script_id", "address", "transactions"],
}


class WrongInput(Exception):
    """What the user gave cannot be worked with."""


class Exposure(NamedTuple):
    scripts: DataFrame
    ends: DataFrame
    summary: DataFrame


def reason(error: Exception) -> str:
    """The first line of what Spark says."""
    text = error.java_exception.getMessage() if isinstance(error, Py4JJavaError) else str(error)
    return (text or type(error).__name__).splitlines()[0]


def read(spark: SparkSession, export: str, name: str) -> DataFrame:
    """The columns of a dataset that are used here."""
    try:
        found = spark.read.parquet(f"{export}/{name}")
    except AnalysisException:
        raise WrongInput(f"{export} has no dataset {name}; `cairn snapshot export` writes it") from None
    missing = [column for column in DATASETS[name] if column not in found.columns]
    if missing:
        more = "; export without --amounts btc" if any(column.endswith("_btc") for column in found.columns) else ""
        raise WrongInput(f"dataset {name} of {export} has no column {', '.join(missing)}{more}")
    return found.select(*DATASETS[name])


def hint_by(frame: DataFrame):
    """A hint for frames that have no more rows than this one: whether they go to all executors. It is counted for that, so it has
    to be a checkpoint."""
    return f.broadcast if frame.count() <= BROADCAST_ROWS else lambda other: other


def small(frame: DataFrame) -> DataFrame:
    """A checkpoint, with that hint."""
    return hint_by(frame)(frame)


def read_scripts(spark: SparkSession, path: str, export: str, names: list[str]) -> DataFrame:
    """Columns `names` and the `script_id`, as the export has it, of a CSV or Parquet file that has script_ids or addresses."""
    try:
        if path.lower().endswith((".csv", ".csv.gz")):
            spaces = {"ignoreLeadingWhiteSpace": True, "ignoreTrailingWhiteSpace": True}
            rows = spark.read.csv(path, header=True, **spaces)
        else:
            rows = spark.read.parquet(path)
    except SPARK_ERRORS as error:
        raise WrongInput(f"{path} cannot be read as a CSV or Parquet file: {reason(error)}") from None
    key = "script_id" if "script_id" in rows.columns else "address"
    missing = [column for column in [*names, key] if column not in rows.columns]
    if missing:
        wanted = ", ".join([*names, "and script_id or address"])
        raise WrongInput(f"{path} has the columns {', '.join(rows.columns)}; it needs {wanted}")
    rows = rows.select(*names, key).distinct().localCheckpoint()
    empty = rows.where(" OR ".join(f"{column} IS NULL OR length({column}) = 0" for column in rows.columns)).count()
    if empty:
        raise WrongInput(f"{path} has {empty} rows without {' or without '.join(rows.columns)}")
    if rows.isEmpty():
        raise WrongInput(f"{path} has no rows")
    if key == "address":
        found = read(spark, export, "scripts").join(small(rows), "address").select(*names, "address", "script_id").localCheckpoint()
        unknown = rows.count() - found.select(*names, "address").distinct().count()
        if found.isEmpty():
            raise WrongInput(f"no block pays an address of {path}")
        if unknown:
            print(f"Rows of {path} with an address that no block pays: {unknown}")
        return found.drop("address").distinct().localCheckpoint()
    is_binary = dict(rows.dtypes)["script_id"] == "binary"
    digits = f.lower(f.hex("script_id")) if is_binary else f.lower("script_id")
    rows = rows.withColumn("script_id", digits)
    wrong = rows.where("NOT script_id RLIKE '^[0-9a-f]{18}$'").first()
    if wrong:
        raise WrongInput(f"{path}: {wrong.script_id} is no script_id: it has 9 bytes, or 18 hexadecimal digits")
    if dict(read(spark, export, "outputs").dtypes)["script_id"] == "binary":
        rows = rows.withColumn("script_id", f.unhex("script_id"))
    return rows.distinct().localCheckpoint()


def marked(frame: DataFrame, some: DataFrame | None, keys: list[str], mark: str) -> DataFrame:
    """The frame with a column `mark`: true where `some` has the keys, else null."""
    if some is None:
        return frame.withColumn(mark, f.lit(None).cast("boolean"))
    return frame.join(some.withColumn(mark, f.lit(True)), keys, "left")


def share(amount, part, whole):
    """amount × part ÷ whole, rounded down. All are whole numbers, and so is each step: the result does not depend on the order
    in which Spark works. Where `whole` is 0, so is `part`."""
    product = amount * part.cast("decimal(20, 0)")
    whole = f.greatest(whole, f.lit(1)).cast("decimal(20, 0)")
    return ((product - product % whole) / whole).cast("decimal(38, 0)")


def merged(segments: DataFrame) -> DataFrame:
    """Segments that follow each other in a coin as one, so that they do not get ever more where coins are put together."""
    in_order = Window.partitionBy("source", *COIN).orderBy("start")
    is_next = f.coalesce(f.col("start") == f.lag("end").over(in_order), f.lit(False))
    runs = segments.withColumn("is_next", is_next).withColumn("run", f.count_if(~f.col("is_next")).over(in_order))
    return runs.groupBy("source", *COIN, "run").agg(f.min("start").alias("start"), f.max("end").alias("end")).drop("run")


class Search:
    """Follows the money hop by hop."""

    def __init__(self, spark, export, sources, hops, services, most_transactions):
        self.inputs = read(spark, export, "inputs")
        self.outputs = read(spark, export, "outputs")
        self.transactions = read(spark, export, "transactions")
        self.coins = read(spark, export, "coins")
        self.sources, self.hops = small(sources), hops
        self.services = small(services.select("script_id").distinct().localCheckpoint()) if services is not None else None
        self.busy = None
        if most_transactions:
            busy = read(spark, export, "scripts").where(f.col("transactions") > most_transactions).select("script_id")
            self.busy = small(busy.localCheckpoint())

    def starts(self) -> tuple[DataFrame, DataFrame]:
        """Every output that a script of a source received, and its segment: all of it. What a source itself gets is followed
        even if it is a service, or busy."""
        coins = self.outputs.join(self.sources, "script_id").select(
            "source", *COIN, "script_id", "value_sats",
            (f.col("value_sats").cast("decimal(38, 0)") * MILLIONTHS).cast("decimal(38, 0)").alias("haircut"),
            f.col("value_sats").alias("fifo_sats"), f.lit(None).cast("string").alias("part"),
        ).localCheckpoint()  # fmt: skip
        segments = coins.where("value_sats > 0")
        return coins, segments.select("source", *COIN, f.lit(0).cast("long").alias("start"), f.col("value_sats").alias("end"))

    def spent(self, coins: DataFrame, hop: int) -> DataFrame:
        """The coins, each with the transaction that spends it, and where money ends that goes no further than the coin."""
        is_open, hint = coins.where("part IS NULL").select(*COIN).distinct(), hint_by(coins)
        # Nothing is spent before it is made. Files are sorted by tx_num, so this leaves out parts of them.
        self.least = is_open.agg(f.min("tx_num")).first()[0] or 0
        inputs = self.inputs.where(f.col("tx_num") > self.least).withColumnRenamed("tx_num", "spender")
        inputs = inputs.withColumnsRenamed({"prev_tx_num": "tx_num", "prev_vout": "vout"})
        spends = inputs.join(hint(is_open), COIN).select(*COIN, "spender")
        transactions = self.transactions.where(f.col("tx_num") > self.least).withColumnRenamed("tx_num", "spender")
        spends = transactions.join(hint(spends), "spender").localCheckpoint()
        ended = (
            f.when(f.col("part").isNotNull(), f.col("part"))
            .when(f.col("spender").isNull(), "unspent")
            .when(f.col("is_coinjoin"), "coinjoin")
            .when(f.lit(hop >= self.hops), "hop_limit")
        )
        return coins.join(hint(spends), COIN, "left").withColumn("part", ended).localCheckpoint()

    def flow(self, going: DataFrame) -> tuple[DataFrame, DataFrame]:
        """Of the transactions that spend what goes on: the coins that go on, each with the place of its first satoshi among the
        inputs; and the outputs, each with the places of its satoshis."""
        passed = small(going.select(f.col("spender").alias("tx_num")).distinct().localCheckpoint())
        in_order = Window.partitionBy("tx_num").orderBy("vin")
        inputs = self.inputs.where(f.col("tx_num") > self.least).join(passed, "tx_num")
        inputs = inputs.withColumn("at", f.sum("value_sats").over(in_order) - f.col("value_sats"))
        inputs = inputs.select(f.col("prev_tx_num").alias("tx_num"), f.col("prev_vout").alias("vout"), "at")
        in_order = Window.partitionBy("tx_num").orderBy("vout")
        outputs = self.outputs.where(f.col("tx_num") > self.least).join(passed, "tx_num")
        outputs = outputs.withColumn("until", f.sum("value_sats").over(in_order))
        outputs = outputs.withColumn("since", f.col("until") - f.col("value_sats"))
        return going.join(inputs, COIN).localCheckpoint(), outputs.withColumnRenamed("tx_num", "spender").localCheckpoint()

    def haircut(self, going: DataFrame, outputs: DataFrame) -> tuple[DataFrame, DataFrame]:
        """The outputs with their shares, by source, and what is lost to fees."""
        taint = going.groupBy("source", "spender", "input_sats", "output_sats").agg(f.sum("haircut").alias("taint"))
        to_output = share(f.col("taint"), f.col("value_sats"), f.col("input_sats"))
        arrived = taint.join(outputs, "spender").withColumn("haircut", to_output)
        fee = share(f.col("taint"), f.col("input_sats") - f.col("output_sats"), f.col("input_sats"))
        lost = taint.groupBy("source").agg(f.sum(fee).alias("haircut"))
        arrived = arrived.select("source", f.col("spender").alias("tx_num"), "vout", "script_id", "value_sats", "haircut")
        return arrived, lost.withColumn("fifo_sats", f.lit(0).cast("long"))

    def fifo(self, going: DataFrame, outputs: DataFrame, segments: DataFrame) -> tuple[DataFrame, DataFrame]:
        """The segments of outputs that segments of coins become, and what is lost to fees."""
        there = segments.join(going.select("source", *COIN, "spender", "at", "output_sats"), ["source", *COIN])
        there = there.select("source", "spender", "output_sats", (f.col("at") + f.col("start")).alias("from"),
            (f.col("at") + f.col("end")).alias("to"))  # fmt: skip
        first, last = f.greatest("from", "since"), f.least("to", "until")
        arrived = there.join(outputs, "spender").where(first < last).select(
            "source", f.col("spender").alias("tx_num"), "vout",
            (first - f.col("since")).alias("start"), (last - f.col("since")).alias("end"),
        )  # fmt: skip
        fee = there.where(f.col("to") > f.col("output_sats"))
        fee = fee.groupBy("source").agg(f.sum(f.col("to") - f.greatest("from", "output_sats")).alias("fifo_sats"))
        no_haircut = f.lit(0).cast("decimal(38, 0)").alias("haircut")
        return merged(arrived).localCheckpoint(), fee.select("source", no_haircut, "fifo_sats")

    def arrived(self, coins: DataFrame, segments: DataFrame) -> DataFrame:
        """What a hop reached, with the FIFO amounts, and where money ends since the coin has the script that it has."""
        fifo = segments.groupBy("source", *COIN).agg(f.sum(f.col("end") - f.col("start")).alias("fifo_sats"))
        coins = coins.join(fifo, ["source", *COIN], "left").fillna(0, ["fifo_sats"])
        coins = marked(coins, self.sources, ["source", "script_id"], "is_own")
        coins = marked(coins, self.services, ["script_id"], "is_service")
        coins = marked(coins, self.busy, ["script_id"], "is_busy")
        ended = (
            f.when(f.col("script_id").isNull(), "unspendable")
            .when(f.col("is_own"), "returned")
            .when(f.col("is_service"), "service")
            .when(f.col("is_busy"), "busy")
        )
        columns = ["source", *COIN, "script_id", "value_sats", "haircut", "fifo_sats"]
        return coins.select(*columns, ended.alias("part")).localCheckpoint()

    def run(self) -> tuple[DataFrame, DataFrame | None]:
        """All that is reached, by source, coin and hop, and what is lost to fees. `part` is where money ends; it is null where
        a transaction takes it on."""
        coins, segments = self.starts()
        if coins.isEmpty():
            raise WrongInput("no block pays a script of the sources")
        reached, fees = None, None
        for hop in range(self.hops + 1):
            there = self.spent(coins, hop)
            rows = there.select("source", *COIN, "script_id", "value_sats", "haircut", "fifo_sats", "part", f.lit(hop).alias("hop"))
            reached = rows if reached is None else reached.unionByName(rows)
            going = there.where("part IS NULL").drop("part", "is_coinjoin")
            if going.isEmpty():
                break
            going, outputs = self.flow(going)
            coins, lost = self.haircut(going, outputs)
            segments, lost_too = self.fifo(going, outputs, segments)
            lost = lost.unionByName(lost_too).localCheckpoint()
            fees = lost if fees is None else fees.unionByName(lost)
            coins = self.arrived(coins, segments)
        return reached, fees


def by_coin(reached: DataFrame, coins: DataFrame) -> DataFrame:
    """One row for each source, coin and end: its least hop, its amounts, and its value as poison where that counts."""
    rows = reached.groupBy("source", *COIN, "script_id", "value_sats", "part").agg(
        f.min("hop").alias("hops"), f.sum("haircut").alias("haircut"), f.sum("fifo_sats").alias("fifo_sats")
    )
    rows = rows.localCheckpoint()
    # An output that no input spends is held, unless it vanished: its coinbase was overwritten (BIP 30).
    hint = hint_by(rows)
    unspent = rows.where("part = 'unspent'").select(*COIN).distinct()
    rows = marked(rows, hint(coins.join(hint(unspent), COIN)), COIN, "is_held")
    held = f.when(f.col("is_held"), "held").otherwise("unspendable")
    rows = rows.withColumn("part", f.when(f.col("part") == "unspent", held).otherwise(f.col("part"))).drop("is_held")
    least = f.min("hops").over(Window.partitionBy("source", *COIN))
    # Several ends of a coin have different hops, so this is one row of the coin.
    rows = rows.withColumn("is_first", f.col("hops") == least)
    return rows.withColumn("poison_sats", f.when(f.col("is_first"), f.col("value_sats")).otherwise(0)).localCheckpoint()


def sats(millionths):
    return (millionths / f.lit(MILLIONTHS).cast("decimal(7, 0)")).cast("decimal(38, 6)")


def sums(prefix="", where=None) -> list:
    def one(column):
        return f.sum(column) if where is None else f.sum(f.when(where, column).otherwise(0))

    return [
        sats(one(f.col("haircut"))).alias(f"{prefix}haircut_sats"),
        one(f.col("fifo_sats")).alias(f"{prefix}fifo_sats"),
        one(f.col("poison_sats")).alias(f"{prefix}poison_sats"),
    ]


def follow(spark, export, sources, hops=4, services=None, most_transactions=1000) -> Exposure:
    """Exposure to `sources` (columns `source` and `script_id`, each row once), with `script_id` in the form of the export, as
    `read_scripts` makes it. Paths end at the `script_id` of `services`, and at scripts with more than `most_transactions`; with 0
    none is too busy."""
    search = Search(spark, export, sources, hops, services, most_transactions)
    reached, fees = search.run()
    rows = by_coin(reached, search.coins)
    # What came back is a start of its own, and counted there.
    received = rows.where("script_id IS NOT NULL AND NOT part <=> 'returned'")
    scripts = received.groupBy("source", "script_id").agg(
        f.min("hops").alias("hops"), f.count_if("is_first").alias("coins"), *sums("received_"), *sums("", f.col("part") == "held")
    )
    ended = rows.where("part IS NOT NULL")
    ends = ended.groupBy("source", "part", "script_id").agg(f.min("hops").alias("hops"), f.count("*").alias("coins"), *sums())
    start = rows.where("hops = 0").select("source", f.lit("start").alias("part"), "haircut", "fifo_sats", "poison_sats")
    parts = start.unionByName(ended.select(*start.columns)).groupBy("source", "part").agg(f.count("*").alias("coins"), *sums())
    if fees is not None:
        none = f.lit(None).cast("long")
        lost = fees.groupBy("source", f.lit("fees").alias("part"), none.alias("coins"))
        lost = lost.agg(f.sum("haircut").alias("haircut"), f.sum("fifo_sats").alias("fifo_sats"), none.alias("poison_sats"))
        parts = parts.unionByName(lost.withColumn("haircut_sats", sats(f.col("haircut"))).drop("haircut"))
    return Exposure(scripts, ends, parts.unionByName(rounded(parts)))


def rounded(parts: DataFrame) -> DataFrame:
    """What rounding down left of the haircut: of what a source started with, what no part has."""
    signed = f.when(f.col("part") == "start", f.col("haircut_sats")).otherwise(-f.col("haircut_sats"))
    rest = parts.groupBy("source", f.lit("rounding").alias("part")).agg(f.sum(signed).cast("decimal(38, 6)").alias("haircut_sats"))
    none = f.lit(None).cast("long")
    return rest.withColumns({"coins": none, "fifo_sats": f.lit(0).cast("long"), "poison_sats": none})


def show(frame: DataFrame, what: str, order: list):
    """The first rows, and how many there are."""
    print(f"{what}, {min(ROWS_SHOWN, count := frame.count())} of {count} rows:")
    if "script_id" in frame.columns:
        is_binary = dict(frame.dtypes)["script_id"] == "binary"
        frame = frame.withColumn("script_id", f.lower(f.hex("script_id")) if is_binary else f.col("script_id"))
    frame.orderBy(*order).show(ROWS_SHOWN, truncate=False)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("export", help="folder of the export")
    arguments.add_argument("sources", help="CSV or Parquet file: source, and script_id or address")
    arguments.add_argument("--hops", type=int, default=4, help="transactions that money is followed through (default: 4)")
    arguments.add_argument("--services", help="CSV or Parquet file of scripts where paths end: script_id or address")
    arguments.add_argument("--most-transactions", type=int, default=1000, metavar="N",
        help="paths end at scripts with more transactions (default: 1000); 0 for no bound")  # fmt: skip
    arguments.add_argument("--out", help="folder for the results as Parquet: scripts, ends and summary")
    given = arguments.parse_args()
    if given.hops < 1 or given.most_transactions < 0:
        sys.exit("exposure: --hops has to be 1 or more, and --most-transactions 0 or more")
    if given.out and os.path.exists(given.out):
        sys.exit(f"exposure: {given.out} is there already")
    spark = SparkSession.builder.appName("cairn-exposure").getOrCreate()
    try:
        sources = read_scripts(spark, given.sources, given.export, ["source"])
        services = read_scripts(spark, given.services, given.export, []) if given.services else None
        found = follow(spark, given.export, sources, given.hops, services, given.most_transactions)
        found = Exposure(*(frame.localCheckpoint() for frame in found))
    except WrongInput as wrong:
        sys.exit(f"exposure: {wrong}")
    except SPARK_ERRORS as error:
        sys.exit(f"exposure: Spark failed: {reason(error)}; `cairn snapshot verify` tells if a file of the export is damaged")
    if never := sources.count() - found.scripts.where("hops = 0").count():
        print(f"Rows of {given.sources} with a script that no block pays: {never}")
    show(found.summary, "Where the money of each source is", ["source", f.desc("haircut_sats"), "part"])
    show(found.scripts, "Scripts that hold most", [f.desc("haircut_sats"), f.desc("poison_sats"), "source", "script_id"])
    show(found.ends, "Where most ended", [f.desc("haircut_sats"), f.desc("poison_sats"), "source", "part", "script_id"])
    if given.out:
        for name, frame in found._asdict().items():
            frame.write.parquet(f"{given.out}/{name}")


if __name__ == "__main__":
    main()
