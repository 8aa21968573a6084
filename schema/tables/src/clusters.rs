//! Clusters: scripts that transactions show to have one owner, since these spend from several of them at a time. The
//! transactions are the nodes of a forest; a tree is a cluster.
//!
//! ```text
//! cluster_of        ScriptId (9)                    → node: the first co-spending transaction that spends from the script
//! clusters          node: TxNum (5)                 → 0 │ parent                     it joined a cluster at once
//!                                                     1 │ counts                     it is the root of a cluster
//!                                                     2 │ parent │ merged by │ counts   it was a root until then
//!   counts          transactions │ scripts │ balance │ children
//! cluster_children  node (5) ‖ number of the row (4) → n × (joined by − the one before │ joined by − child │ scripts?)
//! cluster_days      'u' ‖ period: level (1) ‖ number (2) → sums by position: as the first two groups of `script_days`;
//!                     32  satoshis that transactions paid to others
//! ```
//!
//! Each co-spending transaction is a node. A child that joined by itself says how many scripts it is the first to show.
//! Only roots get children. Counts are those of the whole tree: of a root as of the newest block, of a node that was
//! merged as of the transaction before that which merged it. `joined by` and `merged by` are the co-spending
//! transactions that show it. On the way from any node to its root they rise. So the cluster as of a transaction is
//! found by climbing as long as they lie before it, and to undo a transaction is to cut what it tied.
//!
//! A script without a row in `cluster_of` is a cluster of its own. `cluster_days` counts those, too. To others is paid
//! what a transaction's outputs give to scripts that it does not spend from, and that are in no cluster that it spends
//! from: as the clusters are with it. Coinbases pay nothing, and what nobody can spend is not paid.

use cairn_model::{Sats, ScriptId, TxNum};

use crate::{
    codec::{DecodeError, Input, ValueCodec, put_amount, put_varint},
    periods::Period,
    script_days::BANDS,
    sums::Sums,
    table::{Home, Origin, Tuning, table},
};

table! {
    /// The nodes of scripts.
    // Scripts that were never spent together with another have no row; the filter spares their look-up.
    pub struct ClusterOf("cluster_of": ScriptId => Node)
        in Home::Own(Tuning { filter_bits: 10, ..Tuning::SHORT }), from Origin::Stage("clusters");
}

/// A node of the forest: a transaction.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Node(pub TxNum);

impl ValueCodec for Node {
    fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.0.0);
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        b.short_tx_num().map(Node)
    }
}

table! {
    /// The forest.
    pub struct Clusters("clusters": TxNum => ClusterRow) in Home::Own(Tuning::SHORT), from Origin::Stage("clusters");
}

/// Figures of a cluster.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Transactions that show it. At least 1.
    pub transactions: u64,
    /// Its scripts. At least 1.
    pub scripts: u64,
    /// Balance of its scripts.
    pub balance: Sats,
    /// Children of the root.
    pub children: u32,
}

impl Counts {
    fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.transactions);
        put_varint(out, self.scripts);
        put_amount(out, self.balance);
        put_varint(out, self.children.into());
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        let counts =
            Counts { transactions: b.varint()?, scripts: b.varint()?, balance: b.amount()?, children: b.varint32()? };
        let fits = |number: u64| (1..TxNum::LIMIT).contains(&number);
        if fits(counts.transactions) && fits(counts.scripts) {
            Ok(counts)
        } else {
            Err(b.error("counts that cannot be"))
        }
    }
}

/// A node of the forest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClusterRow {
    /// Its scripts joined a cluster that there was.
    Newcomer {
        /// The root of that cluster then.
        parent: TxNum,
    },
    /// The root of a cluster.
    Root(Counts),
    /// The root of a cluster, until it was merged into another one.
    Merged {
        /// The root of the other.
        parent: TxNum,
        /// The transaction that spends from both.
        by: TxNum,
        /// Counts of the cluster before that transaction.
        counts: Counts,
    },
}

impl ClusterRow {
    const MERGED: u8 = 2;

    const ROOT: u8 = 1;

