//! Pings of dust and their campaigns: what follows from the blocks alone, whichever way the index got there.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    fmt::Debug,
    path::Path,
};

use bitcoin::{
    Block, OutPoint, ScriptBuf, Target, Transaction, TxOut,
    hashes::{Hash, sha256},
};
use cairn_chaingen::subsidy;
use cairn_domain::decode_op_return;
use cairn_model::{TxNum, is_unspendable};
use cairn_pipeline::{Driver, NoProgress};
use cairn_reader::View;
use cairn_support::forge::{Forge, coinbase, pay, script, spend};
use cairn_tables::{Table, dust::*, late::KEPT_BLOCKS, pings::*};
use cairn_testkit::{Oracle, temp_dir};
use rand::{Rng, SeedableRng, seq::IndexedRandom};
use rand_chacha::ChaCha8Rng;

use crate::{
    late::{oracle_at, rows},
    support::*,
};

pub(crate) const DAY: i64 = 86_400;
pub(crate) const MONTH: i64 = 30 * DAY;

/// The scripts that a transaction pays dust and does not spend from, once for each output; none if it cannot be a ping.
fn dust_to_others<'t>(oracle: &Oracle, tx_num: TxNum, tx: &'t Transaction) -> Vec<&'t ScriptBuf> {
    let is_dust = |sats: u64| (1..=1_000).contains(&sats);
    let spent = oracle.spent(tx_num);
    let spendable = || tx.output.iter().filter(|txout| !is_unspendable(txout.script_pubkey.as_bytes()));
    let decoded = tx.output.iter().filter_map(|txout| decode_op_return(txout.script_pubkey.as_bytes(), false));
    if tx.is_coinbase()
        || spent.iter().any(|coin| is_dust(coin.value_sats))
        || spendable().all(|txout| txout.value.to_sat() <= 1_000)
        || decoded.into_iter().any(|decoded| !decoded.protocols.is_empty())
    {
        return Vec::new();
    }
    let dust = spendable().filter(|txout| is_dust(txout.value.to_sat())).map(|txout| &txout.script_pubkey);
    dust.filter(|script| spent.iter().all(|coin| coin.script != **script)).collect()
}

/// The first OP_RETURN of a transaction.
fn mark(tx: &Transaction) -> Option<&ScriptBuf> {
    let mut scripts = tx.output.iter().map(|txout| &txout.script_pubkey);
    scripts.find(|script| script.as_bytes().first() == Some(&0x6a))
}

/// The transaction that made the largest coin that a transaction spends; of equal coins, the first.
fn largest(oracle: &Oracle, tx_num: TxNum) -> Option<TxNum> {
    oracle.spent(tx_num).iter().min_by_key(|coin| Reverse(coin.value_sats)).map(|coin| coin.tx_num)
}

/// Counts of a run. Of pings: all, forgotten ones, those kept after 30 days, those with the groups of another. Of
/// campaigns: of marks, of funding, later pings of these, those without alert. Last, recounts below a hundred, and
/// groups that are not a campaign at the end.
type Seen = [usize; 10];

/// The expected rows of a chain.
#[derive(Default)]
struct Expected {
    found: BTreeMap<TxNum, PingRow>,
    pings: BTreeMap<TxNum, DustPingRow>,
    groups: BTreeMap<DustGroup, DustGroupRow>,
    alerts: BTreeMap<(TxNum, DustGroup), DustAlertRow>,
    recipients: BTreeMap<TxNum, BTreeSet<ScriptBuf>>,
    /// Pings that are not forgotten, with the times of their blocks.
    young: Vec<(TxNum, i64)>,
    seen: Seen,
}

impl Expected {
    fn of(oracle: &Oracle) -> Self {
        let mut all = Expected::default();
        for (tx_num, height, tx) in oracle.transactions(oracle.tip().unwrap().0) {
            let time = i64::from(oracle.monotone_time(height));
            if tx.is_coinbase() {
                all.forget(time);
            }
            let dust = dust_to_others(oracle, tx_num, tx);
            let had = |script: &&ScriptBuf| oracle.history(script).iter().any(|row| row.tx_num < tx_num);
            let recipients: BTreeSet<ScriptBuf> = dust.into_iter().filter(had).cloned().collect();
            if !recipients.is_empty() {
                let (scripts, is_marked) = (recipients.len() as u32, mark(tx).is_some());
                all.found.insert(tx_num, PingRow { scripts, is_marked });
                all.ping(oracle, tx_num, tx, recipients);
                all.young.push((tx_num, time));
            }
        }
        all.seen[9] = all.groups.values_mut().map(follow_pings).filter(|is_growing| *is_growing).count();
        all
    }

