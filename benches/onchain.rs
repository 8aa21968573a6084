//! `GET /v1/onchain` over 5,500 days (15 years) in which every day spends coins of every day before: the tables are
//! made as they are, without blocks. Warm, over the router, without the network.
//!
//! `now` is the newest day, `past` a day in the middle; `year` and `most` are 365 and 1,000 days as CSV. The rows that
//! each reads are printed.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

use std::{hint::black_box, path::Path, sync::Arc};

use axum::{
    Router,
    body::{Body, to_bytes},
    http::Request,
};
use cairn_events::{Chosen, Currency, Interval, Series};
use cairn_http::HttpConfig;
use cairn_link::IndexSlot;
use cairn_model::{BlockHash, DAY_SECS, Network, TxNum};
use cairn_operations::{ApiConfig, ApiState, router};
use cairn_pipeline::Engine;
use cairn_reader::{Facts, Reader};
use cairn_tables::{
    Table,
    ages::{BIRTH_DAYS, BirthDays, SupplyChanges},
    checkpoints::{Checkpoint, Checkpoints},
    clusters::{ClusterDays, NET_EXTERNAL},
    daily::{Daily, Measure},
    events::{Candle, Quotes},
    headers::{HeaderRow, Headers},
    periods::Period,
    script_days::{ACTIVE, RECEIVERS, SENDERS, ScriptDays},
    stages::STAGES,
    sums::Sums,
};
use cairn_writer::{WriteError, Writer};
use criterion::{Criterion, criterion_group, criterion_main};
use rust_decimal::Decimal;
use tower::ServiceExt;

/// The first day of mainnet, and the number of days.
const FIRST: u32 = 14_245;
const DAYS: u32 = 5_500;
/// Days that can be asked for one by one: of earlier ones there are only longer periods.
const SINGLE: u32 = 3_000;

/// A number that looks random, by its place.
fn mixed(at: u64) -> u64 {
    let mut mixed = at.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

/// Satoshis of one day of birth that a day spends.
fn spent(day: u32, birth: u32) -> i128 {
    i128::from(1_000_000 + mixed(u64::from(day) << 32 | u64::from(birth)) % 1_000_000_000)
}

/// Changes of the supply by day of birth, of one period that is not over.
struct Open {
    period: Period,
    changes: Vec<[i128; 2]>,
}

impl Open {
    fn rows(&self) -> impl Iterator<Item = ((Period, BirthDays), Sums)> + '_ {
        self.changes.chunks(BIRTH_DAYS as usize).enumerate().filter_map(|(row, births)| {
            let pairs = (0u32..).zip(births).flat_map(|(at, [sats, coins])| [(at * 2, *sats), (at * 2 + 1, *coins)]);
            let sums = Sums::of(pairs).unwrap();
            (!sums.is_zero()).then_some(((self.period, BirthDays(row as u16)), sums))
        })
    }
}

fn put<T: Table>(writer: &Writer, rows: impl IntoIterator<Item = (T::Key, T::Value)>) {
    let fill = |batch: &mut cairn_writer::Batch<'_>| {
        rows.into_iter().for_each(|(key, value)| batch.put_row::<T>(&key, &value));
        Ok(())
    };
    writer.commit::<WriteError>(fill).unwrap();
}

/// Sums by position that a day adds to tables.
fn sums_of_day(day: u32, created: i128) -> [Sums; 3] {
    let spends: i128 = (FIRST..day).map(|birth| spent(day, birth)).sum();
    let time = i128::from(day * DAY_SECS) + 80_000;
    let measures = [
        (Measure::Blocks, 144),
        (Measure::Txs, 300_000),
        (Measure::CreatedCoins, 900_000),
        (Measure::CreatedSats, created),
        (Measure::SpentCoins, 800_000),
        (Measure::SpentSats, spends + 1_000),
        (Measure::FeeSats, 500),
        (Measure::Destroyed, spends * i128::from(DAY_SECS)),
        (Measure::CreatedMoment, created * time),
        (Measure::LeftMoment, spends * time),
    ];
    let scripts = [(ACTIVE, 700_000), (SENDERS, 400_000), (RECEIVERS, 500_000)];
    [
        Sums::of(measures.map(|(measure, sum)| (measure.position(), sum))).unwrap(),
        Sums::of(scripts).unwrap(),
        Sums::of([(NET_EXTERNAL, spends / 3)]).unwrap(),
    ]
}

