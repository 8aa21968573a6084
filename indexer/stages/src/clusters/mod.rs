//! `clusters`: scripts that have one owner, as transactions that spend from several of them show.
//!
//! It hears the groups of the stage `scripts`: the first co-spending transaction of a script is its node in the forest,
//! and every later movement of the script becomes a *move* of that node. Moves in the order of transactions then tie
//! clusters together and carry their balances. `docs/clusters.md` has the rule.

mod bands;
mod connect;
mod listener;
mod rows;
mod stored;
mod window;
mod windows;

use cairn_model::{Block, TxNum};
use cairn_tables::{
    DecodeError, KeyCodec, Table, ValueCodec,
    clusters::{CHILDREN_PER_ROW, Child, ChildrenRow, ClusterChildren, ClusterDays, ClusterOf, Clusters},
    codec::{Input, put_varint},
    encode_key, encode_value, stages,
    transfers::LargeChange,
};

use self::{
    connect::{Effects, Lists},
    listener::ClusterListener,
    rows::RowForest,
};
use crate::{
    deltas::{Delta, FoldDirection, Lane, Merge, Prior, Rows, Spread, StageError},
    group::Group,
    hearing::{HearContext, Listener},
    lanes::{DeltaLane, RowLane, Sink},
    ordered::{Sequence, Workspace},
    scripts::ScriptsStage,
    stage::{HeardLane, MapContext, Stage, identity},
    times::Times,
};

pub(crate) struct ClustersStage;

const NAME: &str = stages::CLUSTERS.name;

const LANES: [Lane; 6] = [
    Lane::put::<ClusterOf>(Spread::Heard),
    Lane {
        name: "cluster_moves",
        group_len: 5,
        spread: Spread::TxNum,
        merge: Merge::Ordered,
        families: &[Clusters::FAMILY],
    },
    Lane {
        name: "cluster_children",
        group_len: 9,
        spread: Spread::TxNum,
        merge: Merge::Fold,
        families: &[ClusterChildren::FAMILY],
    },
    Lane::put::<Clusters>(Spread::TxNum),
    Lane::put::<LargeChange>(Spread::TxNum),
    Lane::add::<ClusterDays>(Spread::Few),
];

const CLUSTER_OF: RowLane<ClusterOf> = RowLane::of(&LANES);
const MOVES: DeltaLane<TxNum, Move> = DeltaLane::of(&LANES, "cluster_moves");
const CHILDREN: DeltaLane<ChildPlace, Child> = DeltaLane::of(&LANES, "cluster_children");
/// Only in bulk: at the tip rows of the forest change, and are written as they are read.
const FOREST: RowLane<Clusters> = RowLane::of(&LANES);
const LARGE_CHANGE: RowLane<LargeChange> = RowLane::of(&LANES);
const DAYS: RowLane<ClusterDays> = RowLane::of(&LANES);

const fn contradiction(what: &'static str) -> StageError {
    StageError::Contradiction { stage: NAME, what }
}

/// The effect of a transaction on a script whose node is known: distance of the node × 4 + flags │ received − sent
/// (zigzag). The flags: 1 if the transaction spends from it together with others, 2 if what it receives stays inside.
/// With 1 and without 2, it receives of a large transfer.
///
/// In the node itself, distance 0, the net is the balance of the script after it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Move {
    /// TxNum of the transaction minus that of the node.
    distance: u64,
    /// The transaction shows that the script has the owner of others.
    cospent: bool,
    /// The receipt is not a payment to others: the transaction spends from the script, too, or is a coinbase.
    inside: bool,
    /// The script, which the transaction does not spend from, is paid by a large transfer.
    large: bool,
    net: i64,
}

impl ValueCodec for Move {
    fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.distance << 2 | u64::from(self.inside) << 1 | u64::from(self.cospent || self.large));
        put_varint(out, (self.net << 1 ^ self.net >> 63).cast_unsigned());
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        let (head, net) = (b.varint()?, b.varint()?);
        let net = (net >> 1).cast_signed() ^ -(net & 1).cast_signed();
        let (inside, mark) = (head & 2 != 0, head & 1 != 0);
        Ok(Move { distance: head >> 2, cospent: mark && inside, inside, large: mark && !inside, net })
    }
}

