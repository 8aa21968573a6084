//! One index through all commands.

use std::fs;

use cairn_chaingen::EverythingOptions;
use cairn_support::World;

use crate::CAIRN;

/// The rows of a printed table, as words.
fn rows(text: &str) -> Vec<Vec<String>> {
    text.lines().skip(1).map(|line| line.split_whitespace().map(str::to_owned).collect()).collect()
}

#[test]
fn index_stages_reindex_unwind_verify() {
    let options = EverythingOptions { blocks: 150, max_txs: 6, forks: vec![1, 3], showpieces: false };
    let chain = cairn_chaingen::everything(5, &options).unwrap();
    let tip = chain.tip();
    let world = World::with(CAIRN, &chain);
    world.index();
    let checksum = || world.stdout("db checksum --datadir data");
    let straight = checksum();
    assert!(straight.starts_with(&format!("# regtest height {} {}\n", tip.height, tip.hash())), "{straight}");

    let stages = rows(&world.stdout("stages --datadir data"));
    let names: Vec<&str> = stages.iter().map(|row| row[0].as_str()).collect();
    assert_eq!(names[0], "chain");
    let of_blocks = &names[1..];
    let built = [
        "spends",
        "coins",
        "scripts",
        "ages",
        "script_days",
        "clusters",
        "payouts",
        "transfers",
        "returns",
        "pings",
        "funding",
        "pubkeys",
    ];
    assert_eq!(of_blocks, [&built[..], &["flushes", "wakeups", "dust"]].concat());
    for stage in &stages {
        assert_eq!(stage.last().unwrap(), &tip.hash().to_string());
    }
    let stats = rows(&world.stdout("db stats --datadir data"));
    let headers = stats.iter().find(|row| row[0] == "headers").unwrap();
    assert_eq!(headers[2], format!("~{}", tip.height + 1));
    assert_eq!(stats.last().unwrap()[0], "total");

    // A row: genesis by its height. Its header is in it, byte by byte.
    let row = world.stdout("db get --datadir data headers 00000000");
    let genesis = bitcoin::constants::genesis_block(bitcoin::Network::Regtest);
    let header = bitcoin::consensus::encode::serialize_hex(&genesis.header);
    assert!(row.contains(&header), "{row}");

    let verified = world.stdout("verify --datadir data");
    for word in [&format!("height   {}", tip.height), &format!("hash     {}", tip.hash()), "muhash   ", "supply   "] {
        assert!(verified.contains(word), "{verified}");
    }

    // Rebuilding needs no block files.
    fs::rename(world.path("blocks"), world.path("away")).unwrap();
    assert_eq!(world.stdout("reindex --datadir data --stage all").lines().count(), of_blocks.len());
    assert_eq!(checksum(), straight);
    for &stage in of_blocks.iter().chain(&["coins,script_days"]) {
        world.run(&format!("reindex --datadir data --stage {stage}")).success();
        assert_eq!(checksum(), straight, "{stage}");
    }
    for stage in ["chain", "nothing"] {
        cairn_support::fails(
            world.run(&format!("reindex --datadir data --stage {stage}")),
            2,
            &[
                "hint: use one of spends, coins, scripts, ages, script_days, clusters, payouts, transfers, returns, pings, funding, pubkeys, flushes, wakeups, dust, or all",
            ],
        );
    }

    // Down, up to a height, up to the tip: the same tables.
    let unwound = world.stdout("unwind --datadir data --to 97");
    assert!(unwound.contains("the tip is 97 "), "{unwound}");
    assert_eq!(world.stdout("unwind --datadir data --to 97").split(' ').next(), Some("0"));
    cairn_support::fails(world.run("unwind --datadir data --to 98"), 2, &["at height 97"]);
    assert!(world.stdout("verify --datadir data").contains("height   97"));
    fs::rename(world.path("away"), world.path("blocks")).unwrap();
    world.run("index --network regtest --datadir data --blocks-dir blocks --to 120").success();
    assert!(world.stdout("verify --datadir data").contains("height   120"));
    world.index();
    assert_eq!(checksum(), straight);

    // To genesis and back.
    world.run("unwind --datadir data --to 0").success();
    world.run("verify --datadir data").success();
    world.index();
    assert_eq!(checksum(), straight);
    // A second time there is nothing to do.
    world.index();
    assert_eq!(checksum(), straight);
}

#[test]
fn undo_files_may_be_missing() {
    let world = World::small(CAIRN, 130);
    world.index();
    let with = world.stdout("db checksum --datadir data");
    fs::remove_file(world.path("blocks/rev00000.dat")).unwrap();
    let assert = world.run("index --network regtest --datadir other --blocks-dir blocks --once").success();
    let log = String::from_utf8_lossy(&assert.get_output().stderr).into_owned();
    assert!(
        log.contains("undo files (rev*.dat) are missing") && log.contains("blocks=130") && log.contains("files=1"),
        "{log}"
    );
    assert_eq!(world.stdout("db checksum --datadir other"), with);
}

#[test]
fn real_blocks() {
    let data = cairn_testkit::shared_data_or_skip!();
    let world = World::empty(CAIRN);
    let blocks = data.join("mainnet");
    let mut command = world.command("index --network main --datadir data --once --blocks-dir");
    assert!(command.arg(&blocks).output().unwrap().status.success());
    let verified = world.stdout("verify --datadir data");
    assert!(verified.contains("network  main") && verified.contains("height   4521"), "{verified}");
}