fn make(dir: &Path) -> Arc<Reader> {
    drop(Engine::open(dir, &Facts::of(Network::Regtest)).unwrap());
    let writer = Writer::open(&dir.join("index")).unwrap();
    let end = FIRST + DAYS;
    // A day creates the coins that later days spend, and some that stay.
    let created: Vec<i128> =
        (FIRST..end).map(|birth| (birth + 1..end).map(|day| spent(day, birth)).sum::<i128>() + 2_000_000_000).collect();
    let mut open: [Option<Open>; 4] = Default::default();
    let mut sums: [Option<(Period, [Sums; 3])>; 4] = Default::default();
    let close = |open: &Open| {
        if open.period.days() > 1 || open.period.first_day() + SINGLE >= end {
            put::<SupplyChanges>(&writer, open.rows());
        }
    };
    let close_sums = |(period, [daily, scripts, clusters]): &(Period, [Sums; 3])| {
        put::<Daily>(&writer, [(*period, daily.clone())]);
        put::<ScriptDays>(&writer, [(*period, scripts.clone())]);
        put::<ClusterDays>(&writer, [(*period, clusters.clone())]);
    };
    for day in FIRST..end {
        let of_day = sums_of_day(day, created[(day - FIRST) as usize]);
        for (level, period) in Period::all_of(day).into_iter().enumerate() {
            if open[level].as_ref().is_none_or(|open| open.period != period) {
                open[level].iter().for_each(close);
                open[level] = Some(Open { period, changes: vec![[0; 2]; end as usize] });
                sums[level].iter().for_each(close_sums);
                sums[level] = Some((period, Default::default()));
            }
            let changes = &mut open[level].as_mut().unwrap().changes;
            for birth in FIRST..day {
                let [sats, coins] = &mut changes[birth as usize];
                (*sats, *coins) = (*sats - spent(day, birth), *coins - 10);
            }
            let [sats, coins] = &mut changes[day as usize];
            (*sats, *coins) = (*sats + created[(day - FIRST) as usize], *coins + 900_000);
            let added = &mut sums[level].as_mut().unwrap().1;
            added.iter_mut().zip(&of_day).for_each(|(sum, more)| sum.add_all(more).unwrap());
        }
    }
    open.iter().flatten().for_each(close);
    sums.iter().flatten().for_each(close_sums);

    let series = Series { base: Currency::BTC, quote: Currency::USD, interval: Interval::Day };
    let quotes = (FIRST + 550..end).map(|day| {
        let cents = 1_000_000 + mixed(day.into()) % 1_000_000;
        let close = Decimal::new(cents as i64, 2).normalize();
        let source = Some("bench".parse().unwrap());
        let chosen = Chosen { close, range: None, source, sources: 1, dropped: 0, disputed: false };
        (Candle { series, closes_at: (day + 1) * DAY_SECS }, chosen)
    });
    put::<Quotes>(&writer, quotes);
    let hash = |day: u32| BlockHash([(day & 0xff) as u8; 32]);
    let headers = (FIRST..end).enumerate().map(|(height, day)| {
        let time = day * DAY_SECS + 80_000;
        let mut header = [0; 80];
        header[68..72].copy_from_slice(&time.to_le_bytes());
        let row = HeaderRow {
            hash: hash(day),
            header,
            mono_time: time,
            first_tx: TxNum(height as u64),
            tx_count: 1,
            size: 285,
            weight: 1_140,
            fees: 0,
            output_sats: 0,
            coinbase_sats: 0,
            input_count: 0,
            output_count: 1,
            position: None,
            coinbase_script: Vec::new(),
        };
        (height as u32, row)
    });
    put::<Headers>(&writer, headers);
    let checkpoints =
        STAGES.iter().map(|stage| (stage.name.to_owned(), Checkpoint::of(stage, DAYS - 1, hash(end - 1))));
    put::<Checkpoints>(&writer, checkpoints);
    writer.flush().unwrap();
    drop(writer);
    Arc::new(Reader::open(&dir.join("index")).unwrap())
}

async fn ask(router: &Router, path: &str) -> (u16, String, usize) {
    let response = router.clone().oneshot(Request::get(path).body(Body::empty()).unwrap()).await.unwrap();
    let status = response.status().as_u16();
    let rows = response.headers().get("x-rows-read").map_or("", |rows| rows.to_str().unwrap()).to_owned();
    (status, rows, to_bytes(response.into_body(), usize::MAX).await.unwrap().len())
}

fn onchain(criterion: &mut Criterion) {
    let dir = tempfile::tempdir().unwrap();
    let reader = make(dir.path());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let config = ApiConfig::from(HttpConfig { gates_enabled: false, ..ApiConfig::default().http });
    let router = router(ApiState::new(Arc::new(IndexSlot::with(reader)), config));
    let mut group = criterion.benchmark_group("onchain");
    group.sample_size(20);
    for (name, path) in [
        ("now", "/v1/onchain"),
        ("past", "/v1/onchain?as_of=3500"),
        ("year", "/v1/onchain?format=csv&from=2022-01-01&to=2022-12-31"),
        ("most", "/v1/onchain?format=csv&from=2020-01-01&to=2022-09-26"),
    ] {
        // The first request reads the headers.
        runtime.block_on(ask(&router, path));
        let (status, rows, bytes) = runtime.block_on(ask(&router, path));
        assert_eq!(status, 200, "{name}");
        println!("{name}: {rows} rows read, {bytes} bytes answered");
        group.bench_function(name, |bencher| bencher.iter(|| black_box(runtime.block_on(ask(&router, path)))));
    }
    group.finish();
}

criterion_group!(benches, onchain);
criterion_main!(benches);
