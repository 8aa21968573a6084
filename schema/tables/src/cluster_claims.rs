//! Where the clusters have claims that hold for their other scripts as well.
//!
//! ```text
//! claim_nodes     'j' ‖ node (5) ‖ SHA-256 of the script (32) → ∅
//! claim_children  'r' ‖ parent (5) ‖ joined by (5) ‖ child (5) → scripts below the child, at position 0
//! ```
//!
//! `claim_nodes` has every script of a cluster that a list says something of which extends to other scripts of the
//! cluster, at its node of `cluster_of`. `claim_children` has every tie of the forest of `clusters` below which there
//! is one: so whoever walks down from a root meets claims only, however large the cluster is. Ties only come at a root,
//! and go in the opposite order, so a row counts all that was below the child when it joined and what has come there
//! since. Rows follow from those of `labels` and from the forest. A row of zeros does not exist.

use cairn_model::TxNum;

use crate::{
    codec::key_of_fields,
    labels::ScriptHash,
    sums::Sums,
    table::{Home, Origin, table},
};

table! {
    /// Scripts with such claims, by node.
    pub struct ClaimNodes("claim_nodes": (TxNum, ScriptHash) => ()) in Home::Shared(b'j'), from Origin::Joined;
}

table! {
    /// Ties below which there are such scripts.
    pub struct ClaimChildren("claim_children": ClaimChild => Sums) in Home::Shared(b'r'), from Origin::Joined;
}

/// A tie of the forest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ClaimChild {
    /// The node that the child joined.
    pub parent: TxNum,
    /// The transaction by which it did.
    pub by: TxNum,
    /// A root until then, or the transaction itself.
    pub child: TxNum,
}

key_of_fields! { ClaimChild { parent, by, child } }

/// Position of the number of scripts below a child.
pub const SCRIPTS_BELOW: u32 = 0;
