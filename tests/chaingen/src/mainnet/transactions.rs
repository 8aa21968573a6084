//! The transactions of one block of the mainnet shape, written as raw bytes.

use bitcoin::Script;
use rand::Rng;
use rand_chacha::ChaCha8Rng;

use super::P2pkCounts;
use super::address::{Address, Addresses};
use super::assemble::sha256d;
use super::owners::{Owners, Place};
use super::pool::{Bundle, LiveCoin, LiveCoins};
use super::random::push_random;
use crate::corefiles::{write_coin, write_compact_size};

/// Blocks are filled to a random weight within this range; consensus allows 4,000,000.
const WEIGHT: std::ops::Range<usize> = 3_300_000..3_960_000;
/// No transaction makes a block heavier than this.
const MAX_WEIGHT: usize = 3_990_000;
/// Upper bounds of what an input and an output weigh.
const INPUT_WEIGHT: usize = 1_300;
const OUTPUT_WEIGHT: usize = 400;
/// No transaction is added above this cost; consensus allows 80,000.
const SIGOP_COST: usize = 70_000;
/// Outputs of one seeding transaction.
const SEED_OUTPUTS: u32 = 2_000;

/// The open block and what it draws from.
#[derive(Debug)]
pub(super) struct Body {
    pub(super) addresses: Addresses,
    pub(super) pool: LiveCoins,
    pub(super) owners: Owners,
    /// Coins still to be made by fanning out.
    seedlings: u32,
    height: u32,
    pub(super) fees: u64,
    pub(super) txs: u64,
    pub(super) inputs: u64,
    pub(super) outputs: u64,
    /// Of all blocks so far.
    pub(super) p2pk: P2pkCounts,
    pub(super) has_witness: bool,
    weight: usize,
    sigops: usize,
    /// First the coinbase's place.
    pub(super) txids: Vec<[u8; 32]>,
    /// First the coinbase's, which is zero by definition.
    pub(super) wtxids: Vec<[u8; 32]>,
    pub(super) raw: Vec<u8>,
    pub(super) undo: Vec<u8>,
    /// Of each output, whose it is; data is nobody's.
    pub(super) paid: Vec<Option<u32>>,
    scratch: Scratch,
}

/// The parts of the transaction being made.
#[derive(Debug, Default)]
struct Scratch {
    coins: Vec<LiveCoin>,
    inputs: Vec<u8>,
    outputs: Vec<u8>,
    witness: Vec<u8>,
    base: Vec<u8>,
    script: Vec<u8>,
    /// Value and address of each output, and where its coin goes; data outputs have no address.
    plan: Vec<(u64, Option<(Address, Place)>)>,
}

impl Body {
    pub(super) fn new(addresses: Addresses, pool: LiveCoins, seedlings: u32, owners: Owners) -> Self {
        Self {
            addresses,
            pool,
            owners,
            seedlings,
            height: 0,
            fees: 0,
            txs: 0,
            inputs: 0,
            outputs: 0,
            p2pk: P2pkCounts::default(),
            has_witness: false,
            weight: 0,
            sigops: 0,
            txids: Vec::new(),
            wtxids: Vec::new(),
            raw: Vec::new(),
            undo: Vec::new(),
            paid: Vec::new(),
            scratch: Scratch::default(),
        }
    }

    /// Starts an empty block.
    pub(super) fn begin(&mut self, height: u32) {
        self.height = height;
        (self.fees, self.txs, self.inputs, self.outputs) = (0, 0, 0, 0);
        self.has_witness = false;
        // Header, transaction count and coinbase.
        (self.weight, self.sigops) = (2_000, 100);
        for leaves in [&mut self.txids, &mut self.wtxids] {
            leaves.clear();
            leaves.push([0; 32]);
        }
        self.raw.clear();
        self.undo.clear();
        self.paid.clear();
    }

    /// Fills the block.
    pub(super) fn fill(&mut self, rng: &mut ChaCha8Rng) {
        let target = rng.random_range(WEIGHT);
        while self.weight < target && self.sigops < SIGOP_COST {
            if self.seedlings > 0 {
                let outputs = self.seedlings.min(SEED_OUTPUTS);
                self.seedlings -= outputs;
                if !self.transaction(rng, outputs, false) {
                    return;
                }
                continue;
            }
            let outputs = output_count(rng);
            if !self.transaction(rng, outputs, true) {
                return;
            }
        }
    }

    /// Adds one transaction; false if there is nothing left to spend.
    fn transaction(&mut self, rng: &mut ChaCha8Rng, outputs: u32, change: bool) -> bool {
        let Some(bundle) = self.pool.take(rng).or_else(|| self.owners.give_up_one()) else { return false };
        let room = MAX_WEIGHT.saturating_sub(self.weight) / 2;
        let outputs = outputs.min((room / OUTPUT_WEIGHT) as u32).max(1);
        let mut part = std::mem::take(&mut self.scratch);
        part.coins.clear();
        part.coins.push(bundle.first);
        part.coins.extend(bundle.more);
        let most = (room / INPUT_WEIGHT).max(1);
        if part.coins.len() > most
            && let Some(rest) = Bundle::of(part.coins.split_off(most))
        {
            // It comes later, in a transaction of its own.
            self.pool.add(rng, rest);
        }
        self.write_inputs(rng, &mut part);
        self.plan_outputs(rng, &mut part, outputs, change);
        self.finish(rng, &mut part);
        self.scratch = part;
        true
    }

