//! Flushes of old coins and wake-ups of large holders: what follows from the blocks alone, whichever way the index got
//! there.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, HashMap},
    fmt::Debug,
    path::Path,
};

use bitcoin::{Block, ScriptBuf, hashes::Hash};
use cairn_chaingen::demo;
use cairn_model::TxNum;
use cairn_pipeline::{Driver, NoProgress};
use cairn_reader::{AsOf, View};
use cairn_tables::{
    Table,
    flushes::{FlushAlertRow, FlushAlerts, FlushRow, Flushes, Holder, InputKey},
    late::KEPT_BLOCKS,
    stages::{FLUSHES, WAKEUPS},
    wakeups::{WakeupRow, Wakeups},
};
use cairn_testkit::{Oracle, temp_dir};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::{cospending::clusters_of, forge::Forge, late_hoards::Hoards, support::*};

pub(crate) const BTC: u64 = 100_000_000;
const OLD: u64 = 2 * 365 * 86_400;
const FLUSH: u64 = 100 * BTC;

/// Which scripts have one holder, as far as the transactions so far have shown.
#[derive(Default)]
pub(crate) struct Holders {
    of: HashMap<ScriptBuf, usize>,
    pub(crate) scripts: Vec<Vec<ScriptBuf>>,
}

impl Holders {
    pub(crate) fn of(&mut self, script: &ScriptBuf) -> usize {
        if let Some(holder) = self.of.get(script) {
            return *holder;
        }
        self.of.insert(script.clone(), self.scripts.len());
        self.scripts.push(vec![script.clone()]);
        self.scripts.len() - 1
    }

    /// Gives the holder of all of them.
    fn unite(&mut self, scripts: &BTreeSet<ScriptBuf>) -> usize {
        let holders: BTreeSet<usize> = scripts.iter().map(|script| self.of(script)).collect();
        let into = *holders.iter().max_by_key(|holder| self.scripts[**holder].len()).unwrap();
        for from in holders.into_iter().filter(|holder| *holder != into) {
            for script in std::mem::take(&mut self.scripts[from]) {
                self.of.insert(script.clone(), into);
                self.scripts[into].push(script);
            }
        }
        into
    }
}

/// Old coins that a holder spends from one block on, up to another.
#[derive(Clone)]
struct Window {
    key: InputKey,
    to: u32,
    /// One of the holder's.
    script: ScriptBuf,
    coins: u64,
    destroyed: u128,
    spends: u64,
    last: TxNum,
    sats: u64,
    /// Of its spends, those with most value.
    largest: BTreeMap<TxNum, u64>,
}

impl Window {
    /// Of equal spends the oldest stay. Where windows are joined, of each only what it has kept is known.
    fn add(&mut self, other: &Window) {
        self.coins += other.coins;
        self.destroyed += other.destroyed;
        self.spends += other.spends;
        self.sats += other.sats;
        self.last = self.last.max(other.last);
        other.largest.iter().for_each(|(tx_num, sats)| *self.largest.entry(*tx_num).or_default() += sats);
        let mut by_value: Vec<(TxNum, u64)> = std::mem::take(&mut self.largest).into_iter().collect();
        by_value.sort_by_key(|(tx_num, sats)| (Reverse(*sats), *tx_num));
        self.largest = by_value.into_iter().take(16).collect();
    }

    fn row(&self, view: &View<'_>) -> FlushRow {
        let newest = view.as_of(self.to.min(view.tip().height)).unwrap();
        FlushRow {
            holder: holder(view, &self.script, newest),
            sats: self.sats,
            coins: self.coins,
            destroyed: self.destroyed,
            spends: self.spends,
            last: self.last,
            largest: self.largest.iter().map(|(tx_num, sats)| (*tx_num, *sats)).collect(),
        }
    }
}

/// The index's name for who holds a script: its clusters are compared elsewhere.
pub(crate) fn holder(view: &View<'_>, script: &ScriptBuf, at: AsOf) -> Holder {
    let id = view.scripts().find(script.as_bytes()).unwrap().unwrap().id;
    view.clusters().holders(&[id], at).unwrap()[0]
}

/// The expected rows of late stages.
#[derive(Default)]
pub(crate) struct Expected {
    pub(crate) holders: Holders,
    open: Vec<Window>,
    closed: Vec<Window>,
    joined: usize,
    pub(crate) alerts: BTreeMap<(TxNum, InputKey), FlushAlertRow>,
    pub(crate) wakeups: BTreeMap<InputKey, WakeupRow>,
}

