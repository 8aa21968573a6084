//! Measures a mempool of 100 000 transactions: bytes for each, and the times to load it, to make a version for readers,
//! to make a projection of it, and to read for requests. It also times a block of 3 000 transactions, with and without
//! a reader that holds the version before.
//!
//! The heap is counted by a counting allocator: bytes that were asked for, which the system's allocator rounds up.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

use std::{hint::black_box, sync::Arc, time::Duration};

use allocation_counter::measure;
use cairn_domain::{
    mempool::{Mempool, ScriptHash, Selection, Template},
    script_sha256,
};
use cairn_model::{MempoolDelta, MempoolInput, MempoolOutput, MempoolTx, NodeFloor, RemoveReason, Txid};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use rand::{Rng, SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;

const COUNT: usize = 100_000;
const BLOCK: usize = 3_000;
/// Longest chain; nodes up to v30 allow no longer ones.
const CHAIN: usize = 25;
/// Weight of a P2WPKH input, besides its 41 bytes: 107 of witness.
const INPUT_BYTES: u32 = 41;
const INPUT_WITNESS: u32 = 107;
const OUTPUT_BYTES: u32 = 31;

/// Makes transactions one after the other.
struct Maker {
    random: ChaCha8Rng,
    made: Vec<Arc<MempoolTx>>,
    exchange: Vec<Box<[u8]>>,
}

type Coin = (Txid, u32, u64, Box<[u8]>, bool);

impl Maker {
    fn new() -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(3);
        let exchange = (0..50).map(|_| p2wpkh(&mut random)).collect();
        Maker { random, made: Vec::with_capacity(COUNT), exchange }
    }

    /// A confirmed coin.
    fn coin(&mut self) -> Coin {
        let value = 10u64.pow(self.random.random_range(4..9)) * self.random.random_range(1..10);
        (Txid(self.random.random()), self.random.random_range(0..4), value + 100_000, self.script(), true)
    }

    /// One in ten belongs to somebody busy.
    fn script(&mut self) -> Box<[u8]> {
        let at = self.random.random_range(0..self.exchange.len() * 10);
        self.exchange.get(at).cloned().unwrap_or_else(|| p2wpkh(&mut self.random))
    }

    /// The first output of the last transaction.
    fn last(&self) -> Coin {
        let tx = self.made.last().unwrap();
        let output = &tx.outputs[0];
        (tx.txid, 0, output.value, output.script.clone(), false)
    }

    /// Satoshis per virtual byte: most between 1 and 30, few above 100.
    fn rate(&mut self) -> f64 {
        1.0 + 10f64.powf(self.random.random_range(0.0..1.0f64).powi(2) * 2.5)
    }

    fn add(&mut self, coins: Vec<Coin>, outputs: usize, extra_witness: u32, rate: f64) {
        let (ins, outs) = (coins.len() as u32, outputs as u32);
        let base_size = 10 + ins * INPUT_BYTES + outs * OUTPUT_BYTES;
        let size = base_size + 2 + ins * INPUT_WITNESS + extra_witness;
        let spent: u64 = coins.iter().map(|coin| coin.2).sum();
        let vsize = f64::from(base_size * 3 + size) / 4.0;
        let fee_sats = ((vsize * rate) as u64).min(spent / 2);
        let share = (spent - fee_sats) / outputs as u64;
        let mut outputs: Vec<MempoolOutput> =
            (0..outputs).map(|_| MempoolOutput { value: share, script: self.script() }).collect();
        outputs[0].value += (spent - fee_sats) % u64::from(outs);
        let inputs = coins.into_iter().map(|(prev_txid, prev_vout, value, script, confirmed)| MempoolInput {
            prev_txid,
            prev_vout,
            sequence: 0xffff_fffd,
            value,
            script,
            birth: confirmed.then_some(800_000),
        });
        let tx = MempoolTx {
            txid: Txid(self.random.random()),
            wtxid: Txid(self.random.random()),
            size,
            base_size,
            sigop_cost: ins,
            fee_sats,
            version: 2,
            lock_time: 0,
            first_seen_ms: 1_700_000_000_000 + self.made.len() as u64 * 50,
            inputs: inputs.collect(),
            outputs: outputs.into(),
            raw: None,
        };
        self.made.push(Arc::new(tx));
    }

    /// One payment of some kind, with what hangs on it.
    fn payment(&mut self) {
        let rate = self.rate();
        let coins: Vec<Coin> = (0..2).map(|_| self.coin()).collect();
        match self.random.random_range(0..100) {
            // Two in, two out.
            0..70 => self.add(coins, 2, 0, rate),
            // A chain of change outputs.
            70..74 => {
                self.add(coins, 2, 0, rate);
                for _ in 1..self.random.random_range(2..=CHAIN) {
                    let (last, rate) = (self.last(), self.rate());
                    self.add(vec![last], 2, 0, rate);
                }
            }
            // A cheap parent and a child that pays for both.
            74..82 => {
                self.add(coins, 2, 0, 1.0);
                let last = self.last();
                self.add(vec![last], 1, 0, rate * 3.0);
            }
            // Several children of one payout.
            82..84 => {
                self.add(coins, 20, 0, rate);
                let parent = self.made.last().unwrap().clone();
                for vout in 0..self.random.random_range(1..12usize) {
                    let output = &parent.outputs[vout];
                    let coin = (parent.txid, vout as u32, output.value, output.script.clone(), false);
                    let rate = self.rate();
                    self.add(vec![coin], 2, 0, rate);
                }
            }
            // A consolidation.
            84..88 => {
                let coins = (0..self.random.random_range(5..40)).map(|_| self.coin()).collect();
                self.add(coins, 1, 0, rate);
            }
            // A payout to many.
            88..92 => {
                let outputs = self.random.random_range(5..60);
                self.add(coins, outputs, 0, rate);
            }
            // An inscription.
            _ => {
                let coin = self.coin();
                let witness = self.random.random_range(100..4_000);
                self.add(vec![coin], 1, witness, rate);
            }
        }
    }
}

