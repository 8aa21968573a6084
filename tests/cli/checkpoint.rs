//! `cairn snapshot checkpoint`, `list`, `restore`: what they print and how they end, killed and started again, on a
//! full disk, and beside a process that follows the chain.

use std::{
    fs,
    process::{Command, Output},
    thread,
    time::{Duration, Instant},
};

use cairn_bucket::Bucket;
use cairn_support::{SmallDisk, World, fails, grown};
use cairn_testkit::skip;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::{
    CAIRN,
    repair::{damage, file_of},
};

const CHECKPOINT: &str = "snapshot checkpoint --datadir data";

/// The checksums of all tables.
fn sums(world: &World, datadir: &str) -> String {
    world.stdout(&format!("db checksum --datadir {datadir}"))
}

/// A command that reaches a bucket.
fn with_bucket(world: &World, bucket: &Bucket, args: &str) -> Command {
    let mut command = world.command(args);
    command.envs(bucket.environment());
    command
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn succeeds(world: &World, bucket: &Bucket, args: &str) -> String {
    let output = with_bucket(world, bucket, args).output().unwrap();
    assert!(output.status.success(), "{args}: {}", said(&output));
    said(&output)
}

#[test]
fn restored_from_a_folder_it_is_the_index_and_goes_on() {
    let world = World::with(CAIRN, grown(90).chain());
    world.index();
    world.run("keys issue --datadir data --kind key --label ann").success();
    let said = world.stdout(&format!("{CHECKPOINT} --out copy --with-state --with-events"));
    assert!(said.contains("regtest as of block") && said.contains("copy/checkpoint.json"), "{said}");
    assert!(world.stdout("snapshot verify copy").starts_with("ok: "));
    let before = sums(&world, "data");
    for (to, options) in [("copied", "--beside beside"), ("linked", "--link")] {
        world.run(&format!("snapshot restore copy --datadir {to} {options}")).success();
        assert_eq!(sums(&world, to), before, "{to}");
        world.run(&format!("verify --datadir {to}")).success();
    }
    // The database of keys cannot be made again.
    let state = world.path("beside/state.sqlite");
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&state).unwrap().permissions()) & 0o777, 0o600);
    let keys = world.stdout("keys list --datadir data --state-url sqlite:beside/state.sqlite");
    assert!(keys.contains("ann"), "{keys}");
    world.run("events import --datadir copied beside/events.cairn").success();
    // Each goes on by itself.
    world.append(grown(120).chain());
    for datadir in ["data", "copied", "linked"] {
        world.run(&format!("index --once --network regtest --datadir {datadir} --blocks-dir blocks")).success();
        assert_eq!(sums(&world, datadir), sums(&world, "data"));
    }
    assert!(world.stdout("snapshot verify copy").starts_with("ok: "));
}

#[test]
fn an_index_that_was_damaged_before_it_was_copied_is_found_by_the_audit() {
    let world = World::with(CAIRN, grown(60).chain());
    world.index();
    world.run(&format!("{CHECKPOINT} --out whole")).success();
    let restore = "snapshot restore whole --datadir whole-again --verify";
    world.run(restore).success();
    damage(&file_of(&world.path("data/index"), "totals"));
    // Its hashes are those of the damaged file.
    world.run(&format!("{CHECKPOINT} --out copy")).success();
    assert!(world.stdout("snapshot verify copy").starts_with("ok: "));
    fails(world.run("snapshot restore copy --datadir to --verify"), 7, &["totals", "nothing was restored"]);
    assert!(!world.path("to/index").exists());
    world.run("snapshot restore copy --datadir to").success();
    world.run("verify --datadir to").code(7);
}

