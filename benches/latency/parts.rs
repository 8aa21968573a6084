//! Where the time goes: the same blocks once more, step by step in one thread, on a copy of the index.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use cairn_model::BlockHash;
use cairn_pipeline::Engine;
use cairn_reader::SecondaryReader;
use cairn_sources::decode_block;
use cairn_standin::StandIn;

use crate::percentiles;

/// Replays what the copied index lacks and prints the parts.
pub(crate) fn measure(datadir: &Path, node: &StandIn, smallest: usize) {
    let mut engine = Engine::open_existing(datadir).unwrap();
    let prefix = engine.facts().script_prefix;
    let follower = SecondaryReader::open(&datadir.join("index"), &datadir.join("scratch"), None, 64 << 20).unwrap();
    let from = engine.tip().unwrap().unwrap().0 + 1;
    let top = node.world().height();
    let blocks: Vec<Vec<u8>> = (from..=top)
        .map(|height| {
            let world = node.world();
            bitcoin::consensus::serialize(&world.block(&world.hash_at(height).unwrap()).unwrap())
        })
        .collect();
    let mut parts: [(&str, Vec<Duration>); 5] = [
        ("decode the block (done twice: announced and taken)", Vec::new()),
        ("resolve, fold, write (Engine::extend)", Vec::new()),
        ("flush (Engine::settle)", Vec::new()),
        ("catch up and swap (SecondaryReader::advance)", Vec::new()),
        ("all", Vec::new()),
    ];
    let mut reopened = 0;
    for raw in &blocks {
        let start = Instant::now();
        let decoded = decode_block(raw, prefix).unwrap();
        let (hash, decoded_at) = (BlockHash(decoded.hash.0), Instant::now());
        engine.extend(decoded).unwrap();
        let extended = Instant::now();
        engine.settle().unwrap();
        let settled = Instant::now();
        let advanced = follower.advance(Some((engine.tip().unwrap().unwrap().0, hash))).unwrap();
        let end = Instant::now();
        assert_eq!(advanced.tip.hash, hash);
        reopened += u32::from(advanced.reopened);
        // Those that only mine do not count.
        if raw.len() >= smallest {
            let spans = [decoded_at - start, extended - decoded_at, settled - extended, end - settled, end - start];
            for ((_, times), span) in parts.iter_mut().zip(spans) {
                times.push(span);
            }
        }
    }
    println!("\n| part, in one thread | median ms | p99 ms | max ms |\n|---|---|---|---|");
    for (name, times) in &parts {
        let (p50, p99, most) = percentiles(times);
        println!("| {name} | {p50:.1} | {p99:.1} | {most:.1} |");
    }
    println!("\n{reopened} times an instance was opened anew.");
}
