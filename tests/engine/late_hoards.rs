//! Chains with old coins for late stages, random and by hand; and late stages whose rows are damaged.

use std::{collections::BTreeMap, ops::Range};

use bitcoin::{Block, OutPoint, ScriptBuf, Target, Transaction};
use cairn_chaingen::{Coin, is_unspendable, subsidy};
use cairn_pipeline::{
    Driver, Engine, NoProgress, Repaired, SyncOptions,
    verify::{RawCheck, Repair, audit_folder},
};
use cairn_support::forge::{Forge, coinbase, mined, out, pay, script, spend};
use cairn_tables::{
    Table,
    flushes::{FlushAlerts, Flushes},
    late::LateUndo,
    wakeups::{WakeupRow, Wakeups},
};
use cairn_testkit::temp_dir;
use cairn_writer::{WriteError, Writer};
use rand::{Rng, seq::IteratorRandom};
use rand_chacha::ChaCha8Rng;

use crate::{
    damaged::{assert_mended, copy, mend},
    late::{BTC, assert_late, oracle_at, rows},
    support::*,
};

const YEAR: i32 = 365 * 86_400;

/// A chain of unsigned blocks, and its coins.
pub(crate) struct Hoards {
    pub(crate) forge: Forge,
    coins: BTreeMap<OutPoint, Coin>,
}

impl Hoards {
    pub(crate) fn of(blocks: &[Block]) -> Self {
        let mut hoards = Hoards { forge: Forge::new(), coins: BTreeMap::new() };
        blocks.iter().for_each(|block| hoards.connect(block.clone()));
        hoards
    }

    fn connect(&mut self, block: Block) {
        let (height, mut spent) = (self.forge.blocks.len() as u32, Vec::new());
        for tx in &block.txdata {
            if !tx.is_coinbase() {
                let coins = tx.input.iter().map(|input| self.coins.remove(&input.previous_output).expect("a coin"));
                spent.push(coins.collect());
            }
            for (vout, txout) in (0..).zip(&tx.output).filter(|(_, o)| !is_unspendable(&o.script_pubkey)) {
                let coin = Coin { txout: txout.clone(), height, coinbase: tx.is_coinbase() };
                self.coins.insert(OutPoint { txid: tx.compute_txid(), vout }, coin);
            }
        }
        self.forge.blocks.push(block);
        self.forge.spent.push(spent);
    }

    /// Adds a block `seconds` after the last one.
    fn block(&mut self, txdata: Vec<Transaction>, seconds: i32) {
        let parent = self.forge.blocks.last().unwrap();
        let mut block = mined(parent, txdata);
        block.header.time = parent.header.time.checked_add_signed(seconds).unwrap();
        while block.header.validate_pow(Target::from_compact(block.header.bits)).is_err() {
            block.header.nonce += 1;
        }
        self.connect(block);
    }

    /// Adds blocks without spends, which pay a script all that they may; the first comes `years` years later.
    pub(crate) fn hoard(&mut self, blocks: u32, tag: u32, years: i32) {
        for seconds in (0..blocks).map(|block| if block == 0 { years * YEAR } else { 600 }) {
            let height = self.forge.blocks.len() as u32;
            self.block(vec![coinbase(height, vec![pay(subsidy(height), script(tag))])], seconds);
        }
    }

