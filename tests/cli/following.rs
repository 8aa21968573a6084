//! `cairn run` and `cairn serve`: answers while the files grow.

use cairn_support::{World, get, get_json, grown, wait_until};

use crate::CAIRN;

const RUN: &str = "run --network regtest --datadir data --blocks-dir blocks --listen 127.0.0.1:0";

#[test]
fn answers_follow_the_files_through_a_reorganization() {
    let mut generator = grown(110);
    let world = World::with(CAIRN, generator.chain());
    let mut running = world.start(RUN);
    let address = running.address();
    running.wait_for("height=110");
    let tip = |address: &str| get_json(address, "/v1/chain/recent-blocks?limit=1")["_meta"]["tip"]["hash"].clone();
    let hash = |generator: &cairn_chaingen::Everything| generator.chain().tip().hash().to_string();
    assert_eq!(tip(&address), hash(&generator));
    // Blocks arrive.
    generator.grow(3).unwrap();
    world.append(generator.chain());
    wait_until("three more blocks", || tip(&address) == hash(&generator));
    // A longer branch takes two of them off.
    let before = hash(&generator);
    generator.fork(2, 3).unwrap();
    world.append(generator.chain());
    wait_until("the other branch", || tip(&address) == hash(&generator));
    running.wait_for("disconnected=2");
    assert_eq!(get(&address, &format!("/v1/blocks/{before}")).0, 404);
    running.signal("TERM");
    let (status, took) = running.end();
    assert_eq!(status.code(), Some(143), "{}", running.said());
    assert!(took.as_secs() < 5, "{took:?}");
    // The follower's index equals that of a straight run.
    let followed = world.stdout("db checksum --datadir data");
    world.run("index --network regtest --datadir straight --blocks-dir blocks --once").success();
    assert_eq!(world.stdout("db checksum --datadir straight"), followed);
}

#[test]
fn index_follows_and_stops_at_a_height() {
    let mut generator = grown(20);
    let world = World::with(CAIRN, generator.chain());
    let mut running = world.start("index --network regtest --datadir data --blocks-dir blocks --to 25");
    running.wait_for("height=20");
    generator.grow(10).unwrap();
    world.append(generator.chain());
    assert!(running.end().0.success(), "{}", running.said());
    assert!(world.stdout("verify --datadir data").contains("height   25"));
}

#[test]
fn an_indexer_that_fails_is_reported_and_goes_on_by_itself() {
    let world = World::small(CAIRN, 20);
    let mut running = world.start(RUN);
    running.wait_for("height=20");
    let address = running.address();
    let away = world.path("away");
    std::fs::rename(world.path("blocks"), &away).unwrap();
    wait_until("the trouble", || get_json(&address, "/api/health")["troubles"][0]["part"] == "block_files");
    assert_eq!(get(&address, "/v1/blocks/20").0, 200, "what is indexed is served on");
    std::fs::rename(&away, world.path("blocks")).unwrap();
    world.append(grown(22).chain());
    wait_until("the new tip", || get(&address, "/v1/blocks/22").0 == 200);
    assert_eq!(get_json(&address, "/api/health")["troubles"], serde_json::json!([]));
    running.signal("TERM");
    assert_eq!(running.end().0.code(), Some(143), "{}", running.said());
}

#[test]
fn serve_reads_what_is_there_and_follows() {
    let world = World::small(CAIRN, 105);
    world.index();
    let mut running = world.start("serve --datadir data --listen 127.0.0.1:0");
    let address = running.address();
    let block = get_json(&address, "/v1/blocks/105");
    let hash = block["_meta"]["tip"]["hash"].as_str().unwrap();
    assert_eq!(hash, grown(105).chain().tip().hash().to_string());
    assert_eq!(get(&address, "/v1/blocks/106").0, 404);
    assert_eq!(get(&address, "/").0, 200);
    // A second server beside it, and one more index beside both.
    let mut second = world.start("serve --datadir data --listen 127.0.0.1:0");
    assert_eq!(get_json(&second.address(), "/v1/blocks/105")["_meta"]["tip"]["hash"], hash);
    world.index();
    // The index grows in a third process: both move to its tip.
    let longer = grown(112);
    world.append(longer.chain());
    world.index();
    let tip = longer.chain().tip().hash().to_string();
    for address in [&address, &second.address()] {
        wait_until("the tip of the other process", || {
            get_json(address, "/v1/blocks/105")["_meta"]["tip"]["hash"] == tip.as_str()
        });
        assert_eq!(get(address, "/v1/blocks/112").0, 200);
    }
    world.stdout("unwind --to 100 --datadir data");
    wait_until("the other process's unwinding", || get(&address, "/v1/blocks/101").0 == 404);
    running.signal("INT");
    assert_eq!(running.end().0.code(), Some(130), "{}", running.said());
}

/// RocksDB crashes a reader in another process that catches up over a dropped column family.
#[test]
fn a_server_lives_while_every_table_is_made_anew() {
    let world = World::small(CAIRN, 400);
    world.index();
    let mut running = world.start("serve --datadir data --listen 127.0.0.1:0");
    let address = running.address();
    let answer = |address: &str| get_json(address, "/v1/blocks/400")["data"].clone();
    let before = answer(&address);
    for _ in 0..4 {
        world.run("reindex --datadir data --stage all").success();
        wait_until("the tables", || get(&address, "/v1/blocks/400").0 == 200);
        assert_eq!(answer(&address), before);
    }
    running.signal("TERM");
    assert_eq!(running.end().0.code(), Some(143), "{}", running.said());
}
