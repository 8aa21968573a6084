//! Owners of clusters by claims, and their part of the sums of entities.
//!
//! ```text
//! cluster_below   'B' ‖ node (5) → sums by position, see `BelowSum`
//! cluster_owners  'O' ‖ root (5) → flags │ scripts │ balance │ n × (length │ entity)
//!   flags         1 suspect
//! owners_due      'U' ‖ root (5) → ∅
//! ```
//!
//! `cluster_below` has every node of the forest of `clusters` at which or below which there is something to leave out:
//! scripts that a list names somebody for, which count by what is said of themselves, and suspect merges. Ties only
//! come at a root, and go in the opposite order, so the row of a root is of its whole cluster. `cluster_owners` has
//! every root whose cluster counts as an entity's by the claims that extend to all of its scripts: how many scripts
//! count because of them, and what these hold. A cluster with a suspect merge has all whom claims of its parts name,
//! and counts in no sum: what each part holds is not known. Roots in `owners_due` are to be judged again. Rows follow
//! from those of `labels`, from the claims and from the forest. A row of zeros does not exist.

use cairn_events::EntityName;
use cairn_model::{Sats, TxNum};

use crate::{
    codec::{DecodeError, Input, ValueCodec, put_amount, put_bytes, put_varint},
    sums::{Sums, positions},
    table::{Home, Origin, table},
};

table! {
    /// Sums left out at a node and below.
    pub struct ClusterBelow("cluster_below": TxNum => Sums) in Home::Shared(b'B'), from Origin::Joined;
}

table! {
    /// Owners of a cluster by claims, under its root.
    pub struct ClusterOwners("cluster_owners": TxNum => OwnersRow) in Home::Shared(b'O'), from Origin::Joined;
}

table! {
    /// Roots that are to be judged again.
    pub struct OwnersDue("owners_due": TxNum => ()) in Home::Shared(b'U'), from Origin::Joined;
}

/// Positions of sums of a node and all below it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum BelowSum {
    /// Scripts that a list attributes to an entity.
    Scripts = 0,
    /// Satoshis that these received.
    Funded = 1,
    /// Satoshis of their coins that were spent.
    Spent = 2,
    /// Merges of two large clusters, which may rest on a mistake.
    Suspects = 3,
}

positions!(BelowSum);

/// Most entities that a row has.
pub const MAX_OWNERS: usize = 16;

/// Owners of a cluster by claims.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OwnersRow {
    /// The owners, ascending: one; 1 to [`MAX_OWNERS`] if the cluster has a suspect merge.
    pub owners: Vec<EntityName>,
    /// True if it has a suspect merge: then it counts in no sum.
    pub is_suspect: bool,
    /// Scripts of it that count by the claims about others: those that no list attributes to an entity.
    pub scripts: u64,
    /// Balance of these scripts.
    pub balance: Sats,
}

impl ValueCodec for OwnersRow {
    fn encode(&self, out: &mut Vec<u8>) {
        out.push(u8::from(self.is_suspect));
        put_varint(out, self.scripts);
        put_amount(out, self.balance);
        for owner in &self.owners {
            put_bytes(out, owner.as_str().as_bytes());
        }
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        let is_suspect = b.flag_of("flags")?;
        let (scripts, balance) = (b.varint()?, b.amount()?);
        let mut owners: Vec<EntityName> = Vec::new();
        while b.left() > 0 {
            let name = b.short_bytes(EntityName::MAX)?;
            let name = b.parse(name, "name of an entity")?;
            if owners.last().is_some_and(|last| *last >= name) {
                return Err(b.error("order"));
            }
            owners.push(name);
        }
        let most = if is_suspect { MAX_OWNERS } else { 1 };
        if (1..=most).contains(&owners.len()) {
            Ok(OwnersRow { owners, is_suspect, scripts, balance })
        } else {
            Err(b.error("number of owners"))
        }
    }
}
