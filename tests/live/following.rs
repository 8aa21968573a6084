//! Blocks: the first sync, reorganizations, restarts, faults, nodes that cannot be followed.

use cairn_standin::{HttpFault, HttpRule, Match, Payment, Restart, StandIn, StandInOptions, When};
use cairn_support::{World, get, get_json, wait_until};

use crate::CAIRN;

const INDEX: &str = "index --network regtest --datadir data";
const SERVING: &str = "--network regtest --datadir data --listen 127.0.0.1:0";

fn node(premine: u32) -> StandIn {
    StandIn::start(StandInOptions { premine, ..StandInOptions::default() }).unwrap()
}

/// Arguments that name the node.
fn of(node: &StandIn) -> String {
    format!("--node {} --node-cookie {}", node.url(), node.cookie_file().display())
}

fn hash_of(node: &StandIn) -> String {
    node.world().tip().to_string()
}

/// The tip that a server answers from.
fn served(address: &str) -> String {
    // While it syncs the answer is 503, without a tip.
    let body: serde_json::Value =
        serde_json::from_str(&get(address, "/v1/chain/recent-blocks?limit=1").1).unwrap_or_default();
    body["_meta"]["tip"]["hash"].as_str().unwrap_or_default().to_owned()
}

/// Transactions of many kinds in a few blocks.
fn busy(node: &StandIn, blocks: u32) {
    for _ in 0..blocks {
        let mut world = node.world();
        for rate in [1_000, 5_000, 20_000] {
            let _ = world.send(&Payment::at(rate));
        }
        world.mine(1).unwrap();
    }
}

#[test]
fn initial_sync_without_block_files_and_verify_against_the_node() {
    let world = World::empty(CAIRN);
    let node = node(110);
    busy(&node, 20);
    world.run(&format!("{INDEX} {} --once", of(&node))).success();
    let verified = world.stdout(&format!("verify --datadir data {}", of(&node)));
    assert!(verified.contains("MuHash of the coins matches the node") && !verified.contains("DIFFERS"), "{verified}");
    assert!(verified.contains(&node.world().muhash()), "{verified}");
    // The node goes on: the audit says so, and the next run catches up over a reorganization.
    busy(&node, 3);
    let stale = world.run(&format!("verify --datadir data {}", of(&node)));
    assert_eq!(stale.get_output().status.code(), Some(7));
    node.world().reorg(5, 7).unwrap();
    world.run(&format!("{INDEX} {} --once", of(&node))).success();
    let verified = world.stdout(&format!("verify --datadir data {}", of(&node)));
    assert!(!verified.contains("DIFFERS"), "{verified}");
    // An index that followed a reorganization equals one that never saw the other branch.
    let followed = world.stdout("db checksum --datadir data");
    let straight = INDEX.replace("data", "straight").replace("--straightdir", "--datadir");
    world.run(&format!("{straight} {} --once", of(&node))).success();
    assert_eq!(world.stdout("db checksum --datadir straight"), followed);
}

#[test]
fn one_process_follows_blocks_and_reorganizations() {
    let world = World::empty(CAIRN);
    let node = node(105);
    let mut running = world.start(&format!("run {SERVING} {}", of(&node)));
    let address = running.address();
    wait_until("the node's tip", || served(&address) == hash_of(&node));
    for round in 0..5 {
        busy(&node, 2);
        if round % 2 == 1 {
            node.world().reorg(2, 3).unwrap();
        }
        wait_until("the next tip", || served(&address) == hash_of(&node));
    }
    // invalidateblock and reconsiderblock.
    let height = node.world().height();
    let hash = node.world().hash_at(height - 4).unwrap();
    node.world().invalidate(&hash).unwrap();
    busy(&node, 6);
    wait_until("the branch without the invalidated block", || served(&address) == hash_of(&node));
    running.signal("TERM");
    assert_eq!(running.end().0.code(), Some(143), "{}", running.said());
    let verified = world.stdout(&format!("verify --datadir data {}", of(&node)));
    assert!(!verified.contains("DIFFERS"), "{verified}");
}

#[test]
fn two_processes_and_both_may_restart() {
    let world = World::empty(CAIRN);
    let mut node = node(105);
    let index = format!("{INDEX} {}", of(&node));
    let mut writing = world.start(&index);
    writing.wait_for("at the node's tip");
    let mut serving = world.start("serve --datadir data --listen 127.0.0.1:0");
    let address = serving.address();
    let both = |node: &StandIn| wait_until("the tip in the other process", || served(&address) == hash_of(node));
    both(&node);
    busy(&node, 3);
    both(&node);
    // The writer is killed and comes back; then the node, with another cookie.
    writing.signal("KILL");
    writing.end();
    busy(&node, 2);
    let mut writing = world.start(&index);
    both(&node);
    node.restart(&Restart::default()).unwrap();
    busy(&node, 2);
    both(&node);
    node.world().reorg(4, 6).unwrap();
    both(&node);
    assert_eq!(get_json(&address, "/v1/chain/recent-blocks?limit=1")["_meta"]["tip"]["lag_blocks"], 0);
    writing.signal("TERM");
    assert_eq!(writing.end().0.code(), Some(143));
    serving.signal("TERM");
    assert_eq!(serving.end().0.code(), Some(143));
}

#[test]
fn a_faulty_node_delays_and_harms_nothing() {
    let world = World::empty(CAIRN);
    let node = node(108);
    busy(&node, 5);
    node.http_faults(
        11,
        vec![
            HttpRule::times(3, Match::Any, HttpFault::WarmUp("Loading block index…")),
            HttpRule { per_mille: 150, ..HttpRule::always(Match::Any, HttpFault::Reset) },
        ],
    );
    // In the middle of the sync, the node reorganizes.
    node.at_request(Match::Any, When::Before, 40, |world| {
        let _ = world.reorg(6, 8);
    });
    world.run(&format!("{INDEX} {} --once", of(&node))).success();
    node.http_faults(0, Vec::new());
    let verified = world.stdout(&format!("verify --datadir data {}", of(&node)));
    assert!(!verified.contains("DIFFERS"), "{verified}");
}

#[test]
fn nodes_that_cannot_be_followed() {
    let world = World::empty(CAIRN);
    let node = node(3);
    let fails = |line: &str, words: &str| {
        let run = world.run(line);
        let output = run.get_output();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_ne!(output.status.code(), Some(0), "{said}");
        assert!(said.to_lowercase().contains(words), "{said}");
    };
    fails(&format!("{INDEX} --node {} --once", node.url()), "credentials");
    fails(&format!("{} {} --once", INDEX.replace("regtest", "main"), of(&node)), "main");
    let wrong = world.path("cookie");
    std::fs::write(&wrong, "__cookie__:nonsense").unwrap();
    fails(&format!("{INDEX} --node {} --node-cookie {} --once", node.url(), wrong.display()), "rejects the cookie");
    assert!(!world.path("data/index").exists(), "no index is made for a node that cannot fill it");
}
