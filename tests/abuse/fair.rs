//! One client does its worst within its budget; another asks for what it always asks.

use std::{
    net::SocketAddr,
    ops::RangeInclusive,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use cairn_support::loopback::Client;

use crate::{
    attacks::{self, Attack},
    support::{Server, WORLD, by_hash, long},
    usage::{forget_peak, memory},
};

/// The slowest of a hundred, in order: the 99th percentile.
fn p99(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() * 99 / 100]
}

/// Overviews that a budget has room for.
const OF_A_CLIENT: usize = 1_000;

fn overviews(server: &Server, hosts: impl Iterator<Item = u8>, count: usize) -> Vec<Duration> {
    let path = format!("/v1/wallets/{}/overview", by_hash(&WORLD.worst.quiet));
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

/// The server's memory beyond what it had before an attack, the attacker's own buffers included.
const MAX_MEMORY: usize = 96 << 20;

/// Times of the requests of an honest client, from hosts of a range as their budgets are spent: that many.
pub type Measure = dyn Fn(&Server, RangeInclusive<u8>, usize) -> Vec<Duration>;

#[test]
fn a_second_client_hardly_notices() {
    hardly_notices(attacks::all(), &|server| server.address, &|server, hosts, count| overviews(server, hosts, count));
}

/// Each attack, one after the other, with a budget of its own, at the address that `door` returns.
pub fn hardly_notices(mut attacks: Vec<Attack>, door: &(dyn Fn(&Server) -> SocketAddr + Sync), measure: &Measure) {
    let only = std::env::var("CAIRN_TEST_ATTACK").ok();
    attacks.retain(|attack| only.as_ref().is_none_or(|only| attack.name.contains(only)));
    let (count, runs) = (if long() { 10_000 } else { 200 }, 3);
    let server = Server::start(6_000);
    measure(&server, 2..=3, 1_000);
    let mut quiet: Vec<Duration> =
        (0..3).map(|run| p99(measure(&server, 4 + run * 10..=13 + run * 10, count))).collect();
    quiet.sort_unstable();
    let bound = (quiet[1] * 10).max(Duration::from_millis(40));
    println!("quiet {:?}, so at most {bound:?}", quiet[1]);
    let mut failed = Vec::new();
    for attack in &attacks {
        let (mut p99s, mut sent, mut grown) = (Vec::new(), 0, 0);
        for _ in 0..runs {
            // A new server: budgets are full again.
            let server = Server::start(6_000);
            measure(&server, 2..=2, 50);
            let stop = AtomicBool::new(false);
            forget_peak();
            let before = memory().0;
            let goes_on = || !stop.load(Ordering::Relaxed);
            let (busy, asked) = thread::scope(|scope| {
                let attackers: Vec<_> = (0..attack.connections)
                    .map(|_| {
                        let (server, goes_on) = (&server, &goes_on);
                        scope.spawn(move || attack.run(9, door(server), goes_on))
                    })
                    .collect();
                let busy = p99(measure(&server, 100..=140, count));
                stop.store(true, Ordering::Relaxed);
                (busy, attackers.into_iter().map(|attacker| attacker.join().unwrap()).sum::<u64>())
            });
            grown = memory().1.saturating_sub(before).max(grown);
            sent += asked;
            p99s.push(busy);
        }
        p99s.sort_unstable();
        let (name, busy) = (attack.name, p99s[runs / 2]);
        println!("{name}: {sent} requests, p99 {p99s:?}, {} MiB more", grown >> 20);
        if busy > bound {
            failed.push(format!("{name}: p99 {busy:?}, at most {bound:?}"));
        }
        if grown > MAX_MEMORY {
            failed.push(format!("{name}: {} MiB more", grown >> 20));
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}