#[test]
fn what_cannot_be_done_is_told() {
    let world = World::with(CAIRN, grown(20).chain());
    fails(world.run(&format!("{CHECKPOINT} --out copy")), 5, &["no index"]);
    world.index();
    fails(world.run(&format!("{CHECKPOINT} --out blocks")), 2, &["not empty"]);
    fails(world.run(&format!("{CHECKPOINT} --out copy --keep 3")), 2, &["--keep", "stores"]);
    for place in ["http://host/x", "s3://key:hunter2@bucket/x", "s3://UPPER", "file://relative"] {
        let refused = world.run(&format!("{CHECKPOINT} --out {place}")).code(2);
        let said = said(refused.get_output());
        assert!(said.contains("error: ") && (place.contains("hunter2") || !said.contains("hunter2")), "{said}");
    }
    fails(world.run(&format!("{CHECKPOINT} --out copy --sign-with nokey")), 1, &["nokey"]);
    fails(world.run("snapshot restore copy --datadir new"), 1, &["checkpoint.json", "no checkpoint"]);
    world.run(&format!("{CHECKPOINT} --out copy")).success();
    fails(world.run(&format!("{CHECKPOINT} --out copy")), 2, &["has a checkpoint"]);
    fails(world.run("snapshot restore copy --datadir data"), 2, &["has an index"]);
    fails(world.run("snapshot restore copy --datadir new --public-key RWQx"), 2, &["public key"]);
    let key = "RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3";
    fails(world.run(&format!("snapshot restore copy --datadir new --public-key {key}")), 7, &["no signature"]);
    fails(world.run(&format!("snapshot verify copy --public-key {key}")), 7, &["no signature"]);
    fails(world.run(&format!("snapshot verify blocks --public-key {key}")), 2, &["no checkpoint"]);
    let file = world.path("copy/index/CURRENT");
    fs::remove_file(&file).unwrap();
    fs::write(file, "MANIFEST-999999\n").unwrap();
    fails(world.run("snapshot restore copy --datadir new"), 7, &["CURRENT", "nothing was restored"]);
    let found = world.run("snapshot verify copy").code(7);
    assert!(said(found.get_output()).contains("DIFFERS  index/CURRENT: "));
    assert!(!world.path("new/index").exists());
}

#[test]
fn a_store_keeps_checkpoints_and_a_replica_follows_them() {
    let world = World::with(CAIRN, grown(60).chain());
    let bucket = Bucket::start().unwrap();
    let store = bucket.location("backup");
    world.index();
    for blocks in [60, 80, 100] {
        world.append(grown(blocks).chain());
        world.index();
        let said = succeeds(&world, &bucket, &format!("{CHECKPOINT} --out {store} --keep 2"));
        assert!(said.contains("were new to s3://cairn/backup"), "{said}");
        let said = succeeds(&world, &bucket, &format!("snapshot restore {store} --datadir replica --replica"));
        assert!(said.starts_with("restored regtest"), "{said}");
        assert_eq!(sums(&world, "replica"), sums(&world, "data"));
        thread::sleep(Duration::from_millis(1100));
    }
    let said = succeeds(&world, &bucket, &format!("snapshot restore {store} --datadir replica --replica"));
    assert!(said.starts_with("there already:"), "{said}");
    let list = succeeds(&world, &bucket, &format!("snapshot list {store}"));
    assert_eq!(list.lines().count(), 3, "{list}");
    let oldest = list.lines().nth(1).unwrap().split_whitespace().next().unwrap();
    succeeds(&world, &bucket, &format!("snapshot restore {store} --name {oldest} --datadir older"));
    assert!(succeeds(&world, &bucket, &format!("snapshot verify {store}")).starts_with("ok: "));
    // Another store, wrong names, and no credentials.
    let none = bucket.location("none");
    for (args, code, words) in [
        (format!("snapshot restore {none} --datadir x"), 1, "no checkpoint"),
        (format!("snapshot restore {store} --name 2026 --datadir x"), 1, "none of this name"),
        (format!("snapshot restore {store} --name ../x --datadir x"), 2, "cairn snapshot list"),
        (format!("snapshot restore {none} --datadir replica --replica"), 2, "is a replica of"),
        (format!("snapshot restore {store} --datadir data --replica"), 2, "not a replica"),
        (format!("snapshot restore {store} --datadir replica"), 2, "--replica"),
    ] {
        let output = with_bucket(&world, &bucket, &args).output().unwrap();
        assert!(
            output.status.code() == Some(code) && self::said(&output).contains(words),
            "{args}: {}",
            self::said(&output)
        );
    }
    let mut refused = with_bucket(&world, &bucket, &format!("snapshot list {store}"));
    let output = refused.env("AWS_SECRET_ACCESS_KEY", "hunter2").output().unwrap();
    let said = self::said(&output);
    assert!(output.status.code() == Some(1) && said.contains("credentials") && !said.contains("hunter2"), "{said}");
}

