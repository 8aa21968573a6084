//! A running demo under requests that nobody means well, over real sockets: it neither fails nor grows, and every
//! refusal has the one form.
//!
//! Each request is a seed, and the same seed makes the same bytes; a failure names it. `CAIRN_HOSTILE_REQUESTS` (20000)
//! is how many there are, `CAIRN_HOSTILE_FIRST` (0) the first seed, `CAIRN_HOSTILE_SECONDS` (10) ends a run early.

#![allow(clippy::print_stdout)]

mod requests;
mod wire;

use std::{
    fs,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use cairn_support::{Running, World, get, get_json, setting};
use cairn_testkit::note_skipped;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::CAIRN;
use requests::Material;
use wire::{Client, Request, fault};

/// Clients at the same time.
const CLIENTS: u64 = 4;
/// KiB by which the process may grow while it is under fire, once it is warm.
const GROWTH: u64 = 48 << 10;

/// A demo whose clients may ask as much as they like.
fn demo(world: &World) -> Running {
    let descriptor = format!("wpkh({ACCOUNT}/0/*)");
    world.start(&format!(
        "demo --still --datadir demo --listen 127.0.0.1:0 --rate-limit 0 --payments-descriptor {descriptor}"
    ))
}

/// Resident memory of the process in KiB, where the system reports it.
fn resident(running: &Running) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{}/status", running.pid())).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}

/// An account of the test networks that receives payments for reports.
const ACCOUNT: &str =
    "tpubDC5FSnBiZDMmhiuCmWAYsLwgLYrrT9rAqvTySfuCCrgsWz8wxMXUS9Tb9iVMvcRbvFcAHGkMD5Kx8koh4GquNGNTfohfk7pgjhaPCdXpoba";
/// Some of the tools.
const TOOLS: [&str; 7] = [
    "wallet_summary",
    "tx_lookup",
    "tx_status",
    "block_detail",
    "fees_recommended",
    "search_endpoints",
    "call_endpoint",
];

/// Asks for what a seed stands for; what was wrong with the answer.
fn ask(client: &mut Client, material: &Material, seed: u64) -> Result<u16, String> {
    let request: Request = material.request(&mut ChaCha8Rng::seed_from_u64(seed));
    let found = match client.ask(&request) {
        Ok(Some(answer)) => match fault(&request, &answer) {
            None => return Ok(answer.status),
            Some(fault) => format!("{fault}: {} {}", answer.status, String::from_utf8_lossy(&answer.body)),
        },
        // Who does not end a request may be left without an answer.
        Ok(None) if !request.is_framed => return Ok(0),
        Ok(None) => "no answer".to_owned(),
        // Bytes after a request are another one.
        Err(_) if !request.is_framed => return Ok(0),
        Err(error) => error,
    };
    let shown = String::from_utf8_lossy(&request.bytes[..request.bytes.len().min(3000)]).into_owned();
    Err(format!("CAIRN_HOSTILE_FIRST={seed} CAIRN_HOSTILE_REQUESTS=1: {found}\n{shown}"))
}

#[test]
fn hostile_requests_do_no_harm() {
    let world = World::empty(CAIRN);
    let mut running = demo(&world);
    let address = running.address();
    let material = Material::of(&get_json(&address, "/openapi.json"), &TOOLS);
    let (first, count) = (setting("CAIRN_HOSTILE_FIRST", 0), setting("CAIRN_HOSTILE_REQUESTS", 20_000));
    let until = Instant::now() + Duration::from_secs(setting("CAIRN_HOSTILE_SECONDS", 10));
    let (next, warm, faults) = (AtomicU64::new(first), AtomicU64::new(0), Mutex::new(Vec::new()));
    let statuses: Vec<AtomicU64> = (0..600).map(|_| AtomicU64::new(0)).collect();
    let began = Instant::now();
    thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                let mut client = Client::new(&address);
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= first + count || Instant::now() > until || faults.lock().unwrap().len() > 4 {
                        break;
                    }
                    if seed == first + count.min(20_000) / 4 {
                        warm.store(resident(&running).unwrap_or_default(), Ordering::Relaxed);
                    }
                    match ask(&mut client, &material, seed) {
                        Ok(status) => drop(statuses[usize::from(status)].fetch_add(1, Ordering::Relaxed)),
                        Err(fault) => faults.lock().unwrap().push(fault),
                    }
                }
            });
        }
    });
    let took = began.elapsed();
    let faults = faults.into_inner().unwrap();
    let said = running.said();
    assert!(
        faults.is_empty(),
        "{}\n{}",
        faults.join("\n\n"),
        said.lines().rev().take(5).collect::<Vec<_>>().join("\n")
    );
    for sign in ["panicked", " ERROR "] {
        assert!(!said.contains(sign), "{sign} in the log: {said}");
    }
    // Clients cannot fill the disk, nor write what they like into the log.
    assert!(said.lines().count() < 100, "{} lines in the log: {said}", said.lines().count());
    // It still answers, and rightly.
    assert_eq!(get(&address, "/v1/blocks/1").0, 200);
    assert_eq!(get_json(&address, "/api/health")["_meta"]["endpoint"], "/api/health");
    let shown: Vec<String> = (0..600)
        .map(|status| (status, statuses[status].load(Ordering::Relaxed)))
        .filter(|(_, count)| *count > 0)
        .map(|(status, count)| format!("{status}: {count}"))
        .collect();
    let asked: u64 = statuses.iter().map(|count| count.load(Ordering::Relaxed)).sum();
    let (before, after) = (warm.into_inner(), resident(&running));
    println!("{asked} requests in {took:?}; {}; resident {before} KiB, then {after:?}", shown.join(", "));
    match after {
        Some(after) if before > 0 => assert!(after <= before + GROWTH, "grew from {before} to {after} KiB"),
        Some(_) => {}
        None => note_skipped("hostile_requests_do_no_harm (memory)", "no /proc"),
    }
    let answered: u64 = (200..300).map(|status| statuses[status].load(Ordering::Relaxed)).sum();
    assert!(count < 1000 || answered * 10 > asked, "only {answered} of {asked} were taken: this tests little");
}
