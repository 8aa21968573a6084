//! `cairn init`: the file that it writes fits the node, and it names what is missing.

use std::{fs, os::unix::fs::MetadataExt};

use cairn_standin::{StandIn, StandInOptions};
use cairn_support::{World, fails};

use crate::CAIRN;

/// A world whose folder `node` is the data folder of a node on regtest.
fn world() -> World {
    let world = World::small(CAIRN, 5);
    fs::create_dir_all(world.path("node/regtest")).unwrap();
    fs::rename(world.path("blocks"), world.path("node/regtest/blocks")).unwrap();
    fs::write(world.path("node/bitcoin.conf"), "chain=regtest\n[regtest]\nrpcport=1\n").unwrap();
    world
}

const INIT: &str = "init --bitcoin-dir node --datadir data";

#[test]
fn the_file_fits_the_node() {
    let world = world();
    // The node is off: a fault, and the file is right.
    let page = world.run(INIT).code(7);
    let page = String::from_utf8(page.get_output().stdout.clone()).unwrap();
    assert!(page.contains("cairn.toml is written:") && page.contains("start the node"), "{page}");
    let text = fs::read_to_string(world.path("cairn.toml")).unwrap();
    let blocks = world.path("node/regtest/blocks");
    for line in [
        "network = \"regtest\"".to_owned(),
        format!("blocks_dir = \"{}\"", blocks.display()),
        "node = \"http://127.0.0.1:1\"".to_owned(),
        format!("node_cookie = \"{}\"", world.path("node/regtest/.cookie").display()),
        format!("datadir = \"{}\"", world.path("data").display()),
    ] {
        assert!(text.lines().any(|is| is == line), "{line}: {text}");
    }
    assert_eq!(fs::metadata(world.path("cairn.toml")).unwrap().mode() & 0o022, 0, "others may not change it");
    // The other commands read it.
    let shown = world.stdout("config");
    assert!(shown.contains("network = \"regtest\"  # file"), "{shown}");
    assert!(!world.path("data").exists());
    // It is replaced only on request, and no draft stays.
    fails(world.run(INIT), 2, &["cairn.toml exists already", "--force"]);
    assert_eq!(fs::read_to_string(world.path("cairn.toml")).unwrap(), text);
    fs::write(world.path("cairn.toml"), "network = \"main\"\n").unwrap();
    world.run(&format!("{INIT} --network regtest --force")).code(7);
    assert!(fs::read_to_string(world.path("cairn.toml")).unwrap().contains("network = \"regtest\""));
    let drafts = fs::read_dir(world.path("."))
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().starts_with(".cairn.toml"));
    assert_eq!(drafts.count(), 0);
}

#[test]
fn no_password_is_written_or_shown() {
    let world = world();
    let conf = "chain=regtest\nrpcuser=ann\nrpcpassword=hunter2\n[regtest]\nrpcport=1\nprune=550\n";
    fs::write(world.path("node/bitcoin.conf"), conf).unwrap();
    let ran = world.run(INIT).code(7);
    let output = ran.get_output();
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let text = fs::read_to_string(world.path("cairn.toml")).unwrap();
    assert!(!said.contains("hunter2") && !text.contains("hunter2"), "{said}");
    assert!(text.contains("node_user = \"ann\"") && text.contains("CAIRN_NODE_PASSWORD"), "{text}");
    assert!(said.contains("fault   the node is pruned") && said.contains("           prune=0\n"), "{said}");
}

#[test]
fn several_nodes_must_be_chosen_from() {
    let world = world();
    fs::create_dir_all(world.path("node/signet/blocks")).unwrap();
    fails(world.run(INIT), 2, &["there are several nodes", "signet in node", "regtest in node", "--network"]);
    assert!(!world.path("cairn.toml").exists());
    let text = world.stdout(&format!("{INIT} --network regtest --print"));
    assert!(text.contains("network = \"regtest\"") && !world.path("cairn.toml").exists(), "{text}");
    fails(world.run("init --bitcoin-dir nowhere"), 3, &["no data folder of a node in nowhere", "--bitcoin-dir"]);
    fs::write(world.path("node/bitcoin.conf"), "nonsense\n").unwrap();
    fails(world.run(INIT), 3, &["bitcoin.conf, line 1: not of the form"]);
}

/// With the written file alone, the chain of a running node is indexed.
#[test]
fn a_node_that_runs_is_indexed_with_the_file() {
    let world = World::empty(CAIRN);
    let node = StandIn::start(StandInOptions { premine: 5, ..StandInOptions::default() }).unwrap();
    fs::create_dir_all(world.path("node/regtest")).unwrap();
    let port = node.address().port();
    let conf = format!("chain=regtest\nrpccookiefile={}\n[regtest]\nrpcport={port}\n", node.cookie_file().display());
    fs::write(world.path("node/bitcoin.conf"), conf).unwrap();
    world.run(INIT).success();
    world.run("index --once").success();
    assert!(world.stdout("verify --datadir data").contains("height   5"));
}

/// A node on another machine is named by its URL.
#[test]
fn a_node_elsewhere() {
    let world = World::empty(CAIRN);
    let line = "init --network main --datadir data --node http://192.0.2.1:8332";
    fails(world.run(line), 2, &["the node needs credentials", "--node-user"]);
    fails(world.run(&line.replace("--network main ", "")), 2, &["--network is missing"]);
    let secret = line.replace("http://", "http://ann:hunter2@");
    let refused = world.run(&format!("{secret} --node-user ann"));
    assert!(!String::from_utf8_lossy(&refused.get_output().stderr).contains("hunter2"));
    fails(refused, 2, &["has a user or a password", "CAIRN_NODE_PASSWORD"]);
    let text = world.stdout(&format!("{line} --node-user ann --print"));
    assert!(text.contains("node = \"http://192.0.2.1:8332\"\nnode_user = \"ann\"\n"), "{text}");
    assert!(!text.contains("blocks_dir"), "{text}");
}
