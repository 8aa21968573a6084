//! Pings of dust and their campaigns: what follows from the blocks alone, whichever way the index got there.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, HashMap},
    fmt::Debug,
    path::Path,
};

use bitcoin::{
    Block, OutPoint, ScriptBuf, Target, Transaction, TxOut,
    hashes::{Hash, sha256},
};
use cairn_chaingen::{Coin, subsidy};
use cairn_domain::decode_op_return;
use cairn_model::{TxNum, is_unspendable};
use cairn_pipeline::{Driver, NoProgress};
use cairn_reader::View;
use cairn_tables::{
    Table,
    dust::{DustAlertRow, DustAlerts, DustGroup, DustGroupRow, DustGroups, DustPingRow, DustPings, DustState},
    pings::{PingRow, Pings},
};
use cairn_testkit::{Oracle, temp_dir};
use rand::{Rng, SeedableRng, seq::IndexedRandom};
use rand_chacha::ChaCha8Rng;

use crate::{
    forge::{Forge, coinbase, mined, pay, script, spend},
    late::{oracle_at, rows},
    support::*,
};

const DAY: i64 = 86_400;
const MONTH: i64 = 30 * DAY;

fn is_dust(sats: u64) -> bool {
    (1..=1_000).contains(&sats)
}

/// The scripts that a transaction pays dust and does not spend from, once for each output; none if it cannot be a ping.
fn dust_to_others<'t>(oracle: &Oracle, tx_num: TxNum, tx: &'t Transaction) -> Vec<&'t ScriptBuf> {
    let spent = oracle.spent(tx_num);
    let spendable = || tx.output.iter().filter(|txout| !is_unspendable(txout.script_pubkey.as_bytes()));
    let has_mark = |txout: &TxOut| {
        let decoded = decode_op_return(txout.script_pubkey.as_bytes(), false);
        decoded.is_some_and(|decoded| !decoded.protocols.is_empty())
    };
    if tx.is_coinbase()
        || spent.iter().any(|coin| is_dust(coin.value_sats))
        || spendable().all(|txout| txout.value.to_sat() <= 1_000)
        || tx.output.iter().any(has_mark)
    {
        return Vec::new();
    }
    let dust = spendable().filter(|txout| is_dust(txout.value.to_sat())).map(|txout| &txout.script_pubkey);
    dust.filter(|script| spent.iter().all(|coin| coin.script != **script)).collect()
}

/// What a run has seen, so that it is known to have seen enough.
const SEEN: &str = "pings, forgotten ones, ones kept after 30 days, ones with the groups of another, campaigns of \
    marks, of funding, pings that a campaign got later, campaigns without alert, recounts below a hundred, groups that \
    are no campaign at the end";
type Seen = [usize; 10];

/// What the tables have to say about a chain.
#[derive(Default)]
struct Expected {
    may_be: BTreeMap<TxNum, PingRow>,
    pings: BTreeMap<TxNum, DustPingRow>,
    groups: BTreeMap<DustGroup, DustGroupRow>,
    alerts: BTreeMap<(TxNum, DustGroup), DustAlertRow>,
    recipients: HashMap<TxNum, BTreeSet<ScriptBuf>>,
    /// Pings that are not forgotten, with the times of their blocks.
    young: Vec<(TxNum, u64)>,
    seen: Seen,
}

impl Expected {
    fn of(oracle: &Oracle) -> Self {
        let mut all = Expected::default();
        for (tx_num, height, tx) in oracle.transactions(oracle.tip().unwrap().0) {
            let time = u64::from(oracle.monotone_time(height));
            if tx.is_coinbase() {
                all.forget(time);
            }
            let dust = dust_to_others(oracle, tx_num, tx);
            if dust.is_empty() {
                continue;
            }
            all.may_be.insert(tx_num, PingRow { outputs: dust.len() as u64 });
            let had = |script: &ScriptBuf| oracle.history(script).iter().any(|row| row.tx_num < tx_num);
            let recipients: BTreeSet<ScriptBuf> = dust.into_iter().filter(|script| had(script)).cloned().collect();
            if !recipients.is_empty() {
                all.ping(oracle, tx_num, tx, recipients);
                all.young.push((tx_num, time));
            }
        }
        all.seen[9] = all.groups.keys().filter(|group| !all.is_campaign(group)).count();
        all
    }

