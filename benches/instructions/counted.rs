//! The code that is counted. Each benchmark runs in a process of its own; only the call of [`Work::run`] counts, not
//! what prepares it and not what drops it.

use std::hint::black_box;

use cairn_model::{Block, DAY_SECS, Height, TxNum};
use cairn_sources::{IdNotes, decode_block, decode_undo};
use cairn_stages::{
    Delta, FoldDirection, Group, MapContext, Merge, NoPrior, Reading, Rows, Stage, StageError, Times, all,
};
use cairn_tables::{
    Family, KeyCodec, Table, ValueCodec,
    block_log::BlockLog,
    coins::{Coins, CoinsByScript},
    headers::Headers,
    history::History,
    prevouts::Prevouts,
    spenders::Spenders,
    totals::TotalsTable,
    tx_nums::TxNums,
};
use gungraun::{LibraryBenchmarkConfig, library_benchmark, library_benchmark_group, main};

use crate::fixture::{self, FOLDER};

/// Every block ten minutes after the one before.
struct TenMinutes;

impl Times for TenMinutes {
    fn mono_time(&self, height: Height) -> Option<u32> {
        Some(1_231_006_505 + height * 600)
    }

    /// Of 400,000 transactions a day.
    fn day_of(&self, tx_num: TxNum) -> u32 {
        (tx_num.0 / 400_000) as u32
    }

    fn first_of_day(&self, day: u32) -> Option<TxNum> {
        Some(TxNum(u64::from(day) * 400_000))
    }
}

const CONTEXT: MapContext<'_> = MapContext { txid_prefix: 8, times: &TenMinutes };
/// Rows of a page.
const PAGE: usize = 25;
/// Something prepared; what it needs stays alive behind the count.
struct Work(Box<dyn FnMut() -> u64>);

impl Work {
    fn new(work: impl FnMut() -> u64 + 'static) -> Self {
        Work(Box::new(work))
    }

    fn run(mut self) -> (Self, u64) {
        let result = black_box((self.0)());
        (self, result)
    }

    /// Runs it once before it counts, so that caches are filled.
    fn hot(mut self) -> Self {
        black_box((self.0)());
        self
    }
}

fn decoding(what: &str) -> Work {
    match what {
        "block" => {
            let raw = fixture::raw_block();
            let mut decoded = None;
            Work::new(move || decoded.insert(decode_block(black_box(&raw), 8).unwrap()).txs.len() as u64)
        }
        "noted" => {
            let raw = fixture::raw_block();
            let (notes, hashed, mut note) = (IdNotes::new(1), decode_block(&raw, 8).unwrap(), Vec::new());
            notes.write(&raw, &hashed, &mut note);
            let (mut decoded, count) = (None, hashed.txs.len() as u32);
            Work::new(move || decoded.insert(notes.decode(black_box(&raw), &note, count).unwrap()).txs.len() as u64)
        }
        _ => {
            let raw = fixture::raw_undo();
            let mut decoded = None;
            Work::new(move || decoded.insert(decode_undo(black_box(&raw)).unwrap()).scripts.len() as u64)
        }
    }
}

#[library_benchmark(setup = decoding)]
#[bench::block("block")]
#[bench::noted_block("noted")]
#[bench::undo("undo")]
fn decode(work: Work) -> (Work, u64) {
    work.run()
}

fn stage(name: &str) -> Box<dyn Stage> {
    all().into_iter().find(|stage| stage.name() == name).unwrap()
}

/// The rows that a stage emits for a block of the shape.
fn mapping(name: &str) -> Work {
    let (stage, block) = (stage(name), fixture::last_block());
    Work::new(move || {
        let mut bytes = 0;
        stage.map(black_box(&block), &CONTEXT, &mut |lane, key, value| bytes += lane + key.len() + value.len());
        bytes as u64
    })
}

