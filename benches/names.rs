//! Searching names: a million labels of three words each, and as many entities as there are in practice. The names are written
//! as they are, without claims. Warm, over the reader alone.
//!
//! `CAIRN_BENCH_NAMES` (1,000,000) labels. The rows that each question reads, and the bytes of a label, are printed.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

use std::{env, fs, hint::black_box, path::Path, sync::Arc};

use cairn_events::{ClaimType, EvidenceTier};
use cairn_model::{BlockHash, Network, TxNum};
use cairn_pipeline::Engine;
use cairn_reader::{Facts, NameQuery, Reader};
use cairn_tables::{
    Table,
    checkpoints::{Checkpoint, Checkpoints},
    headers::{HeaderRow, Headers},
    labels::{Label, ScriptHash, ScriptLabel},
    names::{Names, rows_of},
    stages::STAGES,
};
use cairn_writer::{WriteError, Writer};
use criterion::{Criterion, criterion_group, criterion_main};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Labels of a commit.
const COMMIT: u64 = 20_000;
/// Every so many labels one names an entity.
const ENTITIES: u64 = 20;

fn word(rng: &mut ChaCha8Rng) -> String {
    const SYLLABLES: [&str; 16] =
        ["bi", "co", "na", "ex", "mar", "ket", "wal", "let", "po", "lon", "kra", "ken", "mix", "er", "sa", "to"];
    // Few syllables are frequent, as with words.
    let part = |rng: &mut ChaCha8Rng| SYLLABLES[rng.random_range(0..16).min(rng.random_range(0..16))];
    (0..rng.random_range(2..6)).map(|_| part(rng)).collect()
}

fn label(rng: &mut ChaCha8Rng, at: u64) -> ScriptLabel {
    let [one, two, three] = std::array::from_fn(|_| word(rng));
    let is_entity = at.is_multiple_of(ENTITIES);
    let entity = is_entity.then(|| format!("{one}-{two}").parse().unwrap());
    let words = if is_entity { String::new() } else { format!("{one} {two} {three}{at}") };
    let label = Label {
        claim_type: ClaimType::ControlledBy,
        tier: EvidenceTier::ThirdParty,
        level: 40,
        category: None,
        behaviour: None,
        then: 0,
        entity,
        name: "".into(),
        words: words.into(),
        is_conflicted: false,
        is_contested: false,
        is_person: false,
    };
    ScriptLabel { label: Some(label), ..ScriptLabel::bare([0x51].into()) }
}

fn put<T: Table>(writer: &Writer, rows: impl IntoIterator<Item = (T::Key, T::Value)>) {
    let fill = |batch: &mut cairn_writer::Batch<'_>| {
        rows.into_iter().for_each(|(key, value)| batch.put_row::<T>(&key, &value));
        Ok(())
    };
    writer.commit::<WriteError>(fill).unwrap();
}

/// An index of one block with so many names.
fn make(dir: &Path, labels: u64) -> Arc<Reader> {
    drop(Engine::open(dir, &Facts::of(Network::Regtest)).unwrap());
    let writer = Writer::open(&dir.join("index")).unwrap();
    let rng = &mut ChaCha8Rng::seed_from_u64(1);
    for from in (0..labels).step_by(COMMIT as usize) {
        let rows = (from..(from + COMMIT).min(labels)).flat_map(|at| {
            let mut hash = [0; 32];
            hash[..8].copy_from_slice(&at.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
            rows_of(&ScriptHash(hash), &label(rng, at)).unwrap()
        });
        put::<Names>(&writer, rows);
    }
    let (hash, mut header) = (BlockHash([1; 32]), [0; 80]);
    header[68..72].copy_from_slice(&1_700_000_000u32.to_le_bytes());
    let row = HeaderRow {
        hash,
        header,
        mono_time: 1_700_000_000,
        first_tx: TxNum(0),
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
    put::<Headers>(&writer, [(0, row)]);
    put::<Checkpoints>(&writer, STAGES.iter().map(|stage| (stage.name.to_owned(), Checkpoint::of(stage, 0, hash))));
    writer.flush().unwrap();
    drop(writer);
    Arc::new(Reader::open(&dir.join("index")).unwrap())
}

fn names(criterion: &mut Criterion) {
    let labels = env::var("CAIRN_BENCH_NAMES").map_or(1_000_000, |text| text.parse().expect("CAIRN_BENCH_NAMES"));
    let dir = tempfile::tempdir().unwrap();
    let reader = make(dir.path(), labels);
    let files = fs::read_dir(dir.path().join("index")).unwrap().flatten();
    let tables = files.filter(|file| file.path().extension().is_some_and(|ext| ext == "sst"));
    let bytes: u64 = tables.map(|file| file.metadata().unwrap().len()).sum();
    println!("{labels} labels, {} bytes each", bytes / labels);
    let view = reader.view().unwrap();
    let mut group = criterion.benchmark_group("names");
    group.sample_size(20);
    for (name, text) in [
        ("word", "bico"),
        ("words", "bico naex"),
        ("prefix", "b"),
        ("one typo", "bicoxa"),
        ("two typos", "bixonaxemar"),
        ("typo and word", "bicoxa naex"),
        ("nothing", "zzzzzzzzzzzz"),
    ] {
        let query = NameQuery::new(text, 20).unwrap();
        let found = view.search_names(&query).unwrap();
        let (rows, matches, is_cut) = (found.rows_read, found.matches, found.is_cut);
        println!("{name} ({text}): {rows} rows read, {matches} names found, cut: {is_cut}");
        group.bench_function(name, |bencher| bencher.iter(|| black_box(view.search_names(&query).unwrap())));
    }
    group.finish();
}

criterion_group!(benches, names);
criterion_main!(benches);