    fn is_campaign(&self, group: &DustGroup) -> bool {
        self.groups.get(group).is_some_and(|row| matches!(row.state, DustState::Reached { .. }))
    }

    /// Forgets what is too old for a block of this time.
    fn forget(&mut self, time: u64) {
        let is_old = |of: &&(TxNum, u64)| of.1 + (MONTH as u64) < time;
        let old: Vec<TxNum> = self.young.iter().take_while(is_old).map(|(ping, _)| *ping).collect();
        self.young.drain(..old.len());
        for ping in old {
            let groups = self.pings[&ping].groups.clone();
            for group in &groups {
                let Some(row) = self.groups.get_mut(group) else { continue };
                let DustState::Growing { pings, .. } = &mut row.state else { continue };
                pings.retain(|(of, _)| *of != ping);
                if pings.is_empty() {
                    self.groups.remove(group);
                } else {
                    follow_pings(row);
                }
            }
            let is_kept = groups.iter().any(|group| self.is_campaign(group));
            self.seen[1 + usize::from(is_kept)] += 1;
            if !is_kept {
                self.pings.remove(&ping);
            }
        }
    }

    fn groups_of(&mut self, oracle: &Oracle, tx_num: TxNum, tx: &Transaction) -> Vec<DustGroup> {
        if let Some(mark) = tx.output.iter().find(|txout| txout.script_pubkey.as_bytes().first() == Some(&0x6a)) {
            return vec![DustGroup::Mark(sha256::Hash::hash(mark.script_pubkey.as_bytes()).to_byte_array())];
        }
        let (mut groups, mut at) = (vec![DustGroup::Funding(tx_num)], tx_num);
        for _ in 0..3 {
            let Some(largest) = oracle.spent(at).iter().min_by_key(|coin| Reverse(coin.value_sats)) else { break };
            at = largest.tx_num;
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
        let groups = self.groups_of(oracle, tx_num, tx);
        let recipients = to.len() as u64;
        self.recipients.insert(tx_num, to);
        let had_campaign = groups.iter().any(|group| self.is_campaign(group));
        let reached: Vec<_> = groups.iter().filter_map(|of| Some((*of, self.add(*of, tx_num, recipients)?))).collect();
        if let Some((group, scripts)) = reached.first() {
            match had_campaign {
                true => self.seen[7] += 1,
                false => drop(self.alerts.insert((tx_num, *group), DustAlertRow { scripts: *scripts })),
            }
        }
        self.seen[0] += 1;
        self.pings.insert(tx_num, DustPingRow { recipients, groups });
    }

    /// Adds a ping to a group. Gives the scripts of the group if it became a campaign.
    fn add(&mut self, group: DustGroup, tx_num: TxNum, recipients: u64) -> Option<u64> {
        let state = DustState::Growing { bound: 0, pings: Vec::new() };
        let new = DustGroupRow { first: tx_num, last: tx_num, txs: 0, recipients: 0, state };
        let row = self.groups.entry(group).or_insert(new);
        let DustState::Growing { bound, pings } = &mut row.state else {
            row.last = tx_num;
            row.txs += 1;
            row.recipients += recipients;
            self.seen[6] += 1;
            return None;
        };
        if pings.len() == 1_000 {
            pings.remove(0);
        }
        pings.push((tx_num, recipients));
        *bound += recipients;
        let may_be = *bound >= 100;
        if may_be {
            let scripts: BTreeSet<&ScriptBuf> = pings.iter().flat_map(|(ping, _)| &self.recipients[ping]).collect();
            *bound = scripts.len() as u64;
        }
        let scripts = *bound;
        follow_pings(row);
        if scripts >= 100 {
            row.state = DustState::Reached { by: tx_num, scripts };
            self.seen[if matches!(group, DustGroup::Mark(_)) { 4 } else { 5 }] += 1;
            return Some(scripts);
        }
        self.seen[8] += usize::from(may_be);
        None
    }
}

/// Sets what follows from the pings of a group that is no campaign.
fn follow_pings(row: &mut DustGroupRow) {
    let DustState::Growing { pings, .. } = &row.state else { return };
    (row.first, row.last, row.txs) = (pings[0].0, pings[pings.len() - 1].0, pings.len() as u64);
    row.recipients = pings.iter().map(|(_, recipients)| recipients).sum();
}

/// Fails unless a table has these rows.
fn assert_rows<T: Table<Key: Ord + Debug, Value: PartialEq + Debug>>(
    view: &View<'_>,
    expected: &BTreeMap<T::Key, T::Value>,
    what: &str,
) {
    let found = rows::<T>(view);
    for key in found.keys().chain(expected.keys()) {
        assert_eq!(found.get(key), expected.get(key), "{what}: {}: {key:?} is not what the blocks have", T::NAME);
    }
}

/// Fails unless the tables are at the tip and have what follows from the blocks.
fn assert_dust(index: &Index, oracle: &Oracle, what: &str) -> Seen {
    let expected = Expected::of(oracle);
    index.view(|view| {
        assert_eq!(view.dust_height().unwrap(), view.tip().height, "{what}");
        assert_rows::<Pings>(view, &expected.may_be, what);
        assert_rows::<DustPings>(view, &expected.pings, what);
        assert_rows::<DustGroups>(view, &expected.groups, what);
        assert_rows::<DustAlerts>(view, &expected.alerts, what);
        let alerts = expected.alerts.iter().map(|((ping, group), row)| (*ping, *group, *row));
        assert!(view.dust_alerts(TxNum(0)..view.tip().tx_end).unwrap().into_iter().eq(alerts), "{what}");
        let txs: Vec<TxNum> = (0..view.tip().tx_end.0).rev().map(TxNum).collect();
        let pings = view.dust_pings(&txs).unwrap();
        assert!(txs.iter().zip(pings).all(|(tx, ping)| ping.as_ref() == expected.pings.get(tx)), "{what}");
    });
    expected.seen
}

/// A chain of unsigned blocks, its coins, and the block that is being made.
struct Pinging {
    forge: Forge,
    coins: HashMap<OutPoint, Coin>,
    /// Outputs above 1,000 satoshis and others, in their order. Some are spent.
    outputs: [Vec<OutPoint>; 2],
    made: Vec<Transaction>,
    spent: Vec<Vec<Coin>>,
    txs: u64,
}

impl Pinging {
    fn of(blocks: &[Block]) -> Self {
        let (coins, outputs, made, spent) = Default::default();
        let mut chain = Pinging { forge: Forge::new(), coins, outputs, made, spent, txs: 1 };
        for block in blocks {
            block.txdata.iter().for_each(|tx| drop(chain.add(tx.clone())));
            chain.connect(block.clone());
        }
        chain
    }