    /// Random blocks: old and young coins of some groups of scripts, which seldom spend together.
    pub(crate) fn grow(&mut self, blocks: u32, rng: &mut ChaCha8Rng) {
        for _ in 0..blocks {
            // Few scripts have most of it.
            let any_script = |rng: &mut ChaCha8Rng| {
                let known = rng.random_range(0..40).min(rng.random_range(0..40));
                script(if rng.random_bool(0.8) { known } else { rng.random_range(40..9_999) })
            };
            let pays = |sum: u64, rng: &mut ChaCha8Rng| {
                let part = if rng.random_bool(0.3) { 0 } else { rng.random_range(0..=sum) };
                vec![pay(part, any_script(rng)), pay(sum - part, any_script(rng))]
            };
            let paid = pays(subsidy(self.forge.blocks.len() as u32), rng);
            let mut txs = vec![coinbase(rng.random(), paid)];
            // Signatures for taproot are not where pledges have them.
            let coins = self.coins.iter().filter(|(_, coin)| !coin.txout.script_pubkey.is_p2tr());
            let mut coins: Vec<_> = coins.map(|(at, coin)| (*at, coin.txout.clone())).collect();
            let group = |script: &ScriptBuf| script.as_bytes().iter().map(|byte| u32::from(*byte)).sum::<u32>() % 8;
            for _ in 0..rng.random_range(0..4) {
                let (any, mut inputs, mut sum) = (rng.random_bool(0.06), Vec::new(), 0);
                let mut of = None;
                for _ in 0..rng.random_range(1..4) {
                    let fits = |at: &usize| any || of.is_none_or(|of| of == group(&coins[*at].1.script_pubkey));
                    let Some(at) = (0..coins.len()).filter(fits).choose(rng) else { break };
                    let (input, txout) = coins.swap_remove(at);
                    of = Some(group(&txout.script_pubkey));
                    sum += txout.value.to_sat();
                    inputs.push(input);
                }
                if !inputs.is_empty() {
                    let mut tx = spend(&inputs, pays(sum, rng));
                    if rng.random_bool(0.2) {
                        pledge(&mut tx);
                    }
                    txs.push(tx);
                }
            }
            let seconds = match rng.random_range(0..25) {
                0 => rng.random_range(300..800) * 86_400,
                1..4 => rng.random_range(-3_000..30 * 86_400),
                _ => 600,
            };
            self.block(txs, seconds);
        }
    }
}

/// Signs with SIGHASH_ANYONECANPAY: such inputs say nothing about who holds the others.
fn pledge(tx: &mut Transaction) {
    let signature = ScriptBuf::from_bytes(vec![9, 0x30, 6, 2, 1, 1, 2, 1, 1, 0x81]);
    tx.input.iter_mut().for_each(|input| input.script_sig = signature.clone());
}

/// The blocks that give the money.
pub(crate) const MINED: u32 = 400;
/// Payments of the next block: scripts, each with an amount. Small amounts that are not in BTC are dust that ties
/// scripts to each other.
const PAID_FIRST: &str = "10=60B 10=60B 11=60B 11=60B 12=50B 13=70B 13=5B 14=100B 15=150B 16=50B 17=50B 18=30B 19=40B \
    20=30B 20=25B 21=30B 21=25B 23=60B 24=60B 25=60B 40=1000B 41=400B 42=400B 43=400B 44=500B 45=500B \
    46=99999999999 47=600B 48=600B 49=1100B 51=600B 52=600B 53=1000B 56=1000B 41=1 42=1 43=1 44=1 45=1 \
    45=1 47=0 48=0 53=1 25=1 26=1 56=0";
/// Spends of the fifth block: transactions, each of some of the coins that coinbases paid to scripts, by script and
/// number.
const SPENT_FIFTH: &str = "10/0, 11/0, 12/0, 14/0, 15/0, 16/0 17/0, *18/0 19/0, 20/0, 21/0, 23/0, 24/0, 25/0, 40/0, \
    41/0, 42/0, 44/0, 46/0, 47/0, 49/1, 51/0 52/0, 1000/0";

/// Adds a block: what its coinbase pays, and transactions that spend what coinbases paid. Those that begin with a star
/// have signatures of SIGHASH_ANYONECANPAY; one with an exclamation mark leaves everything to the coinbase.
pub(crate) fn add(hoards: &mut Hoards, paid: &str, spends: &str, seconds: i32) {
    let height = hoards.forge.blocks.len() as u32;
    let amount = |text: &str| match text.strip_suffix('B') {
        Some(btc) => btc.parse::<u64>().unwrap() * BTC,
        None => text.parse().unwrap(),
    };
    let paid = paid.split_whitespace().map(|text| text.split_once('=').unwrap());
    let mut paid: Vec<_> = paid.map(|(tag, sats)| pay(amount(sats), script(tag.parse().unwrap()))).collect();
    paid.push(pay(1, script(9_000_000 + height)));
    let mut txs = vec![coinbase(height, paid)];
    let coin = |text: &str| {
        let (tag, nth) = text.split_once('/').unwrap();
        let script = script(tag.parse().unwrap());
        let coinbases = hoards.forge.blocks.iter().map(|block| &block.txdata[0]);
        let outputs = coinbases.flat_map(|tx| (0..).zip(&tx.output).map(move |(vout, txout)| (tx, vout, txout)));
        let mut of_script = outputs.filter(|(.., txout)| txout.script_pubkey == script);
        let (tx, vout, txout) = of_script.nth(nth.parse().unwrap()).unwrap();
        (out(tx, vout), txout.value.to_sat())
    };
    for (nth, text) in spends.split(',').map(str::trim).filter(|text| !text.is_empty()).enumerate() {
        let (inputs, sats): (Vec<_>, Vec<_>) = text.trim_start_matches(['*', '!']).split_whitespace().map(coin).unzip();
        let sats = if text.starts_with('!') { 0 } else { sats.iter().sum() };
        let mut tx = spend(&inputs, vec![pay(sats, script(8_000_000 + height * 100 + nth as u32))]);
        if text.starts_with('*') {
            pledge(&mut tx);
        }
        txs.push(tx);
    }
    hoards.block(txs, seconds);
}

