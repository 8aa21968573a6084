//! Ages of coins, sums by day and scripts by balance, against the oracle.

use std::collections::{BTreeMap, BTreeSet};

use bitcoin::ScriptBuf;
use cairn_model::{ScriptTemplate, TxNum, day_of};
use cairn_reader::View;
use cairn_tables::{
    ages::{DormantSpends, SpentByAge, YEAR, dormant_class},
    clusters::ClusterDays,
    daily::{Daily, Measure},
    old_coins::{DormantDays, OldMovements},
    periods::Period,
    returns::Returns,
    script_days::{ACTIVE, BANDS, NO_ADDRESS, RECEIVERS, SENDERS, ScriptDays},
    sums::Sums,
    tx_sums::TxSums,
};
use cairn_testkit::{CoinSum, Oracle};

/// Panics at the first difference.
pub fn assert_days_equal(view: &View<'_>, oracle: &Oracle) {
    transactions(view, oracle);
    spent(view, oracle);
    let tip = view.tip().height;
    for height in BTreeSet::from([0, tip / 3, tip / 2, tip.saturating_sub(1), tip]) {
        let last = view.days().last_of_day(height).unwrap();
        let naive = (height..=tip).take_while(|later| oracle.day(*later) == oracle.day(height)).last();
        assert_eq!(Some(last), naive, "last block of the day of {height}");
        supply(view, oracle, last);
        balances(view, oracle, last);
    }
    assert_eq!(view.days().last_of_day(tip + 1), None);
    days(view, oracle);
    old_coins(view, oracle);
    returns(view, oracle);
    changes(view, oracle);
}

fn transactions(view: &View<'_>, oracle: &Oracle) {
    let mut number = 0;
    for row in view.scan::<TxSums>(None).unwrap() {
        let (first, row) = row.unwrap();
        assert_eq!(first, TxNum(number));
        for moved in row.0 {
            let expected = oracle.tx_sums(TxNum(number));
            assert_eq!((moved.fee, moved.inputs), (expected.fee_sats, expected.input_sats), "sums of {number}");
            number += 1;
        }
    }
    assert_eq!(number, view.tip().tx_end.0, "transactions with sums");
    let mut found = view.scan::<DormantSpends>(None).unwrap().map(Result::unwrap);
    for (tx_num, height, _) in oracle.transactions(view.tip().height) {
        let mut classes: BTreeMap<u8, (u64, u64, u128)> = BTreeMap::new();
        for coin in oracle.spent(tx_num) {
            let age = oracle.age_seconds(coin, height);
            let Some(class) = dormant_class(u32::try_from(age).unwrap()) else {
                assert!(age < u64::from(YEAR));
                continue;
            };
            let sum = classes.entry(class).or_default();
            (sum.0, sum.1) = (sum.0 + coin.value_sats, sum.1 + 1);
            sum.2 += u128::from(coin.value_sats) * u128::from(age);
        }
        if !classes.is_empty() {
            let (at, row) = found.next().expect("a row of dormant coins");
            assert_eq!(at, tx_num);
            let row: BTreeMap<_, _> = row.0.iter().map(|d| (d.class, (d.sats, d.coins, d.destroyed))).collect();
            assert_eq!(row, classes, "dormant coins of {tx_num:?}");
        }
    }
    assert_eq!(found.next(), None, "dormant coins beyond the oracle's");
}

fn spent(view: &View<'_>, oracle: &Oracle) {
    let mut found = view.scan::<SpentByAge>(None).unwrap().map(Result::unwrap);
    for (height, ages) in (0u32..).zip(oracle.all_block_ages()) {
        if ages.spent.is_empty() {
            continue;
        }
        let (at, row) = found.next().expect("a row of spent coins");
        let births: BTreeMap<u32, CoinSum> =
            row.births.iter().map(|b| (b.day, CoinSum { sats: b.sats, coins: b.coins })).collect();
        assert_eq!((at, row.destroyed, births), (height, ages.destroyed_sat_seconds, ages.spent));
    }
    assert_eq!(found.next(), None, "spent coins beyond the oracle's");
}