    /// Adds a transaction to the block that is being made. Gives its number and its first output.
    fn add(&mut self, tx: Transaction) -> (TxNum, OutPoint) {
        if !tx.is_coinbase() {
            let coins = tx.input.iter().map(|input| self.coins.remove(&input.previous_output).expect("a coin"));
            self.spent.push(coins.collect());
        }
        let (txid, height) = (tx.compute_txid(), self.forge.blocks.len() as u32);
        for (vout, txout) in (0..).zip(&tx.output).filter(|(_, of)| !is_unspendable(of.script_pubkey.as_bytes())) {
            let at = OutPoint { txid, vout };
            self.coins.insert(at, Coin { txout: txout.clone(), height, coinbase: tx.is_coinbase() });
            self.outputs[usize::from(txout.value.to_sat() <= 1_000)].push(at);
        }
        self.made.push(tx);
        self.txs += 1;
        (TxNum(self.txs - 1), OutPoint { txid, vout: 0 })
    }

    fn connect(&mut self, block: Block) {
        self.forge.blocks.push(block);
        self.forge.spent.push(std::mem::take(&mut self.spent));
        self.made.clear();
    }

    /// Ends the block, so many seconds after the last one.
    fn mine(&mut self, seconds: i64) {
        let parent = self.forge.blocks.last().unwrap();
        let mut block = mined(parent, self.made.clone());
        block.header.time = (i64::from(parent.header.time) + seconds) as u32;
        while block.header.validate_pow(Target::from_compact(block.header.bits)).is_err() {
            block.header.nonce += 1;
        }
        self.connect(block);
    }

