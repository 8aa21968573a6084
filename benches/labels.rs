//! Many labels: the cost of their import, and the time of answers with this many.
//!
//! Files of 250,000 rows come in through `cairn labels import`, as an operator would do it: read, checked, taken into
//! the ledger, judged. The demo's chain is beside them, so some scripts are in blocks; those of the files are not.
//! Then, warm and over the router without the network: cards of labelled addresses, of addresses without a label and of
//! addresses of the chain, and searches of names.
//!
//! `CAIRN_BENCH_LABELS` (1,000,000) rows. The bytes that a label takes in the index, and the rows that each question
//! reads, are printed.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

use std::{
    cell::Cell,
    env,
    fmt::Write as _,
    fs,
    hint::black_box,
    io::{BufRead, BufReader, Read},
    path::Path,
    process::{Command, Stdio},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use axum::{
    Router,
    body::{Body, to_bytes},
    http::Request,
};
use bitcoin::{Address, Network, ScriptBuf, WPubkeyHash, hashes::Hash};
use cairn_http::HttpConfig;
use cairn_link::IndexSlot;
use cairn_operations::{ApiConfig, ApiState, router};
use cairn_reader::Reader;
use cairn_support::disk_bytes;
use cairn_tables::labels::Labels;
use criterion::{Criterion, criterion_group, criterion_main};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tower::ServiceExt;

/// Rows of a file: one document can have no more.
const FILE: u64 = 250_000;
/// Addresses that the benches ask for in turn.
const SAMPLE: usize = 1_000;
/// Entities that are named.
const ENTITIES: usize = 20_000;
const MAP: &str = "address=address,entity_name=entity_name,category=category,label=label,claim_type=claim_type,source_url=source_url,asserted_at=asserted_at";

fn cairn() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cairn"));
    command.env("CAIRN_LOG", "warn").stdin(Stdio::null());
    command
}

fn word(rng: &mut ChaCha8Rng) -> String {
    const SYLLABLES: [&str; 16] =
        ["bi", "co", "na", "ex", "mar", "ket", "wal", "let", "po", "lon", "kra", "ken", "mix", "er", "sa", "to"];
    // Few syllables are frequent, as with words.
    let part = |rng: &mut ChaCha8Rng| SYLLABLES[rng.random_range(0..16).min(rng.random_range(0..16))];
    (0..rng.random_range(2..6)).map(|_| part(rng)).collect()
}

fn address(rng: &mut ChaCha8Rng) -> String {
    let script = ScriptBuf::new_p2wpkh(&WPubkeyHash::from_byte_array(rng.random()));
    Address::from_script(&script, Network::Regtest).unwrap().to_string()
}

/// Writes a file of `rows` labels; returns some of its addresses. Half of the labels name one of the entities, the
/// others have words of their own.
fn write_file(path: &Path, rows: u64, entities: &[String], rng: &mut ChaCha8Rng) -> Vec<String> {
    let mut text = String::from("address,entity_name,category,label,claim_type,source_url,asserted_at\n");
    let mut sample = Vec::new();
    for row in 0..rows {
        let (address, page) = (address(rng), row % 1_000);
        let said = if rng.random() {
            let category = ["exchange", "mixer", "gambling", "merchant"][rng.random_range(0..4usize)];
            format!("{},{category},,controlled_by", &entities[rng.random_range(0..entities.len())])
        } else {
            format!(",,{} {} {row},mentioned_in", word(rng), word(rng))
        };
        writeln!(text, "{address},{said},https://lists.example/{page},2023-01-01").unwrap();
        if sample.len() < 50 {
            sample.push(address);
        }
    }
    fs::write(path, text).unwrap();
    sample
}

/// The index of the demo's chain.
fn make_demo(datadir: &Path) {
    let mut demo = cairn();
    demo.args(["demo", "--listen", "127.0.0.1:0", "--datadir"]).arg(datadir).env("CAIRN_LOG", "info");
    let mut demo = demo.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut log = BufReader::new(demo.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("url=") {
        line.clear();
        assert_ne!(log.read_line(&mut line).unwrap(), 0, "the demo ended");
    }
    demo.kill().unwrap();
    demo.wait().unwrap();
}

/// Memory and time of an import.
struct Import {
    /// The most memory in bytes, where the system reports it.
    memory: u64,
    /// The part of the time in which labels followed, after the document was in the ledger.
    labels: Duration,
}

/// Runs an import.
fn import(datadir: &Path, file: &Path) -> Import {
    let mut command = cairn();
    command.args(["labels", "import", "--source", "bench", "--licence", "mit", "--map", MAP]);
    command.arg("--datadir").arg(datadir).arg(file).env("CAIRN_LOG", "cairn_pipeline=debug");
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut most = 0;
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        let told = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let peak = told.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse().ok());
        most = peak.unwrap_or(0u64).max(most);
        thread::sleep(Duration::from_millis(10));
    };
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(status.success(), "{said}");
    let millis = said.split("labels_ms=").nth(1).and_then(|rest| rest.split_whitespace().next());
    Import { memory: most << 10, labels: Duration::from_millis(millis.expect("the time is told").parse().unwrap()) }
}

async fn ask(router: &Router, path: &str) -> (u16, String, usize) {
    let response = router.clone().oneshot(Request::get(path).body(Body::empty()).unwrap()).await.unwrap();
    let status = response.status().as_u16();
    let rows = response.headers().get("x-rows-read").map_or("", |rows| rows.to_str().unwrap()).to_owned();
    (status, rows, to_bytes(response.into_body(), usize::MAX).await.unwrap().len())
}

