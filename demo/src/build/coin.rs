//! Coins (unspent outputs) and the set of them at one point of one branch.

use std::collections::HashMap;

use bitcoin::{OutPoint, Script, TxOut};

/// Scripts above this size can never be spent, so Bitcoin Core keeps them out of the coin set.
pub const MAX_SCRIPT_SIZE: usize = 10_000;

/// A transaction output with the facts about its creation that validation needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coin {
    /// Value and script.
    pub txout: TxOut,
    /// Height of the block that created it.
    pub height: u32,
    /// Whether a coinbase created it.
    pub coinbase: bool,
}

/// Whether Bitcoin Core leaves an output with this script out of the coin set:
/// it starts with OP_RETURN or exceeds [`MAX_SCRIPT_SIZE`].
pub fn is_unspendable(script: &Script) -> bool {
    script.is_op_return() || script.len() > MAX_SCRIPT_SIZE
}

/// The coins at one point of a branch, with constant-time random choice among those that can be signed for.
///
/// The listing order depends only on the sequence of operations, so equal seeds choose equal coins.
#[derive(Clone, Debug, Default)]
pub(crate) struct CoinSet {
    coins: HashMap<OutPoint, (Coin, Option<usize>)>,
    listed: Vec<OutPoint>,
}

impl CoinSet {
    pub(crate) fn get(&self, outpoint: &OutPoint) -> Option<&Coin> {
        self.coins.get(outpoint).map(|(coin, _)| coin)
    }

    /// Adds a coin; a listed one takes part in random choice. Returns false, changing nothing, if it exists.
    pub(crate) fn insert(&mut self, outpoint: OutPoint, coin: Coin, listed: bool) -> bool {
        if self.coins.contains_key(&outpoint) {
            return false;
        }
        let place = listed.then_some(self.listed.len());
        if listed {
            self.listed.push(outpoint);
        }
        self.coins.insert(outpoint, (coin, place));
        true
    }

    pub(crate) fn remove(&mut self, outpoint: &OutPoint) -> Option<Coin> {
        let (coin, place) = self.coins.remove(outpoint)?;
        if let Some(place) = place {
            self.listed.swap_remove(place);
            if let Some(moved) = self.listed.get(place)
                && let Some(entry) = self.coins.get_mut(moved)
            {
                entry.1 = Some(place);
            }
        }
        Some(coin)
    }

    /// The coins that can be signed for, roughly from old to young.
    pub(crate) fn listed(&self) -> &[OutPoint] {
        &self.listed
    }

    pub(crate) fn len(&self) -> usize {
        self.coins.len()
    }
}