#[library_benchmark(setup = mapping)]
#[bench::chain("chain")]
#[bench::spends("spends")]
#[bench::coins("coins")]
#[bench::scripts("scripts")]
#[bench::ages("ages")]
#[bench::pubkeys("pubkeys")]
fn map(work: Work) -> (Work, u64) {
    work.run()
}

/// Takes rows and keeps none.
#[derive(Default)]
struct Sink(u64);

impl Rows for Sink {
    fn put(&mut self, family: Family, key: &[u8], value: &[u8]) -> Result<(), StageError> {
        self.0 += (family.index() + black_box(key).len() + black_box(value).len()) as u64;
        Ok(())
    }

    fn delete(&mut self, _: Family, _: &[u8]) -> Result<(), StageError> {
        Err(StageError::Contradiction { stage: "instructions", what: "deleted what was never there" })
    }
}

/// A lane, its deltas, and where its groups end.
type Sorted = (usize, Vec<(Vec<u8>, Vec<u8>)>, Vec<usize>);

fn sorted(stage: &dyn Stage, blocks: &[Block]) -> Vec<Sorted> {
    let mut lanes = vec![Vec::new(); stage.lanes().len()];
    for block in blocks {
        stage.map(block, &CONTEXT, &mut |lane, key, value| lanes[lane].push((key.to_vec(), value.to_vec())));
    }
    let lanes = lanes.into_iter().enumerate().filter(|(lane, _)| stage.lanes()[*lane].merge != Merge::Put);
    lanes
        .map(|(lane, mut deltas)| {
            deltas.sort_unstable();
            let len = stage.lanes()[lane].group_len;
            let mut end = 0;
            let ends = deltas.chunk_by(|a, b| a.0[..len] == b.0[..len]).map(|group| {
                end += group.len();
                end
            });
            let ends = ends.collect();
            (lane, deltas, ends)
        })
        .collect()
}

/// The folds of a stage over all deltas of the chain, as bulk indexing calls them. (The lanes of `chain` only put.)
fn folding(name: &str) -> Work {
    let stage = stage(name);
    let lanes = sorted(stage.as_ref(), &fixture::blocks());
    Work::new(move || {
        let mut sink = Sink::default();
        let (mut group, memory) = (Vec::new(), Reading::default());
        for (lane, deltas, ends) in &lanes {
            let mut start = 0;
            for &end in ends {
                group.clear();
                group.extend(deltas[start..end].iter().map(|(key, value)| Delta { key, value }));
                let group = Group::new(black_box(&group), &memory);
                stage.fold(*lane, &group, FoldDirection::Forward, &NoPrior, &mut sink).unwrap();
                start = end;
            }
        }
        sink.0
    })
}

#[library_benchmark(setup = folding)]
#[bench::spends("spends")]
#[bench::coins("coins")]
#[bench::scripts("scripts")]
fn fold(work: Work) -> (Work, u64) {
    work.run()
}

fn decoder<T: Table>() -> Work {
    let rows = fixture::rows(T::NAME);
    assert!(!rows.is_empty());
    Work::new(move || {
        for (key, value) in black_box(&rows) {
            black_box((T::decode_key(key).unwrap(), T::decode_value(value).unwrap()));
        }
        rows.len() as u64
    })
}

fn encoder<T: Table>() -> Work
where
    T::Key: 'static,
    T::Value: 'static,
{
    let rows = fixture::rows(T::NAME).into_iter();
    let rows: Vec<_> = rows.map(|(k, v)| (T::decode_key(&k).unwrap(), T::decode_value(&v).unwrap())).collect();
    assert!(!rows.is_empty());
    let (mut key, mut value) = (Vec::with_capacity(1 << 10), Vec::with_capacity(1 << 20));
    Work::new(move || {
        for row in black_box(&rows) {
            key.clear();
            value.clear();
            row.0.encode(&mut key);
            row.1.encode(&mut value);
            black_box((&key, &value));
        }
        rows.len() as u64
    })
}

