//! Random chains of payments, and documents about their scripts, with times within the chain.

use std::collections::BTreeMap;

use bitcoin::{Block, OutPoint, ScriptBuf, Target, Transaction, TxOut};
use cairn_chaingen::Coin;
use cairn_events::{Body, Category, Claim, ClaimList, ClaimType, Document, EvidenceTier};
use cairn_model::is_unspendable;
use cairn_support::forge::{Forge, coinbase, mined, pay, script, spend};
use rand::{Rng, seq::IndexedRandom};
use rand_chacha::ChaCha8Rng;

use crate::{contests::contest, labels_by_hand};

pub(crate) const DAY: i32 = 86_400;
/// The time of the first block.
pub(crate) const BEGIN: u32 = 1_296_688_602;

/// A chain whose blocks are as far apart as it is asked for.
#[derive(Clone)]
pub(crate) struct TimedChain {
    pub(crate) forge: Forge,
    pub(crate) coins: BTreeMap<OutPoint, Coin>,
}

impl TimedChain {
    pub(crate) fn new() -> Self {
        TimedChain { forge: Forge::new(), coins: BTreeMap::new() }
    }

    /// Adds a block `seconds` after the last one; its coinbase pays `paid`.
    pub(crate) fn block(&mut self, tag: u32, paid: Vec<TxOut>, txs: Vec<Transaction>, seconds: i32) {
        let parent = self.forge.blocks.last().unwrap();
        let (time, height) = (parent.header.time, self.forge.blocks.len() as u32);
        let mut block = mined(parent, [vec![coinbase(tag, paid)], txs].concat());
        block.header.time = time.checked_add_signed(seconds).unwrap();
        while block.header.validate_pow(Target::from_compact(block.header.bits)).is_err() {
            block.header.nonce += 1;
        }
        let mut spent = Vec::new();
        for tx in &block.txdata {
            if !tx.is_coinbase() {
                spent.push(tx.input.iter().map(|input| self.coins.remove(&input.previous_output).unwrap()).collect());
            }
            let txid = tx.compute_txid();
            for (vout, txout) in (0..).zip(&tx.output).filter(|(_, o)| !is_unspendable(o.script_pubkey.as_bytes())) {
                let coin = Coin { txout: txout.clone(), height, coinbase: tx.is_coinbase() };
                self.coins.insert(OutPoint { txid, vout }, coin);
            }
        }
        self.forge.blocks.push(block);
        self.forge.spent.push(spent);
    }

    /// The chain without its last blocks.
    pub(crate) fn without(&self, blocks: u32) -> Self {
        let mut shorter = TimedChain::new();
        let kept = &self.forge.blocks[..self.forge.blocks.len() - blocks as usize];
        for pair in kept.windows(2) {
            let seconds = i64::from(pair[1].header.time) - i64::from(pair[0].header.time);
            let (first, txs) = pair[1].txdata.split_first().unwrap();
            let tag = u32::from_le_bytes(first.input[0].script_sig.as_bytes()[1..].try_into().unwrap());
            shorter.block(tag, first.output.clone(), txs.to_vec(), seconds as i32);
        }
        shorter
    }
}

/// Adds random blocks: payments of few scripts in `groups` groups, of which some are spent together.
pub(crate) fn grow(chain: &mut TimedChain, blocks: u32, groups: u32, rng: &mut ChaCha8Rng) {
    let tag = |rng: &mut ChaCha8Rng| match rng.random_range(0..5) {
        0 => rng.random_range(100..160),
        _ => rng.random_range(0..40).min(rng.random_range(0..40)),
    };
    for _ in 0..blocks {
        let mut coins: Vec<(OutPoint, TxOut)> =
            chain.coins.iter().map(|(at, coin)| (*at, coin.txout.clone())).collect();
        let mut txs = Vec::new();
        for _ in 0..rng.random_range(0..5) {
            let group = |coin: &(OutPoint, TxOut)| u32::from(coin.1.script_pubkey.as_bytes()[3]) % groups;
            let (mut spent, mut of): (Vec<(OutPoint, TxOut)>, Option<u32>) = (Vec::new(), None);
            for _ in 0..rng.random_range(1..4) {
                let any = rng.random_bool(0.03);
                let fits = |at: &usize| any || of.is_none_or(|of| of == group(&coins[*at]));
                let fitting: Vec<usize> = (0..coins.len()).filter(fits).collect();
                let Some(at) = fitting.choose(rng) else { break };
                let coin = coins.swap_remove(*at);
                of = Some(group(&coin));
                spent.push(coin);
            }
            let mut left: u64 = spent.iter().map(|(_, txout)| txout.value.to_sat()).sum();
            let mut paid = Vec::new();
            for _ in 0..rng.random_range(1..5) {
                let part = if rng.random_bool(0.05) { 0 } else { rng.random_range(0..=left) };
                left -= part;
                paid.push(match rng.random_range(0..12) {
                    0 => pay(part, ScriptBuf::from_bytes(vec![0x6a, 1, 1])),
                    1..6 if !spent.is_empty() => pay(part, spent[0].1.script_pubkey.clone()),
                    _ => pay(part, script(tag(rng))),
                });
            }
            if rng.random_bool(0.7) {
                let fee = rng.random_range(0..3_000).min(left);
                paid.push(pay(left - fee, script(tag(rng))));
            }
            if !spent.is_empty() {
                let inputs: Vec<OutPoint> = spent.iter().map(|(at, _)| *at).collect();
                let tx = spend(&inputs, paid);
                let outputs = (0..).zip(&tx.output).filter(|(_, of)| !of.script_pubkey.is_op_return());
                let txid = tx.compute_txid();
                coins.extend(outputs.map(|(vout, of)| (OutPoint { txid, vout }, of.clone())));
                txs.push(tx);
            }
        }
        let minted = 1..rng.random_range(2..5);
        let minted = minted.map(|_| {
            let most = if rng.random_bool(0.1) { 1_000_000_000 } else { 1_000_000 };
            pay(rng.random_range(0..most), script(tag(rng)))
        });
        let minted = minted.collect();
        let seconds = match rng.random_range(0..20) {
            0 => rng.random_range(DAY..2 * DAY),
            1..5 => rng.random_range(10_000..60_000),
            5 => rng.random_range(-40_000..0),
            _ => rng.random_range(60..3_600),
        };
        chain.block(rng.random(), minted, txs, seconds);
    }
}

