//! Ancestors and descendants of a transaction, computed on demand and up to a limit.

use cairn_model::{Sats, Txid};

use super::{
    pool::Mempool,
    walk::{WalkDirection, neighbours, walk},
};

/// A set of related transactions, without the requested one.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RelatedTxs {
    /// Their ids, ascending.
    pub txids: Vec<Txid>,
    /// Sum of their adjusted virtual sizes.
    pub vsize: u64,
    /// Sum of their fees.
    pub fees_sats: Sats,
    /// True if there are more than the limit.
    pub truncated: bool,
}

/// The relatives of a transaction within the mempool.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Relatives {
    /// Transactions whose outputs it spends, ascending.
    pub parents: Vec<Txid>,
    /// Transactions that spend its outputs, ascending; up to the limit.
    pub children: Vec<Txid>,
    /// Parents, their parents, and so on.
    pub ancestors: RelatedTxs,
    /// Children, their children, and so on.
    pub descendants: RelatedTxs,
}

impl Mempool {
    /// The relatives of a transaction; `None` if it is not in the mempool. At most `max` ancestors and `max`
    /// descendants are walked.
    #[must_use]
    pub fn relatives(&self, txid: &Txid, max: usize) -> Option<Relatives> {
        let slot = self.slot(txid)?;
        Some(Relatives {
            parents: self.txids(neighbours(self.slots(), slot, WalkDirection::Up)),
            children: {
                let children = neighbours(self.slots(), slot, WalkDirection::Down);
                self.txids(children.get(..max).unwrap_or(children))
            },
            ancestors: self.package(slot, WalkDirection::Up, max),
            descendants: self.package(slot, WalkDirection::Down, max),
        })
    }

    fn txids(&self, slots: &[u32]) -> Vec<Txid> {
        let mut txids: Vec<_> = slots.iter().filter_map(|slot| self.entry(*slot)).map(|entry| entry.txid).collect();
        txids.sort_unstable();
        txids
    }

    fn package(&self, slot: u32, direction: WalkDirection, max: usize) -> RelatedTxs {
        let (slots, truncated) = walk(self.slots(), &[slot], direction, max);
        let mut package = RelatedTxs { txids: self.txids(&slots), truncated, ..RelatedTxs::default() };
        for entry in slots.iter().filter_map(|slot| self.entry(*slot)) {
            package.vsize = package.vsize.saturating_add(entry.vsize.into());
            package.fees_sats = package.fees_sats.saturating_add(entry.fee);
        }
        package
    }
}
