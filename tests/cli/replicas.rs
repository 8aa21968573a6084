//! Replicas: several servers on copies of an index and on one, a database that they share with the writer, and what is
//! handed in beside a copy.
//!
//! Each test runs with SQLite, and with PostgreSQL where CAIRN_TEST_POSTGRES_URL names a server.

mod machines;

use std::{
    collections::BTreeSet,
    fs,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use cairn_pipeline::put_file_into_inbox;
use cairn_reader::{TableFile, table_files_in};
use cairn_state::{NewEntry, State};
use cairn_support::{Running, World, fails, get, get_json, grown, wait_until};
use serde_json::Value;

use self::machines::{Machines, Shared};
use crate::CAIRN;

/// Makes of every function named a test with either database.
macro_rules! with_both {
    ($($name:ident),+ $(,)?) => {
        mod with_sqlite {
            $(#[test] fn $name() { super::$name(|world| super::Shared::sqlite(world)); })+
        }
        mod with_postgres {
            $(#[test] fn $name() {
                let Some(shared) = super::Shared::postgres() else {
                    cairn_testkit::note_skipped(
                        concat!(module_path!(), "::", stringify!($name)),
                        concat!("no PostgreSQL server (", "CAIRN_TEST_POSTGRES_URL", ")"),
                    );
                    return;
                };
                super::$name(|_| shared);
            })+
        }
    };
}

with_both!(
    replicas_lag_say_so_and_follow_newer_copies,
    what_is_handed_in_beside_a_copy_reaches_the_writer,
    a_killed_writer_loses_nothing_that_waits,
    two_servers_on_one_index_know_how_far_the_writer_is,
);

/// The sources of the documents of an index.
fn sources(world: &World, datadir: &str) -> BTreeSet<String> {
    let lines = world.stdout(&format!("events list --datadir {datadir} --json --limit 10000"));
    let of = |line: &str| serde_json::from_str::<Value>(line).unwrap()["source"].as_str().unwrap().to_owned();
    let all: Vec<String> = lines.lines().map(of).collect();
    let sources: BTreeSet<String> = all.iter().cloned().collect();
    assert_eq!(sources.len(), all.len(), "a document came twice: {all:?}");
    sources
}

fn lag(address: &str) -> Value {
    get_json(address, "/v1/blocks/1")["_meta"]["tip"]["lag_blocks"].clone()
}

/// Ends a server with a signal.
fn stop(mut running: Running) {
    running.signal("TERM");
    let (status, took) = running.end();
    assert_eq!(status.code(), Some(143), "{}", running.said());
    assert!(took < Duration::from_secs(5), "{took:?}");
}

fn replicas_lag_say_so_and_follow_newer_copies(shared: impl FnOnce(&World) -> Shared) {
    let mut machines = Machines::new(110, shared);
    let mut writer = machines.run();
    let source = writer.address();
    writer.wait_for("height=110");
    machines.restore("one");
    machines.restore("two");
    let (one, at_one, admin_one) = machines.serve("one");
    let (mut two, at_two, admin_two) = machines.serve("two");
    let tip = |address: &str| get_json(address, "/v1/blocks/1")["_meta"]["tip"]["hash"].clone();
    for (address, admin) in [(&at_one, &admin_one), (&at_two, &admin_two)] {
        wait_until("how far the writer is", || lag(address) == 0);
        assert_eq!(get(admin, "/readyz").0, 200);
        assert_eq!(tip(address), tip(&source));
    }
    // Up to the limit it is ready; above, the load balancer takes it out. It still says what it has.
    machines.grow(3, &source);
    wait_until("a lag of three blocks", || lag(&at_one) == 3 && lag(&at_two) == 3);
    assert_eq!((get(&admin_one, "/readyz").0, get(&admin_two, "/readyz").0), (200, 200));
    machines.grow(2, &source);
    for (address, admin) in [(&at_one, &admin_one), (&at_two, &admin_two)] {
        wait_until("a lag of five blocks", || lag(address) == 5);
        let (status, why) = get(admin, "/readyz");
        assert!(status == 503 && why.contains("the index is 5 blocks behind"), "{status}: {why}");
        let health = get_json(address, "/api/health");
        assert_eq!(
            (&health["status"], &health["live_data"]["bitcoin_backend"]["best_height"]),
            (&"syncing".into(), &115.into())
        );
        let metrics = get(admin, "/metrics").1;
        assert!(metrics.contains("cairn_best_height 115") && metrics.contains("cairn_index_tip_height 110"));
    }
    // A newer index takes the place under load, and then one of another branch, which the writer has by then.
    let done = AtomicBool::new(false);
    let asked = thread::scope(|scope| {
        // Also if something is not as expected.
        let ended = Ended(&done);
        let clients: Vec<_> = (0..3).map(|_| scope.spawn(|| ask_until(&at_one, &done))).collect();
        machines.restore("one");
        wait_until("the newer index", || get(&admin_one, "/readyz").0 == 200);
        assert_eq!((lag(&at_one), tip(&at_one)), (0.into(), tip(&source)));
        machines.generator.fork(4, 5).unwrap();
        machines.world.append(machines.generator.chain());
        let hash = machines.generator.chain().tip().hash().to_string();
        wait_until("the other branch at the writer", || tip(&source) == hash.as_str());
        machines.restore("one");
        wait_until("the other branch", || tip(&at_one) == hash.as_str());
        drop(ended);
        clients.into_iter().map(|client| client.join().unwrap()).sum::<u32>()
    });
    assert!(asked > 50, "{asked}");
    assert_eq!((get(&admin_one, "/readyz").0, get(&admin_two, "/readyz").0), (200, 503));
    assert_eq!(tables(&machines.world, "one"), tables(&machines.world, "data"));
    assert_eq!(one.said().matches("another index has taken the place").count(), 2, "{}", one.said());
    // Without the writer, the last known height holds. After a restart, too.
    wait_until("a lag of six blocks", || lag(&at_two) == 6);
    stop(writer);
    thread::sleep(Duration::from_secs(3));
    assert_eq!(lag(&at_two), 6);
    two.signal("TERM");
    two.end();
    let (two, at_two, admin_two) = machines.serve("two");
    wait_until("what the writer said last", || lag(&at_two) == 6);
    assert_eq!(get(&admin_two, "/readyz").0, 503);
    // Nobody writes there.
    let run = machines.world.run("index --network regtest --datadir two --blocks-dir blocks --once");
    fails(run, 5, &["a replica of s3://bucket/cairn", "hint: write on the machine", "delete the file `replica`"]);
    for line in ["unwind --to 3 --datadir two", "reindex --stage all --datadir two", "repair --datadir two"] {
        fails(machines.world.run(line), 5, &["a replica of s3://bucket/cairn"]);
    }
    stop(one);
    stop(two);
}

/// Asks clients to end.
struct Ended<'d>(&'d AtomicBool);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Asks for blocks until `done` is set: each is answered, and from one index as a whole. Returns how often.
fn ask_until(address: &str, done: &AtomicBool) -> u32 {
    let mut asked = 0;
    while !done.load(Ordering::Relaxed) {
        let answer = get_json(address, "/v1/blocks/105");
        let height = answer["_meta"]["tip"]["height"].as_u64().unwrap();
        assert_eq!(answer["confirmations"], height - 104, "{answer}");
        // It needs the tip: a replica that lags too far says so, and answers as soon as the newer index is there.
        let (status, body) = get(address, "/v1/chain/recent-blocks?limit=8");
        let answer: Value = serde_json::from_str(&body).unwrap();
        if status == 200 {
            let (newest, tip) = (&answer["blocks"][0], &answer["_meta"]["tip"]);
            assert_eq!((&newest["hash"], &newest["height"]), (&tip["hash"], &tip["height"]), "{answer}");
        } else {
            assert_eq!((status, &answer["error"]), (503, &"index_syncing".into()), "{answer}");
            assert!(height < 115, "{answer}");
        }
        asked += 1;
    }
    asked
}