impl Expected {
    pub(crate) fn of(view: &View<'_>, oracle: &Oracle) -> Self {
        let tip = oracle.tip().unwrap().0;
        let shown = clusters_of(oracle, tip);
        let mut all = Expected::default();
        for (tx_num, height, tx) in oracle.transactions(tip) {
            all.close_before(height);
            if tx.is_coinbase() {
                continue;
            }
            all.wake(view, oracle, tx_num, height);
            if let Some(scripts) = shown.eligible().get(&tx_num) {
                all.unite(tx_num, scripts);
            }
            all.spend(oracle, tx_num, height);
        }
        all.close_before(tip + 1);
        all
    }

    fn close_before(&mut self, height: u32) {
        let (closed, open) = std::mem::take(&mut self.open).into_iter().partition(|window| window.to < height);
        let closed: Vec<Window> = closed;
        self.closed.extend(closed.into_iter().filter(|window| window.sats >= FLUSH));
        self.open = open;
    }

    /// Adds to an open window, of which so much is known before.
    fn join(&mut self, tx_num: TxNum, at: usize, other: &Window, had: u64) {
        let window = &mut self.open[at];
        window.add(other);
        let (key, sats) = (window.key, window.sats);
        if had < FLUSH && sats >= FLUSH {
            self.alerts.insert((tx_num, key), FlushAlertRow { sats });
        }
    }

    /// A transaction shows one holder of scripts: the open windows become parts of the earliest one.
    fn unite(&mut self, tx_num: TxNum, scripts: &BTreeSet<ScriptBuf>) {
        let holder = self.holders.unite(scripts);
        let is_of = |at: &usize| self.holders.of(&self.open[*at].script) == holder;
        let places: Vec<usize> = (0..self.open.len()).filter(is_of).collect();
        let Some((first, others)) = places.split_first() else { return };
        let had = places.iter().map(|at| self.open[*at].sats).max().unwrap_or(0);
        for (removed, at) in others.iter().enumerate() {
            let other = self.open.remove(at - removed);
            self.join(tx_num, *first, &other, had);
            self.joined += 1;
        }
    }

    fn spend(&mut self, oracle: &Oracle, tx_num: TxNum, height: u32) {
        let mut spends: Vec<(usize, Window)> = Vec::new();
        for (vin, coin) in (0..).zip(oracle.spent(tx_num)) {
            let age = oracle.age_seconds(coin, height);
            if age < OLD || coin.value_sats == 0 {
                continue;
            }
            let (key, to, sats) = (InputKey { tx_num, vin }, height + 143, coin.value_sats);
            let (script, destroyed) = (coin.script.clone(), u128::from(sats) * u128::from(age));
            let largest = BTreeMap::from([(tx_num, sats)]);
            let one = Window { key, to, script, coins: 1, destroyed, spends: 1, last: tx_num, sats, largest };
            let holder = self.holders.of(&coin.script);
            match spends.iter_mut().find(|(of, _)| *of == holder) {
                Some((_, known)) => known.add(&Window { spends: 0, ..one }),
                None => spends.push((holder, one)),
            }
        }
        for (holder, spend) in spends {
            let known = self.open.iter().position(|window| self.holders.of(&window.script) == holder);
            let at = known.unwrap_or(self.open.len());
            if known.is_none() {
                let largest = BTreeMap::new();
                let none = Window { coins: 0, destroyed: 0, spends: 0, sats: 0, largest, ..spend.clone() };
                self.open.push(none);
            }
            let had = self.open[at].sats;
            self.join(tx_num, at, &spend, had);
        }
    }

    /// The holders, as they were before, that spend with this transaction for the first time in two years.
    fn wake(&mut self, view: &View<'_>, oracle: &Oracle, tx_num: TxNum, height: u32) {
        let coins = oracle.spent(tx_num);
        let Some(then) = u64::from(oracle.monotone_time(height)).checked_sub(OLD) else { return };
        let Some(old) = (0..height).rev().find(|height| u64::from(oracle.monotone_time(*height)) <= then) else {
            return;
        };
        let since = oracle.headers()[old as usize + 1].first_tx;
        let holders: Vec<usize> = coins.iter().map(|coin| self.holders.of(&coin.script)).collect();
        for (vin, of) in holders.iter().enumerate().filter(|(vin, of)| !holders[..*vin].contains(of)) {
            let spent = coins.iter().zip(&holders).filter(|(_, holder)| *holder == of);
            let spent: u64 = spent.map(|(coin, _)| coin.value_sats).sum();
            let scripts = &self.holders.scripts[*of];
            let rows = || scripts.iter().flat_map(|s| oracle.history(s).iter().take_while(|row| row.tx_num < tx_num));
            if rows().any(|row| row.tx_num >= since && row.spent_sats > 0) {
                continue;
            }
            let before = || rows().filter(|row| row.tx_num < since);
            let received: u64 = before().map(|row| row.received_sats).sum();
            let sats = received - before().map(|row| row.spent_sats).sum::<u64>();
            if spent > 0 && sats >= 1_000 * BTC {
                let sent = rows().filter(|row| row.spent_sats > 0).map(|row| row.tx_num).max();
                let since = sent.or(rows().map(|row| row.tx_num).min()).unwrap();
                let holder = holder(view, &coins[vin].script, AsOf { height, tx_end: tx_num });
                let (key, scripts) = (InputKey { tx_num, vin: vin as u32 }, scripts.len() as u64);
                self.wakeups.insert(key, WakeupRow { holder, sats, spent, scripts, since, never: sent.is_none() });
            }
        }
    }
}