fn supply(view: &View<'_>, oracle: &Oracle, last: u32) {
    let mut expected: BTreeMap<u32, CoinSum> = BTreeMap::new();
    for coin in oracle.coins_at(last).values() {
        let born = expected.entry(oracle.day(coin.height)).or_default();
        (born.sats, born.coins) = (born.sats + coin.value_sats, born.coins + 1);
    }
    let found = view.days().supply_by_birth(oracle.day(last)).unwrap();
    let found: BTreeMap<_, _> = found.iter().map(|b| (b.day, CoinSum { sats: b.sats, coins: b.coins })).collect();
    assert_eq!(found, expected, "supply at {last}");
}

fn balances(view: &View<'_>, oracle: &Oracle, last: u32) {
    let mut held: BTreeMap<ScriptBuf, u64> = BTreeMap::new();
    for coin in oracle.coins_at(last).into_values() {
        *held.entry(coin.script).or_default() += coin.value_sats;
    }
    let mut expected = Sums::default();
    for (script, balance) in held.into_iter().filter(|(_, balance)| *balance > 0) {
        let band = balance.ilog10();
        let kinds: &[u32] = if ScriptTemplate::of(script.as_bytes()).has_address() { &[0] } else { &[0, NO_ADDRESS] };
        for first in kinds {
            expected.add(first + band, 1).unwrap();
            expected.add(first + BANDS + band, balance.into()).unwrap();
        }
    }
    let found = view.days().scripts(oracle.day(last)).unwrap();
    let found = Sums::of(found.iter().filter(|(position, _)| *position < SENDERS)).unwrap();
    assert_eq!(found, expected, "scripts by balance at {last}");
}

/// Whether each script sent or received more than nothing, by day.
fn in_use(oracle: &Oracle) -> BTreeMap<u32, BTreeMap<&ScriptBuf, (bool, bool)>> {
    let mut days: BTreeMap<u32, BTreeMap<&ScriptBuf, (bool, bool)>> = BTreeMap::new();
    for script in oracle.scripts() {
        for row in oracle.history(script) {
            let (sent, received) = days.entry(oracle.day(row.height)).or_default().entry(script).or_default();
            (*sent, *received) = (*sent || row.spent_sats > 0, *received || row.received_sats > 0);
        }
    }
    days
}

/// Changes that each day made to the coins of each day of birth, day by day.
fn changes(view: &View<'_>, oracle: &Oracle) {
    let tip = view.tip().height;
    let mut expected: BTreeMap<u32, BTreeMap<u32, (i128, i128)>> = BTreeMap::new();
    let mut spent: BTreeMap<u32, BTreeMap<u32, u128>> = BTreeMap::new();
    let mut change = |day: u32, birth: u32, sats: u64, sign: i128| {
        let of = expected.entry(day).or_default().entry(birth).or_default();
        (of.0, of.1) = (of.0 + sign * i128::from(sats), of.1 + sign);
    };
    for (tx_num, height, tx) in oracle.transactions(tip) {
        let day = oracle.day(height);
        for coin in oracle.spent(tx_num) {
            change(day, oracle.day(coin.height), coin.value_sats, -1);
            *spent.entry(day).or_default().entry(oracle.day(coin.height)).or_default() += u128::from(coin.value_sats);
        }
        for output in tx.output.iter().filter(|o| !cairn_model::is_unspendable(o.script_pubkey.as_bytes())) {
            change(day, day, output.value.to_sat(), if height > 0 { 1 } else { 0 });
        }
    }
    for (height, coin) in oracle.overwritten() {
        change(oracle.day(*height), oracle.day(coin.height), coin.value_sats, -1);
    }
    for of_day in expected.values_mut() {
        of_day.retain(|_, change| *change != (0, 0));
    }
    expected.retain(|_, of_day| !of_day.is_empty());
    let (first, last) = (oracle.day(0), oracle.day(tip));
    let mut found: BTreeMap<u32, BTreeMap<u32, (i128, i128)>> = BTreeMap::new();
    let mut show = |day: u32, changes: &[cairn_reader::BirthChange]| {
        assert!(changes.is_sorted_by(|a, b| a.day < b.day), "changes of day {day}");
        found.insert(day, changes.iter().map(|change| (change.day, (change.sats, change.coins))).collect());
        Ok::<(), cairn_reader::ReadError>(())
    };
    view.days().supply_changes(first..=last, &mut show).unwrap();
    assert_eq!(found, expected, "changes of the supply");
    // A part of the days is that part.
    let (from, to) = (first + (last - first) / 3, first + (last - first) * 2 / 3);
    found.clear();
    let mut show = |day: u32, changes: &[cairn_reader::BirthChange]| {
        found.insert(day, changes.iter().map(|change| (change.day, (change.sats, change.coins))).collect());
        Ok::<(), cairn_reader::ReadError>(())
    };
    view.days().supply_changes(from..=to, &mut show).unwrap();
    assert!(found.iter().eq(expected.range(from..=to)), "changes of the supply from {from} to {to}");
    let sums = view.days().sums(from..=to).unwrap();
    let with_blocks: BTreeSet<u32> = (0..=tip).map(|height| oracle.day(height)).collect();
    assert!(sums.keys().eq(with_blocks.range(from..=to)), "days with sums");
    for (day, sums) in &sums {
        assert_eq!(Some(&sums.blocks), view.get::<Daily>(&Period::day(*day)).unwrap().as_ref());
        assert_eq!(sums.scripts, view.get::<ScriptDays>(&Period::day(*day)).unwrap().unwrap_or_default());
        assert_eq!(sums.clusters, view.get::<ClusterDays>(&Period::day(*day)).unwrap().unwrap_or_default());
    }
    for day in with_blocks {
        let of_day = spent.remove(&day).unwrap_or_default();
        assert_eq!(view.days().spent_by_birth(day).unwrap(), of_day, "spent on day {day}");
        if oracle.overwritten().iter().any(|(height, _)| oracle.day(*height) == day) {
            continue;
        }
        // For coins of earlier days, the changes show what was spent.
        let changes = expected.get(&day).into_iter().flatten().filter(|(birth, _)| **birth < day);
        let told = changes.map(|(birth, (sats, _))| (*birth, sats.unsigned_abs())).filter(|(_, sats)| *sats > 0);
        let of_earlier = of_day.into_iter().filter(|(birth, sats)| *birth < day && *sats > 0);
        assert!(told.eq(of_earlier), "spent on day {day}");
    }
}