/// Windows and sleepers by hand.
fn by_hand() -> Hoards {
    let many = |of: &dyn Fn(u32) -> String, tags: Range<u32>| tags.map(of).collect::<Vec<String>>().join(" ");
    let mut hoards = Hoards::of(&[]);
    (1..=MINED).for_each(|height| add(&mut hoards, &format!("1={}", subsidy(height) - 1), "", 600));
    let large = many(&|tag| format!("{tag}=4B {tag}=1"), 1_000..1_260);
    let equal = many(&|_| "22=6B".to_owned(), 0..20);
    let mined = many(&|nth| format!("1/{nth}"), 0..MINED);
    add(&mut hoards, &format!("{PAID_FIRST} {large} {equal}"), &format!("!{mined}"), 600);
    let tied = many(&|tag| format!("{tag}/1"), 1_000..1_260);
    add(&mut hoards, "", &format!("41/1 42/1 43/1, 44/1 45/1, 53/1, {tied}, 25/1 26/0"), 600);
    // One of a cluster that spends, and two that are tied by coins that are worth nothing.
    add(&mut hoards, "12=1 13=1 14=1 15=1 23=1 24=1 25=1 49=10B 57=0 57=2B", "45/2, 47/1 48/1", YEAR);
    // The spends of the second block will be two years old a second later.
    add(&mut hoards, "", "53/0, 56/1 57/0", YEAR - 1);
    add(&mut hoards, "", SPENT_FIFTH, 1);
    add(&mut hoards, "", "13/0", 600);
    add(&mut hoards, "", "20/1 21/1", 600);
    add(&mut hoards, "", &many(&|nth| format!("22/{nth},"), 0..20), 600);
    add(&mut hoards, "", "", 600);
    add(&mut hoards, "", "12/1 13/2, 14/1 15/1, 23/1 24/1 25/2", 600);
    // The last block of the windows of the fifth, and the one after it.
    (11..148).for_each(|_| add(&mut hoards, "", "", 600));
    add(&mut hoards, "", "10/1", 600);
    add(&mut hoards, "", "11/1, 13/1", 600);
    (150..=292).for_each(|_| add(&mut hoards, "", "", 600));
    hoards
}

#[test]
fn windows_and_sleepers_by_hand() {
    let (hoards, blocks) = (by_hand(), temp_dir());
    hoards.forge.write(blocks.path());
    let mut index = Index::up_to(blocks.path(), Driver::Bulk, 0);
    for to in [0].into_iter().chain([3, 4, 5, 8, 9, 10, 147, 148, 149, 150, 291, 292].map(|to| MINED + to)) {
        let options = SyncOptions { to: Some(to), ..SyncOptions::default() };
        sync_with(&mut index.engine, blocks.path(), &options, &NoProgress).unwrap();
        index.engine.follow_late(&NoProgress).unwrap();
        assert_late(&index, &oracle_at(&index, &hoards.forge).unwrap(), &format!("block {to}"));
    }
    index.view(|view| {
        let in_btc = |sats: u64| sats.div_ceil(BTC);
        let alerts: Vec<u64> = rows::<FlushAlerts>(view).values().map(|row| in_btc(row.sats)).collect();
        assert_eq!(alerts, [1_000, 100, 150, 100, 1_000, 400, 500, 1_000, 600, 1_200, 110, 102, 120, 180, 120]);
        let flushes: Vec<u64> = rows::<Flushes>(view).values().map(|row| in_btc(row.sats)).collect();
        assert_eq!(flushes, [1_000, 120, 120, 250, 100, 110, 180, 1_000, 800, 500, 1_000, 600, 1_200, 120]);
        let of = |row: &WakeupRow| (in_btc(row.sats), in_btc(row.spent), row.scripts, row.since.0, row.never);
        let wakeups: Vec<_> = rows::<Wakeups>(view).values().map(of).collect();
        let (single, young) = ((1_000, 1_000, 1, 401, true), (1_100, 10, 1, 401, true));
        let (tied, large) = ((1_200, 400, 3, 404, false), (1_040, 4, 260, 407, false));
        // Coins that are worth nothing tied two of them.
        let worthless = (1_200, 600, 2, 401, true);
        assert_eq!(wakeups, [single, tied, worthless, young, large]);
    });
    index.assert_sound();
}

