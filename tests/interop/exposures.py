"""What snapshots/spark/exposure.py finds, compared row by row with a second program that shares nothing with it.

This one follows each coin in the order of the chain, in one pass, with fractions for the haircut and a queue of satoshis for FIFO.
Spark goes hop by hop, with joins, whole millionths and segments.
"""

import collections
import contextlib
import csv
import dataclasses
import io
import pathlib
import random
import sys
import tempfile
from fractions import Fraction

import exposure
import polars

# Sums of fractions get slow, so sums are whole numbers of this many to a satoshi.
UNIT = 10**18
# Spark rounds each amount down to millionths.
MILLIONTH = UNIT // 10**6
# Sources that reach enough to show a mistake, and little enough to be followed once for each.
FOR_MISTAKES = ["any", "in CoinJoins", "before CoinJoins", "downstream"]


@dataclasses.dataclass
class Chain:
    """What is read of an export. Lists by `tx_num`, in the order of the chain."""

    inputs: dict  # (outpoint, satoshis) by vin
    outputs: dict  # (script_id, satoshis) by vout
    coinjoins: set
    unspent: set
    transactions_of: dict  # by script_id
    address_of: dict
    coinbases: list


def read_chain(export):
    def rows(name, *columns):
        return polars.scan_parquet(f"{export}/{name}/**/*.parquet").select(columns)

    inputs, outputs = collections.defaultdict(list), collections.defaultdict(list)
    spends = rows("inputs", "tx_num", "vin", "prev_tx_num", "prev_vout", "value_sats").sort("tx_num", "vin").collect().rows()
    for tx_num, _, made, vout, sats in spends:
        inputs[tx_num].append(((made, vout), sats))
    paid = rows("outputs", "tx_num", "vout", "script_id", "value_sats").sort("tx_num", "vout").collect().rows()
    for tx_num, _, script, sats in paid:
        outputs[tx_num].append((script, sats))
    scripts = rows("scripts", "script_id", "transactions", "address").collect().rows()
    transactions = rows("transactions", "tx_num", "position", "is_coinjoin").sort("tx_num").collect().rows()
    return Chain(
        inputs,
        outputs,
        {tx_num for tx_num, _, is_coinjoin in transactions if is_coinjoin},
        set(rows("coins", "tx_num", "vout").collect().rows()),
        {script: count for script, count, _ in scripts},
        {script: address for script, _, address in scripts if address},
        [tx_num for tx_num, position, _ in transactions if position == 0],
    )


@dataclasses.dataclass
class Coin:
    script: bytes
    sats: int
    # By hop: the haircut, and how far Spark may be below it.
    amounts: dict
    # Satoshis in their order: how many, and the hop of those that are of the source, else None.
    pieces: list
    least: int


@dataclasses.dataclass
class Row:
    """Money of the source at a coin. `part` is where it ends; None if a transaction takes it on."""

    outpoint: tuple
    coin: Coin
    part: str | None
    hops: set


def pieces_of(queue, sats):
    """Takes the next satoshis off the queue."""
    taken = []
    while sats:
        count, hop = queue.popleft()
        if count > sats:
            queue.appendleft((count - sats, hop))
            count = sats
        taken.append((count, hop))
        sats -= count
    return taken