/// Old coins that are spent, by day and by transaction.
fn old_coins(view: &View<'_>, oracle: &Oracle) {
    let mut days: BTreeMap<u32, BTreeMap<u32, i128>> = BTreeMap::new();
    let mut movements = BTreeMap::new();
    for (tx_num, height, tx) in oracle.transactions(view.tip().height) {
        if tx.is_coinbase() {
            continue;
        }
        let (day, mut moved) = (days.entry(oracle.day(height)).or_default(), (0u64, 0u64, 0u128));
        for coin in oracle.spent(tx_num) {
            let age = oracle.age_seconds(coin, height);
            let years = age / (365 * 86_400);
            let Some(class) = [1, 2, 3, 5, 7, 10].iter().rposition(|least| years >= *least) else { continue };
            let destroyed = u128::from(coin.value_sats) * u128::from(age);
            let at = class as u32 * 3;
            for (position, number) in [(at, i128::from(coin.value_sats)), (at + 1, 1), (at + 2, destroyed as i128)] {
                *day.entry(position).or_default() += number;
            }
            if years >= 5 {
                moved = (moved.0 + 1, moved.1 + coin.value_sats, moved.2 + destroyed);
            }
        }
        if moved.1 >= 1_000_000_000 {
            *day.entry(18).or_default() += 1;
            *day.entry(19).or_default() += i128::from(moved.1);
            movements.insert(tx_num, moved);
        }
    }
    let mut all: BTreeMap<u32, i128> = BTreeMap::new();
    for (day, sums) in &days {
        let found = view.get::<DormantDays>(&Period::day(*day)).unwrap().unwrap_or_default();
        assert_eq!(found, Sums::of(sums.clone()).unwrap(), "old coins of day {day}");
        sums.iter().for_each(|(position, number)| *all.entry(*position).or_default() += number);
        assert_eq!(
            view.days().dormant_up_to(*day).unwrap(),
            Sums::of(all.clone()).unwrap(),
            "old coins up to day {day}"
        );
    }
    let found = view.scan::<OldMovements>(None).unwrap().map(|row| row.unwrap());
    let found: BTreeMap<_, _> = found.map(|(tx, row)| (tx, (row.coins, row.sats, row.destroyed))).collect();
    assert_eq!(found, movements, "movements of old coins");
    let mut walk = view.movements().old_before(view.tip().tx_end).unwrap().expect("a chain");
    for (tx_num, (_, sats, _)) in movements.iter().rev() {
        let (found, row) = walk.older().unwrap().expect("a movement");
        assert_eq!((found, row.sats), (*tx_num, *sats));
    }
    assert!(walk.older().unwrap().is_none());
}

