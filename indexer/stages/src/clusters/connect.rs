//! Applies one transaction to the forest, whatever holds it: arrays in bulk, rows at the tip.

use std::cmp::Reverse;

use cairn_model::{Sats, TxNum};
use cairn_tables::{
    clusters::{Child, Counts},
    transfers::ChangeRow,
};

use super::{CHILDREN, ChildPlace, LARGE_CHANGE, Move, bands::BandDays, contradiction};
use crate::{
    deltas::StageError,
    lanes::{Emitter, Sink},
    times::Times,
};

pub(super) trait Forest {
    type Root: Copy + PartialEq;

    fn root_of(&mut self, node: TxNum) -> Result<Self::Root, StageError>;

    fn node(&self, root: Self::Root) -> TxNum;

    fn counts(&mut self, root: Self::Root) -> Result<&mut Counts, StageError>;

    /// A new node that is a root, with counts of zero.
    fn found(&mut self, node: TxNum) -> Result<Self::Root, StageError>;

    fn join(&mut self, node: TxNum, parent: Self::Root, effects: &mut Effects<'_, '_>) -> Result<(), StageError>;

    /// A root that is merged into another cluster and keeps its counts.
    fn merge(
        &mut self,
        child: Self::Root,
        parent: Self::Root,
        by: TxNum,
        effects: &mut Effects<'_, '_>,
    ) -> Result<(), StageError>;
}

/// Effects on other tables.
pub(super) struct Effects<'e, 'f> {
    times: &'e dyn Times,
    pub(super) emit: Emitter<'e, 'f>,
    bands: BandDays,
}

impl<'e, 'f> Effects<'e, 'f> {
    pub(super) fn new(times: &'e dyn Times, sink: &'e mut Sink<'f>) -> Self {
        Effects { times, emit: Emitter::new(sink), bands: BandDays::default() }
    }

    pub(super) fn child(&mut self, parent: TxNum, index: u32, child: Child) {
        self.emit.delta(&CHILDREN, &ChildPlace { parent, index }, &child);
    }

    /// A cluster has another balance, or ceased or began to exist, by a transaction. Disconnecting says the same.
    pub(super) fn balance(&mut self, by: TxNum, before: Option<Sats>, after: Option<Sats>) {
        if before == after {
            return;
        }
        let day = self.times.day_of(by);
        self.bands.change(day, before, after);
    }

    /// Notes the payments of a transaction. Disconnecting emits the same.
    pub(super) fn paid(&mut self, by: TxNum, paid: Paid) {
        if paid.outside != 0 {
            self.bands.pay_outside(self.times.day_of(by), paid.outside);
        }
        if paid.large_change != 0 {
            self.emit.row(&LARGE_CHANGE, &by, &ChangeRow(paid.large_change));
        }
    }

    pub(super) fn finish(mut self) -> Result<(), StageError> {
        self.bands.emit(&mut self.emit)
    }
}

/// The amounts that a transaction pays to scripts that have a node and that it does not spend from.
#[derive(Clone, Copy, Default)]
pub(super) struct Paid {
    /// In clusters that it does not spend from.
    outside: i128,
    /// In clusters that it spends from, if it is a large transfer.
    large_change: Sats,
}

/// Lists that one transaction after another fills.
pub(super) struct Lists<R> {
    /// The clusters that a transaction's scripts are in: root, its node, its counts.
    met: Vec<(R, TxNum, Counts)>,
    /// Node of the root, root, and the move.
    moved: Vec<(TxNum, R, Move)>,
    /// See [`nets`].
    pub(super) nets: Vec<(R, i128)>,
}

impl<R> Default for Lists<R> {
    fn default() -> Self {
        Lists { met: Vec::new(), moved: Vec::new(), nets: Vec::new() }
    }
}

