"""Clusters from scratch, with Spark: scripts that transactions spend from together, over the datasets of an export.

Usage: clusters.py EXPORT [--out FOLDER] [--compare]

The rule is that of docs/clusters.md, version 1. A transaction ties its scripts together if it is no CoinJoin and spends from
two different scripts or more that count. Inputs that anyone can have added do not count, nor do scripts that may need no key.
Scripts that such transactions tie together, directly or by way of others, are a cluster.

Connected components are found by large stars and small stars (Kiveris, Lattanzi, Mirrokni, Rastogi, Vassilvitskii: "Connected
Components in MapReduce and Beyond", 2014): few rounds, also for long chains of ties, and no table has more rows than there are
ties.
"""

import argparse
import sys

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

# Anyone can spend them, or may be able to.
NEED_NO_KEY = ["anchor", "nonstandard", "witness_unknown"]


def ties(spark: SparkSession, export: str) -> DataFrame:
    """Pairs of scripts that a transaction spends from together: its least script with each other."""
    inputs = spark.read.parquet(f"{export}/inputs")
    transactions = spark.read.parquet(f"{export}/transactions")
    several = transactions.where("inputs >= 2 AND NOT is_coinjoin").select("tx_num")
    counted = inputs.where(~f.col("is_anyone_can_pay") & ~f.col("script_type").isin(NEED_NO_KEY))
    spent = counted.join(several, "tx_num").select("tx_num", "script_id").distinct()
    least = spent.groupBy("tx_num").agg(f.min("script_id").alias("least"))
    pairs = spent.join(least, "tx_num").where("script_id <> least")
    return pairs.select(f.col("script_id").alias("a"), f.col("least").alias("b")).distinct()


def large_star(pairs: DataFrame) -> DataFrame:
    """Ties the larger neighbours of each script to its least one, or to itself if none is less."""
    both = pairs.unionByName(pairs.select(f.col("b").alias("a"), f.col("a").alias("b")))
    least = both.groupBy("a").agg(f.least(f.col("a"), f.min("b")).alias("least"))
    return both.join(least, "a").where("b > a").select(f.col("b").alias("a"), f.col("least").alias("b")).distinct()


def small_star(pairs: DataFrame) -> DataFrame:
    """Ties each script and its smaller neighbours to the least of them."""
    down = pairs.select(f.greatest("a", "b").alias("a"), f.least("a", "b").alias("b"))
    least = down.groupBy("a").agg(f.min("b").alias("least"))
    others = down.join(least, "a").where("b <> least").select(f.col("b").alias("a"), f.col("least").alias("b"))
    return others.unionByName(least.select("a", f.col("least").alias("b"))).distinct()


def components(pairs: DataFrame, most_rounds: int = 100) -> DataFrame:
    """The least script of the component of each script that is in a pair: columns `script_id`, `component`."""

    def fingerprint(frame):
        return frame.agg(f.count("*"), f.sum(f.xxhash64("a", "b").cast("decimal(38, 0)"))).first()

    pairs = pairs.localCheckpoint()
    before = fingerprint(pairs)
    for _ in range(most_rounds):
        # The checkpoint ends the plan, which would grow with every round.
        pairs = small_star(large_star(pairs)).localCheckpoint()
        now = fingerprint(pairs)
        if now == before:
            # Stars: every script is tied to the least of its component, and to nothing else.
            least = pairs.select(f.col("b").alias("script_id"), f.col("b").alias("component")).distinct()
            return pairs.select(f.col("a").alias("script_id"), f.col("b").alias("component")).unionByName(least)
        before = now
    raise RuntimeError(f"no end after {most_rounds} rounds")


def differences(found: DataFrame, exported: DataFrame) -> dict[str, int]:
    """How `found` differs from the dataset `cluster_scripts`. The names of clusters differ; what counts is which scripts are
    together."""
    both = found.join(exported, "script_id", "full_outer").cache()

    def split(one, other):
        return both.groupBy(one).agg(f.count_distinct(other).alias("n")).where("n > 1").count()

    return {
        "scripts that only the export has in clusters": both.where("component IS NULL").count(),
        "scripts that only this program has in clusters": both.where("cluster IS NULL").count(),
        "clusters here that are several in the export": split("component", "cluster"),
        "clusters of the export that are several here": split("cluster", "component"),
    }


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("export", help="folder of the export")
    arguments.add_argument("--out", help="folder for the result as Parquet: script_id, component")
    arguments.add_argument("--compare", action="store_true", help="compare with cluster_scripts of the export")
    given = arguments.parse_args()
    spark = SparkSession.builder.appName("cairn-clusters").getOrCreate()
    found = components(ties(spark, given.export)).cache()
    sizes = found.groupBy("component").count()
    clusters, scripts, largest = sizes.agg(f.count("*"), f.sum("count"), f.max("count")).first()
    print(f"{clusters} clusters of {scripts or 0} scripts; the largest has {largest or 0}")
    if given.out:
        found.write.parquet(given.out)
    if given.compare:
        differ = differences(found, spark.read.parquet(f"{given.export}/cluster_scripts"))
        for what, count in differ.items():
            print(f"{count} {what}")
        sys.exit(1 if any(differ.values()) else 0)


if __name__ == "__main__":
    main()
