//! Times and bytes at 100 000 transactions. Run it by name, with `--ignored --nocapture`.

use std::{sync::Arc, time::Instant};

use cairn_model::{MempoolDelta, MempoolTx, RemoveReason};

use super::world::{Plan, txid};
use crate::mempool::{Mempool, Template};

/// Resident bytes of this process, where the system tells.
fn resident() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()? * 1024)
}

/// Something like mainnet: a third in chains of up to 24, feerates over three orders of magnitude.
fn make(count: u64) -> Vec<Arc<MempoolTx>> {
    let mut txs: Vec<Arc<MempoolTx>> = Vec::new();
    let mut state = 88u64;
    let mut random = move |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    for n in 0..count {
        let chained = n % 24 != 0 && random(3) == 0;
        let inputs = 1 + random(4);
        let mut coins: Vec<_> =
            (0..inputs).map(|i| (txid((1 << 40) + n * 8 + i), random(3) as u32, 90_000_000)).collect();
        if chained {
            coins[0] = (txid(n - 1), 0, txs[n as usize - 1].outputs[0].value);
        }
        let base_size = 40 + 60 * inputs as u32 + random(200) as u32;
        let fee = u64::from(base_size) * (1 + random(10) * random(10) * random(10));
        let outputs = 1 + random(3) as usize;
        let plan = Plan {
            coins,
            outputs,
            fee,
            base_size,
            witness: 107 * inputs as u32,
            sigop_cost: 2,
            seen: n,
            ..Plan::default()
        };
        // Scripts of its own, as long as usual ones.
        let mut tx = MempoolTx::clone(&super::world::tx(n, &plan));
        for (at, output) in tx.outputs.iter_mut().enumerate() {
            output.script = [&[0, 20], &txid(n * 4 + at as u64).0[..20]].concat().into();
        }
        for input in &mut tx.inputs {
            input.script = [&[0, 20], &input.prev_txid.0[..20]].concat().into();
        }
        txs.push(Arc::new(tx));
    }
    txs
}

#[test]
#[ignore = "measures; prints instead of judging"]
fn a_hundred_thousand_transactions() {
    let count = 100_000;
    let before = resident();
    let start = Instant::now();
    let deltas: Vec<_> = make(count).into_iter().map(MempoolDelta::Add).collect();
    println!("made in {:?}", start.elapsed());
    let mut pool = Mempool::default();
    let start = Instant::now();
    for delta in &deltas {
        pool.apply(delta, 1);
    }
    println!("loaded in {:?}", start.elapsed());
    if let (Some(before), Some(after)) = (before, resident()) {
        println!("resident: {} bytes per transaction", (after - before) / count);
    }
    println!("estimated: {} bytes per transaction", pool.stats(0).usage_bytes / count);
    for _ in 0..3 {
        let start = Instant::now();
        let projection = pool.project(&Template::default());
        println!("projected in {:?}: {} blocks", start.elapsed(), projection.blocks.len());
    }
    let mut bytes = Vec::new();
    let start = Instant::now();
    for delta in &deltas {
        bytes.clear();
        delta.encode(&mut bytes);
        MempoolDelta::decode(&bytes).unwrap();
    }
    println!("through bytes in {:?}", start.elapsed());
    let projection = pool.project(&Template::default());
    let block: Vec<_> = projection.txids_of(0).copied().collect();
    let start = Instant::now();
    for txid in &block {
        pool.apply(&MempoolDelta::Remove { txid: *txid, reason: RemoveReason::Confirmed { height: 1 } }, 2);
    }
    println!("a block of {} removed in {:?}", block.len(), start.elapsed());
    assert_eq!(pool.len() + block.len(), count as usize);
}