/// Lists the clusters with coins that a transaction moves, each once, with the net amount; `united` is the one that its
/// scripts are in. A transaction may move coins of thousands of clusters. Returns its payments.
pub(super) fn nets<F: Forest>(
    forest: &mut F,
    tx: TxNum,
    moves: &[Move],
    united: Option<F::Root>,
    lists: &mut Lists<F::Root>,
) -> Result<Paid, StageError> {
    lists.moved.clear();
    lists.nets.clear();
    for moved in moves {
        let root = match united {
            Some(root) if moved.cospent => root,
            _ => forest.root_of(TxNum(tx.0 - moved.distance))?,
        };
        lists.moved.push((forest.node(root), root, *moved));
    }
    lists.moved.sort_unstable_by_key(|(node, ..)| *node);
    let mut paid = Paid::default();
    for of in lists.moved.chunk_by(|a, b| a.0 == b.0) {
        let net = of.iter().map(|(.., moved)| i128::from(moved.net)).sum::<i128>();
        if of.iter().any(|(.., moved)| moved.inside) {
            let change = of.iter().filter(|(.., moved)| moved.large).map(|(.., moved)| i128::from(moved.net));
            paid.large_change = changed(paid.large_change, change.sum())?;
        } else {
            paid.outside += net;
        }
        lists.nets.push((of[0].1, net));
    }
    Ok(paid)
}

/// Adds `net` to a balance.
pub(super) fn changed(balance: Sats, net: i128) -> Result<Sats, StageError> {
    Sats::try_from(i128::from(balance) + net).map_err(|_| contradiction("a cluster spent more than it received"))
}

/// Scripts that a transaction is the first to show.
pub(super) fn introduced(moves: &[Move]) -> u32 {
    moves.iter().filter(|moved| moved.distance == 0).count() as u32
}

/// Connects a transaction: ties the clusters that it spends from together, and moves balances.
pub(super) fn connect<F: Forest>(
    forest: &mut F,
    tx: TxNum,
    moves: &[Move],
    effects: &mut Effects<'_, '_>,
    lists: &mut Lists<F::Root>,
) -> Result<(), StageError> {
    let cospent = moves.iter().any(|moved| moved.cospent);
    let united = if cospent { Some(unite(forest, tx, moves, effects, lists)?) } else { None };
    let paid = nets(forest, tx, moves, united.map(|(root, _)| root), lists)?;
    effects.paid(tx, paid);
    for (root, net) in lists.nets.drain(..) {
        let counts = forest.counts(root)?;
        let before = counts.balance;
        counts.balance = changed(before, net)?;
        let after = counts.balance;
        // Its balance before it was united with others is counted there.
        let before = united.filter(|(winner, _)| *winner == root).map_or(Some(before), |(_, before)| before);
        effects.balance(tx, before, Some(after));
    }
    Ok(())
}

/// The cluster that the transaction's scripts are in from now on, and the balance that it had before if there was one.
/// The cluster with the most transactions stays, of several the oldest.
fn unite<F: Forest>(
    forest: &mut F,
    tx: TxNum,
    moves: &[Move],
    effects: &mut Effects<'_, '_>,
    Lists { met, .. }: &mut Lists<F::Root>,
) -> Result<(F::Root, Option<Sats>), StageError> {
    let new = introduced(moves);
    met.clear();
    for moved in moves.iter().filter(|moved| moved.cospent && moved.distance > 0) {
        let root = forest.root_of(TxNum(tx.0 - moved.distance))?;
        met.push((root, forest.node(root), *forest.counts(root)?));
    }
    met.sort_unstable_by_key(|(_, node, _)| *node);
    met.dedup_by_key(|(_, node, _)| *node);
    let largest = met.iter().max_by_key(|(_, node, counts)| (counts.transactions, Reverse(*node))).copied();
    let Some((winner, winner_node, before)) = largest else {
        let root = forest.found(tx)?;
        *forest.counts(root)? = Counts { transactions: 1, scripts: new.into(), ..Counts::default() };
        return Ok((root, None));
    };
    let mut counts = before;
    let add_child = |counts: &mut Counts, node, scripts, effects: &mut Effects<'_, '_>| {
        effects.child(winner_node, counts.children, Child { by: tx, node, scripts });
        counts.children += 1;
    };
    for (loser, node, lost) in met.iter().filter(|(root, ..)| *root != winner) {
        forest.merge(*loser, winner, tx, effects)?;
        effects.balance(tx, Some(lost.balance), None);
        counts.transactions += lost.transactions;
        counts.scripts += lost.scripts;
        counts.balance = changed(counts.balance, lost.balance.into())?;
        add_child(&mut counts, *node, 0, effects);
    }
    forest.join(tx, winner, effects)?;
    add_child(&mut counts, tx, new, effects);
    counts.transactions += 1;
    counts.scripts += u64::from(new);
    *forest.counts(winner)? = counts;
    Ok((winner, Some(before.balance)))
}