    /// An unspent output, mostly a new one, which is not one of those.
    fn coin(&self, kind: usize, but: &[OutPoint], rng: &mut ChaCha8Rng) -> Option<(OutPoint, TxOut)> {
        (0..40).find_map(|_| {
            let all = &self.outputs[kind];
            let newest = (0..2).map(|_| rng.random_range(0..all.len().max(1))).max()?;
            let at = *all.get(newest).filter(|at| !but.contains(at))?;
            let txout = self.coins.get(&at)?.txout.clone();
            (kind == 1 || txout.value.to_sat() > 200_000).then_some((at, txout))
        })
    }

    /// Adds a transaction that spends so many large coins and small ones, and has so many outputs for what is left.
    fn pay(&mut self, counts: [usize; 2], mut output: Vec<TxOut>, split: u64, rng: &mut ChaCha8Rng) {
        let (mut inputs, mut spent) = (Vec::new(), Vec::new());
        for kind in (0..2).flat_map(|kind| (0..counts[kind]).map(move |_| kind)) {
            let Some((at, txout)) = self.coin(kind, &inputs, rng) else { continue };
            inputs.push(at);
            spent.push(txout);
        }
        let sum = |of: &[TxOut]| of.iter().map(|txout| txout.value.to_sat()).sum::<u64>();
        let left = sum(&spent).saturating_sub(sum(&output));
        if left < 20_000 {
            return;
        }
        // A few outputs are to a script that is spent from.
        let is_own = |one_in: u32, rng: &mut ChaCha8Rng| rng.random_ratio(1, one_in);
        let own = output.iter_mut().filter(|_| is_own(40, rng));
        own.for_each(|txout| txout.script_pubkey = spent[0].script_pubkey.clone());
        let at = if rng.random() { 0 } else { output.len() };
        for _ in 0..split {
            let to = if is_own(4, rng) { spent[0].script_pubkey.clone() } else { script(rng.random_range(5_000..9_000)) };
            output.insert(at, pay(left / split, to));
        }
        self.add(spend(&inputs, output));
    }

    /// Adds a transaction that is mostly a ping: of scripts that others pay too, or of a mark that others have.
    fn any_ping(&mut self, rng: &mut ChaCha8Rng) {
        let count = *[1..10, 10..45, 10..45, 45..70, 90..120].choose(rng).unwrap();
        let (count, first) = (rng.random_range(count), rng.random_range(0..8) * 30);
        let sats = *[1, 330, 999, 1_000].choose(rng).unwrap();
        let mut paid = Vec::new();
        for tag in first..first + count {
            let to = if rng.random_ratio(1, 30) { rng.random_range(20_000..900_000) } else { tag };
            let sats = if rng.random_ratio(1, 30) { *[0, 1_001, 1_000].choose(rng).unwrap() } else { sats };
            (0..if rng.random_ratio(1, 30) { 2 } else { 1 }).for_each(|_| paid.push(pay(sats, script(to))));
        }
        if rng.random_ratio(1, 3) {
            let nth = rng.random_range(0..3);
            let protocols: [&[u8]; 3] = [b"\x6a\x5d\x01\x01", b"\x6a\x08omni\0\0\0\0", b"\x6a\x04omni"];
            let is_of_protocol = rng.random_ratio(1, 8);
            let mark = if is_of_protocol { protocols[nth].to_vec() } else { vec![0x6a, 2, 0x5d, nth as u8] };
            paid.insert(rng.random_range(0..=paid.len()), pay(rng.random_range(0..2), ScriptBuf::from_bytes(mark)));
        }
        let counts = [*[1, 1, 1, 2, 3].choose(rng).unwrap(), usize::from(rng.random_ratio(1, 15))];
        let split = if rng.random_ratio(1, 15) { 0 } else { rng.random_range(1..3) };
        self.pay(counts, paid, split, rng);
    }

