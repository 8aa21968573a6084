//! The whole chain at once: moves in order, as many at a time as nodes fit in memory.

use cairn_model::TxNum;
use cairn_tables::{KeyCodec, clusters::ClusterRow};

use super::{
    FOREST,
    connect::{Effects, Lists, connect},
    moves_of,
    stored::Stored,
    window::{ExpectedSizes, MAX_NODES, NODE_BYTES, OUTER_BYTES, OuterRoot, ROOT_BYTES, Ranked, Window},
};
use crate::{
    deltas::StageError,
    lanes::Sink,
    ordered::{Sequence, Workspace},
    times::Times,
};

/// Needs of a window after the first.
#[derive(Default)]
struct Survey {
    expected: ExpectedSizes,
    /// Nodes from before that are referred to.
    outer: Vec<u64>,
    /// The first transaction behind it; `None` for the last window.
    end: Option<TxNum>,
}

impl Survey {
    /// From `start` on, as far as memory reaches; a transaction at least.
    fn of(deltas: &dyn Sequence, start: TxNum, memory: u64) -> Result<Self, StageError> {
        let (mut survey, mut moves) = (Survey::default(), Vec::new());
        let (mut distinct, mut groups) = (0, 0u64);
        deltas.groups(&key(start), &mut |group| {
            let tx = moves_of(group, &mut moves)?;
            let nodes = moves.iter().filter(|moved| moved.distance > 0).map(|moved| tx.0 - moved.distance);
            survey.outer.extend(nodes.filter(|node| *node < start.0));
            let transactions = tx.0 + 1 - start.0;
            // Moves of few scripts name the same nodes over and over.
            if survey.is_full(transactions, memory) && survey.outer.len() > distinct + distinct / 4 + 4096 {
                survey.outer.sort_unstable();
                survey.outer.dedup();
                distinct = survey.outer.len();
            }
            if survey.is_full(transactions, memory) && groups > 0 {
                survey.end = Some(tx);
                return Ok(false);
            }
            groups += 1;
            survey.expected.transactions = transactions;
            if moves.iter().any(|moved| moved.cospent) {
                survey.expected.nodes += 1;
                survey.expected.roots += u64::from(!moves.iter().any(|moved| moved.cospent && moved.distance > 0));
            }
            Ok(true)
        })?;
        survey.outer.sort_unstable();
        survey.outer.dedup();
        Ok(survey)
    }

    fn is_full(&self, transactions: u64, memory: u64) -> bool {
        let ExpectedSizes { nodes, roots, .. } = self.expected;
        let bytes = nodes * NODE_BYTES + roots * ROOT_BYTES + Ranked::bytes(transactions);
        let outer = self.outer.len() as u64;
        bytes + outer * OUTER_BYTES > memory || nodes + outer > MAX_NODES
    }
}

fn key(tx: TxNum) -> Vec<u8> {
    let mut key = Vec::new();
    tx.encode(&mut key);
    key
}

pub(super) fn fold(
    moves: &dyn Sequence,
    work: &Workspace<'_>,
    times: &dyn Times,
    emit: &mut Sink<'_>,
) -> Result<(), StageError> {
    let mut effects = Effects::new(times, emit);
    let (mut moved, mut lists) = (Vec::new(), Lists::default());
    let (mut stored, mut start): (Option<Stored<'_>>, _) = (None, TxNum(0));
    for number in 0.. {
        // The first window refers to nothing from before, and mostly there is no other: it ends where memory does.
        let (Survey { expected, outer, mut end }, (places, roots)) = match &stored {
            Some(stored) => {
                let survey = Survey::of(moves, start, work.memory)?;
                let known = stored.resolve(&survey.outer)?;
                (survey, known)
            }
            None => Default::default(),
        };
        let touched: Vec<u64> = roots.iter().map(|root| root.node.0).collect();
        let (mut window, mut any) = (Window::new(start.0, outer, places, roots, expected), false);
        moves.groups(&key(start), &mut |group| {
            let tx = moves_of(group, &mut moved)?;
            if number == 0 && any && window.is_full(tx, work.memory) {
                end = Some(tx);
            }
            if end.is_some_and(|end| tx >= end) {
                return Ok(false);
            }
            any = true;
            connect(&mut window, tx, &moved, &mut effects, &mut lists)?;
            Ok(true)
        })?;
        let Some(next) = end else {
            let mut put = |root: &OuterRoot| effects.emit.row(&FOREST, &root.node, &ClusterRow::Root(root.counts));
            window.roots().for_each(&mut put);
            if let Some(stored) = &stored {
                stored.other_roots(&touched, |root| {
                    put(root);
                    Ok(())
                })?;
            }
            break;
        };
        stored = Some(Stored::after(stored, &mut window, &touched, work.scratch, number)?);
        start = next;
    }
    effects.finish()
}