const ENTITIES: [(&str, Category); 5] = [
    ("alpha", Category::Exchange),
    ("beta", Category::Exchange),
    ("gamma", Category::Exchange),
    ("pool", Category::MiningPool),
    ("mixer", Category::Mixer),
];

/// A time within the chain or near it, often that of a block.
fn any_time(rng: &mut ChaCha8Rng, blocks: &[Block]) -> u32 {
    let time = |block: &Block| block.header.time;
    if rng.random() {
        return time(blocks.choose(rng).unwrap()) + rng.random_range(0..3) - 1;
    }
    rng.random_range(BEGIN - 90_000..blocks.iter().map(time).max().unwrap() + 200_000)
}

fn claim(rng: &mut ChaCha8Rng, row: u32, is_of_few: bool, blocks: &[Block]) -> Claim {
    use ClaimType::{BehavesAs, CoinbasePayoutOf, ControlledBy, ListedBy, ReportedAs};
    let (entity, category) = ENTITIES[rng.random_range(0..5)];
    let types = [ControlledBy, ControlledBy, ControlledBy, ControlledBy, CoinbasePayoutOf, ReportedAs, ListedBy];
    let claim_type = if rng.random_ratio(1, 20) { BehavesAs } else { *types.choose(rng).unwrap() };
    let tag = match rng.random_range(0..4) {
        _ if is_of_few => rng.random_range(0..3),
        0 => rng.random_range(100..160),
        _ => rng.random_range(0..40),
    };
    let time = |rng: &mut ChaCha8Rng| any_time(rng, blocks);
    let valid_from = rng.random_ratio(1, 8).then(|| time(rng));
    Claim {
        level: *[0, 30, 40, 84, 90, 95, 95].choose(rng).unwrap(),
        entity: rng.random_ratio(14, 15).then(|| entity.parse().unwrap()),
        category: match rng.random_range(0..10) {
            0 => Some(Category::Mixer),
            1 => None,
            _ => Some(category),
        },
        label: "words".into(),
        asserted_at: rng.random_ratio(2, 3).then(|| time(rng)),
        valid_from,
        valid_to: rng.random_ratio(1, 8).then(|| time(rng).max(valid_from.unwrap_or(0))),
        is_inherited: rng.random_ratio(2, 3),
        ..Claim::bare(row, script(tag).as_bytes().into(), claim_type, EvidenceTier::ThirdParty)
    }
}

/// A document that says something new, says otherwise what another one has said, or takes back or contests something.
pub(crate) fn document(rng: &mut ChaCha8Rng, all: &[Document], blocks: &[Block]) -> Document {
    let body = match (rng.random_range(0..11), all.choose(rng)) {
        (0, Some(known)) => Body::Withdrawal { document: known.provenance.document, reason: "it was wrong".to_owned() },
        (1 | 2, _) if let Some(body) = contest(rng, all) => body,
        (3..6, Some(Document { body: Body::Claims { list, rows }, provenance, .. })) => {
            // The same claims with another reach: members stay as many as they were.
            let rows = rows.iter().map(|row| Claim { is_inherited: rng.random_ratio(1, 2), ..row.clone() }).collect();
            let mut again = labels_by_hand::document(rng, Body::Claims { list: list.clone(), rows });
            again.provenance.source = provenance.source.clone();
            again.provenance.retrieved_at = provenance.retrieved_at + rng.random_range(1..3 * DAY as u32);
            return again;
        }
        _ => {
            let name = ["x", "y"][rng.random_range(0..2)].parse().unwrap();
            let is_of_few = rng.random_ratio(1, 4);
            let is_long = rng.random_ratio(1, 4);
            // Of few scripts more than is read of one.
            let count = [rng.random_range(1..12), if is_of_few { 250 } else { 60 }][usize::from(is_long)];
            let mut rows: Vec<Claim> = (1..=count).map(|row| claim(rng, row, is_of_few, blocks)).collect();
            if is_long {
                // One exchange has most of it, so that more scripts of a cluster name it than count.
                let entity = Some(ENTITIES[rng.random_range(0..3)].0.parse().unwrap());
                for row in rows.iter_mut().filter(|row| row.row % 20 != 0) {
                    (row.entity, row.level, row.is_inherited) = (entity.clone(), 95, true);
                }
            }
            Body::Claims { list: ClaimList { name, is_complete: rng.random_ratio(1, 4) }, rows }
        }
    };
    let mut made = labels_by_hand::document(rng, body);
    made.provenance.retrieved_at = any_time(rng, blocks);
    made
}
