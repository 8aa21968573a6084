//! Stages for the tests of the stage trait: small, and each of another kind.

use cairn_model::Block;
use cairn_stages::{
    Delta, FoldDirection, Group, Lane, MapContext, Merge, Prior, Rows, Sequence, Sink, Spread, Stage, StageError,
    StageInfo, Times, Workspace,
};
use cairn_tables::{Family, Origin, TableInfo};

const SMALL: &[Family] = &[Family::SHARED];

const fn table(name: &'static str, tag: u8) -> TableInfo {
    TableInfo { name, family: Family::SHARED, tag: Some(tag), origin: Origin::Stage("toy") }
}

/// Folded in order: the largest output so far. A row for each height that broke the record, and one for the record
/// itself, which can be taken back only by the rows of the blocks before.
pub struct Record {
    pub version: u32,
}

const RECORD: [Lane; 2] = [
    // TxNum of the block's first transaction (5) -> height (4), the largest output (8).
    Lane { name: "toy-outputs", group_len: 5, spread: Spread::TxNum, merge: Merge::Ordered, families: SMALL },
    // In bulk; at the tip the record's row changes.
    Lane { name: "toy-records", group_len: 1, spread: Spread::Hash { skip: 1 }, merge: Merge::Put, families: SMALL },
];
pub const RECORDS: TableInfo = table("toy_records", b'X');
const CURRENT: [u8; 5] = [b'X', 0xff, 0xff, 0xff, 0xff];

/// A record's row holds its value and the height of the record before; the row of the record itself its own height.
fn row(value: u64, height: u32) -> Vec<u8> {
    [&value.to_be_bytes()[..], &height.to_be_bytes()].concat()
}

fn key(height: u32) -> [u8; 5] {
    let mut key = [b'X'; 5];
    key[1..].copy_from_slice(&height.to_be_bytes());
    key
}

fn numbers(bytes: &[u8]) -> (u64, u32) {
    let (value, height) = bytes.split_at(8);
    (u64::from_be_bytes(value.try_into().unwrap()), u32::from_be_bytes(height.try_into().unwrap()))
}

/// Height and largest output of a delta.
fn broken(delta: &Delta<'_>) -> (u32, u64) {
    let (height, value) = delta.value.split_at(4);
    (u32::from_be_bytes(height.try_into().unwrap()), u64::from_be_bytes(value.try_into().unwrap()))
}

impl Stage for Record {
    fn info(&self) -> StageInfo {
        let (name, version) = ("toy-record", self.version);
        StageInfo { name, version, depends_on: &[], tables: const { &[RECORDS] } }
    }

    fn lanes(&self) -> &'static [Lane] {
        &RECORD
    }

    fn map(&self, block: &Block, _: &MapContext<'_>, emit: &mut dyn FnMut(usize, &[u8], &[u8])) {
        let largest = block.outputs.iter().map(|o| o.value).max().unwrap_or_default();
        let value = [&block.height.to_be_bytes()[..], &largest.to_be_bytes()].concat();
        emit(0, &block.first_tx.to_be5(), &value);
    }

    fn fold_ordered(
        &self,
        _: usize,
        deltas: &[Delta<'_>],
        direction: FoldDirection,
        _: &dyn Times,
        prior: &dyn Prior,
        rows: &mut dyn Rows,
        _: &mut Sink<'_>,
    ) -> Result<(), StageError> {
        let [delta] = deltas else { panic!("not the delta of one block") };
        let get = |key: &[u8]| prior.get(Family::SHARED, key).map_err(StageError::Prior);
        let current = get(&CURRENT)?.map(|b| numbers(&b));
        let (height, largest) = broken(delta);
        match (direction, current) {
            (FoldDirection::Forward, Some((value, _))) if largest <= value => Ok(()),
            (FoldDirection::Forward, current) => {
                let before = current.map_or(u32::MAX, |(_, height)| height);
                rows.put(Family::SHARED, &key(height), &row(largest, before))?;
                rows.put(Family::SHARED, &CURRENT, &row(largest, height))
            }
            (FoldDirection::Back, Some((_, at))) if at == height => {
                let (_, before) = numbers(&get(&key(height))?.expect("its own row"));
                let (value, _) = numbers(&get(&key(before))?.expect("the row before"));
                rows.delete(Family::SHARED, &key(height))?;
                rows.put(Family::SHARED, &CURRENT, &row(value, before))
            }
            (FoldDirection::Back, _) => Ok(()),
        }
    }

    fn fold_sequence(
        &self,
        _: usize,
        deltas: &dyn Sequence,
        _: &Workspace<'_>,
        _: &dyn Times,
        emit: &mut Sink<'_>,
    ) -> Result<(), StageError> {
        let mut current: Option<(u64, u32)> = None;
        deltas.groups(&[], &mut |group| {
            let (height, largest) = broken(&group[0]);
            if current.is_none_or(|(value, _)| largest > value) {
                emit(1, &key(height), &row(largest, current.map_or(u32::MAX, |(_, height)| height)));
                current = Some((largest, height));
            }
            Ok(true)
        })?;
        let (value, height) = current.expect("a block");
        emit(1, &CURRENT, &row(value, height));
        Ok(())
    }
}