    /// Random blocks of pings and of what funds them.
    fn grow(&mut self, blocks: u32, rng: &mut ChaCha8Rng) {
        for _ in 0..blocks {
            let each = (subsidy(self.forge.blocks.len() as u32) / 4).min(3_000_000);
            let mut paid: Vec<TxOut> = (0..3).map(|_| pay(each, script(rng.random_range(5_000..9_000)))).collect();
            let others = 0..rng.random_range(0..8);
            paid.extend(others.map(|_| pay(rng.random_range(0..2), script(rng.random_range(0..400)))));
            self.add(coinbase(rng.random(), paid));
            for _ in 0..rng.random_range(0..5) {
                match rng.random_range(0..10) {
                    0 | 1 => self.pay([1, 0], vec![], rng.random_range(3..12), rng),
                    2 => {
                        let to = (0..rng.random_range(1..30)).map(|_| rng.random_range(0..400));
                        let paid = to.map(|tag| pay([0, 5_000][tag as usize % 2], script(tag))).collect();
                        self.pay([1, 0], paid, 1, rng);
                    }
                    3 => self.pay([1, 2], vec![], 1, rng),
                    _ => self.any_ping(rng),
                }
            }
            let times = || self.forge.blocks.iter().map(|block| i64::from(block.header.time));
            let last = times().last().unwrap();
            let seconds = match rng.random_range(0..16) {
                0 => rng.random_range(DAY..9 * DAY),
                1 => rng.random_range(-9_000..0),
                // A month after one of the oldest blocks that are not older than a month, to the second or nearly so.
                2..5 => {
                    let old = times().skip_while(|time| time + MONTH <= last).nth(rng.random_range(0..3));
                    old.map_or(600, |time| time + MONTH - last + rng.random_range(-1..2))
                }
                5..8 => rng.random_range(0..DAY),
                _ => 600,
            };
            self.mine(seconds);
        }
    }
}

/// Blocks, reorganizations, and looks at the tables in random order. An engine that is closed has lost what was not
/// flushed.
fn any_order(seed: u64, blocks: &Path) -> Seen {
    let rng = &mut ChaCha8Rng::seed_from_u64(seed);
    let base: Vec<Block> = small_chain(seed).active().into_iter().skip(1).map(|mined| mined.block.clone()).collect();
    let mut chain = Pinging::of(if seed.is_multiple_of(2) { &[] } else { &base });
    chain.grow(100, rng);
    chain.forge.write(blocks);
    let mut index = Index::of(blocks, [Driver::Bulk, Driver::Tip][seed as usize / 2 % 2]);
    for step in 0..24 {
        let what = format!("seed {seed}, step {step}");
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
            6 => {
                // Cut short, and some of the time lost.
                is_cut(|| index.engine.follow_late(&Cut::stop(rng.random_range(0..6))));
                index = if rng.random() { index.reopened() } else { index };
            }
            _ => {
                // Written, and lost: nothing was flushed.
                index.engine.follow_late(&NoProgress).unwrap();
                index = index.reopened();
            }
        }
        chain.forge.write(blocks);
        if rng.random_bool(0.7) {
            index.sync(blocks, Driver::Auto);
        }
        if rng.random_bool(0.7) {
            index.engine.follow_late(&NoProgress).unwrap();
            assert!(!index.engine.follow_late(&NoProgress).unwrap(), "{what}: there is nothing to follow");
            if rng.random_bool(0.7) {
                index.engine.settle().unwrap();
            }
            oracle_at(&index, &chain.forge).map(|oracle| assert_dust(&index, &oracle, &what));
        }
        if rng.random_bool(0.2) {
            index.assert_sound();
        }
    }
    index.sync(blocks, Driver::Auto);
    index.engine.follow_late(&NoProgress).unwrap();
    let what = format!("seed {seed}, at the end");
    let seen = assert_dust(&index, &chain.forge.oracle(), &what);
    index.assert_sound();
    let straight = Index::of(blocks, Driver::Bulk);
    straight.engine.follow_late(&NoProgress).unwrap();
    index.sums().assert_equal(&straight.sums(), &what);
    seen
}

