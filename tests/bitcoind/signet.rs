//! A custom signet: from the node, from its block files, followed, and distinguished from other signets.

use cairn_support::{World, fails, get_json, wait_until};
use cairn_testkit::SIGNET_CHALLENGE;

use crate::{
    CAIRN,
    node::{Node, Settings, bitcoind_or_skip},
    served::{checksum, verify},
};

const ONCE: &str = "index --network signet --signet-challenge 51 --datadir data --once";

#[test]
fn a_custom_signet_is_indexed_followed_and_distinguished() {
    let program = bitcoind_or_skip!();
    let mut node = Node::start(&program, Settings { signet: Some(SIGNET_CHALLENGE), ..Settings::default() });
    node.mine_signet(2);
    let world = World::empty(CAIRN);
    world.run(&format!("{ONCE} {}", node.arguments())).success();
    verify(&world, &node, "data");
    // Other signets are refused by the node's challenge. A node before version 28 does not report it.
    for (flag, named) in [("--signet-challenge 52", "the signet with challenge 52"), ("", "the default signet")] {
        let other = ONCE.replace("--signet-challenge 51", flag).replace("data ", "other ");
        let refused = world.run(&format!("{other} {}", node.arguments()));
        let said = format!("the node is on the signet with challenge 51, not on {named}");
        fails(refused, 3, &[&said, "hint: set --signet-challenge to the node's challenge"]);
    }
    assert!(!world.path("other/index").exists(), "no index is made for a node of another signet");
    // Followed.
    let run = "run --network signet --signet-challenge 51 --datadir data --listen 127.0.0.1:0 --rate-limit 0";
    let mut serving = world.start(&format!("{run} {}", node.arguments()));
    let address = serving.address();
    node.mine_signet(1);
    let best = node.best();
    let meta = || get_json(&address, "/v1/chain/recent-blocks?limit=1")["_meta"].clone();
    wait_until(&format!("the tip {best}"), || meta()["tip"]["hash"] == best.as_str());
    assert_eq!(meta()["network"], "signet");
    serving.signal("TERM");
    assert_eq!(serving.end().0.code(), Some(143), "{}", serving.said());
    verify(&world, &node, "data");
    // The signal may have come before late stages were at the tip.
    world.run(&format!("{ONCE} {}", node.arguments())).success();
    // From the files of a node that has stopped.
    node.stop();
    let files = ONCE.replace("data ", "files ");
    world.run(&format!("{files} --blocks-dir {}", node.blocks_dir().display())).success();
    assert_eq!(checksum(&world, "data"), checksum(&world, "files"));
}
