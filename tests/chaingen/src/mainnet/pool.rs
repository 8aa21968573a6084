//! The live coins of the mainnet shape, in levels by age.

use rand::Rng;
use rand_chacha::ChaCha8Rng;

/// A coin, compact: scripts are recomputed from the address number.
#[derive(Clone, Copy, Debug)]
pub(super) struct LiveCoin {
    pub(super) txid: [u8; 32],
    pub(super) sats: u64,
    pub(super) vout: u32,
    pub(super) address: u32,
    pub(super) height: u32,
    pub(super) coinbase: bool,
}

/// Coins of a level; what exceeds it moves to the next, older one.
const CAPS: [usize; 3] = [12_000, 24_000, 60_000];
/// Share of the spends that each level gets, in percent. Measured over 2 GB: a tenth of the inputs spends a coin of the
/// same block, a third one of the last two blocks, 85 % of the last 36, and a tail goes across the whole chain.
const SHARES: [u32; 4] = [45, 30, 17, 8];

/// Live coins. When there are more than the limit, random old ones are forgotten: they stay unspent for good, as lost
/// coins do.
#[derive(Debug)]
pub(super) struct LiveCoins {
    levels: [Vec<LiveCoin>; 4],
    limit: usize,
}

impl LiveCoins {
    pub(super) fn new(limit: usize) -> Self {
        Self { levels: Default::default(), limit }
    }

    pub(super) fn add(&mut self, rng: &mut ChaCha8Rng, coin: LiveCoin) {
        let mut coin = coin;
        for (level, cap) in self.levels.iter_mut().zip(CAPS) {
            level.push(coin);
            if level.len() <= cap {
                return;
            }
            let index = rng.random_range(0..level.len());
            coin = level.swap_remove(index);
        }
        let oldest = &mut self.levels[3];
        oldest.push(coin);
        if oldest.len() > self.limit {
            let index = rng.random_range(0..oldest.len());
            oldest.swap_remove(index);
        }
    }

    /// Takes a coin out, of an age drawn from the shares.
    pub(super) fn take(&mut self, rng: &mut ChaCha8Rng) -> Option<LiveCoin> {
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
        let level = match self.levels[level].is_empty() {
            true => self.levels.iter_mut().find(|level| !level.is_empty())?,
            false => &mut self.levels[level],
        };
        let index = rng.random_range(0..level.len());
        Some(level.swap_remove(index))
    }
}