#[test]
fn dust_agrees_with_the_blocks_in_any_order() {
    let mut sums = Seen::default();
    for seed in std::env::var("DUST_SEEDS").map_or(0..4, |v| { let (a, b) = v.split_once("-").unwrap(); a.parse().unwrap()..b.parse().unwrap() }) {
        let of_seed = any_order(seed, temp_dir().path());
        sums.iter_mut().zip(of_seed).for_each(|(sum, of)| *sum += of);
    }
    println!("{SEEN}: {sums:?}");
    assert!(sums.iter().all(|sum| *sum > 8), "too few of {SEEN}: {sums:?}");
}

/// By hand.
impl Pinging {
    /// Begins a block, of which the coinbase has a script of its own. Scripts 0 to 299 have been paid, and 300 nothing.
    fn fund(&mut self) -> (TxNum, OutPoint) {
        if self.txs == 1 {
            let paid = (0..300).map(|tag| pay(5_000, script(tag))).chain([pay(0, script(300))]);
            self.add(coinbase(0, paid.collect()));
        }
        if !self.made.is_empty() {
            self.mine(600);
        }
        let tag = 1_000_000 + self.txs as u32;
        self.add(coinbase(tag, vec![pay(10_000_000, script(tag))]))
    }

    /// Adds a ping of these scripts, after an OP_RETURN output unless that is empty. The first output is what is left.
    fn ping(&mut self, from: OutPoint, mark: &[u8], tags: impl IntoIterator<Item = u32>) -> (TxNum, OutPoint) {
        let mark = (!mark.is_empty()).then(|| pay(1_000, ScriptBuf::from_bytes(mark.to_vec())));
        let dust: Vec<TxOut> = mark.into_iter().chain(tags.into_iter().map(|tag| pay(330, script(tag)))).collect();
        let left = self.coins[&from].txout.value.to_sat() - 1_000 - 330 * dust.len() as u64;
        let own = pay(left, self.coins[&from].txout.script_pubkey.clone());
        self.add(spend(&[from], [vec![own], dust].concat()))
    }

    /// Fails unless the index has what the blocks have, and these alerts. Gives the index.
    fn assert_alerts(&self, expected: &[(TxNum, u64)]) -> Index {
        let blocks = temp_dir();
        self.forge.write(blocks.path());
        let index = Index::of(blocks.path(), Driver::Bulk);
        index.engine.follow_late(&NoProgress).unwrap();
        let alerts = index.view(rows::<DustAlerts>);
        let found: Vec<(TxNum, u64)> = alerts.iter().map(|((ping, _), row)| (*ping, row.scripts)).collect();
        assert_eq!(found, expected);
        assert_dust(&index, &self.forge.oracle(), "by hand");
        index.assert_sound();
        index
    }
}