    fn is_campaign(&self, group: &DustGroup) -> bool {
        self.groups.get(group).is_some_and(|row| matches!(row.state, DustState::Reached { .. }))
    }

    /// Forgets what is too old for a block of this time.
    fn forget(&mut self, time: i64) {
        let old = self.young.iter().take_while(|of| of.1 + MONTH < time).count();
        for (ping, _) in self.young.drain(..old).collect::<Vec<_>>() {
            let groups = self.pings[&ping].groups.clone();
            for group in &groups {
                let Some(row) = self.groups.get_mut(group) else { continue };
                let DustState::Growing { pings, .. } = &mut row.state else { continue };
                pings.retain(|(of, _)| *of != ping);
                if pings.is_empty() {
                    self.groups.remove(group);
                }
            }
            let is_kept = groups.iter().any(|group| self.is_campaign(group));
            self.seen[1 + usize::from(is_kept)] += 1;
            self.pings.retain(|of, _| is_kept || *of != ping);
        }
    }

    fn groups_of(&mut self, oracle: &Oracle, tx_num: TxNum, tx: &Transaction) -> Vec<DustGroup> {
        if let Some(mark) = mark(tx) {
            return vec![DustGroup::Mark(sha256::Hash::hash(mark.as_bytes()).to_byte_array())];
        }
        let (mut groups, mut at) = (vec![DustGroup::Funding(tx_num)], tx_num);
        for _ in 0..3 {
            let Some(funding) = largest(oracle, at) else { break };
            at = funding;
            let of_funding = |ping: &&DustPingRow| ping.groups.iter().all(|of| matches!(of, DustGroup::Funding(_)));
            if let Some(ping) = self.pings.get(&at).filter(of_funding) {
                self.seen[3] += 1;
                return ping.groups.clone();
            }
            groups.push(DustGroup::Funding(at));
        }
        groups
    }

    fn ping(&mut self, oracle: &Oracle, tx_num: TxNum, tx: &Transaction, to: BTreeSet<ScriptBuf>) {
        let (groups, recipients) = (self.groups_of(oracle, tx_num, tx), to.len() as u64);
        self.recipients.insert(tx_num, to);
        let had_campaign = groups.iter().any(|group| self.is_campaign(group));
        let reached: Vec<_> = groups.iter().filter_map(|of| Some((*of, self.add(*of, tx_num, recipients)?))).collect();
        if let Some((group, scripts)) = reached.first().filter(|_| !had_campaign) {
            self.alerts.insert((tx_num, *group), DustAlertRow { scripts: *scripts });
        }
        self.seen[7] += usize::from(had_campaign && !reached.is_empty());
        self.seen[0] += 1;
        self.pings.insert(tx_num, DustPingRow { recipients, groups });
    }

    /// Adds a ping to a group. Gives the scripts of the group if it became a campaign.
    fn add(&mut self, group: DustGroup, tx_num: TxNum, recipients: u64) -> Option<u64> {
        let state = DustState::Growing { bound: 0, pings: Vec::new() };
        let new = DustGroupRow { first: tx_num, last: tx_num, txs: 0, recipients: 0, state };
        let row = self.groups.entry(group).or_insert(new);
        let DustState::Growing { bound, pings } = &mut row.state else {
            (row.last, row.txs, row.recipients) = (tx_num, row.txs + 1, row.recipients + recipients);
            self.seen[6] += 1;
            return None;
        };
        if pings.len() == 1_000 {
            pings.remove(0);
        }
        pings.push((tx_num, recipients));
        *bound += recipients;
        if *bound < 100 {
            return None;
        }
        let all: BTreeSet<&ScriptBuf> = pings.iter().flat_map(|(ping, _)| &self.recipients[ping]).collect();
        let scripts = all.len() as u64;
        *bound = scripts;
        if scripts < 100 {
            self.seen[8] += 1;
            return None;
        }
        follow_pings(row);
        row.state = DustState::Reached { by: tx_num, scripts };
        self.seen[if matches!(group, DustGroup::Mark(_)) { 4 } else { 5 }] += 1;
        Some(scripts)
    }
}

/// For a group that is not a campaign, sets the fields that follow from its pings. True if it is not one.
fn follow_pings(row: &mut DustGroupRow) -> bool {
    let DustState::Growing { pings, .. } = &row.state else { return false };
    (row.first, row.last, row.txs) = (pings[0].0, pings[pings.len() - 1].0, pings.len() as u64);
    row.recipients = pings.iter().map(|(_, recipients)| recipients).sum();
    true
}

