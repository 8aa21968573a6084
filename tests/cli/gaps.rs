//! Block files that break off: the errors of `index --once`, and the reports of a server that follows them.

use std::{fs, os::unix::fs::symlink};

use cairn_chaingen::corefiles::{Layout, write_chain};
use cairn_support::{World, fails, get, get_json, grown, layout, wait_until};
use serde_json::{Value, json};

use crate::CAIRN;

const INDEX: &str = "index --network regtest --datadir data --blocks-dir blocks --once";
const THIRD: &str = "blocks/blk00002.dat";

/// 60 blocks in five files or more.
fn in_files() -> World {
    let world = World::empty(CAIRN);
    let mut files = layout().files;
    files.max_file_size = 6_000;
    let written = write_chain(&world.path("blocks"), grown(60).chain(), &Layout::tidy(files)).unwrap();
    assert!(written.files >= 5, "{}", written.files);
    world
}

#[test]
fn a_chain_that_breaks_off_is_an_error() {
    let world = in_files();
    let good = fs::read(world.path(THIRD)).unwrap();
    let mut says = vec!["the block files break off after height", "later blocks in the files do not connect", "hint: "];
    for (damage, words) in
        [("removed", "is missing"), ("a link", "is a link to a file"), ("cut", "truncated record in")]
    {
        fs::remove_file(world.path(THIRD)).unwrap();
        match damage {
            "removed" => {}
            "a link" => symlink("nowhere", world.path(THIRD)).unwrap(),
            _ => fs::write(world.path(THIRD), &good[..good.len() / 2]).unwrap(),
        }
        says.extend(["blk00002.dat", words]);
        fails(world.run(INDEX), 4, &says);
        says.truncate(3);
        // Once more, with an index that is there: the same.
        fails(world.run(INDEX), 4, &["blk00002.dat", words]);
        let _ = fs::remove_file(world.path(THIRD));
        fs::write(world.path(THIRD), &good).unwrap();
    }
    world.run(INDEX).success();
    assert!(world.stdout("verify --datadir data").contains("height   60"));
    // The first file is named as well, and a pruned folder is distinguished from one without it.
    fs::rename(world.path("blocks/blk00000.dat"), world.path("first")).unwrap();
    symlink("nowhere", world.path("blocks/blk00000.dat")).unwrap();
    fails(world.run(INDEX), 3, &["blk00000.dat: is a link to a file that does not exist"]);
    fs::remove_file(world.path("blocks/blk00000.dat")).unwrap();
    fails(world.run(INDEX), 3, &["the first block file is number 1", "prune=0"]);
}

/// Without the last file nothing is visibly cut: its undo file shows that it was there.
#[test]
fn a_removed_last_file_is_told_by_its_undo_file() {
    let world = in_files();
    let last = (0..).take_while(|n| world.path(&format!("blocks/blk{n:05}.dat")).exists()).last().unwrap();
    let (blocks, undo) = (format!("blocks/blk{last:05}.dat"), format!("blocks/rev{last:05}.dat"));
    fs::rename(world.path(&blocks), world.path("away")).unwrap();
    assert!(fs::metadata(world.path(&undo)).unwrap().len() > 0);
    let says = format!("blk{last:05}.dat is missing");
    fails(world.run(INDEX), 4, &[&says]);
    // Without both it is an older copy of the folder.
    fs::rename(world.path(&undo), world.path("undo")).unwrap();
    world.run(INDEX).success();
    fs::rename(world.path("undo"), world.path(&undo)).unwrap();
    fails(world.run(INDEX), 4, &[&says]);
    fs::rename(world.path("away"), world.path(&blocks)).unwrap();
    world.run(INDEX).success();
    assert!(world.stdout("verify --datadir data").contains("height   60"));
}

fn component(address: &str, name: &str) -> Value {
    let health = get_json(address, "/api/health/full");
    health["components"].as_array().unwrap().iter().find(|row| row["name"] == name).unwrap().clone()
}

#[test]
fn a_server_tells_that_the_files_break_off() {
    let world = in_files();
    let good = fs::read(world.path(THIRD)).unwrap();
    fs::remove_file(world.path(THIRD)).unwrap();
    let line =
        "run --network regtest --datadir data --blocks-dir blocks --listen 127.0.0.1:0 --admin-listen 127.0.0.1:0";
    let mut running = world.start(line);
    let address = running.address();
    running.wait_for("blk00002.dat is missing");
    wait_until("the first blocks", || component(&address, "index")["details"]["tip_height"].is_u64());
    let row = component(&address, "index");
    assert_eq!((&row["status"], &row["details"]["problems"]), (&"degraded".into(), &json!(["cut_short", "behind"])));
    assert!(row["reason"].as_str().unwrap().contains("blk00002.dat is missing"), "{row}");
    let (tip, lag) = (&row["details"]["tip_height"], &row["details"]["lag_blocks"]);
    assert_eq!(tip.as_u64().unwrap() + lag.as_u64().unwrap(), 60, "{row}");
    let quick = get_json(&address, "/api/health");
    assert_eq!(
        (&quick["status"], &quick["live_data"]["bitcoin_backend"]["best_height"]),
        (&"degraded".into(), &60.into())
    );
    // A server in another process reports it too.
    let mut other = world.start("serve --datadir data --listen 127.0.0.1:0");
    let there = other.address();
    wait_until("the word of the indexer", || component(&there, "index")["reason"] == row["reason"]);
    // Operators: a metric, and no readiness.
    let said = running.said();
    let admin = said.split("serving operators address=").nth(1).unwrap().split_whitespace().next().unwrap().to_owned();
    assert!(get(&admin, "/metrics").1.contains("\ncairn_source_gap 1\n"));
    assert_eq!(get(&admin, "/readyz").0, 503);
    // With the file, it goes on by itself.
    fs::write(world.path(THIRD), &good).unwrap();
    running.wait_for("the block files are complete again");
    wait_until("the rest", || component(&address, "index")["details"]["tip_height"] == 60);
    wait_until("health", || get_json(&address, "/api/health")["status"] == "ok");
    let row = component(&address, "index");
    assert_eq!((&row["details"]["problems"], &row["details"]["lag_blocks"]), (&json!([]), &json!(0)));
    assert!(get(&admin, "/metrics").1.contains("\ncairn_source_gap 0\n"));
    running.signal("TERM");
    assert_eq!(running.end().0.code(), Some(143), "{}", running.said());
}

#[test]
fn an_index_ahead_of_the_files_is_said() {
    let world = World::small(CAIRN, 40);
    world.index();
    fs::remove_dir_all(world.path("blocks")).unwrap();
    world.write(grown(30).chain());
    let assert = world.run(INDEX).success();
    let log = String::from_utf8_lossy(&assert.get_output().stderr).into_owned();
    assert!(log.contains("the index is ahead of the block files") && log.contains("files_end_at=30"), "{log}");
    assert!(!log.contains("the index is at the tip"), "{log}");
}

/// The same chain in other files, under another key, has the same checksums.
#[test]
fn checksums_do_not_depend_on_the_layout_of_the_files() {
    let (one, many) = (World::small(CAIRN, 60), in_files());
    for world in [&one, &many] {
        world.index();
    }
    let [one, many] = [&one, &many].map(|world| world.stdout("db checksum --datadir data"));
    assert!(one.contains(" headers "), "{one}");
    assert_eq!(one, many);
}