/// Scripts that spend 730 days after they did before, or after they were first paid.
fn returns(view: &View<'_>, oracle: &Oracle) {
    let mut expected: BTreeMap<TxNum, u64> = BTreeMap::new();
    for script in oracle.scripts() {
        let mut quiet = oracle.history(script).first().map(|row| row.height);
        for row in oracle.history(script).iter().filter(|row| row.spent_sats > 0) {
            if quiet.is_some_and(|since| oracle.day(row.height) >= oracle.day(since) + 730) {
                *expected.entry(row.tx_num).or_default() += 1;
            }
            quiet = Some(row.height);
        }
    }
    let found = view.scan::<Returns>(None).unwrap().map(|row| row.unwrap());
    assert_eq!(found.map(|(tx_num, row)| (tx_num, row.scripts)).collect::<BTreeMap<_, _>>(), expected, "returns");
}

fn days(view: &View<'_>, oracle: &Oracle) {
    let (expected, in_use) = (oracle.daily_metrics(view.tip().height), in_use(oracle));
    let (mut left, mut created, mut destroyed) = (0i128, 0, 0);
    for (day, metrics) in &expected {
        let row = view.get::<Daily>(&Period::day(*day)).unwrap().expect("a row of the day");
        let blocks = (0..=view.tip().height).filter(|height| oracle.day(*height) == *day);
        let blocks: Vec<u32> = blocks.collect();
        let txs: usize = blocks.iter().map(|height| oracle.blocks()[*height as usize].txdata.len()).sum();
        for (measure, expected) in [
            (Measure::Blocks, blocks.len() as i128),
            (Measure::Txs, txs as i128),
            (Measure::CreatedCoins, metrics.created.coins.into()),
            (Measure::CreatedSats, metrics.created.sats.into()),
            (Measure::SpentCoins, metrics.spent.coins.into()),
            (Measure::SpentSats, metrics.spent.sats.into()),
            (Measure::Destroyed, metrics.destroyed_sat_seconds as i128),
        ] {
            assert_eq!(measure.of(&row), expected, "{measure:?} of day {day}");
        }
        // Coin-seconds created up to the day's last block, as liveliness needs them.
        created += metrics.created_sat_seconds as i128;
        destroyed += metrics.destroyed_sat_seconds as i128;
        let (last, sums) = (*blocks.last().unwrap(), view.days().blocks_up_to(*day).unwrap());
        let time = i128::from(oracle.monotone_time(last));
        let gone = oracle.overwritten().iter().filter(|(height, _)| oracle.day(*height) == *day);
        let gone: i128 = gone.map(|(_, coin)| i128::from(coin.value_sats)).sum();
        left += i128::from(metrics.created.sats) - i128::from(metrics.spent.sats) - gone;
        assert_eq!(day_of(time as u32), *day);
        let found = left * time - Measure::CreatedMoment.of(&sums) + Measure::LeftMoment.of(&sums);
        assert_eq!(found, created, "coin-seconds created up to day {day}");
        assert_eq!(Measure::Destroyed.of(&sums), destroyed, "coin-seconds destroyed up to day {day}");

        let used = view.get::<ScriptDays>(&Period::day(*day)).unwrap().unwrap_or_default();
        let of_day: Vec<(bool, bool)> = in_use.get(day).into_iter().flat_map(|day| day.values().copied()).collect();
        for (position, count) in [
            (SENDERS, of_day.iter().filter(|did| did.0).count()),
            (RECEIVERS, of_day.iter().filter(|did| did.1).count()),
            (ACTIVE, of_day.iter().filter(|did| did.0 || did.1).count()),
        ] {
            assert_eq!(used.get(position), count as i128, "scripts in use on day {day}, position {position}");
        }
    }
    let rows = view.scan::<Daily>(None).unwrap().map(Result::unwrap);
    let days: Vec<u32> = rows.filter(|(period, _)| period.days() == 1).map(|(period, _)| period.first_day()).collect();
    assert!(days.iter().eq(expected.keys()), "days {days:?}");
}