/// The scripts of each campaign of a chain, by the transaction with which it became one.
pub fn campaigns(oracle: &Oracle) -> BTreeMap<TxNum, u64> {
    Expected::of(oracle).alerts.into_iter().map(|((tx_num, _), row)| (tx_num, row.scripts)).collect()
}

fn assert_rows<T: Table<Key: Ord + Debug>>(view: &View<'_>, expected: &BTreeMap<T::Key, T::Value>, what: &str)
where
    T::Value: PartialEq + Debug,
{
    let found = rows::<T>(view);
    for key in found.keys().chain(expected.keys()) {
        assert_eq!(found.get(key), expected.get(key), "{what}: {}: {key:?} is not what the blocks have", T::NAME);
    }
}

/// Fails unless the tables are at the tip and have what follows from the blocks.
pub(crate) fn assert_dust(index: &Index, oracle: &Oracle, what: &str) -> Seen {
    let expected = Expected::of(oracle);
    index.view(|view| {
        assert_eq!(view.movements().dust_height().unwrap(), view.tip().height, "{what}");
        for (tx_num, ..) in oracle.transactions(view.tip().height) {
            assert_eq!(view.transactions().funding(tx_num).unwrap(), largest(oracle, tx_num), "{what}: {tx_num:?}");
        }
        assert_rows::<Pings>(view, &expected.found, what);
        assert_rows::<DustPings>(view, &expected.pings, what);
        assert_rows::<DustGroups>(view, &expected.groups, what);
        assert_rows::<DustAlerts>(view, &expected.alerts, what);
        let alerts = expected.alerts.iter().map(|((ping, group), row)| (*ping, *group, *row));
        assert!(view.movements().dust_alerts(TxNum(0)..view.tip().tx_end).unwrap().into_iter().eq(alerts), "{what}");
    });
    expected.seen
}

/// A chain of unsigned blocks, its coins in their order, and the block that is being made.
pub(crate) struct Pinging {
    pub(crate) forge: Forge,
    pub(crate) coins: Vec<(OutPoint, TxOut)>,
    pub(crate) made: Vec<Transaction>,
    pub(crate) txs: u64,
}

impl Pinging {
    pub(crate) fn of(blocks: &[Block]) -> Self {
        let mut chain = Pinging { forge: Forge::new(), coins: Vec::new(), made: Vec::new(), txs: 1 };
        for block in blocks {
            for tx in &block.txdata {
                chain.add(tx.clone());
            }
            chain.mine(i64::from(block.header.time) - chain.time());
        }
        chain
    }

    pub(crate) fn time(&self) -> i64 {
        self.forge.blocks.last().unwrap().header.time.into()
    }

    /// Adds a transaction to the block that is being made. Gives its number and its first output.
    pub(crate) fn add(&mut self, tx: Transaction) -> (TxNum, OutPoint) {
        self.coins.retain(|(at, _)| tx.input.iter().all(|input| input.previous_output != *at));
        let txid = tx.compute_txid();
        let outputs = (0..).zip(tx.output.clone()).filter(|(_, of)| !is_unspendable(of.script_pubkey.as_bytes()));
        self.coins.extend(outputs.map(|(vout, txout)| (OutPoint { txid, vout }, txout)));
        self.made.push(tx);
        self.txs += 1;
        (TxNum(self.txs - 1), OutPoint { txid, vout: 0 })
    }

    /// Ends the block, `seconds` after the last one.
    pub(crate) fn mine(&mut self, seconds: i64) {
        let time = self.time() + seconds;
        self.forge.block(std::mem::take(&mut self.made));
        let header = &mut self.forge.blocks.last_mut().unwrap().header;
        header.time = time as u32;
        while header.validate_pow(Target::from_compact(header.bits)).is_err() {
            header.nonce += 1;
        }
    }

    /// Adds a transaction that spends `counts` large and small coins, mostly new ones, and splits the rest into `split`
    /// outputs.
    pub(crate) fn pay(&mut self, counts: [usize; 2], mut output: Vec<TxOut>, split: u64, rng: &mut ChaCha8Rng) {
        let (mut inputs, mut left) = (Vec::new(), 0);
        for (sats, count) in [200_000..u64::MAX, 0..1_001].into_iter().zip(counts) {
            let mut coins: Vec<_> = self.coins.iter().filter(|coin| sats.contains(&coin.1.value.to_sat())).collect();
            for _ in 0..count.min(coins.len()) {
                let at = (0..3).map(|_| rng.random_range(0..coins.len())).max().unwrap();
                let (coin, txout) = coins.remove(at);
                inputs.push(*coin);
                left += txout.value.to_sat();
            }
        }
        left = left.saturating_sub(output.iter().map(|txout| txout.value.to_sat()).sum());
        let at = if rng.random() { 0 } else { output.len() };
        (0..split).for_each(|_| output.insert(at, pay(left / split, script(rng.random_range(5_000..5_020)))));
        if left > 20_000 {
            self.add(spend(&inputs, output));
        }
    }

    /// Adds a transaction that is mostly a ping: of scripts that others pay too, or of a mark that others have.
    pub(crate) fn any_ping(&mut self, rng: &mut ChaCha8Rng) {
        let count = [1..10, 10..45, 10..45, 45..70, 90..150].choose(rng).unwrap().clone();
        let (first, sats) = (rng.random_range(0..8) * 30, *[1, 330, 999, 1_000].choose(rng).unwrap());
        let any = |tag: u32, rng: &mut ChaCha8Rng| match rng.random_range(0..90) {
            0 => pay(0, script(tag)),
            1 => pay(1_001, script(tag)),
            2..4 => pay(sats, script(first)),
            // It may be spent from.
            4..6 => pay(sats, script(rng.random_range(5_000..5_020))),
            6..9 => pay(sats, script(rng.random_range(20_000..900_000))),
            _ => pay(sats, script(tag)),
        };
        let mut paid: Vec<TxOut> = (first..first + rng.random_range(count)).map(|tag| any(tag, rng)).collect();
        if rng.random_ratio(1, 3) {
            let marks: [&[u8]; 3] = [b"\x6a\x5d\x01\x01", b"\x6a\x08omni\0\0\0\0", b"\x6a\x04omni"];
            let any = rng.random_range(0..30);
            let mark = marks.get(any).map_or_else(|| vec![0x6a, 2, 0x5d, any as u8 % 3], |mark| mark.to_vec());
            paid.insert(rng.random_range(0..=paid.len()), pay(rng.random_range(0..2), ScriptBuf::from_bytes(mark)));
        }
        let counts = [*[1, 1, 1, 2, 3].choose(rng).unwrap(), usize::from(rng.random_ratio(1, 15))];
        let split = if rng.random_ratio(1, 15) { 0 } else { rng.random_range(1..3) };
        self.pay(counts, paid, split, rng);
    }

    /// Random blocks of pings and of what funds them.
    pub(crate) fn grow(&mut self, blocks: u32, rng: &mut ChaCha8Rng) {
        for _ in 0..blocks {
            let each = (subsidy(self.forge.blocks.len() as u32) / 4).min(30_000_000);
            let mut paid: Vec<TxOut> = (5_000..5_003).map(|tag| pay(each, script(tag))).collect();
            let others = 0..rng.random_range(0..12);
            paid.extend(others.map(|_| pay(rng.random_range(0..2), script(rng.random_range(0..400)))));
            self.add(coinbase(rng.random(), paid));
            for _ in 0..rng.random_range(0..5) {
                match rng.random_range(0..10) {
                    0..2 => self.pay([1, 0], vec![], rng.random_range(3..12), rng),
                    2 => self.pay([1, 2], vec![], 1, rng),
                    _ => self.any_ping(rng),
                }
            }
            // Often a month after an old block, to the second or nearly so.
            let after = self.forge.blocks.iter().map(|block| i64::from(block.header.time) + MONTH - self.time());
            let after = after.skip_while(|seconds| *seconds <= 0).nth(rng.random_range(0..3)).unwrap_or(600);
            self.mine(match rng.random_range(0..16) {
                0 => rng.random_range(DAY..9 * DAY),
                1 => rng.random_range(-9_000..0),
                2..5 => after + rng.random_range(-1..2),
                5..8 => rng.random_range(0..DAY),
                _ => 600,
            });
        }
    }
}

/// Brings an index to what a folder holds.
pub(crate) fn follow(index: &mut Index, blocks: &Path) {
    index.sync(blocks, Driver::Auto);
    index.engine.follow_late(&NoProgress).unwrap();
}

/// Blocks, reorganizations, and looks at the tables in random order. An engine that is closed has lost what was not
/// flushed.
fn any_order(seed: u64, blocks: &Path) -> Seen {
    let (rng, mut chain) = (&mut ChaCha8Rng::seed_from_u64(seed), Pinging::of(&[]));
    chain.grow(100, rng);
    chain.forge.write(blocks);
    let mut index = Index::of(blocks, [Driver::Bulk, Driver::Tip][seed as usize % 2]);
    for step in 0..20 {
        match rng.random_range(0..8) {
            0 | 1 => chain.grow(rng.random_range(1..30), rng),
            2 | 3 => {
                let depth = if rng.random_bool(0.2) { rng.random_range(30..90) } else { rng.random_range(1..9) };
                chain = Pinging::of(&chain.forge.blocks[1..chain.forge.blocks.len() - depth as usize]);
                chain.grow(depth + rng.random_range(1..3), rng);
            }
            4 => index = index.reopened(),
            5 => {
                let to = index.height().unwrap() - rng.random_range(1..30);
                index.engine.unwind(to, &NoProgress).unwrap();
            }
            _ => {
                // Written, all of it or some, and mostly lost: nothing was flushed.
                is_cut(|| index.engine.follow_late(&Cut::stop(rng.random_range(0..12))));
                index = if rng.random_bool(0.7) { index.reopened() } else { index };
            }
        }
        chain.forge.write(blocks);
        if rng.random_bool(0.7) {
            index.sync(blocks, Driver::Auto);
        }
        if rng.random_bool(0.7) {
            index.engine.follow_late(&NoProgress).unwrap();
            if rng.random_bool(0.7) {
                index.engine.settle().unwrap();
            }
            let oracle = oracle_at(&index, &chain.forge);
            oracle.map(|oracle| assert_dust(&index, &oracle, &format!("seed {seed}, step {step}")));
        }
        if rng.random_bool(0.2) {
            index.assert_sound();
        }
    }
    follow(&mut index, blocks);
    assert!(!index.engine.follow_late(&NoProgress).unwrap(), "seed {seed}: there is nothing to follow");
    index.assert_sound();
    assert_dust(&index, &chain.forge.oracle(), &format!("seed {seed}, at the end"))
}

#[test]
fn dust_agrees_with_the_blocks_in_any_order() {
    let mut sums = Seen::default();
    for seed in 0..if long() { 40 } else { 4 } {
        let of_seed = any_order(seed, temp_dir().path());
        sums.iter_mut().zip(of_seed).for_each(|(sum, of)| *sum += of);
    }
    println!("{sums:?}");
    assert!(sums.iter().all(|sum| *sum > 2), "it has not seen enough: {sums:?}");
}

#[test]
fn dust_does_not_depend_on_how_blocks_come() {
    let (rng, mut chain, blocks) = (&mut ChaCha8Rng::seed_from_u64(77), Pinging::of(&[]), temp_dir());
    chain.grow(60, rng);
    for _ in 0..KEPT_BLOCKS {
        chain.fund();
    }
    chain.mine(600);
    chain.grow(330, rng);
    chain.forge.write(blocks.path());
    let mut index = Index::of(blocks.path(), Driver::Bulk);
    index.engine.follow_late(&NoProgress).unwrap();
    let mut other = Pinging::of(&chain.forge.blocks[1..chain.forge.blocks.len() - 300]);
    other.grow(301, rng);
    chain.grow(2, rng);
    for branch in [&other.forge, &chain.forge] {
        branch.write(blocks.path());
        follow(&mut index, blocks.path());
        assert_dust(&index, &branch.oracle(), "after a reorganization");
    }
    let expected = index.sums();
    for driver in [Driver::Bulk, Driver::Tip] {
        let straight = Index::of(blocks.path(), driver);
        straight.engine.follow_late(&NoProgress).unwrap();
        straight.sums().assert_equal(&expected, &format!("{driver:?}"));
    }
    // Deeper than what can be undone.
    index.engine.unwind(index.height().unwrap() - KEPT_BLOCKS - 340, &NoProgress).unwrap();
    index.engine.follow_late(&NoProgress).unwrap();
    assert_dust(&index, &oracle_at(&index, &chain.forge).unwrap(), "unwound");
    for stage in ["dust", "pings"] {
        follow(&mut index, blocks.path());
        index.sums().assert_equal(&expected, &format!("before {stage} is made again"));
        index.engine.reindex(&[stage], &NoProgress).unwrap();
        assert_eq!(index.sums().rows("dust_groups"), 0, "{stage}");
    }
    follow(&mut index, blocks.path());
    index.sums().assert_equal(&expected, "made again");
    index.assert_sound();
}