/// Checksums of all tables.
fn tables(world: &World, datadir: &str) -> String {
    world.stdout(&format!("db checksum --datadir {datadir}"))
}

fn what_is_handed_in_beside_a_copy_reaches_the_writer(shared: impl FnOnce(&World) -> Shared) {
    let machines = Machines::new(20, shared);
    let world = &machines.world;
    world.index();
    machines.restore("one");
    // Without a database in common it would wait for nobody.
    let import = "prices import --datadir one --licence cc0-1.0 --pair BTC/USD --source a a.csv";
    fs::write(world.path("a.csv"), "date,close\n2015-01-01,200.50\n2015-01-02,201.50\n").unwrap();
    fails(world.run(import), 2, &["one is a replica of s3://bucket/cairn", "hint: set --state-url"]);
    assert!(machines.import("one", "a").contains("(documents: 1)"));
    assert!(!world.path("one/inbox").exists() && sources(world, "one").is_empty());
    let waiting = machines.waiting();
    assert!(waiting.contains("regtest") && waiting.contains("a.csv"), "{waiting}");
    // A writer that runs takes it in, and readers see it.
    let mut writer = machines.run();
    let address = writer.address();
    let has = |source: &str| sources(world, "data").contains(source);
    wait_until("the import at the writer", || has("a"));
    assert_eq!(machines.waiting().lines().count(), 1, "only the heading is left");
    machines.import("one", "b");
    wait_until("the second import at the writer", || has("b"));
    // So do those that only index, if they name the database; also when they end at the tip.
    stop(writer);
    machines.import("one", "c");
    world.index();
    assert!(!has("c"));
    let once = "index --network regtest --datadir data --blocks-dir blocks --once --state-url";
    world.run(&format!("{once} {}", machines.shared.url)).success();
    assert_eq!(sources(world, "data"), ["a", "b", "c"].map(str::to_owned).into());
    // All ways to hand something in go there.
    let document = world.stdout("events list --datadir data --json").lines().next().unwrap().to_owned();
    let hash = serde_json::from_str::<Value>(&document).unwrap()["document"].as_str().unwrap().to_owned();
    world.run("events export --datadir data all.events").success();
    let at = format!("--datadir one --state-url {}", machines.shared.url);
    let told = world.stdout(&format!("events withdraw {at} --unseen --reason wrong {hash}"));
    assert!(told.contains("(documents: 1)"), "{told}");
    assert!(world.stdout(&format!("events import {at} all.events")).contains("(documents: 3)"));
    // A payload that is not a file of events is set aside by the writer, as from the inbox.
    let entry = NewEntry { documents: 1, payload: b"no events".to_vec() };
    machines.at_database(async |state| state.queue_documents("regtest", "a stranger", &[entry], 1).await.unwrap());
    let mut writer = machines.run();
    writer.wait_for("a file of events was not taken");
    wait_until("all of it", || machines.waiting().lines().count() == 1);
    wait_until("the withdrawal", || world.stdout("events list --datadir data").contains("(withdrawn)"));
    assert_eq!(sources(world, "data").len(), 4, "documents that were there changed nothing");
    machines.restore("one");
    assert_eq!(tables(world, "one"), tables(world, "data"));
    assert!(!address.is_empty());
    writer.signal("TERM");
    writer.end();
}

