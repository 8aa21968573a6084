//! The whole chain at once: moves in order, as many at a time as nodes fit in memory.

use cairn_model::TxNum;
use cairn_tables::{KeyCodec, clusters::ClusterRow};

use super::{
    FOREST,
    connect::{Effects, connect},
    moves_of,
    stored::Stored,
    window::{MOST_NODES, NODE_BYTES, OUTER_BYTES, OuterRoot, ROOT_BYTES, Ranked, Window},
};
use crate::{
    deltas::StageError,
    lanes::Sink,
    ordered::{Sequence, Workspace},
    times::Times,
};

/// What a window will need.
#[derive(Default)]
struct Survey {
    /// Nodes, less the first transaction.
    nodes: Ranked,
    node_count: u64,
    root_count: u64,
    /// Nodes from before that are referred to.
    outer: Vec<u64>,
    /// The first transaction behind it; `None` for the last window.
    end: Option<TxNum>,
}

impl Survey {
    /// From `start` on, as far as memory reaches; a transaction at least.
    fn of(moves: &dyn Sequence, start: TxNum, memory: u64) -> Result<Self, StageError> {
        let mut survey = Survey::default();
        let (mut distinct, mut groups) = (0, 0u64);
        moves.groups(&key(start), &mut |group| {
            let (tx, moves) = moves_of(group)?;
            let nodes = moves.iter().filter(|moved| moved.distance > 0).map(|moved| tx.0 - moved.distance);
            survey.outer.extend(nodes.filter(|node| *node < start.0));
            // Moves of few scripts name the same nodes over and over.
            if survey.is_full(memory) && survey.outer.len() > distinct + distinct / 4 + 4096 {
                survey.outer.sort_unstable();
                survey.outer.dedup();
                distinct = survey.outer.len();
            }
            if survey.is_full(memory) && groups > 0 {
                survey.end = Some(tx);
                return Ok(false);
            }
            groups += 1;
            if moves.iter().any(|moved| moved.cospent) {
                survey.nodes.insert(tx.0 - start.0);
                survey.node_count += 1;
                survey.root_count += u64::from(!moves.iter().any(|moved| moved.cospent && moved.distance > 0));
            }
            Ok(true)
        })?;
        survey.outer.sort_unstable();
        survey.outer.dedup();
        survey.nodes.count();
        Ok(survey)
    }

    fn is_full(&self, memory: u64) -> bool {
        let nodes = self.node_count * NODE_BYTES + self.root_count * ROOT_BYTES + self.nodes.bytes();
        let outer = self.outer.len() as u64;
        nodes + outer * OUTER_BYTES > memory || self.node_count + outer > MOST_NODES
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
    let (mut stored, mut start): (Option<Stored<'_>>, _) = (None, TxNum(0));
    for number in 0.. {
        let Survey { nodes, node_count, root_count, outer, end, .. } = Survey::of(moves, start, work.memory)?;
        let (places, mut roots) = match &stored {
            Some(stored) => stored.resolve(&outer)?,
            None => (Vec::new(), Vec::new()),
        };
        let touched: Vec<u64> = roots.iter().map(|root| root.node.0).collect();
        roots.reserve_exact(root_count as usize);
        let mut window = Window::new(start.0, outer, places, roots, nodes, node_count as usize)?;
        moves.groups(&key(start), &mut |group| {
            let (tx, moves) = moves_of(group)?;
            if end.is_some_and(|end| tx >= end) {
                return Ok(false);
            }
            connect(&mut window, tx, &moves, &mut effects)?;
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
