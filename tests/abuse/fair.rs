//! One client does its worst within its budget; another asks for what it always asks.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use bitcoin::hashes::{Hash, sha256};

use crate::{
    client::Client,
    support::{Server, WORLD, long},
};

/// The slowest of a hundred, in order: the 99th percentile.
fn p99(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() * 99 / 100]
}

/// Overviews that a budget has room for.
const OF_A_CLIENT: usize = 1_000;

fn overviews(server: &Server, hosts: impl Iterator<Item = u8>, count: usize) -> Vec<Duration> {
    let hash = sha256::Hash::hash(WORLD.worst.quiet.as_bytes());
    let path = format!("/v1/wallets/scripthash:{}/overview", hex::encode(hash.to_byte_array()));
    let mut times = Vec::new();
    for host in hosts {
        let mut client = Client::from(host, server.address);
        for _ in 0..OF_A_CLIENT.min(count - times.len()) {
            let began = Instant::now();
            let answer = client.get(&path);
            assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
            times.push(began.elapsed());
        }
        if times.len() == count {
            break;
        }
    }
    times
}

#[test]
fn a_second_client_hardly_notices() {
    let world = &*WORLD;
    let worst = &world.worst;
    let paths: Vec<String> = [
        format!("/v1/tx/{}?io_limit=25000", worst.inputs.compute_txid()),
        format!("/v1/tx/{}?io_limit=25000", worst.outputs.compute_txid()),
        format!("/v1/tx/{}?include_hex=true", worst.witness.compute_txid()),
        format!("/v1/tx/{}/op-return", worst.pushes.compute_txid()),
        format!("/v1/tx/{}/op-return", worst.carriers.compute_txid()),
        format!("/v1/blocks/{}", worst.payouts),
        "/v1/chain/recent-blocks".to_owned(),
        format!("/{}", "x".repeat(60_000)),
        format!("/v1/wallets?{}", "y=1&".repeat(10_000)),
    ]
    .into();
    let count = if long() { 10_000 } else { 1_000 };
    let mut ratios = Vec::new();
    for _ in 0..3 {
        let server = Server::start(6_000);
        overviews(&server, 2..=3, count / 10);
        let quiet = p99(overviews(&server, 20..=60, count / 2));
        let (stop, asked, refused) = (Arc::new(AtomicBool::new(false)), AtomicU64::new(0), AtomicU64::new(0));
        let busy = thread::scope(|scope| {
            for at in 0..8 {
                let (stop, asked, refused, server, paths) = (&stop, &asked, &refused, &server, &paths);
                scope.spawn(move || {
                    let mut client = Client::from(9, server.address);
                    for path in paths.iter().cycle().skip(at) {
                        if stop.load(Ordering::Relaxed) {
                            return;
                        }
                        asked.fetch_add(1, Ordering::Relaxed);
                        if client.get(path).status == 429 {
                            refused.fetch_add(1, Ordering::Relaxed);
                            thread::sleep(Duration::from_millis(2));
                        }
                    }
                });
            }
            let busy = p99(overviews(&server, 100..=140, count / 2));
            stop.store(true, Ordering::Relaxed);
            busy
        });
        println!("quiet {quiet:?}, beside {asked:?} requests ({refused:?} refused) {busy:?}");
        ratios.push((busy, quiet));
    }
    ratios.sort_unstable();
    let (busy, quiet) = ratios[1];
    assert!(busy <= (quiet * 10).max(Duration::from_millis(20)), "p99 quiet {quiet:?}, beside the other {busy:?}");
}