#[test]
fn a_hundred_scripts_with_a_history_make_a_dust_campaign() {
    let (mut chain, mut due, mut none) = (Pinging::of(&[]), Vec::new(), Vec::new());
    let coin = chain.fund().1;
    chain.ping(coin, b"", 0..99);
    let coin = chain.fund().1;
    due.push(chain.ping(coin, b"", 0..100).0);
    // Pings that share scripts, so that their numbers add up to more than there are.
    let coin = chain.fund().1;
    let coin = chain.ping(coin, b"", 0..60).1;
    due.push(chain.ping(coin, b"", 40..100).0);
    let coin = chain.fund().1;
    let coin = [0..60, 39..99, 10..11].into_iter().fold(coin, |coin, tags| chain.ping(coin, b"", tags).1);
    due.push(chain.ping(coin, b"", 99..100).0);
    // A script was paid nothing before; another was paid in the same block, before and after.
    let coin = chain.fund().1;
    due.push(chain.ping(coin, b"", (0..99).chain([300])).0);
    let coin = chain.fund().1;
    let coin = chain.add(spend(&[coin], vec![pay(9_000_000, script(5_001)), pay(5_000, script(301))])).1;
    due.push(chain.ping(coin, b"", (0..99).chain([301])).0);
    let coin = chain.fund().1;
    let coin = chain.ping(coin, b"", (0..99).chain([302])).1;
    chain.add(spend(&[coin], vec![pay(5_000, script(302))]));
    // What is paid with dust, and what is left.
    let own = 5_010;
    let long = ScriptBuf::from_bytes(vec![0x51; 10_001]);
    for (hundredth, left, number) in [
        (pay(1_000, script(99)), 1_001, Some(100)),
        (pay(1_000, script(99)), 1_000, None),
        (pay(1_001, script(99)), 1_000, Some(99)),
        (pay(0, script(99)), 9_999, Some(99)),
        (pay(1_000, script(own)), 9_999, Some(99)),
        (pay(1_000, long), 9_999, Some(99)),
        (pay(1_000, script(98)), 9_999, Some(99)),
        (pay(1_000, script(303)), 9_999, Some(99)),
    ] {
        let coin = chain.fund().1;
        let coin = chain.add(spend(&[coin], vec![pay(9_000_000, script(own))])).1;
        let dust: Vec<TxOut> = (0..99).map(|tag| pay(1_000, script(tag))).chain([hundredth]).collect();
        let (ping, _) = chain.add(spend(&[coin], [dust, vec![pay(left, script(303))]].concat()));
        match number {
            Some(100) => due.push(ping),
            Some(_) => {}
            None => none.push(ping),
        }
    }
    // Coins that are spent with it.
    for (sats, is_ping) in [(0, true), (1, false), (1_000, false), (1_001, true)] {
        let coin = chain.fund().1;
        let coin = chain.add(spend(&[coin], vec![pay(sats, script(own)), pay(9_000_000, script(own))])).1;
        let dust = (0..100).map(|tag| pay(1_000, script(tag))).chain([pay(5_000, script(own))]).collect();
        let (ping, _) = chain.add(spend(&[coin, OutPoint { vout: 1, ..coin }], dust));
        if is_ping { &mut due } else { &mut none }.push(ping);
    }
    for mark in [&b"\x6a\x5d"[..], b"\x6a\x5d\x01\x01", b"\x6a\x09omni\0\0\0\0\0"] {
        let coin = chain.fund().1;
        none.push(chain.ping(coin, mark, 0..100).0);
    }
    let due: Vec<(TxNum, u64)> = due.into_iter().map(|ping| (ping, 100)).collect();
    let index = chain.assert_alerts(&due);
    let pings = index.view(rows::<Pings>);
    assert!(none.iter().all(|ping| !pings.contains_key(ping)), "{none:?}");
}

#[test]
fn dust_pings_are_of_what_funds_them() {
    let mut chain = Pinging::of(&[]);
    let mut expected: Vec<(TxNum, Vec<TxNum>)> = Vec::new();
    // Three transactions back there is a ping; four; and one with a mark.
    let (funding, coin) = chain.fund();
    let (ping, coin) = chain.ping(coin, b"", 0..10);
    let coin = (0..2).fold(coin, |coin, _| chain.ping(coin, b"", []).1);
    expected.extend([(ping, vec![ping, funding]), (chain.ping(coin, b"", 0..10).0, vec![ping, funding])]);
    let coin = chain.fund().1;
    let coin = chain.ping(coin, b"", 0..10).1;
    let (third, coin) = chain.ping(coin, b"", []);
    let (second, coin) = chain.ping(coin, b"", []);
    let (first, coin) = chain.ping(coin, b"", []);
    let ping = chain.ping(coin, b"", 0..10).0;
    expected.push((ping, vec![ping, first, second, third]));
    let (funding, coin) = chain.fund();
    let (marked, coin) = chain.ping(coin, b"\x6a\x01\x01", 0..10);
    let ping = chain.ping(coin, b"", 0..10).0;
    expected.push((ping, vec![ping, marked, funding]));
    // The largest coin, and of equal ones that of the first input.
    let of_three = [0; 3].map(|_| chain.fund());
    for inputs in [[0, 1], [2, 0]] {
        let [one, other] = inputs.map(|nth| of_three[nth]);
        let coins = [one.1, other.1].map(|coin| chain.ping(coin, b"", []).1);
    }
    drop((of_three, expected));
}