    fn write_inputs(&mut self, rng: &mut ChaCha8Rng, part: &mut Scratch) {
        part.inputs.clear();
        part.witness.clear();
        write_compact_size(&mut part.inputs, part.coins.len() as u64);
        write_compact_size(&mut self.undo, part.coins.len() as u64);
        let mut has_witness = false;
        for coin in &part.coins {
            part.inputs.extend_from_slice(&coin.txid);
            part.inputs.extend_from_slice(&coin.vout.to_le_bytes());
            let (sigops, with) = self.addresses.write_unlock(rng, coin.address, &mut part.inputs, &mut part.witness);
            self.sigops += sigops;
            has_witness |= with;
            part.inputs.extend_from_slice(&[0xfd, 0xff, 0xff, 0xff]);
            part.script.clear();
            self.addresses.write_script(&mut part.script, coin.address);
            write_coin(&mut self.undo, coin.sats, Script::from_bytes(&part.script), coin.height, coin.coinbase);
        }
        if !has_witness {
            part.witness.clear();
        }
        self.has_witness |= has_witness;
    }

    /// Decides values and addresses: the inputs' sum less a fee, in random shares.
    fn plan_outputs(&mut self, rng: &mut ChaCha8Rng, part: &mut Scratch, outputs: u32, change: bool) {
        let sum: u64 = part.coins.iter().map(|coin| coin.sats).sum();
        let fee = (rng.random_range(2..40) * (part.inputs.len() as u64 + 34 * u64::from(outputs))).min(sum / 200);
        self.fees += fee;
        let mut left = sum - fee;
        let sender = part.coins.first().filter(|_| change).map(|coin| coin.address);
        part.plan.clear();
        for index in 0..outputs {
            // The last output takes the rest; it is never data, so that nothing is burnt.
            let last = index + 1 == outputs;
            if !last && outputs > 1 && rng.random_range(0..1_000) < 20 {
                part.plan.push((0, None));
                continue;
            }
            let fair = left / u64::from(outputs - index);
            let share = if last { left } else { rng.random_range(0..=fair.saturating_mul(2).min(left)) };
            left -= share;
            let payee = self.owners.choose(rng, sender);
            part.plan.push((share, Some(payee)));
        }
    }

    fn finish(&mut self, rng: &mut ChaCha8Rng, part: &mut Scratch) {
        part.outputs.clear();
        write_compact_size(&mut part.outputs, part.plan.len() as u64);
        for &(sats, payee) in &part.plan {
            part.outputs.extend_from_slice(&sats.to_le_bytes());
            part.script.clear();
            self.paid.push(payee.map(|(address, _)| address.owner));
            match payee {
                Some((address, _)) => {
                    self.sigops += self.addresses.write_script(&mut part.script, address);
                    self.p2pk.count(self.addresses.kind(address));
                }
                None => {
                    let length = if rng.random_bool(0.5) { 20 } else { rng.random_range(8..76) };
                    part.script.extend_from_slice(&[0x6a, length]);
                    push_random(rng, &mut part.script, usize::from(length));
                }
            }
            part.outputs.push(part.script.len() as u8);
            part.outputs.extend_from_slice(&part.script);
        }
        part.base.clear();
        part.base.extend_from_slice(&[2, 0, 0, 0]);
        part.base.extend_from_slice(&part.inputs);
        part.base.extend_from_slice(&part.outputs);
        part.base.extend_from_slice(&[0; 4]);
        let txid = sha256d(&part.base);
        let start = self.raw.len();
        let wtxid = if part.witness.is_empty() {
            self.raw.extend_from_slice(&part.base);
            txid
        } else {
            self.raw.extend_from_slice(&[2, 0, 0, 0, 0, 1]);
            self.raw.extend_from_slice(&part.inputs);
            self.raw.extend_from_slice(&part.outputs);
            self.raw.extend_from_slice(&part.witness);
            self.raw.extend_from_slice(&[0; 4]);
            sha256d(&self.raw[start..])
        };
        self.weight += 3 * part.base.len() + self.raw.len() - start;
        self.txids.push(txid);
        self.wtxids.push(wtxid);
        self.txs += 1;
        self.inputs += part.coins.len() as u64;
        self.outputs += part.plan.len() as u64;
        for (vout, &(sats, payee)) in part.plan.iter().enumerate() {
            if let Some((address, place)) = payee {
                let coin = LiveCoin { txid, sats, vout: vout as u32, address, height: self.height, coinbase: false };
                self.owners.put(rng, &mut self.pool, place, coin);
            }
        }
        self.owners.settle(rng, &mut self.pool);
    }
}

/// Outputs of a transaction; 2.67 on average.
fn output_count(rng: &mut ChaCha8Rng) -> u32 {
    match rng.random_range(0..10_000) {
        0..1_837 => 1,
        1_837..8_837 => 2,
        8_837..9_537 => rng.random_range(3..=5),
        9_537..9_937 => rng.random_range(6..=20),
        9_937..9_997 => rng.random_range(21..=60),
        _ => rng.random_range(100..=200),
    }
}
