//! The live coins of the mainnet shape, in levels by age.

use rand::Rng;
use rand_chacha::ChaCha8Rng;

use super::address::Address;

/// A coin, compact: scripts are recomputed from the address.
#[derive(Clone, Copy, Debug)]
pub(super) struct LiveCoin {
    pub(super) txid: [u8; 32],
    pub(super) sats: u64,
    pub(super) vout: u32,
    pub(super) address: Address,
    pub(super) height: u32,
    pub(super) coinbase: bool,
}

/// Coins of one owner that one transaction will spend together.
#[derive(Debug)]
pub(super) struct Bundle {
    pub(super) first: LiveCoin,
    pub(super) more: Vec<LiveCoin>,
}

impl Bundle {
    pub(super) fn alone(coin: LiveCoin) -> Self {
        Self { first: coin, more: Vec::new() }
    }

    /// None without a coin.
    pub(super) fn of(mut coins: Vec<LiveCoin>) -> Option<Self> {
        Some(Self { first: coins.pop()?, more: coins })
    }

    fn len(&self) -> usize {
        1 + self.more.len()
    }
}

/// Bundles of a level; what exceeds it moves to the next, older one.
const CAPS: [usize; 3] = [3_000, 9_000, 24_000];
/// Share of the spends that each level gets, in percent. Measured over 2 GB: a tenth of the inputs spends a coin of the
/// same block, a third one of the last two blocks, 85 % of the last 36, and a tail goes across the whole chain.
const SHARES: [u32; 4] = [56, 20, 12, 12];

/// Live coins in the bundles in which they will be spent. When there are more than the limit, random old ones are
/// forgotten: they stay unspent for good, as lost coins do.
#[derive(Debug)]
pub(super) struct LiveCoins {
    levels: [Vec<Bundle>; 4],
    /// Coins of the oldest level.
    oldest: usize,
    limit: usize,
}

impl LiveCoins {
    pub(super) fn new(limit: usize) -> Self {
        Self { levels: Default::default(), oldest: 0, limit }
    }

    pub(super) fn add(&mut self, rng: &mut ChaCha8Rng, bundle: Bundle) {
        let mut bundle = bundle;
        for (level, cap) in self.levels.iter_mut().zip(CAPS) {
            level.push(bundle);
            if level.len() <= cap {
                return;
            }
            let index = rng.random_range(0..level.len());
            bundle = level.swap_remove(index);
        }
        self.oldest += bundle.len();
        let level = &mut self.levels[3];
        level.push(bundle);
        while self.oldest > self.limit {
            let index = rng.random_range(0..level.len());
            self.oldest -= level.swap_remove(index).len();
        }
    }

    /// Takes a bundle out, of an age drawn from the shares.
    pub(super) fn take(&mut self, rng: &mut ChaCha8Rng) -> Option<Bundle> {
        let mut draw = rng.random_range(0..100);
        let mut level = 0;
        while draw >= SHARES[level] {
            draw -= SHARES[level];
            level += 1;
        }
        // An empty level passes to the younger ones, and at last to any.
        while level > 0 && self.levels[level].is_empty() {
            level -= 1;
        }
        if self.levels[level].is_empty() {
            level = self.levels.iter().position(|level| !level.is_empty())?;
        }
        let index = rng.random_range(0..self.levels[level].len());
        let bundle = self.levels[level].swap_remove(index);
        if level == 3 {
            self.oldest -= bundle.len();
        }
        Some(bundle)
    }
}