    /// True if the bytes of a row are of the root of a cluster. Nothing else of them is looked at.
    #[must_use]
    pub fn is_root(row: &[u8]) -> bool {
        row.first() == Some(&Self::ROOT)
    }

    /// True if the bytes of a row are of a root that was merged. Nothing else of them is looked at.
    #[must_use]
    pub fn is_merged(row: &[u8]) -> bool {
        row.first() == Some(&Self::MERGED)
    }
}

impl ValueCodec for ClusterRow {
    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            ClusterRow::Newcomer { parent } => {
                out.push(0);
                put_varint(out, parent.0);
            }
            ClusterRow::Root(counts) => {
                out.push(Self::ROOT);
                counts.encode(out);
            }
            ClusterRow::Merged { parent, by, counts } => {
                out.push(Self::MERGED);
                put_varint(out, parent.0);
                put_varint(out, by.0);
                counts.encode(out);
            }
        }
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        match b.byte()? {
            0 => Ok(ClusterRow::Newcomer { parent: b.short_tx_num()? }),
            Self::ROOT => Ok(ClusterRow::Root(Counts::decode(b)?)),
            Self::MERGED => {
                let (parent, by) = (b.short_tx_num()?, b.short_tx_num()?);
                if by <= parent {
                    return Err(b.error("merged before its parent was"));
                }
                Ok(ClusterRow::Merged { parent, by, counts: Counts::decode(b)? })
            }
            _ => Err(b.error("a node of unknown kind")),
        }
    }
}

/// Children of a full row.
pub const CHILDREN_PER_ROW: u32 = 128;

table! {
    /// Nodes that joined the cluster of a root.
    pub struct ClusterChildren("cluster_children": (TxNum, u32) => ChildrenRow)
        in Home::Own(Tuning::SHORT), from Origin::Stage("clusters");
}

/// A node that joined.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Child {
    /// The transaction by which it joined.
    pub by: TxNum,
    /// The node: the transaction itself, or the root of a cluster that it merged.
    pub node: TxNum,
    /// Scripts that the transaction itself is the first to show; 0 for the root of a cluster, whose row counts them.
    pub scripts: u32,
}

impl Child {
    fn put(&self, out: &mut Vec<u8>, last: u64) {
        put_varint(out, self.by.0 - last);
        put_varint(out, self.by.0 - self.node.0);
        if self.by == self.node {
            put_varint(out, self.scripts.into());
        }
    }

    fn read(b: &mut Input<'_>, last: u64) -> Result<Self, DecodeError> {
        let by = b.tx_num_after(last, "joined by")?;
        let node = by.0.checked_sub(b.varint()?).map(TxNum).ok_or_else(|| b.error("child"))?;
        let scripts = if node == by { b.varint32()? } else { 0 };
        Ok(Child { by, node, scripts })
    }
}

impl ValueCodec for Child {
    fn encode(&self, out: &mut Vec<u8>) {
        self.put(out, 0);
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        Child::read(b, 0)
    }
}

/// Some of a root's children, in the order in which they joined. Never empty.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ChildrenRow(pub Vec<Child>);

impl ValueCodec for ChildrenRow {
    fn encode(&self, out: &mut Vec<u8>) {
        let mut last = 0;
        for child in &self.0 {
            child.put(out, last);
            last = child.by.0;
        }
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        let mut row: Vec<Child> = Vec::new();
        while b.left() > 0 {
            let last = row.last().map_or(0, |child| child.by.0);
            let child = Child::read(b, last)?;
            if row.len() == CHILDREN_PER_ROW as usize || row.last().is_some_and(|last| *last >= child) {
                return Err(b.error("too many children, or not in order"));
            }
            row.push(child);
        }
        if row.is_empty() { Err(b.error("no child")) } else { Ok(ChildrenRow(row)) }
    }
}

/// Position of what transactions paid to others, in satoshis; below are bands of balances.
pub const NET_EXTERNAL: u32 = 2 * BANDS;

table! {
    /// Clusters by balance, as changes by day and longer period, and what was paid between them.
    pub struct ClusterDays("cluster_days": Period => Sums) in Home::Shared(b'u'), from Origin::Stage("clusters");
}
