"""Compares the answers to the questions of docs/analysts with what the API tells."""

import datetime
import hashlib
import json
import re
import statistics
import subprocess

from analysts_checks import CAIRN, DATADIR, ask, check, near, pages, same


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