fn assert_same<K: Ord + Debug, V: PartialEq + Debug>(found: &BTreeMap<K, V>, expected: &BTreeMap<K, V>, what: &str) {
    for key in found.keys().chain(expected.keys()) {
        assert_eq!(found.get(key), expected.get(key), "{what}: {key:?} is not what the blocks have");
    }
}

pub(crate) fn rows<T: Table<Key: Ord>>(view: &View<'_>) -> BTreeMap<T::Key, T::Value> {
    view.scan::<T>(None).unwrap().map(|row| row.unwrap()).collect()
}

/// Fails unless the late stages are at the tip and have what follows from the blocks. Gives the numbers of flushes, of
/// windows among them that are open below 100 BTC, of alerts, of windows that became parts of others, and of wake-ups.
pub(crate) fn assert_late(index: &Index, oracle: &Oracle, what: &str) -> [usize; 5] {
    index.view(|view| {
        let expected = Expected::of(view, oracle);
        let (tip, end) = (view.tip().height, view.tip().tx_end);
        assert_eq!([view.late(&FLUSHES).unwrap(), view.late(&WAKEUPS).unwrap()], [tip; 2], "{what}");
        let windows = expected.closed.iter().chain(&expected.open);
        let flushes: BTreeMap<InputKey, FlushRow> = windows.map(|window| (window.key, window.row(view))).collect();
        assert_same(&rows::<Flushes>(view), &flushes, what);
        assert_same(&rows::<FlushAlerts>(view), &expected.alerts, what);
        assert_same(&rows::<Wakeups>(view), &expected.wakeups, what);
        let alerts = expected.alerts.iter().map(|((by, window), row)| (*by, *window, *row));
        assert!(
            view.movements().flush_alerts(TxNum(0)..end).unwrap().into_iter().eq(alerts),
            "{what}: alerts in order"
        );
        let mut walk = view.movements().flushes_before(end).unwrap().expect("a chain");
        flushes.into_iter().rev().for_each(|row| assert_eq!(walk.older().unwrap(), Some(row), "{what}"));
        assert_eq!(walk.older().unwrap(), None, "{what}");
        let mut walk = view.movements().wakeups_before(end).unwrap().expect("a chain");
        expected
            .wakeups
            .iter()
            .rev()
            .for_each(|(key, row)| assert_eq!(walk.older().unwrap(), Some((*key, *row)), "{what}"));
        assert_eq!(walk.older().unwrap(), None, "{what}");
        let below = expected.open.iter().filter(|window| window.sats < FLUSH).count();
        let flushes = expected.closed.len() + expected.open.len();
        [flushes, below, expected.alerts.len(), expected.joined, expected.wakeups.len()]
    })
}

/// The oracle of as many blocks as an index has, if they are the same.
pub(crate) fn oracle_at(index: &Index, forge: &Forge) -> Option<Oracle> {
    let (height, hash) = index.engine.tip().unwrap()?;
    let block = forge.blocks.get(height as usize)?;
    let oracle = || Oracle::of(cairn_model::Network::Regtest, &forge.blocks[..=height as usize]);
    (block.block_hash().to_byte_array() == hash.0).then(oracle)
}

