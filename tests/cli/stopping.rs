//! Ctrl-C and SIGTERM: within five seconds, with nothing lost.

use std::{collections::BTreeSet, thread, time::Duration};

use bitcoin::Network;
use cairn_chaingen::{
    corefiles::FileOptions,
    mainnet::{MainnetOptions, write_mainnet},
};
use cairn_reader::{TableFile, table_files_in};
use cairn_support::{KEY, World};

use crate::CAIRN;

/// A writer that has ended leaves no table file that its list of files does not name.
#[track_caller]
fn only_files_in_use(world: &World) {
    let index = world.path("data/index");
    let names = std::fs::read_dir(&index).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
    let there: BTreeSet<String> = names.filter(|name| name.ends_with(".sst")).collect();
    let live: BTreeSet<String> = table_files_in(&index).unwrap().iter().map(TableFile::name).collect();
    assert_eq!(there, live);
}

const INDEX: &str = "index --network regtest --datadir data --blocks-dir blocks";

/// Block data in bytes: a few seconds of work.
const VOLUME: u64 = 48 << 20;

#[test]
fn indexing_stops_at_any_moment_and_goes_on() {
    let world = World::empty(CAIRN);
    let mut options = MainnetOptions::new(3, VOLUME);
    options.empty_blocks = 50;
    write_mainnet(&world.path("blocks"), FileOptions::new(Network::Regtest, KEY), &options).unwrap();
    let mut stopped = 0;
    for (after, signal, code) in [(150, "TERM", 143), (400, "INT", 130), (900, "TERM", 143), (1_500, "INT", 130)] {
        let mut running = world.start(INDEX);
        running.wait_for("index opened");
        thread::sleep(Duration::from_millis(after));
        let done = running.said().contains("indexed in bulk");
        running.signal(signal);
        let (status, took) = running.end();
        assert_eq!(status.code(), Some(code), "{}", running.said());
        assert!(took < Duration::from_secs(5), "{took:?}");
        assert!(!running.said().contains("error:"), "{}", running.said());
        stopped += usize::from(!done);
    }
    assert!(stopped > 0, "every run was over before its signal");
    world.run(&format!("{INDEX} --once")).success();
    world.run("verify --datadir data").success();
    world.run(&INDEX.replace("--datadir data", "--datadir straight --once")).success();
    let [resumed, straight] = ["data", "straight"].map(|dir| world.stdout(&format!("db checksum --datadir {dir}")));
    assert_eq!(resumed, straight);
    only_files_in_use(&world);

    // Unwinding stops between two blocks.
    let mut running = world.start("unwind --datadir data --to 0");
    thread::sleep(Duration::from_millis(300));
    running.signal("TERM");
    let (status, took) = running.end();
    assert!(matches!(status.code(), Some(0 | 143)) && took < Duration::from_secs(5), "{status} {took:?}");
    world.run("verify --datadir data").success();
    // So does rebuilding a stage, which then waits for its turn.
    world.run(&format!("{INDEX} --once")).success();
    let mut running = world.start("reindex --datadir data --stage scripts");
    thread::sleep(Duration::from_millis(300));
    running.signal("INT");
    let (status, took) = running.end();
    assert!(matches!(status.code(), Some(0 | 130)) && took < Duration::from_secs(5), "{status} {took:?}");
    world.run(&format!("{INDEX} --once")).success();
    assert_eq!(world.stdout("db checksum --datadir data"), straight);
}

#[test]
fn following_stops_at_once() {
    let world = World::small(CAIRN, 10);
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let mut running = world.start(INDEX);
        running.wait_for("height=10");
        running.signal(signal);
        let (status, took) = running.end();
        assert_eq!(status.code(), Some(code));
        assert!(took < Duration::from_secs(2), "{took:?}");
        assert!(running.said().contains("the next start resumes from here"), "{}", running.said());
        only_files_in_use(&world);
    }
}