fn p2wpkh(random: &mut ChaCha8Rng) -> Box<[u8]> {
    let mut script = [0u8; 22];
    random.fill(&mut script[2..]);
    script[1] = 20;
    script.into()
}

fn make() -> Vec<MempoolDelta> {
    let mut maker = Maker::new();
    while maker.made.len() < COUNT {
        maker.payment();
    }
    maker.made.truncate(COUNT);
    maker.made.into_iter().map(MempoolDelta::Add).collect()
}

fn load(deltas: &[MempoolDelta]) -> Mempool {
    let mut pool = Mempool::default();
    pool.apply(&MempoolDelta::Reset { sequence: 1 }, 1);
    for delta in deltas {
        pool.apply(delta, 1);
    }
    let floor = NodeFloor { mempool_min_fee: 1_000, min_relay_fee: 100, max_bytes: 300_000_000, usage_bytes: 0 };
    pool.apply(&MempoolDelta::NodeFloor(floor), 1);
    pool.apply(&MempoolDelta::Sequence(1), 1);
    pool
}

/// Bytes for each transaction.
fn print_bytes() {
    let (mut deltas, mut pool) = (Vec::new(), None);
    // The list of the deltas itself is not part of the mempool.
    let txs = measure(|| deltas = make()).bytes_current - (deltas.capacity() * size_of::<MempoolDelta>()) as i64;
    let indexes = measure(|| pool = Some(load(&deltas))).bytes_current;
    let pool = pool.unwrap();
    assert_eq!(pool.len(), COUNT, "nothing was refused");
    let mut outline = None;
    let of_outline = measure(|| outline = Some(pool.outline())).bytes_current;
    let mut projection = None;
    let of_projection = measure(|| projection = outline.take().map(|outline| outline.project(&Template::default())));
    let (mut inputs, mut outputs, mut bytes) = (0, 0, Vec::new());
    for delta in &deltas {
        delta.encode(&mut bytes);
        if let MempoolDelta::Add(tx) = delta {
            (inputs, outputs) = (inputs + tx.inputs.len(), outputs + tx.outputs.len());
        }
    }
    let each = |bytes: i64| bytes / COUNT as i64;
    let stats = pool.stats(1);
    println!(
        "{COUNT} transactions, {inputs} inputs, {outputs} outputs, {} MvB, {} bytes each on the link",
        stats.vsize / 1_000_000,
        bytes.len() / COUNT
    );
    println!("heap, bytes a transaction: {} for it, {} for its indexes", each(txs), each(indexes));
    println!("estimated by the mempool itself, with what allocators add: {}", stats.usage_bytes / COUNT as u64);
    println!("outline: {} bytes a transaction", each(of_outline));
    println!(
        "projection: {} bytes a transaction, at most {} while it is made",
        each(of_projection.bytes_current + of_outline),
        each(of_projection.bytes_max as i64 + of_outline)
    );
    for selection in [Selection::AncestorFeerate, Selection::ChunkFeerate] {
        let first = pool.project(&Template { selection, ..Template::default() }).blocks[0];
        println!("first block by {selection:?}: {} transactions, {} satoshis", first.tx_count, first.fees_sats);
    }
}