/// Blocks, reorganizations, and looks at the late stages in random order. An engine that is closed has lost what was
/// not flushed.
fn any_order(seed: u64, blocks: &Path) -> [usize; 5] {
    let rng = &mut ChaCha8Rng::seed_from_u64(seed);
    let base: Vec<Block> = small_chain(seed).active().into_iter().skip(1).map(|mined| mined.block.clone()).collect();
    let mut making = Hoards::of(if seed.is_multiple_of(2) { &[] } else { &base });
    making.grow(180, rng);
    making.forge.write(blocks);
    let mut index = Index::of(blocks, [Driver::Bulk, Driver::Tip][seed as usize / 2 % 2]);
    for step in 0..24 {
        let what = format!("seed {seed}, step {step}");
        match rng.random_range(0..7) {
            0 | 1 => making.grow(rng.random_range(1..30), rng),
            2 | 3 => {
                let depth = if rng.random_bool(0.2) { rng.random_range(30..160) } else { rng.random_range(1..9) };
                making = Hoards::of(&making.forge.blocks[1..making.forge.blocks.len() - depth as usize]);
                making.grow(depth + rng.random_range(1..3), rng);
            }
            4 => index = index.reopened(),
            5 => {
                let to = index.height().unwrap() - rng.random_range(1..30);
                index.engine.unwind(to, &NoProgress).unwrap();
            }
            _ => {
                // Written, and lost: nothing was flushed.
                index.engine.follow_late(&NoProgress).unwrap();
                index = index.reopened();
            }
        }
        making.forge.write(blocks);
        if rng.random_bool(0.7) {
            index.sync(blocks, Driver::Auto);
        }
        if rng.random_bool(0.7) {
            index.engine.follow_late(&NoProgress).unwrap();
            assert!(!index.engine.follow_late(&NoProgress).unwrap(), "{what}: there is nothing to follow");
            if rng.random_bool(0.7) {
                index.engine.settle().unwrap();
            }
            oracle_at(&index, &making.forge).map(|oracle| assert_late(&index, &oracle, &what));
        }
        if rng.random_bool(0.2) {
            index.assert_sound();
        }
    }
    index.sync(blocks, Driver::Auto);
    index.engine.follow_late(&NoProgress).unwrap();
    let what = format!("seed {seed}, at the end");
    let found = assert_late(&index, &making.forge.oracle(), &what);
    index.assert_sound();
    let straight = Index::of(blocks, Driver::Bulk);
    straight.engine.follow_late(&NoProgress).unwrap();
    index.sums().assert_equal(&straight.sums(), &what);
    found
}

#[test]
fn late_stages_agree_with_the_blocks_in_any_order() {
    let mut sums = [0; 5];
    for seed in 0..if long() { 40 } else { 4 } {
        let of_seed = any_order(seed, temp_dir().path());
        sums.iter_mut().zip(of_seed).for_each(|(sum, of)| *sum += of);
    }
    println!("flushes, open below 100 BTC, alerts, joined windows, wake-ups: {sums:?}");
    assert!(sums.iter().all(|sum| *sum > 8), "{sums:?}: flushes, open ones, alerts, joins and wake-ups are too few");
}

#[test]
fn the_demo_chain_has_late_stages() {
    let chain = demo::chain(1).unwrap();
    let blocks = temp_dir();
    write_tidy(blocks.path(), &chain);
    let mut index = Index::of(blocks.path(), Driver::Bulk);
    let tip = index.height().unwrap();
    assert!(index.engine.follow_late(&NoProgress).unwrap());
    index.engine.settle().unwrap();
    let found = assert_late(&index, &oracle_of(&chain), "the demo chain");
    println!("flushes, open below 100 BTC, alerts, joined windows, wake-ups: {found:?}");
    assert!(found[0] > 0 && found[2] > 0 && found[4] > 0, "{found:?}");
    let expected = index.sums();
    // The second is deeper than what can be undone.
    for depth in [300, KEPT_BLOCKS + 84] {
        let what = format!("unwound by {depth} blocks");
        index.engine.unwind(tip - depth, &NoProgress).unwrap();
        index.assert_sound();
        index.engine.follow_late(&NoProgress).unwrap();
        let mut cut = oracle_of(&chain);
        cut.truncate((tip - depth) as usize + 1);
        assert_late(&index, &cut, &what);
        index.sync(blocks.path(), Driver::Auto);
        index.engine.follow_late(&NoProgress).unwrap();
        index.sums().assert_equal(&expected, &what);
    }
    for stages in [&["flushes"][..], &["wakeups"], &["clusters"], &["wakeups", "ages", "flushes"]] {
        let what = format!("{stages:?} made again");
        index.engine.reindex(stages, &NoProgress).unwrap();
        let gone = if stages == ["wakeups"] { "wakeups" } else { "flushes" };
        assert_eq!(index.sums().rows(gone), 0, "{what}");
        assert!(index.engine.follow_late(&NoProgress).unwrap(), "{what}");
        index.engine.settle().unwrap();
        index = index.reopened();
        index.sums().assert_equal(&expected, &what);
    }
    index.assert_sound();
}