macro_rules! by_table {
    ($function:ident, $name:expr) => {
        match $name {
            "headers" => $function::<Headers>(),
            "block_log" => $function::<BlockLog>(),
            "prevouts" => $function::<Prevouts>(),
            "tx_nums" => $function::<TxNums>(),
            "spenders" => $function::<Spenders>(),
            "coins" => $function::<Coins>(),
            "coins_by_script" => $function::<CoinsByScript>(),
            "history" => $function::<History>(),
            "totals" => $function::<TotalsTable>(),
            other => panic!("no codec of {other} is counted"),
        }
    };
}

fn row_decoding(table: &str) -> Work {
    by_table!(decoder, table)
}

fn row_encoding(table: &str) -> Work {
    by_table!(encoder, table)
}

#[library_benchmark(setup = row_decoding)]
#[bench::headers("headers")]
#[bench::block_log("block_log")]
#[bench::prevouts("prevouts")]
#[bench::tx_nums("tx_nums")]
#[bench::spenders("spenders")]
#[bench::coins("coins")]
#[bench::coins_by_script("coins_by_script")]
#[bench::history("history")]
#[bench::totals("totals")]
fn decode_rows(work: Work) -> (Work, u64) {
    work.run()
}

#[library_benchmark(setup = row_encoding)]
#[bench::headers("headers")]
#[bench::block_log("block_log")]
#[bench::prevouts("prevouts")]
#[bench::tx_nums("tx_nums")]
#[bench::spenders("spenders")]
#[bench::coins("coins")]
#[bench::coins_by_script("coins_by_script")]
#[bench::history("history")]
#[bench::totals("totals")]
fn encode_rows(work: Work) -> (Work, u64) {
    work.run()
}

/// The reads of an answer, each time in a view of its own as a request has it: without HTTP, limits and JSON.
fn reading(what: &str) -> Work {
    let (reader, script) = (fixture::reader(), fixture::busiest());
    if what == "page" {
        return Work::new(move || {
            let view = reader.view().unwrap();
            let found = view.scripts().find(black_box(&script)).unwrap().unwrap();
            let page = view.scripts().history(&found, 0, PAGE).unwrap();
            assert_eq!(page.len(), PAGE);
            view.transactions().fetch(&page.iter().map(|entry| entry.tx_num).collect::<Vec<_>>()).unwrap();
            page.iter().map(|entry| view.transactions().get(entry.tx_num).unwrap().unwrap().fee_sats()).sum()
        })
        .hot();
    }
    Work::new(move || {
        let view = reader.view().unwrap();
        let found = view.scripts().find(black_box(&script)).unwrap().unwrap();
        let seen = |tx_num| view.transactions().get(tx_num).unwrap().unwrap().tx_num.0;
        let ends = seen(found.totals.first.tx_num) + seen(found.totals.last);
        // The last day, week and month, as the overview has them.
        let periods = [1, 7, 30].map(|days| {
            let time = view.tip().mono_time.saturating_sub(days * DAY_SECS);
            let height = view.chain().height_at(time).map_or(0, |height| height + 1);
            let start = view.chain().get(height).map_or(view.tip().tx_end, |block| block.first_tx);
            view.scripts().sums_before(&found, start).unwrap().tx_count
        });
        ends + periods.iter().sum::<u64>()
    })
    .hot()
}

#[library_benchmark(setup = reading)]
#[bench::overview("overview")]
#[bench::page_of_25("page")]
fn read(work: Work) -> (Work, u64) {
    work.run()
}

library_benchmark_group!(name = decoding_blocks, benchmarks = [decode]);
library_benchmark_group!(name = stages, benchmarks = [map, fold]);
library_benchmark_group!(name = codecs, benchmarks = [decode_rows, encode_rows]);
library_benchmark_group!(name = reads, benchmarks = [read]);

main!(
    config = LibraryBenchmarkConfig::default().pass_through_env(FOLDER),
    library_benchmark_groups = [decoding_blocks, stages, codecs, reads]
);

/// Hands over to the runner, or is the counted process that the runner started.
pub(crate) fn run() {
    main();
}