fn whole(c: &mut Criterion) {
    print_bytes();
    let deltas = make();
    let mut group = c.benchmark_group("mempool/100 000 transactions");
    group.sample_size(10);
    group.throughput(Throughput::Elements(COUNT as u64));
    group.bench_function("load from deltas", |b| b.iter_with_large_drop(|| load(&deltas)));
    let mut bytes = Vec::new();
    let ends: Vec<usize> = deltas
        .iter()
        .map(|delta| {
            delta.encode(&mut bytes);
            bytes.len()
        })
        .collect();
    let starts = [0].into_iter().chain(ends.iter().copied());
    let frames: Vec<_> = starts.zip(&ends).map(|(start, end)| start..*end).collect();
    group.bench_function("load from bytes of the link", |b| {
        b.iter_with_large_drop(|| {
            let mut pool = Mempool::default();
            for frame in &frames {
                pool.apply(&MempoolDelta::decode(&bytes[frame.clone()]).unwrap(), 1);
            }
            pool
        });
    });
    let pool = load(&deltas);
    group.bench_function("a version", |b| b.iter_with_large_drop(|| pool.clone()));
    group.bench_function("outline", |b| b.iter_with_large_drop(|| pool.outline()));
    for selection in [Selection::AncestorFeerate, Selection::ChunkFeerate] {
        let template = Template { selection, ..Template::default() };
        group.bench_function(format!("project, {selection:?}"), |b| {
            b.iter_batched(|| pool.outline(), |outline| outline.project(&template), BatchSize::PerIteration);
        });
    }
    group.bench_function("snapshot", |b| b.iter_with_large_drop(|| pool.snapshot()));
    group.finish();
}

fn reads(c: &mut Criterion) {
    let deltas = make();
    let pool = load(&deltas);
    let projection = pool.project(&Template::default());
    // In no order, and far more than a cache holds.
    let mut txs: Vec<Arc<MempoolTx>> = pool.iter().cloned().collect();
    txs.sort_unstable_by_key(|tx| tx.txid);
    txs.shuffle(&mut ChaCha8Rng::seed_from_u64(4));
    let txids: Vec<Txid> = txs.iter().map(|tx| tx.txid).collect();
    let spent: Vec<(Txid, u32)> = txs.iter().map(|tx| (tx.inputs[0].prev_txid, tx.inputs[0].prev_vout)).collect();
    let scripts: Vec<ScriptHash> = txs.iter().map(|tx| script_sha256(&tx.outputs[0].script)).collect();
    drop(txs);
    let mut group = c.benchmark_group("mempool/reads");
    let mut at = 0;
    let mut next = move || {
        at = (at + 1) % COUNT;
        at
    };
    group.bench_function("get", |b| b.iter(|| black_box(pool.get(&txids[next()]))));
    group.bench_function("spender", |b| {
        b.iter(|| {
            let (txid, vout) = &spent[next()];
            black_box(pool.spender(txid, *vout))
        });
    });
    group.bench_function("relatives", |b| b.iter(|| black_box(pool.relatives(&txids[next()], 100))));
    group.bench_function("script_totals", |b| b.iter(|| black_box(pool.script_totals(&scripts[next()]))));
    group.bench_function("script_txs", |b| b.iter(|| black_box(pool.script_txs(&scripts[next()], None, 25))));
    group.bench_function("stats", |b| b.iter(|| black_box(pool.stats(1))));
    group.bench_function("place", |b| b.iter(|| black_box(projection.position(&txids[next()]))));
    group.bench_function("eta", |b| b.iter(|| black_box(projection.eta(&txids[next()]))));
    group.finish();
}

fn block(c: &mut Criterion) {
    let deltas = make();
    let mut pool = load(&deltas);
    let projection = pool.project(&Template::default());
    let mined: Vec<Txid> = projection.txids_of(0).take(BLOCK).copied().collect();
    assert_eq!(mined.len(), BLOCK);
    let back: Vec<MempoolDelta> = mined.iter().map(|txid| MempoolDelta::Add(pool.get(txid).unwrap().clone())).collect();
    let mut group = c.benchmark_group("mempool/a block");
    group.throughput(Throughput::Elements(BLOCK as u64));
    for (name, is_held) in [("3 000 removed", false), ("3 000 removed, the version before is held", true)] {
        group.bench_function(name, |b| {
            b.iter_custom(|times| {
                let mut taken = Duration::ZERO;
                for _ in 0..times {
                    let held = is_held.then(|| pool.clone());
                    let start = std::time::Instant::now();
                    for txid in &mined {
                        let reason = RemoveReason::Confirmed { height: 800_001 };
                        pool.apply(&MempoolDelta::Remove { txid: *txid, reason }, 2);
                    }
                    taken += start.elapsed();
                    assert_eq!(pool.len(), COUNT - BLOCK);
                    drop(held);
                    for delta in &back {
                        pool.apply(delta, 2);
                    }
                }
                taken
            })
        });
    }
    // The usual case of a node: one transaction comes, then a version is made.
    group.throughput(Throughput::Elements(1));
    group.bench_function("one added, one removed, a version", |b| {
        let (mut held, mut at) = (pool.clone(), 0);
        b.iter(|| {
            at = (at + 1) % mined.len();
            pool.apply(&MempoolDelta::Remove { txid: mined[at], reason: RemoveReason::Evicted }, 2);
            pool.apply(&back[at], 2);
            held = pool.clone();
        });
        assert_eq!(held.len(), COUNT);
    });
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(3)).sample_size(20);
    targets = whole, reads, block
}
criterion_main!(benches);