/// Rows that are put as they are, some rising with the chain, some spread by hash; and sums by day.
pub struct Plain;

const PLAIN: [Lane; 3] = [
    // A group length that does not matter: nothing is folded.
    Lane { name: "toy-heights", group_len: 1, spread: Spread::Ascending, merge: Merge::Put, families: SMALL },
    Lane { name: "toy-txids", group_len: 3, spread: Spread::Hash { skip: 1 }, merge: Merge::Put, families: SMALL },
    Lane { name: "toy-days", group_len: 5, spread: Spread::Hash { skip: 1 }, merge: Merge::Fold, families: SMALL },
];
pub const PLAINS: [TableInfo; 3] = [table("toy_heights", b'1'), table("toy_txids", b'I'), table("toy_days", b'D')];

impl Stage for Plain {
    fn info(&self) -> StageInfo {
        StageInfo { name: "toy-plain", version: 1, depends_on: &[], tables: &PLAINS }
    }

    fn lanes(&self) -> &'static [Lane] {
        &PLAIN
    }

    fn map(&self, block: &Block, _: &MapContext<'_>, emit: &mut dyn FnMut(usize, &[u8], &[u8])) {
        let height = block.height.to_be_bytes();
        emit(0, &[&[b'1'][..], &height].concat(), &[block.txs.len() as u8]);
        for (i, tx) in block.txs.iter().enumerate() {
            emit(1, &[&[b'I'][..], &tx.txid.0, &block.tx_num(i).to_be5()].concat(), &height);
            let day = (block.mono_time / 86_400).to_be_bytes();
            emit(2, &[&[b'D'][..], &day].concat(), &(tx.outputs.len() as u64).to_be_bytes());
        }
    }

    fn fold(
        &self,
        _: usize,
        g: &Group<'_>,
        direction: FoldDirection,
        prior: &dyn Prior,
        rows: &mut dyn Rows,
    ) -> Result<(), StageError> {
        let number = |bytes: &[u8]| u64::from_be_bytes(bytes.try_into().unwrap());
        let old = prior.get(Family::SHARED, g[0].key).map_err(StageError::Prior)?.map_or(0, |b| number(&b));
        let sum: u64 = g.iter().map(|d: &Delta<'_>| number(d.value)).sum();
        match if direction == FoldDirection::Forward { old + sum } else { old - sum } {
            0 => rows.delete(Family::SHARED, g[0].key),
            new => rows.put(Family::SHARED, g[0].key, &new.to_be_bytes()),
        }
    }
}

/// Wrong: puts one row with every block.
pub struct Twice;

impl Stage for Twice {
    fn info(&self) -> StageInfo {
        let tables = const { &[table("toy_twice", b'Z')] };
        StageInfo { name: "toy-twice", version: 1, depends_on: &[], tables }
    }

    fn lanes(&self) -> &'static [Lane] {
        const {
            &[Lane {
                name: "toy-twice",
                group_len: 9,
                spread: Spread::Hash { skip: 1 },
                merge: Merge::Put,
                families: SMALL,
            }]
        }
    }

    fn map(&self, block: &Block, _: &MapContext<'_>, emit: &mut dyn FnMut(usize, &[u8], &[u8])) {
        emit(0, b"Wone", &block.height.to_be_bytes());
    }
}

/// With a dependency: a row for each block.
pub struct Dependent {
    pub on: &'static [&'static StageInfo],
}

pub const DEPENDENT: TableInfo = table("toy_dependent", b'Y');

impl Stage for Dependent {
    fn info(&self) -> StageInfo {
        let tables = const { &[DEPENDENT] };
        StageInfo { name: "toy-dependent", version: 1, depends_on: self.on, tables }
    }

    fn lanes(&self) -> &'static [Lane] {
        const {
            &[Lane {
                name: "toy-dependent",
                group_len: 5,
                spread: Spread::Ascending,
                merge: Merge::Put,
                families: SMALL,
            }]
        }
    }

    fn map(&self, block: &Block, _: &MapContext<'_>, emit: &mut dyn FnMut(usize, &[u8], &[u8])) {
        emit(0, &[&[b'Y'][..], &block.height.to_be_bytes()].concat(), &block.hash.0);
    }
}

#[test]
fn no_table_of_a_toy_has_the_rows_of_a_real_one() {
    for toy in PLAINS.iter().chain([&RECORDS, &DEPENDENT]) {
        let clash = cairn_tables::TABLES.iter().find(|real| real.family == toy.family && real.tag == toy.tag);
        assert!(clash.is_none(), "{} has the tag of {clash:?}", toy.name);
    }
}
