//! The forest as rows of the index, for the blocks at the tip.

use std::collections::BTreeMap;

use cairn_model::TxNum;
use cairn_tables::{
    Table,
    clusters::{Child, ClusterRow, Clusters, Counts},
    encode_key, encode_value,
};

use super::{
    Move,
    connect::{Effects, Forest, Lists, changed, introduced, nets},
    contradiction,
};
use crate::deltas::{Prior, Rows, StageError};

/// A climb takes fewer steps: the number of transactions doubles with each but the first.
const MAX_STEPS: usize = 48;

/// Rows that were read, and those that changed.
pub(super) struct RowForest<'p> {
    prior: &'p dyn Prior,
    /// `None` for a row that is to be deleted.
    rows: BTreeMap<TxNum, (Option<ClusterRow>, bool)>,
}

impl<'p> RowForest<'p> {
    pub(super) fn new(prior: &'p dyn Prior) -> Self {
        RowForest { prior, rows: BTreeMap::new() }
    }

    fn row(&mut self, node: TxNum) -> Result<ClusterRow, StageError> {
        if let Some((row, _)) = self.rows.get(&node) {
            return row.ok_or_else(|| contradiction("a node is missing"));
        }
        let bytes = self.prior.get(Clusters::FAMILY, &encode_key::<Clusters>(&node)).map_err(StageError::Prior)?;
        let row = Clusters::decode_value(&bytes.ok_or_else(|| contradiction("a node is missing"))?)?;
        self.rows.insert(node, (Some(row), false));
        Ok(row)
    }

    fn put(&mut self, node: TxNum, row: ClusterRow) {
        self.rows.insert(node, (Some(row), true));
    }

    fn delete(&mut self, node: TxNum) {
        self.rows.insert(node, (None, true));
    }

    /// The root of a node as of the transaction before `end`.
    fn root_before(&mut self, mut node: TxNum, end: TxNum) -> Result<TxNum, StageError> {
        for _ in 0..MAX_STEPS {
            node = match self.row(node)? {
                ClusterRow::Newcomer { parent } => parent,
                ClusterRow::Merged { parent, by, .. } if by < end => parent,
                ClusterRow::Merged { .. } | ClusterRow::Root(_) => return Ok(node),
            };
        }
        Err(contradiction("a path without end"))
    }

    /// Disconnects the newest transaction: the opposite of [`connect`](super::connect::connect), with the same effects.
    pub(super) fn disconnect(
        &mut self,
        tx: TxNum,
        moves: &[Move],
        effects: &mut Effects<'_, '_>,
        lists: &mut Lists<TxNum>,
    ) -> Result<(), StageError> {
        let cospent = moves.iter().find(|moved| moved.cospent);
        let united = cospent.map(|moved| self.root_of(TxNum(tx.0 - moved.distance))).transpose()?;
        let paid = nets(self, tx, moves, united, lists)?;
        effects.paid(tx, paid);
        for (root, net) in lists.nets.drain(..) {
            let counts = self.counts(root)?;
            let after = counts.balance;
            counts.balance = changed(after, -net)?;
            let before = Some(counts.balance);
            let before = if united == Some(root) { self.divide(root, tx, moves, effects)? } else { before };
            effects.balance(tx, before, Some(after));
        }
        Ok(())
    }

    /// Cuts what a transaction tied to a root. Gives the balance that the root had before, if there was one.
    fn divide(
        &mut self,
        root: TxNum,
        tx: TxNum,
        moves: &[Move],
        effects: &mut Effects<'_, '_>,
    ) -> Result<Option<u64>, StageError> {
        let short = || contradiction("undo of more than a cluster has");
        let new = introduced(moves);
        let mut counts = *self.counts(root)?;
        counts.transactions = counts.transactions.checked_sub(1).ok_or_else(short)?;
        counts.scripts = counts.scripts.checked_sub(new.into()).ok_or_else(short)?;
        if root == tx {
            if counts != Counts::default() {
                return Err(contradiction("undo of a cluster that has more than its first transaction"));
            }
            self.delete(root);
            return Ok(None);
        }
        let mut losers = Vec::new();
        for moved in moves.iter().filter(|moved| moved.cospent && moved.distance > 0) {
            let met = self.root_before(TxNum(tx.0 - moved.distance), tx)?;
            if met != root {
                losers.push(met);
            }
        }
        losers.sort_unstable();
        losers.dedup();
        counts.children = counts.children.checked_sub(losers.len() as u32 + 1).ok_or_else(short)?;
        let mut index = counts.children;
        for loser in losers {
            let ClusterRow::Merged { parent, by, counts: lost } = self.row(loser)? else {
                return Err(contradiction("undo of a merge that was not"));
            };
            if (parent, by) != (root, tx) {
                return Err(contradiction("undo of another merge"));
            }
            self.put(loser, ClusterRow::Root(lost));
            counts.transactions = counts.transactions.checked_sub(lost.transactions).ok_or_else(short)?;
            counts.scripts = counts.scripts.checked_sub(lost.scripts).ok_or_else(short)?;
            counts.balance = counts.balance.checked_sub(lost.balance).ok_or_else(short)?;
            effects.balance(tx, Some(lost.balance), None);
            effects.child(root, index, Child { by: tx, node: loser, scripts: 0 });
            index += 1;
        }
        if self.row(tx)? != (ClusterRow::Newcomer { parent: root }) {
            return Err(contradiction("undo of a node that is not the newest"));
        }
        self.delete(tx);
        effects.child(root, index, Child { by: tx, node: tx, scripts: new });
        if counts.transactions == 0 || counts.scripts == 0 {
            return Err(short());
        }
        *self.counts(root)? = counts;
        Ok(Some(counts.balance))
    }

    pub(super) fn write(self, rows: &mut dyn Rows) -> Result<(), StageError> {
        for (node, (row, _)) in self.rows.into_iter().filter(|(_, (_, changed))| *changed) {
            let key = encode_key::<Clusters>(&node);
            match row {
                Some(row) => rows.put(Clusters::FAMILY, &key, &encode_value::<Clusters>(&row))?,
                None => rows.delete(Clusters::FAMILY, &key)?,
            }
        }
        Ok(())
    }
}

impl Forest for RowForest<'_> {
    type Root = TxNum;

    fn root_of(&mut self, node: TxNum) -> Result<TxNum, StageError> {
        self.root_before(node, TxNum(u64::MAX))
    }

    fn node(&self, root: TxNum) -> TxNum {
        root
    }

    fn counts(&mut self, root: TxNum) -> Result<&mut Counts, StageError> {
        self.row(root)?;
        match self.rows.get_mut(&root) {
            Some((Some(ClusterRow::Root(counts)), changed)) => {
                *changed = true;
                Ok(counts)
            }
            _ => Err(contradiction("a node that is not a root")),
        }
    }

    fn found(&mut self, node: TxNum) -> Result<TxNum, StageError> {
        self.put(node, ClusterRow::Root(Counts::default()));
        Ok(node)
    }

    fn join(&mut self, node: TxNum, parent: TxNum, _: &mut Effects<'_, '_>) -> Result<(), StageError> {
        self.put(node, ClusterRow::Newcomer { parent });
        Ok(())
    }

    fn merge(&mut self, child: TxNum, parent: TxNum, by: TxNum, _: &mut Effects<'_, '_>) -> Result<(), StageError> {
        let counts = *self.counts(child)?;
        self.put(child, ClusterRow::Merged { parent, by, counts });
        Ok(())
    }
}