/// Lists the moves of a group; gives its transaction.
fn moves_of(group: &[Delta<'_>], moves: &mut Vec<Move>) -> Result<TxNum, StageError> {
    moves.clear();
    let mut tx = TxNum(0);
    for delta in group {
        let (of, moved) = MOVES.read(delta)?;
        if moved.distance > of.0 || (moved.distance == 0 && !moved.cospent) {
            return Err(contradiction("a move of a node that cannot be"));
        }
        tx = of;
        moves.push(moved);
    }
    Ok(tx)
}

/// Where among a root's children one is: parent (5) ‖ number of the row (4) ‖ place in it (1).
struct ChildPlace {
    parent: TxNum,
    index: u32,
}

impl KeyCodec for ChildPlace {
    fn encode(&self, out: &mut Vec<u8>) {
        (self.parent, self.index / CHILDREN_PER_ROW).encode(out);
        out.push((self.index % CHILDREN_PER_ROW) as u8);
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        let (parent, row) = <(TxNum, u32)>::decode(b)?;
        let index = row.checked_mul(CHILDREN_PER_ROW).and_then(|first| first.checked_add(b.byte().ok()?.into()));
        Ok(ChildPlace { parent, index: index.ok_or_else(|| b.error("place of a child"))? })
    }
}

/// Children of one row: appends them, or takes them off.
fn fold_children(
    group: &Group<'_>,
    direction: FoldDirection,
    prior: &dyn Prior,
    rows: &mut dyn Rows,
) -> Result<(), StageError> {
    let children = group.iter().map(|delta| CHILDREN.read(delta)).collect::<Result<Vec<_>, _>>()?;
    let Some((ChildPlace { parent, index }, _)) = children.first() else { return Ok(()) };
    let key = encode_key::<ClusterChildren>(&(*parent, index / CHILDREN_PER_ROW));
    let kept = (index % CHILDREN_PER_ROW) as usize;
    let before = match prior.get(ClusterChildren::FAMILY, &key).map_err(StageError::Prior)? {
        Some(row) => ClusterChildren::decode_value(&row)?.0,
        None => Vec::new(),
    };
    let new = children.iter().map(|(_, child)| *child);
    let row: Vec<Child> = match direction {
        FoldDirection::Forward if kept == before.len() => before.iter().copied().chain(new).collect(),
        FoldDirection::Back if before[kept.min(before.len())..].iter().copied().eq(new) => before[..kept].to_vec(),
        _ => return Err(contradiction("children of a cluster have a gap")),
    };
    if !(*index..).zip(&children).all(|(expected, (place, _))| place.index == expected) {
        return Err(contradiction("children of a cluster are not in order"));
    }
    if row.is_empty() {
        return rows.delete(ClusterChildren::FAMILY, &key);
    }
    if !row.is_sorted() || row.len() > CHILDREN_PER_ROW as usize {
        return Err(contradiction("children of a cluster are not in order"));
    }
    rows.put(ClusterChildren::FAMILY, &key, &encode_value::<ClusterChildren>(&ChildrenRow(row)))
}

impl Stage for ClustersStage {
    identity!(CLUSTERS, LANES);

    /// Maps nothing: this stage works on another stage's groups.
    fn map(&self, _: &Block, _: &MapContext<'_>, _: &mut Sink<'_>) {}

    fn hears(&self) -> Option<HeardLane> {
        Some(HeardLane { stage: &ScriptsStage, lane: 0 })
    }

    fn listener<'c>(&self, context: HearContext<'c>) -> Option<Box<dyn Listener + 'c>> {
        Some(Box::new(ClusterListener::new(context)))
    }

    fn fold(
        &self,
        _: usize,
        group: &Group<'_>,
        direction: FoldDirection,
        prior: &dyn Prior,
        rows: &mut dyn Rows,
    ) -> Result<(), StageError> {
        fold_children(group, direction, prior, rows)
    }

    fn fold_ordered(
        &self,
        _: usize,
        deltas: &[Delta<'_>],
        direction: FoldDirection,
        times: &dyn Times,
        prior: &dyn Prior,
        rows: &mut dyn Rows,
        emit: &mut Sink<'_>,
    ) -> Result<(), StageError> {
        let (mut forest, mut effects) = (RowForest::new(prior), Effects::new(times, emit));
        let mut groups: Vec<_> = deltas.chunk_by(|a, b| a.key == b.key).collect();
        if direction == FoldDirection::Back {
            groups.reverse();
        }
        let (mut moves, mut lists) = (Vec::new(), Lists::default());
        for group in groups {
            let tx = moves_of(group, &mut moves)?;
            match direction {
                FoldDirection::Forward => connect::connect(&mut forest, tx, &moves, &mut effects, &mut lists)?,
                FoldDirection::Back => forest.disconnect(tx, &moves, &mut effects, &mut lists)?,
            }
        }
        effects.finish()?;
        forest.write(rows)
    }

    fn fold_sequence(
        &self,
        _: usize,
        deltas: &dyn Sequence,
        work: &Workspace<'_>,
        times: &dyn Times,
        emit: &mut Sink<'_>,
    ) -> Result<(), StageError> {
        windows::fold(deltas, work, times, emit)
    }
}