def trace(chain, own, hops, services, most_transactions):
    """All money of the scripts `own`: rows, and what is lost to fees as (haircut, slack, FIFO)."""
    live, rows, fees, rounded = {}, [], [0, 0, 0], 0
    for tx_num in sorted(chain.outputs):
        taint, queue, least = collections.defaultdict(lambda: [Fraction(0), 0]), collections.deque(), None
        is_coinjoin = tx_num in chain.coinjoins
        for outpoint, sats in chain.inputs.get(tx_num, []):
            coin = live.pop(outpoint, None)
            if coin is None:
                queue.append((sats, None))
                continue
            ended = {hop for hop in coin.amounts if is_coinjoin or hop == hops}
            if ended:
                rows.append(Row(outpoint, coin, "coinjoin" if is_coinjoin else "hop_limit", ended))
            going = coin.amounts.keys() - ended
            if going:
                rows.append(Row(outpoint, coin, None, going))
                least = coin.least if least is None else min(least, coin.least)
            for hop in going:
                taint[hop][0] += coin.amounts[hop][0]
                taint[hop][1] += coin.amounts[hop][1]
            queue.extend((count, hop if hop in going else None) for count, hop in coin.pieces)
        brought = max(1, sum(count for count, _ in queue))

        def share(hop, sats):
            amount, slack = taint[hop]
            return amount * sats / brought, MILLIONTH - (-slack * sats // brought)

        for vout, (script, sats) in enumerate(chain.outputs[tx_num]):
            outpoint = (tx_num, vout)
            if taint:
                arrived = [(count, hop if hop is None else hop + 1) for count, hop in pieces_of(queue, sats)]
                coin = Coin(script, sats, {hop + 1: share(hop, sats) for hop in taint}, arrived, least + 1)
                rounded += len(taint)
                if script is None:
                    part = "unspendable"
                elif script in own:
                    part = "returned"
                elif script in services:
                    part = "service"
                elif most_transactions and chain.transactions_of[script] > most_transactions:
                    part = "busy"
                else:
                    part = None
                    live[outpoint] = coin
                if part:
                    rows.append(Row(outpoint, coin, part, set(coin.amounts)))
            if script in own:
                live[outpoint] = Coin(script, sats, {0: (Fraction(sats), 0)}, [(sats, 0)], 0)
        if taint:
            fee = brought - sum(sats for _, sats in chain.outputs[tx_num])
            for hop in taint:
                amount, slack = share(hop, fee)
                fees[0] += int(amount * UNIT)
                fees[1] += slack
            fees[2] += sum(count for count, hop in queue if hop is not None)
            rounded += len(taint)
    for outpoint, coin in live.items():
        rows.append(Row(outpoint, coin, "held" if outpoint in chain.unspent else "unspendable", set(coin.amounts)))
    return rows, fees, rounded


class Sum:
    """Amounts of several rows together."""

    def __init__(self):
        self.hops, self.coins, self.haircut, self.slack, self.fifo, self.poison = 99, set(), 0, 0, 0, 0

    def add(self, row):
        self.hops = min(self.hops, *row.hops)
        self.coins.add(row.outpoint)
        for hop in row.hops:
            amount, slack = row.coin.amounts[hop]
            self.haircut += int(amount * UNIT)
            self.slack += slack
        self.fifo += sum(count for count, hop in row.coin.pieces if hop in row.hops)
        # What came back to the source is counted as a start.
        if row.coin.least in row.hops and row.part != "returned":
            self.poison += row.coin.sats


def expected(chain, sources, hops, services, most_transactions):
    """The three results: sums by key."""
    scripts, ends, summary, rest = {}, {}, {}, {}
    for source, own in sources.items():
        rows, fees, rounded = trace(chain, own, hops, services, most_transactions)
        for row in rows:
            if row.part != "returned" and row.coin.script is not None:
                received, held = scripts.setdefault((source, row.coin.script), (Sum(), Sum()))
                received.add(row)
                if row.part == "held":
                    held.add(row)
            if row.part:
                ends.setdefault((source, row.part, row.coin.script), Sum()).add(row)
                summary.setdefault((source, row.part), Sum()).add(row)
            if 0 in row.hops:
                start = summary.setdefault((source, "start"), Sum())
                start.add(dataclasses.replace(row, hops={0}))
        if rounded:
            lost = summary[source, "fees"] = Sum()
            lost.haircut, lost.slack, lost.fifo = fees
        if rows:
            rest[source] = rounded
    return scripts, ends, summary, rest


def differences(found, wanted):
    """How the results of Spark (lists of dictionaries) differ from what is expected; and how many rows were compared."""
    wrong = []

    def compare(what, row, prefix, total, *counts):
        haircut = int(row[f"{prefix}haircut_sats"] * UNIT)
        # The sums here are rounded down too, by far less.
        if not total.haircut - total.slack <= haircut <= total.haircut + 10**6:
            wrong.append(f"{what}: {prefix}haircut {row[f'{prefix}haircut_sats']} is not {total.haircut / UNIT}")
        names = [f"{prefix}fifo_sats", f"{prefix}poison_sats", *counts]
        values = {"hops": total.hops, "coins": len(total.coins), names[0]: total.fifo, names[1]: total.poison}
        for name in names:
            if row[name] != values[name]:
                wrong.append(f"{what}: {name} {row[name]} is not {values[name]}")

    def keyed(rows, *names):
        by_key = {tuple(row[name] for name in names): row for row in rows}
        if len(by_key) != len(rows):
            wrong.append(f"{len(rows) - len(by_key)} rows have the key of another: {names}")
        return by_key

    scripts, ends, summary, rest = wanted
    rows = keyed(found["scripts"], "source", "script_id")
    wrong += [f"script {key} is in one only" for key in rows.keys() ^ scripts.keys()]
    for key in rows.keys() & scripts.keys():
        received, held = scripts[key]
        compare(f"script {key}", rows[key], "received_", received, "hops", "coins")
        compare(f"script {key}", rows[key], "", held)
    rows = keyed(found["ends"], "source", "part", "script_id")
    wrong += [f"end {key} is in one only" for key in rows.keys() ^ ends.keys()]
    for key in rows.keys() & ends.keys():
        compare(f"end {key}", rows[key], "", ends[key], "hops", "coins")
    rows = keyed(found["summary"], "source", "part")
    keys = summary.keys() | {(source, "rounding") for source in rest}
    wrong += [f"part {key} is in one only" for key in rows.keys() ^ keys]
    for key in rows.keys() & summary.keys():
        if key[1] == "fees":
            compare(f"part {key}", rows[key] | {"poison_sats": 0}, "", summary[key])
        else:
            compare(f"part {key}", rows[key], "", summary[key], "coins")
    # Nothing vanishes: FIFO to the satoshi; haircut to the digit, with a rest that rounding down explains.
    for source, rounded in rest.items():
        parts = {part: row for (one, part), row in rows.items() if one == source}
        for name in ["haircut_sats", "fifo_sats"]:
            others = sum(row[name] for part, row in parts.items() if part != "start")
            if parts["start"][name] != others:
                wrong.append(f"{source}: {name} starts with {parts['start'][name]} and ends with {others}")
        left = int(parts["rounding"]["haircut_sats"] * 10**6)
        if not 0 <= left <= rounded:
            wrong.append(f"{source}: rounding left {left} millionths, of {rounded} amounts")
    return wrong, sum(map(len, found.values()))


def some(random, scripts, count):
    """A few scripts, the same for the same seed."""
    scripts = sorted(scripts)
    return set(random.sample(scripts, min(count, len(scripts))))


def choose_sources(chain, random):
    """Sources that cover what can happen, and services and a bound that end paths of them."""

    def scripts_of(outpoints):
        return {chain.outputs[tx_num][vout][0] for tx_num, vout in outpoints}

    def spent_by(tx_num):
        return scripts_of(outpoint for outpoint, _ in chain.inputs.get(tx_num, []))

    spenders = [tx_num for tx_num in chain.inputs if tx_num not in chain.coinjoins]
    selfish = {script for tx_num in spenders for script in spent_by(tx_num) & {script for script, _ in chain.outputs[tx_num]}}
    mixed = {outpoint for tx_num in chain.coinjoins for outpoint, _ in chain.inputs.get(tx_num, [])}
    before_mix = {script for tx_num, _ in mixed for script in spent_by(tx_num)}
    burns = [tx_num for tx_num in spenders if any(script is None and sats for script, sats in chain.outputs[tx_num])]
    made, spent = set(), {outpoint for spends in chain.inputs.values() for outpoint, _ in spends}
    for tx_num, outputs in chain.outputs.items():
        made |= {(tx_num, vout) for vout, (script, _) in enumerate(outputs) if script is not None}
    overwritten = scripts_of(made - spent - chain.unspent)
    sources = {
        "any": some(random, chain.transactions_of, 12),
        "pays itself": some(random, selfish, 4),
        "coinbases": some(random, {chain.outputs[tx_num][0][0] for tx_num in chain.coinbases} - {None}, 3),
        "in CoinJoins": some(random, scripts_of(mixed), 3),
        "before CoinJoins": some(random, before_mix, 4),
        "burns": some(random, {script for tx_num in burns for script in spent_by(tx_num)}, 2),
        "overwritten": some(random, overwritten, 2),
    }
    rows, _, _ = trace(chain, sources["any"], 2, set(), 0)
    downstream = {row.coin.script for row in rows if row.coin.least == 1} - {None}
    # The same money from two sources, and a script that is of both.
    sources["downstream"] = some(random, downstream, 3) | some(random, sources["any"], 1)
    sources = {source: scripts for source, scripts in sources.items() if scripts}
    # A source that is a service to others, too.
    services, counts = some(random, sources["downstream"], 1), set()
    for own in sources.values():
        reached = {row.coin.script for row in trace(chain, own, 1, set(), 0)[0]} - {None} - own
        services |= some(random, reached, 2)
        counts |= {chain.transactions_of[script] for script in reached}
    # The busiest scripts end paths, a few at least.
    return sources, services, sorted(counts)[-4:][0]


def rows_of(found):
    """Results of Spark as lists of dictionaries."""

    def plain(row):
        return {name: bytes(value) if isinstance(value, bytearray) else value for name, value in row.asDict().items()}

    return {name: [plain(row) for row in frame.collect()] for name, frame in found._asdict().items()}


def check_program(export_hex, folder, chain, sources, services, same):
    """The program itself: addresses in a CSV file, results as Parquet, and bounded lists on the terminal; over an export that has
    script_ids as hexadecimal digits."""
    sources = {source: {script for script in own if script in chain.address_of} for source, own in sources.items()}
    sources = {source: own for source, own in sources.items() if own}
    with open(folder / "sources.csv", "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["source", "address"])
        out.writerows((source, chain.address_of[script]) for source, own in sources.items() for script in own)
        out.writerow(["nobody", "1111111111111111111114oLvT2x"])
    polars.DataFrame({"script_id": list(services)}).write_parquet(folder / "services.parquet")
    printed, before = io.StringIO(), sys.argv
    sys.argv = ["exposure.py", str(export_hex), str(folder / "sources.csv"), "--services", str(folder / "services.parquet")]
    sys.argv += ["--hops", "2", "--out", str(folder / "out")]
    try:
        with contextlib.redirect_stdout(printed):
            exposure.main()
    finally:
        sys.argv = before
    told = f"Rows of {folder}/sources.csv with an address that no block pays: 1"
    same(printed.getvalue().splitlines()[0], told, "an unknown address")
    found = {}
    for name in ["scripts", "ends", "summary"]:
        rows = polars.read_parquet(f"{folder}/out/{name}/*.parquet").to_dicts()
        found[name] = [row | {"script_id": bytes.fromhex(row["script_id"]) if row.get("script_id") else None} for row in rows]
    wrong, compared = differences(found, expected(chain, sources, 2, services, 1000))
    same(wrong[:3], [], "exposure by the program")
    # Three tables of 20 rows at most, each with four lines around it, a line above it and an empty one behind it.
    same(printed.getvalue().count("\n") <= 1 + 3 * 26, True, "lines on the terminal")
    return compared


def check_errors(spark, export, folder, same):
    """What is wrong with the input is told in plain words."""

    def told(work):
        try:
            work()
        except exposure.WrongInput as error:
            return str(error)
        return "no error"

    for name, text, words in [
        ("columns", "entity,script\nx,00", "it needs source, and script_id or address"),
        ("rows", "source,script_id\n", "has no rows"),
        ("blank", "source,script_id\n,001122334455667788", "rows without source"),
        ("digits", "source,script_id\nx,0011", "is no script_id"),
        ("unknown", "source,address\nx,nothing", "no block pays an address"),
    ]:
        path = folder / f"{name}.csv"
        path.write_text(text)
        with contextlib.redirect_stdout(io.StringIO()):
            error = told(lambda: exposure.read_scripts(spark, str(path), str(export), ["source"]))
        same(words in error, True, f"a file with wrong {name}: {error!r}")
    (folder / "damaged.parquet").write_bytes(bytes(3000))
    # Spark would print where in its code it failed.
    spark.sparkContext.setLogLevel("OFF")
    error = told(lambda: exposure.read_scripts(spark, str(folder / "damaged.parquet"), str(export), ["source"]))
    spark.sparkContext.setLogLevel("ERROR")
    same("cannot be read as a CSV or Parquet file" in error and "\n" not in error, True, f"a damaged file: {error!r}")
    error = told(lambda: exposure.read(spark, str(folder), "inputs"))
    same("has no dataset inputs" in error, True, f"an export without a dataset: {error!r}")
    (folder / "unpaid.csv").write_text("source,script_id\nx,001122334455667788")
    unpaid = exposure.read_scripts(spark, str(folder / "unpaid.csv"), str(export), ["source"])
    error = told(lambda: exposure.follow(spark, str(export), unpaid, 1))
    same("no block pays a script" in error, True, f"sources that nobody paid: {error!r}")


def check(spark, export, export_hex, seed, same):
    """Compares all rows for several sources, and tells how many there were. Both exports are of the same block; `export_hex` has
    hexadecimal digits. `same` takes what is found, what is wanted and words."""
    chain = read_chain(export)
    sources, services, bound = choose_sources(chain, random.Random(seed))
    given = spark.createDataFrame(
        [(source, bytearray(script)) for source, own in sources.items() for script in own], "source string, script_id binary"
    ).localCheckpoint()
    stops = spark.createDataFrame([(bytearray(script),) for script in services], "script_id binary")
    compared = 0
    # Two hops are the program's.
    for hops, some_services, most_transactions in [(4, services, bound), (1, set(), 0)]:
        what = f"exposure of seed {seed}, {hops} hops"
        found = exposure.follow(spark, str(export), given, hops, stops if some_services else None, most_transactions)
        found = rows_of(found)
        wrong, rows = differences(found, expected(chain, sources, hops, some_services, most_transactions))
        same(wrong[:3], [], what)
        compared += rows
        if hops != 4:
            continue
        parts = {row["part"] for row in found["summary"]}
        wanted = {"start", "held", "fees", "returned", "service", "busy", "coinjoin", "hop_limit", "rounding"}
        same(wanted - parts, set(), f"{what}: parts that no source has")
        # The comparison sees mistakes: a second program that makes one does not agree.
        few = {source: own for source, own in sources.items() if source in FOR_MISTAKES}
        found = {name: [row for row in rows if row["source"] in few] for name, rows in found.items()}
        backwards = {tx_num: spends[::-1] for tx_num, spends in chain.inputs.items()}
        for mistake, arguments in {
            "CoinJoins end nothing": (dataclasses.replace(chain, coinjoins=set()), few, hops, services, bound),
            "inputs in another order": (dataclasses.replace(chain, inputs=backwards), few, hops, services, bound),
            "a hop less": (chain, few, hops - 1, services, bound),
            "services end nothing": (chain, few, hops, set(), bound),
            "busy scripts end nothing": (chain, few, hops, services, 0),
        }.items():
            wrong, _ = differences(found, expected(*arguments))
            same(bool(wrong), True, f"{what}: differences if {mistake}")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        compared += check_program(export_hex, folder, chain, sources, services, same)
        check_errors(spark, export, folder, same)
    return compared
