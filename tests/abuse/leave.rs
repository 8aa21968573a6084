//! Clients that ask for much and leave: their work ends, and their places are free.

use std::time::{Duration, Instant};

use crate::{
    client::Client,
    support::{Server, WORLD},
};

#[test]
fn work_ends_with_its_clients() {
    let (world, server) = (&*WORLD, Server::start(0));
    let path = format!("/v1/tx/{}?io_limit=25000", world.worst.inputs.compute_txid());
    let dear = Instant::now();
    assert_eq!(Client::from(2, server.address).get(&path).status, 200);
    let one = dear.elapsed();
    let clients: Vec<Client> = (0..1_000u32)
        .map(|n| {
            let mut client = Client::from(10 + (n % 200) as u8, server.address);
            client.ask(&path);
            client
        })
        .collect();
    drop(clients);
    let left = Instant::now();
    // Whoever comes now is served at once: nothing that nobody waits for is in its way.
    let mut client = Client::from(3, server.address);
    let quiet = format!("/v1/tx/{}/status", world.worst.inputs.compute_txid());
    assert_eq!(client.get(&quiet).status, 200);
    let took = left.elapsed();
    println!("one request: {one:?}; free again after {took:?}");
    // Had all been worked off, it would be a thousand times one request, two at a time.
    assert!(took < (one * 100).max(Duration::from_secs(2)), "{took:?} after they left, one takes {one:?}");
}
