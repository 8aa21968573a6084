//! Custom signets: indexed, restored, and distinguished from others.

use std::fs;

use bitcoin::{Network, consensus::serialize, constants::genesis_block};
use cairn_support::{World, fails, grown};
use cairn_testkit::{SIGNET_HEIGHT, SIGNET_TIP, write_signet};

use crate::CAIRN;

const INDEX: &str = "index --network signet --signet-challenge 51 --datadir data --blocks-dir signet --once";

/// A folder with the block files that Bitcoin Core wrote with -signetchallenge=51.
fn world() -> World {
    let world = World::empty(CAIRN);
    write_signet(&world.path("signet"));
    world
}

#[test]
fn a_custom_signet_is_indexed_checked_and_restored() {
    let world = world();
    world.run(INDEX).success();
    let verified = world.stdout("verify --datadir data --raw all");
    for said in [
        "network  the signet with challenge 51".to_owned(),
        format!("height   {SIGNET_HEIGHT}"),
        format!("hash     {SIGNET_TIP}"),
    ] {
        assert!(verified.contains(&said), "{verified}");
    }
    // A checkpoint says which signet it is of, and so does what is restored from it.
    let made = world.stdout("snapshot checkpoint --datadir data --out copy");
    assert!(made.starts_with("the signet with challenge 51 as of block "), "{made}");
    let manifest: serde_json::Value =
        serde_json::from_slice(&fs::read(world.path("copy/checkpoint.json")).unwrap()).unwrap();
    assert_eq!((&manifest["network"], &manifest["signet_challenge"]), (&"signet".into(), &"51".into()));
    world.run("snapshot restore copy --datadir restored").success();
    let restored = INDEX.replace("data ", "restored ");
    world.run(&restored).success();
    let challenge = "--signet-challenge 51";
    let refused = world.run(&restored.replace(challenge, "--signet-challenge 52"));
    fails(refused, 3, &["these are blocks of a signet with magic 54d26fbd, not of the signet with challenge 52"]);
}

#[test]
fn a_replica_stays_on_its_signet() {
    let world = world();
    world.run(INDEX).success();
    world.run("snapshot checkpoint --datadir data --out copy").success();
    let restore = "snapshot restore copy --datadir replica --replica";
    world.run(restore).success();
    // A checkpoint of another network takes the place of the first.
    fs::remove_dir_all(world.path("copy")).unwrap();
    world.write(grown(5).chain());
    world.run("index --network regtest --datadir regtest --blocks-dir blocks --once").success();
    world.run("snapshot checkpoint --datadir regtest --out copy").success();
    fails(
        world.run(restore),
        2,
        &["has an index of the signet with challenge 51, the checkpoint is of regtest; name another data folder"],
    );
    assert!(world.stdout("verify --datadir replica").contains("the signet with challenge 51"));
}

#[test]
fn other_signets_are_refused() {
    let world = world();
    let without = INDEX.replace(" --signet-challenge 51", "");
    let hint = "hint: use --network signet, and --signet-challenge";
    fails(world.run(&without), 3, &["a signet with magic 54d26fbd, not of the default signet", hint]);
    fails(world.run(&INDEX.replace("challenge 51", "challenge 52")), 3, &["which has magic 2c798194", hint]);
    assert!(!world.path("data").exists(), "nothing is made for blocks of another signet");
    world.run(INDEX).success();
    // Block files of the default signet. Its genesis alone is a chain.
    let (genesis, magic) = (serialize(&genesis_block(Network::Signet)), Network::Signet.magic().to_bytes());
    let record = [&magic[..], &(genesis.len() as u32).to_le_bytes(), &genesis].concat();
    fs::create_dir(world.path("default")).unwrap();
    fs::write(world.path("default/blk00000.dat"), record).unwrap();
    let default = without.replace("blocks-dir signet", "blocks-dir default");
    fails(
        world.run(&default),
        5,
        &[
            "this is an index of the signet with challenge 51, not of the default signet",
            "hint: use --network signet --signet-challenge 51, or another --datadir",
        ],
    );
    let other = INDEX.replace("blocks-dir signet", "blocks-dir default");
    fails(
        world.run(&other),
        3,
        &["of the default signet, not of the signet with challenge 51", "signet without --signet-challenge for these"],
    );
    // The index is as it was.
    world.run(INDEX).success();
}

#[test]
fn a_challenge_needs_network_signet() {
    let world = world();
    let regtest = INDEX.replace("network signet", "network regtest");
    fails(world.run(&regtest), 2, &["--signet-challenge is for --network signet, not for regtest", "hint: leave"]);
    let bad = world.run(&INDEX.replace("challenge 51", "challenge 5"));
    fails(bad, 2, &["pairs of hexadecimal digits; expected a script of 1 to 10000 bytes", "--signet-challenge 51"]);
    // The environment and cairn.toml have it as well.
    fs::write(world.path("cairn.toml"), "network = 'signet'\nsignet_challenge = '51'\n").unwrap();
    world.run("index --datadir data --blocks-dir signet --once").success();
    let mut command = world.command("index --datadir data --blocks-dir signet --once");
    let refused = command.env("CAIRN_SIGNET_CHALLENGE", "52").output().unwrap();
    assert_eq!(refused.status.code(), Some(3), "{}", String::from_utf8_lossy(&refused.stderr));
}