#[test]
fn killed_at_any_moment_it_is_made_and_restored_in_the_end() {
    let world = World::with(CAIRN, grown(150).chain());
    let bucket = Bucket::start().unwrap();
    let store = bucket.location("killed");
    world.index();
    let whole = sums(&world, "data");
    let mut random = ChaCha8Rng::seed_from_u64(33);
    let has = |path: &str| world.path(path).exists();
    let mut to_its_end = |args: &str| {
        let mut kills = 0;
        let begun = Instant::now();
        // How long it takes undisturbed is not known before.
        let mut most = 300_000;
        loop {
            let mut child = with_bucket(&world, &bucket, args).spawn().unwrap();
            if kills < 6 {
                thread::sleep(Duration::from_micros(random.random_range(0..most)));
                child.kill().unwrap();
            }
            // A checkpoint in a folder is whole once its mark is gone; the process may end a moment later.
            let is_whole = || has("copy/checkpoint.json") && !has("copy/.checkpoint-unfinished");
            if child.wait().unwrap().success() || args.ends_with("--out copy") && is_whole() {
                return kills;
            }
            kills += 1;
            most = most * 4 / 5;
            assert!(begun.elapsed() < Duration::from_secs(100), "{args}");
            if args.contains("checkpoint") {
                let checkpoints = bucket.folder().join("killed/checkpoints");
                if fs::read_dir(checkpoints).is_ok_and(|mut found| found.next().is_some()) {
                    succeeds(&world, &bucket, &format!("snapshot verify {store}"));
                }
            }
        }
    };
    to_its_end(&format!("{CHECKPOINT} --out copy"));
    assert!(world.stdout("snapshot verify copy").starts_with("ok: "));
    to_its_end(&format!("{CHECKPOINT} --out {store}"));
    assert!(succeeds(&world, &bucket, &format!("snapshot verify {store}")).starts_with("ok: "));
    for (from, to) in [("copy", "from-copy"), (store.as_str(), "from-store")] {
        to_its_end(&format!("snapshot restore {from} --datadir {to} --replica"));
        assert_eq!(sums(&world, to), whole);
    }
}

#[test]
fn a_full_disk_is_told_and_with_more_room_it_is_restored() {
    let world = World::with(CAIRN, grown(120).chain());
    world.index();
    world.run(&format!("{CHECKPOINT} --out copy")).success();
    let Some(disk) = SmallDisk::mount(&world.path("disk"), 100) else { skip!("no file system can be mounted here") };
    let mut full = 0;
    for kilobytes in (100..60_000).step_by(150) {
        disk.resize(kilobytes);
        let output = world.command("snapshot restore copy --datadir disk/data").output().unwrap();
        assert_eq!(output.status.success(), disk.path().join("data/index").exists());
        if output.status.success() {
            break;
        }
        assert!(output.status.code() == Some(6), "{kilobytes} kB: {}", said(&output));
        full += 1;
    }
    assert!(full > 1, "it fitted at once");
    assert_eq!(sums(&world, "disk/data"), sums(&world, "data"));
}

#[test]
fn beside_a_process_that_follows_the_chain() {
    let world = World::with(CAIRN, grown(60).chain());
    let bucket = Bucket::start().unwrap();
    world.index();
    let mut running = world.start("run --network regtest --datadir data --blocks-dir blocks --listen 127.0.0.1:0");
    running.address();
    for (at, blocks) in [(0, 60), (1, 80), (2, 100)] {
        world.append(grown(blocks).chain());
        let (out, store) = (format!("copy-{at}"), bucket.location(&format!("store-{at}")));
        world.run(&format!("{CHECKPOINT} --out {out}")).success();
        succeeds(&world, &bucket, &format!("{CHECKPOINT} --out {store}"));
        for (from, to) in [(out, format!("a-{at}")), (store, format!("b-{at}"))] {
            succeeds(&world, &bucket, &format!("snapshot restore {from} --datadir {to}"));
            world.run(&format!("verify --datadir {to}")).success();
        }
        // A folder that another process writes is not replaced.
        fs::write(world.path("data/replica"), world.path("copy-0").display().to_string()).unwrap();
        let from = world.path("copy-0").display().to_string();
        fails(world.run(&format!("snapshot restore {from} --datadir data --replica")), 2, &["another process writes"]);
        fs::remove_file(world.path("data/replica")).unwrap();
    }
    running.signal("TERM");
    running.end();
}