/// The writer is killed at any moment; each document comes once.
fn a_killed_writer_loses_nothing_that_waits(shared: impl FnOnce(&World) -> Shared) {
    let machines = Machines::new(12, shared);
    let world = &machines.world;
    world.index();
    machines.restore("one");
    let mut expected = BTreeSet::new();
    for round in 0..6u64 {
        for part in ["a", "b", "c"] {
            let source = format!("s{round}{part}");
            machines.import("one", &source);
            expected.insert(source);
        }
        let mut writer = machines.run();
        writer.wait_for("index opened");
        thread::sleep(Duration::from_millis(round * 25));
        writer.signal("KILL");
        writer.end();
    }
    let writer = machines.run();
    wait_until("what waited", || machines.waiting().lines().count() == 1 && sources(world, "data") == expected);
    stop(writer);
    // As one leaves it that is killed after it has the file and before the row is gone: taken in already, and not.
    for (source, is_taken) in [("x", true), ("y", false)] {
        machines.import("one", source);
        let oldest = async |state: &State| state.oldest_waiting("regtest").await.unwrap();
        let (id, file) = machines.at_database(oldest).unwrap();
        put_file_into_inbox(&world.path("data"), &id, &file).unwrap();
        if is_taken {
            world.index();
        }
        expected.insert(source.to_owned());
    }
    assert!(!sources(world, "data").contains("y"));
    let mut writer = machines.run();
    wait_until("what waited", || machines.waiting().lines().count() == 1 && sources(world, "data") == expected);
    // A row that a killed writer had not removed yet is taken once more, and changes nothing.
    let sums = tables(world, "data");
    for source in ["s0a", "s5c"] {
        machines.import("one", source);
    }
    wait_until("what came twice", || machines.waiting().lines().count() == 1);
    wait_until("an empty inbox", || fs::read_dir(world.path("data/inbox")).unwrap().count() == 0);
    assert_eq!((tables(world, "data"), sources(world, "data")), (sums, expected));
    writer.signal("TERM");
    writer.end();
}