/// Blanks the claim about an address. Returns the duration, during which the index has no other writer.
fn redact(datadir: &Path, address: &str) -> Duration {
    let shown = cairn().args(["labels", "show", "--datadir"]).arg(datadir).arg(address).output().unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    let claim = shown.split("\"claim_id\":\"").nth(1).and_then(|rest| rest.split('"').next()).expect("a claim");
    let begun = Instant::now();
    let mut command = cairn();
    command.args(["labels", "redact", "--reason", "bench", "--datadir"]).arg(datadir).arg(claim);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    begun.elapsed()
}

/// Addresses of the chain that have a label.
fn of_demo(datadir: &Path) -> Vec<String> {
    let reader = Reader::open(&datadir.join("index")).unwrap();
    let view = reader.view().unwrap();
    let mut found = Vec::new();
    for row in view.scan::<Labels>(None).unwrap() {
        let (_, label) = row.unwrap();
        if label.seen.is_some() {
            let script = bitcoin::Script::from_bytes(&label.script);
            found.extend(Address::from_script(script, Network::Regtest).ok().map(|address| address.to_string()));
        }
    }
    found
}

fn labels(criterion: &mut Criterion) {
    let labels = env::var("CAIRN_BENCH_LABELS").map_or(1_000_000, |text| text.parse().expect("CAIRN_BENCH_LABELS"));
    let dir = tempfile::tempdir().unwrap();
    let (datadir, file) = (dir.path().join("data"), dir.path().join("labels.csv"));
    make_demo(&datadir);
    let of_chain = of_demo(&datadir);
    let before = disk_bytes(&datadir.join("index"));
    let (rng, mut sample) = (&mut ChaCha8Rng::seed_from_u64(1), Vec::new());
    let entities: Vec<String> = (0..ENTITIES).map(|at| format!("{} {} {at}", word(rng), word(rng))).collect();
    let (mut taken, mut in_ledger, mut memory) = (Duration::ZERO, Duration::ZERO, 0);
    for from in (0..labels).step_by(FILE as usize) {
        let rows = FILE.min(labels - from);
        sample.append(&mut write_file(&file, rows, &entities, rng));
        let begun = Instant::now();
        let import = import(&datadir, &file);
        let whole = begun.elapsed();
        memory = import.memory.max(memory);
        taken += whole;
        in_ledger += whole - import.labels;
        println!("import of {rows}: {:.0} rows/s", rows as f64 / whole.as_secs_f64());
    }
    let bytes = disk_bytes(&datadir.join("index")) - before;
    println!(
        "{labels} labels: {:.0} rows/s through validation and ledger, {:.0} with the labels that follow, at most {} MiB of memory, \
         {} bytes of index each",
        labels as f64 / in_ledger.as_secs_f64(),
        labels as f64 / taken.as_secs_f64(),
        memory >> 20,
        bytes / labels
    );

    let redacted = redact(&datadir, &sample.pop().unwrap());
    println!(
        "redaction of one claim of {labels}: {:.1} s, {:.3} of the time of all imports",
        redacted.as_secs_f64(),
        redacted.as_secs_f64() / taken.as_secs_f64()
    );

    let reader = Arc::new(Reader::open(&datadir.join("index")).unwrap());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let config = ApiConfig::from(HttpConfig { gates_enabled: false, ..ApiConfig::default().http });
    let router = router(ApiState::new(Arc::new(IndexSlot::with(reader)), config));
    let unknown: Vec<String> = (0..SAMPLE).map(|_| address(rng)).collect();
    let mut group = criterion.benchmark_group("labels");
    group.sample_size(50);
    for (name, addresses) in
        [("card, labelled", &sample), ("card, of the chain", &of_chain), ("card, unknown", &unknown)]
    {
        let path = |address: &String| format!("/v1/wallets/{address}/trust-safety");
        let paths: Vec<String> = addresses.iter().take(SAMPLE).map(path).collect();
        for path in &paths {
            assert_eq!(runtime.block_on(ask(&router, path)).0, 200, "{path}");
        }
        let (_, rows, bytes) = runtime.block_on(ask(&router, &paths[0]));
        println!("{name}: {rows} rows read, {bytes} bytes answered, the first of {}", paths.len());
        let next = Cell::new(0);
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                next.set((next.get() + 1) % paths.len());
                black_box(runtime.block_on(ask(&router, &paths[next.get()])))
            });
        });
    }
    for (name, text) in [
        ("search, word", "bico"),
        ("search, words", "bico naex"),
        ("search, prefix", "b"),
        ("search, one typo", "bicoxa"),
        ("search, two typos", "bixonaxemar"),
        ("search, typo and word", "bicoxa naex"),
        ("search, nothing", "zzzzzzzzzzzz"),
    ] {
        let path = format!("/v1/labels/search?q={}", text.replace(' ', "%20"));
        let (status, rows, bytes) = runtime.block_on(ask(&router, &path));
        assert_eq!(status, 200, "{path}");
        // An answer without names has some 730 bytes.
        assert!(bytes > 1_500 || !["bico", "bico naex", "b", "bicoxa"].contains(&text), "{path}: no name is found");
        println!("{name}: {rows} rows read, {bytes} bytes answered");
        group.bench_function(name, |bencher| bencher.iter(|| black_box(runtime.block_on(ask(&router, &path)))));
    }
    group.finish();
}

criterion_group!(benches, labels);
criterion_main!(benches);
