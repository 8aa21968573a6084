//! Clients that ask for much and leave: their work ends, and their places are free.

use std::{
    thread,
    time::{Duration, Instant},
};

use cairn_support::loopback::Client;

use crate::{
    support::{Server, WORLD},
    usage::server_time,
};

/// Until all work has ended.
const LONGEST: Duration = Duration::from_secs(if cfg!(debug_assertions) { 10 } else { 1 });
const WINDOW: Duration = Duration::from_millis(20);

#[test]
fn work_ends_with_its_clients() {
    let (world, server) = (&*WORLD, Server::start(0));
    let path = format!("/v1/tx/{}?io_limit=25000", world.worst.inputs.compute_txid());
    let dear = Instant::now();
    assert_eq!(Client::from(2, server.address).get(&path).status, 200);
    let one = dear.elapsed();
    let start = server_time();
    let clients: Vec<Client> = (0..1_000u32)
        .map(|n| {
            let mut client = Client::from(10 + (n % 200) as u8, server.address);
            client.ask(&path);
            client
        })
        .collect();
    let busy = server_time();
    drop(clients);
    let left = Instant::now();
    // All work has ended when the process does nothing for three windows in a row.
    let (mut quiet, mut before, mut ended) = (0, server_time(), left);
    while quiet < 3 {
        thread::sleep(WINDOW);
        let now = server_time();
        if now.saturating_sub(before) > WINDOW / 10 {
            (quiet, ended) = (0, Instant::now());
        } else {
            quiet += 1;
        }
        before = now;
        assert!(left.elapsed() < Duration::from_secs(60), "work goes on after its clients have left");
    }
    let took = ended - left;
    println!("one request: {one:?}; {:?} of processor time before they left; all ended after {took:?}", busy - start);
    assert!(took < LONGEST, "{took:?} after they left, one takes {one:?}");
    // A client that comes now is served at once.
    let mut client = Client::from(3, server.address);
    let quiet = format!("/v1/tx/{}/status", world.worst.inputs.compute_txid());
    assert_eq!(client.get(&quiet).status, 200);
}