fn two_servers_on_one_index_know_how_far_the_writer_is(shared: impl FnOnce(&World) -> Shared) {
    let mut machines = Machines::new(105, shared);
    let mut writer = machines.run();
    let source = writer.address();
    writer.wait_for("height=105");
    let (one, at_one, admin_one) = machines.serve("data");
    let (two, at_two, admin_two) = machines.serve("data");
    machines.grow(4, &source);
    for (address, admin) in [(&at_one, &admin_one), (&at_two, &admin_two)] {
        wait_until("the new blocks", || get(address, "/v1/blocks/109").0 == 200);
        wait_until("no lag", || lag(address) == 0);
        assert_eq!(get(admin, "/readyz").0, 200);
    }
    // Keys of one are known to the other, and an import beside them reaches both through the inbox.
    let issue = format!("keys issue --kind key --state-url {}", machines.shared.url);
    let key = machines.world.stdout(&issue);
    assert!(key.starts_with("cairn_key_"));
    assert!(machines.import("data", "a").contains("taken by the process that writes"));
    stop(writer);
    // Without the mark, only a writer that is connected reports how far it is.
    for address in [&at_one, &at_two] {
        wait_until("the writer to be gone", || lag(address).is_null());
        assert_eq!(get(address, "/v1/blocks/109").0, 200);
    }
    stop(one);
    stop(two);
}

/// A newer copy mends a replica that the disk has damaged, without a restart and without another scrub.
#[test]
fn a_newer_copy_takes_the_place_of_a_damaged_one() {
    let machines = Machines::new(110, Shared::sqlite);
    machines.world.index();
    machines.restore("one");
    let files = table_files_in(&machines.world.path("one/index")).unwrap();
    let of_table = files.iter().filter(|file| file.table() == "spenders");
    let path = of_table.max_by_key(|file| TableFile::bytes(file)).unwrap().path();
    let mut bytes = fs::read(path).unwrap();
    // In its first block, which is not read when the file is opened.
    bytes[8] ^= 4;
    // A file of its own: the copy is a link to the writer's.
    fs::remove_file(path).unwrap();
    fs::write(path, bytes).unwrap();
    let (one, address, admin) = machines.serve("one");
    wait_until("the damage", || get(&admin, "/readyz").0 == 503);
    assert!(get(&admin, "/readyz").1.contains("spenders"));
    machines.restore("one");
    wait_until("the newer copy", || get(&admin, "/readyz").0 == 200);
    assert_eq!(get_json(&address, "/api/health")["status"], "ok");
    let metrics = get(&admin, "/metrics").1;
    assert!(metrics.contains("cairn_index_damaged_tables 0") && metrics.contains("cairn_scrubs_total 1"), "{metrics}");
    stop(one);
}

/// A database that is away stops neither the writer nor a replica, and is reported once.
#[test]
fn an_unreachable_database_stops_nobody() {
    let mut generator = grown(20);
    let world = World::with(CAIRN, generator.chain());
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("postgres://ann:hunter2@127.0.0.1:{port}/cairn");
    let line = "run --network regtest --datadir data --blocks-dir blocks --listen 127.0.0.1:0 --state-url";
    let mut writer = world.start(&format!("{line} {url}"));
    let address = writer.address();
    writer.wait_for("sharing the index with replicas through the database of the service state: not possible");
    generator.grow(3).unwrap();
    world.append(generator.chain());
    wait_until("blocks without a database", || get(&address, "/v1/blocks/23").0 == 200);
    let machines = Machines { shared: Shared { url: url.clone(), schema: None }, generator, world };
    machines.restore("one");
    let (mut replica, at, admin) = machines.serve("one");
    replica.wait_for("reading how far the writer is: not possible");
    assert!(lag(&at).is_null());
    let health = get_json(&at, "/api/health");
    let reason = &health["live_data"]["bitcoin_backend"]["reason"];
    assert_eq!(reason, "no indexer has reported the height of the best known chain");
    assert_eq!(get(&admin, "/readyz").0, 200);
    fs::write(machines.world.path("a.csv"), "date,close\n2015-01-01,200.50\n2015-01-02,201.50\n").unwrap();
    let import = "prices import --datadir one --licence cc0-1.0 --pair BTC/USD --source a a.csv --state-url";
    fails(machines.world.run(&format!("{import} {url}")), 1, &["the database of the service state"]);
    for running in [writer, replica] {
        let said = running.said();
        assert_eq!(said.matches("not possible; it is tried again").count(), 1, "{said}");
        assert!(!said.contains("hunter2"), "{said}");
        stop(running);
    }
}
