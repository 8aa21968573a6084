//! Initial sync: over REST, over RPC, from the node's own block files.

use cairn_support::World;
use serde_json::json;

use crate::{
    CAIRN,
    node::{Node, Settings, bitcoind_or_skip},
    served::{ONCE, checksum, verify},
    wallet::{KINDS, bare_multisig, op_return, pay_to_public_key},
};

/// Blocks with payments of every kind.
pub(crate) fn busy(node: &Node, blocks: u32) {
    for round in 0..u64::from(blocks) {
        for kind in KINDS {
            node.pay(&node.new_address(kind), 1_000_000 + round);
        }
        let text = format!("block {round}");
        node.pay_to_scripts(&[(op_return(text.as_bytes()), 0), (bare_multisig(), 5_000), (pay_to_public_key(), 6_000)]);
        node.mine(1);
    }
}

#[test]
fn initial_sync_by_rest_by_rpc_and_from_block_files() {
    let program = bitcoind_or_skip!();
    let mut node = Node::with_wallet(&program, Settings::default());
    busy(&node, 8);
    // A stale branch, which the block files hold too.
    let stale = node.mine(3);
    node.rpc("invalidateblock", json!([stale[0]]));
    busy(&node, 4);
    let world = World::empty(CAIRN);
    world.run(&format!("{ONCE} {}", node.arguments())).success();
    verify(&world, &node, "data");
    // Without REST.
    node.restart(Some(Settings { rest: false, ..Settings::default() }));
    let rpc = ONCE.replace("data ", "rpc ");
    world.run(&format!("{rpc} {}", node.arguments())).success();
    verify(&world, &node, "rpc");
    assert_eq!(checksum(&world, "data"), checksum(&world, "rpc"));
    // From the files of a node that has stopped, under its obfuscation key.
    node.stop();
    let files = ONCE.replace("data ", "files ");
    world.run(&format!("{files} --blocks-dir {}", node.blocks_dir().display())).success();
    assert_eq!(checksum(&world, "data"), checksum(&world, "files"));
    // The files first, then the node for what came after them.
    node.begin();
    busy(&node, 2);
    world.run(&format!("{files} {} --blocks-dir {}", node.arguments(), node.blocks_dir().display())).success();
    world.run(&format!("{ONCE} {}", node.arguments())).success();
    verify(&world, &node, "files");
    assert_eq!(checksum(&world, "data"), checksum(&world, "files"));
}

#[test]
fn nodes_that_cannot_be_followed() {
    let program = bitcoind_or_skip!();
    let node = Node::with_wallet(&program, Settings::with(&["-prune=1", "-fastprune"]));
    let world = World::empty(CAIRN);
    let fails = |line: &str, words: &str| {
        let run = world.run(line);
        let said = String::from_utf8_lossy(&run.get_output().stderr).into_owned();
        assert_ne!(run.get_output().status.code(), Some(0), "{said}");
        assert!(
            said.to_lowercase().contains(words) && !said.contains("panicked"),
            "{said:?} says nothing of {words:?}"
        );
    };
    fails(&format!("{} {}", ONCE.replace("regtest", "signet"), node.arguments()), "regtest");
    fails(&format!("{ONCE} --node {}", node.url()), "credentials");
    let wrong = world.path("cookie");
    std::fs::write(&wrong, "__cookie__:nonsense").unwrap();
    fails(&format!("{ONCE} --node {} --node-cookie {}", node.url(), wrong.display()), "rejects the cookie");
    assert!(!world.path("data/index").exists(), "no index is made for a node that cannot fill it");
    // The first block file fills, and its blocks fall far enough behind the tip to be pruned.
    let script = node.new_script("bech32");
    node.pay_to_scripts(&vec![(script, 1_000); 2_500]);
    node.mine(2);
    for _ in 0..6 {
        node.mine_to(50, &node.new_address("bech32"));
    }
    let pruned = node.rpc("pruneblockchain", json!([112]));
    assert!(pruned.as_i64() > Some(0), "{pruned}");
    fails(&format!("{ONCE} {}", node.arguments()), "prune");
}
