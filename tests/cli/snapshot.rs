//! `cairn snapshot`: what it prints and how it ends, killed and started again, on a full disk, and beside a process
//! that follows the chain.

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use cairn_support::{SmallDisk, World, fails, grown};
use cairn_testkit::{files_in, skip};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::Value;

use crate::CAIRN;

const EXPORT: &str = "snapshot export --datadir data --partition 20";

fn manifest(world: &World, out: &str) -> Value {
    serde_json::from_slice(&fs::read(world.path(out).join("manifest.json")).unwrap()).unwrap()
}

/// All Parquet files below a folder.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = files_in(folder);
    found.retain(|name, _| name.ends_with(".parquet"));
    found
}

#[test]
fn it_tells_what_it_wrote_and_goes_on_from_there() {
    let world = World::with(CAIRN, grown(90).chain());
    world.index();
    let said = world.stdout(&format!("{EXPORT} --out out"));
    let made = manifest(&world, "out");
    let height = made["tip_height"].as_u64().unwrap();
    for word in ["transactions", "regtest as of block", &height.to_string(), "manifest.json"] {
        assert!(said.contains(word), "{said}");
    }
    assert!(!world.path("data/exports").read_dir().unwrap().any(|_| true), "nothing is left of the work");
    let said = world.stdout("snapshot verify out");
    assert!(said.starts_with("ok: "), "{said}");
    // The chain grows; what was there stays.
    let longer = grown(120);
    world.append(longer.chain());
    world.index();
    let said = world.stdout(&format!("{EXPORT} --out out --since out/manifest.json"));
    let made = manifest(&world, "out");
    assert!(made["tip_height"].as_u64().unwrap() > height && made["since"]["kept"].as_u64().unwrap() > 0);
    assert!(said.contains(&format!("changed since block {height}: from_height=")), "{said}");
    world.run(&format!("{EXPORT} --out fresh")).success();
    assert!(files(&world.path("out")) == files(&world.path("fresh")));
    // Some of the datasets, in another form.
    world.run(
        "snapshot export --datadir data --out some --datasets coins,blocks --partition day --hashes hex --amounts btc --txids --addresses",
    );
    let some = manifest(&world, "some");
    let names: Vec<&str> = some["datasets"].as_array().unwrap().iter().map(|of| of["name"].as_str().unwrap()).collect();
    assert_eq!((names, &some["hashes"], &some["amounts"]), (vec!["blocks", "coins"], &"hex".into(), &"btc".into()));
    let damaged = world.path("some/blocks").read_dir().unwrap().next().unwrap().unwrap().path().join("part-0.parquet");
    let mut bytes = fs::read(&damaged).unwrap();
    bytes[9] ^= 1;
    fs::write(&damaged, bytes).unwrap();
    let assert = world.run("snapshot verify some").code(7);
    let said = String::from_utf8_lossy(&assert.get_output().stdout).into_owned();
    assert!(said.contains("DIFFERS  blocks/on_day=") && said.contains("damaged: "), "{said}");
}

#[test]
fn what_cannot_be_done_is_told() {
    let world = World::with(CAIRN, grown(20).chain());
    fails(world.run(&format!("{EXPORT} --out out")), 5, &["no index", "cairn index"]);
    world.index();
    fails(world.run(&format!("{EXPORT} --out out --datasets blocks,coin")), 2, &["coin", "not a dataset", "coins"]);
    fails(world.run(&format!("{EXPORT} --out out --memory 1M")), 2, &["64M"]);
    fails(world.run("snapshot export --datadir data --out out --partition 0"), 2, &["number of blocks"]);
    fails(world.run(&format!("{EXPORT} --out out --since elsewhere/manifest.json")), 2, &["--since", "where it is"]);
    fails(world.run(&format!("{EXPORT} --out blocks")), 2, &["empty folder"]);
    fails(world.run("snapshot verify blocks"), 1, &["manifest.json", "no export"]);
    world.run(&format!("{EXPORT} --out out")).success();
    fails(world.run(&format!("{EXPORT} --out out")), 2, &["--since"]);
    fails(
        world.run(&format!("{EXPORT} --out out --datasets blocks --since out/manifest.json")),
        2,
        &["other datasets"],
    );
}

#[test]
fn killed_at_any_moment_it_goes_on_to_the_same_files() {
    let world = World::with(CAIRN, grown(200).chain());
    world.index();
    let begun = Instant::now();
    world.run(&format!("{EXPORT} --out whole")).success();
    let took = begun.elapsed();
    let expected = files(&world.path("whole"));
    let mut random = ChaCha8Rng::seed_from_u64(19);
    for round in 0..4 {
        let out = format!("killed-{round}");
        let mut kills = 0;
        loop {
            let mut child = world.command(&format!("{EXPORT} --out {out}")).spawn().unwrap();
            if kills < 5 {
                thread::sleep(Duration::from_micros(random.random_range(0..took.as_micros() as u64)));
                child.kill().unwrap();
            }
            let status = child.wait().unwrap();
            let is_complete = world.path(&out).join("manifest.json").exists();
            if status.success() {
                assert!(is_complete);
                break;
            }
            kills += 1;
            if is_complete {
                // Killed after its work: the same command says that it is done.
                break;
            }
        }
        assert!(files(&world.path(&out)) == expected, "round {round}, {kills} kills");
        world.run(&format!("snapshot verify {out}")).success();
    }
}

#[test]
fn a_full_disk_is_told_and_with_more_room_it_goes_on() {
    let world = World::with(CAIRN, grown(120).chain());
    world.index();
    world.run(&format!("{EXPORT} --out whole")).success();
    let Some(disk) = SmallDisk::mount(&world.path("disk"), 100) else { skip!("no file system can be mounted here") };
    let mut full = 0;
    for kilobytes in (100..20_000).step_by(300) {
        disk.resize(kilobytes);
        let output = world.command(&format!("{EXPORT} --out disk/out")).output().unwrap();
        let is_complete = disk.path().join("out/manifest.json").exists();
        assert_eq!(output.status.success(), is_complete);
        if output.status.success() {
            break;
        }
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(6) && said.contains("goes on"), "{kilobytes} kB: {said}");
        full += 1;
    }
    assert!(full > 1, "it fitted at once");
    assert!(files(&disk.path().join("out")) == files(&world.path("whole")));
}

#[test]
fn beside_a_process_that_follows_the_chain() {
    let world = World::with(CAIRN, grown(60).chain());
    world.index();
    let mut running = world.start("run --network regtest --datadir data --blocks-dir blocks --listen 127.0.0.1:0");
    running.address();
    for (at, blocks) in [(0, 60), (1, 80), (2, 100)] {
        world.append(grown(blocks).chain());
        let out = format!("out-{at}");
        world.run(&format!("{EXPORT} --out {out}")).success();
        world.run(&format!("snapshot verify {out}")).success();
        let made = manifest(&world, &out);
        let rows = |name: &str| {
            let all = made["datasets"].as_array().unwrap();
            all.iter().find(|of| of["name"] == name).unwrap()["rows"].as_u64().unwrap()
        };
        assert_eq!(rows("blocks"), made["tip_height"].as_u64().unwrap() + 1);
        assert_eq!(rows("transactions"), made["transactions"].as_u64().unwrap());
    }
    running.signal("TERM");
    running.end();
}
