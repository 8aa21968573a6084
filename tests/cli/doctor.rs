//! `cairn doctor`: the settings in force, examined. `setup/tests` has the recorded set-ups of nodes.

use std::fs;

use cairn_standin::{StandIn, StandInOptions};
use cairn_support::{World, fails};
use serde_json::Value;

use crate::CAIRN;

#[test]
fn the_settings_in_force_are_examined() {
    let world = World::small(CAIRN, 5);
    let node = StandIn::start(StandInOptions { rest: false, ..StandInOptions::default() }).unwrap();
    let settings = format!(
        "network = \"regtest\"\ndatadir = \"data\"\nblocks_dir = \"blocks\"\nlisten = \"127.0.0.1:0\"\nmemory = \"256M\"\n\
         cache = \"8M\"\nmempool_memory = \"32M\"\nnode = \"{}\"\nnode_cookie = \"{}\"\n",
        node.url(),
        node.cookie_file().display()
    );
    fs::write(world.path("cairn.toml"), &settings).unwrap();
    let text = String::from_utf8(world.run("doctor --json").get_output().stdout.clone()).unwrap();
    let found: Value = serde_json::from_str(&text).unwrap();
    let has = |kind: &str| found["findings"].as_array().unwrap().iter().any(|one| one["kind"] == kind);
    // The stand-in has a chain of its own.
    assert!(has("two_nodes") && has("rest_off") && has("obfuscated"), "{text}");
    let secret = fs::read_to_string(node.cookie_file()).unwrap();
    assert!(!text.contains(secret.split_once(':').unwrap().1), "{text}");
    // Faults need somebody: exit code 7.
    let page = world.run("doctor").code(7);
    let page = String::from_utf8(page.get_output().stdout.clone()).unwrap();
    assert!(
        page.contains("examined") && page.contains("        -> ") && page.contains("           rest=1\n"),
        "{page}"
    );
    assert!(!world.path("data").exists(), "nothing is written");
    // Without the node all is well.
    let files = settings.lines().filter(|line| !line.starts_with("node")).collect::<Vec<_>>().join("\n");
    fs::write(world.path("cairn.toml"), files).unwrap();
    let page = world.stdout("doctor");
    assert!(page.contains("not given: the block files are followed"), "{page}");
    // The network of the block files is known, if the settings do not have it.
    fs::remove_file(world.path("cairn.toml")).unwrap();
    world.run("doctor --blocks-dir blocks --listen 127.0.0.1:0").success();
    fails(world.run("doctor"), 2, &["--network is missing"]);
    world.run("doctor --network main --blocks-dir blocks --listen 127.0.0.1:0").code(7);
}

#[test]
fn a_configuration_that_the_node_refuses_is_named() {
    let world = World::small(CAIRN, 5);
    fs::write(world.path("bitcoin.conf"), "rpcpassword=hunter2#3\n").unwrap();
    let page = world.stdout("doctor --blocks-dir blocks --bitcoin-dir . --listen 127.0.0.1:0");
    assert!(page.contains("bitcoin.conf, line 1: ") && !page.contains("hunter2"), "{page}");
}
