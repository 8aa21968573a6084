//! Data for the counted code: a small chain of the mainnet shape and its index, made once in front of all counting, and
//! read back in each counted process before its counting begins.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use cairn_chaingen::{
    corefiles::{FileOptions, Writer},
    mainnet::{MainnetOptions, mainnet_blocks},
};
use cairn_model::{Block, Network};
use cairn_pipeline::{Driver, Engine, NoProgress, SyncOptions};
use cairn_reader::{Facts, Reader};
use cairn_sources::BlockFiles;
use cairn_tables::{
    Table, TableInfo,
    block_log::BlockLog,
    coins::{Coins, CoinsByScript},
    headers::Headers,
    history::History,
    prevouts::Prevouts,
    spenders::Spenders,
    totals::TotalsTable,
    tx_nums::TxNums,
};

/// Names the folder to the counted processes.
pub(crate) const FOLDER: &str = "CAIRN_INSTRUCTIONS_FOLDER";

/// Bytes of the chain: a few full blocks, so that all of it can be folded under Valgrind in seconds.
const CHAIN_BYTES: u64 = 5 << 20;
/// Most rows that are kept of a table.
const ROWS: usize = 2_000;
/// The tables whose codecs are counted.
const TABLES: [TableInfo; 9] = [
    TableInfo::of::<Headers>(),
    TableInfo::of::<BlockLog>(),
    TableInfo::of::<Prevouts>(),
    TableInfo::of::<TxNums>(),
    TableInfo::of::<Spenders>(),
    TableInfo::of::<Coins>(),
    TableInfo::of::<CoinsByScript>(),
    TableInfo::of::<History>(),
    TableInfo::of::<TotalsTable>(),
];

/// A row as the database holds it, without the tag of a shared family.
pub(crate) type Row = (Vec<u8>, Vec<u8>);

/// Makes everything in an empty folder.
pub(crate) fn make(folder: &Path) {
    let blocks = folder.join("blocks");
    let mut writer =
        Writer::create(&blocks, FileOptions::new(bitcoin::Network::Regtest, [1, 2, 3, 4, 5, 6, 7, 8])).unwrap();
    let (mut block, mut undo) = (Vec::new(), Vec::new());
    let options = MainnetOptions { empty_blocks: 0, ..MainnetOptions::new(1, CHAIN_BYTES) };
    mainnet_blocks(&options, |raw| {
        let location = writer.block(raw.block)?;
        if let Some(bytes) = raw.undo {
            writer.undo(location.file, &raw.previous, bytes)?;
            // The last one stays: the first ones only mine and fan out.
            (block, undo) = (raw.block.to_vec(), bytes.to_vec());
        }
        Ok(())
    })
    .unwrap();
    writer.finish().unwrap();
    fs::write(folder.join("block"), block).unwrap();
    fs::write(folder.join("undo"), undo).unwrap();

    let files = BlockFiles::open(&blocks, Network::Regtest).unwrap();
    let survey = files.survey(&|_| {}).unwrap();
    let mut engine = Engine::open(folder, &Facts::of(Network::Regtest)).unwrap();
    let bulk = SyncOptions { driver: Driver::Bulk, ..SyncOptions::default() };
    engine.sync(&files, &survey, &bulk, &NoProgress).unwrap();
    let reader = engine.reader();
    let view = reader.view().unwrap();
    for table in &TABLES {
        let mut rows = Vec::new();
        view.tables().rows(table, |key, value| rows.push((key.to_vec(), value.to_vec()))).unwrap();
        // From all over the table.
        let step = rows.len().div_ceil(ROWS).max(1);
        write_rows(&rows_file(folder, table.name), rows.iter().step_by(step));
    }
    let mut busiest = None;
    view.tables()
        .rows(&TableInfo::of::<TotalsTable>(), |key, value| {
            let count = TotalsTable::decode_value(value).unwrap().tx_count;
            if busiest.as_ref().is_none_or(|(_, most)| count > *most) {
                busiest = Some((key.to_vec(), count));
            }
        })
        .unwrap();
    let (key, count) = busiest.unwrap();
    assert!(count > 128, "a history of {count} transactions has no second row");
    let script = view.scripts().bytes_of(TotalsTable::decode_key(&key).unwrap()).unwrap().unwrap();
    fs::write(folder.join("busiest"), script).unwrap();
}

fn rows_file(folder: &Path, table: &str) -> PathBuf {
    folder.join(format!("rows-{table}"))
}

fn write_rows<'r>(path: &Path, rows: impl Iterator<Item = &'r Row>) {
    let mut out = Vec::new();
    for part in rows.flat_map(|(key, value)| [key, value]) {
        out.extend((part.len() as u32).to_le_bytes());
        out.extend(part);
    }
    fs::write(path, out).unwrap();
}

fn folder() -> PathBuf {
    env::var_os(FOLDER).expect(FOLDER).into()
}

/// Rows of a table.
pub(crate) fn rows(table: &str) -> Vec<Row> {
    let bytes = fs::read(rows_file(&folder(), table)).unwrap();
    let mut rest = &bytes[..];
    let mut part = || {
        let (len, after) = rest.split_first_chunk::<4>()?;
        let (part, after) = after.split_at(u32::from_le_bytes(*len) as usize);
        rest = after;
        Some(part.to_vec())
    };
    std::iter::from_fn(|| Some((part()?, part()?))).collect()
}

/// A typical block as the node stores it.
pub(crate) fn raw_block() -> Vec<u8> {
    fs::read(folder().join("block")).unwrap()
}

/// Its undo data.
pub(crate) fn raw_undo() -> Vec<u8> {
    fs::read(folder().join("undo")).unwrap()
}

/// The index.
pub(crate) fn reader() -> Reader {
    Reader::open(&folder().join("index")).unwrap()
}

/// The script with the longest history.
pub(crate) fn busiest() -> Vec<u8> {
    fs::read(folder().join("busiest")).unwrap()
}

/// The blocks of the chain, resolved; they begin at genesis.
pub(crate) fn blocks() -> Vec<Block> {
    let reader = reader();
    let view = reader.view().unwrap();
    view.journal(0, view.tip().height).unwrap().map(Result::unwrap).collect()
}

/// The last block, resolved.
pub(crate) fn last_block() -> Block {
    let reader = reader();
    let view = reader.view().unwrap();
    view.journal_block(view.tip().height).unwrap().unwrap()
}