#[test]
fn cut_short_anywhere_they_are_finished_later() {
    let blocks = temp_dir();
    by_hand().forge.write(blocks.path());
    let Index { engine, dir: original } = Index::of(blocks.path(), Driver::Bulk);
    drop(engine);
    let index = Index::of(blocks.path(), Driver::Bulk);
    index.engine.follow_late(&NoProgress).unwrap();
    let expected = index.sums();
    for (dies, settles) in [(false, false), (false, true), (true, false), (true, true)] {
        for after in 0.. {
            let cut = if dies { Cut::die(after) } else { Cut::stop(after) };
            let dir = copy(original.path());
            let index = Index { engine: Engine::open_existing(dir.path()).unwrap(), dir };
            if !is_cut(|| index.engine.follow_late(&cut)) {
                assert!(after > 3, "they were never cut");
                break;
            }
            if settles {
                index.engine.settle().unwrap();
            }
            let index = index.reopened();
            index.engine.follow_late(&NoProgress).unwrap();
            index.sums().assert_equal(&expected, &format!("cut after {after} steps (dies: {dies})"));
            index.assert_sound();
        }
    }
}

/// Changes the newest row of a table, or takes it away.
fn change<T: Table>(writer: &Writer, change: Option<fn(&mut T::Value)>) {
    let mut rows = Vec::new();
    writer.rows::<T>(|key, value| rows.push((T::decode_key(key).unwrap(), T::decode_value(value).unwrap()))).unwrap();
    let (key, mut row) = rows.pop().expect("a row");
    let commit = writer.commit::<WriteError>(|batch| {
        match change {
            Some(change) => {
                change(&mut row);
                batch.put_row::<T>(&key, &row);
            }
            None => batch.delete_row::<T>(&key),
        }
        Ok(())
    });
    commit.unwrap();
    writer.flush().unwrap();
}

#[test]
fn changed_rows_are_found_and_made_again() {
    let blocks = temp_dir();
    by_hand().forge.write(blocks.path());
    let index = Index::of(blocks.path(), Driver::Bulk);
    index.engine.follow_late(&NoProgress).unwrap();
    index.assert_sound();
    index.engine.settle().unwrap();
    let (expected, Index { engine, dir: original }) = (index.sums(), index);
    drop(engine);
    let changes: [(&str, fn(&Writer)); 7] = [
        ("flushes", |writer| change::<Flushes>(writer, Some(|row| row.sats += 1))),
        ("flushes", |writer| change::<Flushes>(writer, None)),
        ("flush_alerts", |writer| change::<FlushAlerts>(writer, Some(|row| row.sats -= 1))),
        ("flush_alerts", |writer| change::<FlushAlerts>(writer, None)),
        ("wakeups", |writer| change::<Wakeups>(writer, Some(|row| row.never ^= true))),
        ("wakeups", |writer| change::<Wakeups>(writer, None)),
        ("late_undo", |writer| change::<LateUndo>(writer, Some(|row| row.rows.push((vec![b'W', 0], None))))),
    ];
    for (table, change) in changes {
        let dir = copy(original.path());
        change(&Writer::open(&dir.path().join("index")).unwrap());
        let (_, audit) = audit_folder(&dir.path().join("index"), RawCheck::None, &NoProgress).unwrap();
        let found: Vec<_> = audit.damages.iter().map(|damage| (damage.place.as_str(), damage.repair)).collect();
        assert_eq!(found, [(table, Repair::Late)], "{audit:#?}");
        assert!(matches!(mend(dir.path(), blocks.path()), Repaired::Whole(done) if done.len() == 1), "{table}");
        assert_mended(dir, blocks.path(), &expected, table);
    }
}
