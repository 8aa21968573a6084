//! `cairn prices import` and `cairn events`: beside a process that writes, without one, and killed on the way.

use std::{
    collections::BTreeSet,
    fs,
    io::{Read, Write},
    net::TcpStream,
    process::Stdio,
    thread,
    time::Duration,
};

use cairn_support::{World, fails, get, grown, wait_until};
use cairn_tables::{Table, live_quotes::LiveQuotes};
use cairn_writer::{WriteError, Writer};
use rand::{Rng, SeedableRng};
use serde_json::Value;

use crate::CAIRN;

const IMPORT: &str = "prices import --datadir data --licence cc0-1.0 --pair BTC/USD";

/// A file of daily prices: the days from one on, each with this close.
fn csv(world: &World, name: &str, days: u32, close: u32) {
    let day = |n: u32| format!("2015-{:02}-{:02},{close}.50\n", 1 + n / 28, 1 + n % 28);
    let rows: String = (0..days).map(day).collect();
    fs::write(world.path(name), format!("date,close\n{rows}")).unwrap();
}

/// The documents of the ledger.
pub(crate) fn listed(world: &World) -> Vec<Value> {
    let lines = world.stdout("events list --datadir data --json --limit 10000");
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The line of the audit about the ledger.
fn audited(world: &World) -> String {
    let text = world.stdout("verify --datadir data");
    text.lines().find(|line| line.contains("tags of pools and profiles match the ledger")).unwrap().to_owned()
}

fn etag(address: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET /v1/blocks/5 HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let line = answer.lines().find(|line| line.to_lowercase().starts_with("etag:")).unwrap();
    line.to_owned()
}

#[test]
fn documents_come_in_without_a_writer_and_are_told() {
    let world = World::small(CAIRN, 20);
    csv(&world, "a.csv", 100, 200);
    csv(&world, "b.csv", 120, 210);
    fails(world.run(&format!("{IMPORT} --source one a.csv")), 5, &["no index in data", "cairn index"]);
    world.index();
    assert!(world.stdout(&format!("{IMPORT} --source one --dry-run a.csv")).contains("nothing is written"));
    assert!(listed(&world).is_empty() && !world.path("data/inbox").exists(), "a dry run writes nothing");
    assert!(world.stdout(&format!("{IMPORT} --source one a.csv")).contains("document 1: 100 new, 0 repeat"));
    assert!(world.stdout(&format!("{IMPORT} --source one a.csv")).contains("document 1 was there before"));
    // Another document of the same source, and of another one.
    csv(&world, "more.csv", 130, 200);
    assert!(world.stdout(&format!("{IMPORT} --source one more.csv")).contains("document 102: 30 new, 100 repeat"));
    assert!(world.stdout(&format!("{IMPORT} --source two b.csv")).contains("document 233: 120 new, 0 repeat"));
    let all = listed(&world);
    let column = |name: &str| all.iter().map(|of| of[name].clone()).collect::<Vec<_>>();
    assert_eq!(column("source"), ["one", "one", "two"]);
    assert_eq!(column("rows"), [100, 130, 120]);
    assert_eq!(column("origin"), ["a.csv", "more.csv", "b.csv"]);
    let shown: Value = serde_json::from_str(&world.stdout("events show --datadir data 2")).unwrap();
    assert_eq!((&shown["close"], &shown["closes_at"]), (&"200.5".into(), &"2015-01-02T00:00:00Z".into()));
    // One is withdrawn; the ledger keeps it.
    let hash = all[2]["document"].as_str().unwrap().to_owned();
    world.run(&format!("events withdraw --datadir data --reason wrong {hash}")).success();
    let all = listed(&world);
    assert_eq!((all.len(), &all[2]["withdrawn_by"], &all[3]["reason"]), (4, &354.into(), &"wrong".into()));
    assert!(world.stdout(&format!("{IMPORT} --source two b.csv")).contains("is withdrawn: nothing has changed"));
    assert!(audited(&world).contains("4 documents, 354 events, 130 quotes"));
    // A backup, taken in by another index.
    world.run("events export --datadir data backup.events").success();
    fails(world.run("events export --datadir data backup.events"), 1, &["backup.events"]);
    let (sums, before) = (audited(&world), listed(&world));
    fs::rename(world.path("data"), world.path("old")).unwrap();
    world.index();
    world.run("events import --datadir data backup.events").success();
    assert_eq!((audited(&world), listed(&world)), (sums, before), "times and sequence numbers are kept");
    fs::write(world.path("cut.events"), &fs::read(world.path("backup.events")).unwrap()[..2_000]).unwrap();
    fails(world.run("events import --datadir data cut.events"), 1, &["cut short"]);
}

#[test]
fn documents_come_in_beside_a_writer_and_readers_see_them() {
    let mut generator = grown(20);
    let world = World::with(CAIRN, generator.chain());
    world.index();
    csv(&world, "a.csv", 100, 200);
    let mut writer = world.start("index --network regtest --datadir data --blocks-dir blocks");
    writer.wait_for("height=20");
    let mut server = world.start("serve --datadir data --listen 127.0.0.1:0");
    let address = server.address();
    let before = etag(&address);
    assert_eq!(etag(&address), before);
    assert!(world.stdout(&format!("{IMPORT} --source one a.csv")).contains("taken by the process that writes"));
    wait_until("the server to see the import", || etag(&address) != before);
    assert_eq!(listed(&world).len(), 1);
    assert_eq!(fs::read_dir(world.path("data/inbox")).unwrap().count(), 0);
    // A file that is not of events is set aside.
    fs::write(world.path("data/inbox/x.events"), "no events").unwrap();
    writer.wait_for("a file of events was not taken");
    assert!(world.path("data/inbox/x.refused").exists());
    // An inbox that cannot be emptied does not stop blocks.
    fs::create_dir(world.path("data/inbox/y.events")).unwrap();
    writer.wait_for("input events cannot be taken");
    generator.grow(3).unwrap();
    world.append(generator.chain());
    wait_until("blocks beside it", || get(&address, "/v1/blocks/23").0 == 200);
    writer.signal("TERM");
    writer.end();
}

/// The writer and the command are killed at random moments; what a command has handed in comes once.
#[test]
fn killed_anywhere_nothing_is_lost_and_nothing_comes_twice() {
    let long = std::env::var_os("CAIRN_TEST_LONG").is_some_and(|long| long == "1");
    let world = World::small(CAIRN, 20);
    world.index();
    let rng = &mut rand_chacha::ChaCha8Rng::seed_from_u64(15);
    let rounds = if long { 300 } else { 9 };
    let mut handed_in = BTreeSet::new();
    for round in 0..rounds {
        let name = format!("{round}.csv");
        // One row alone would not show its interval.
        csv(&world, &name, rng.random_range(1..330u32).max(2), 100 + round);
        let mut writer = world.start("index --network regtest --datadir data --blocks-dir blocks");
        if round % 2 == 0 {
            writer.wait_for("height=20");
        }
        let mut command = world.command(&format!("{IMPORT} --source s{} {name}", round % 3));
        let mut command = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        thread::sleep(Duration::from_millis(rng.random_range(0..300)));
        if round % 3 == 0 {
            command.kill().unwrap();
            command.wait().unwrap();
            thread::sleep(Duration::from_millis(rng.random_range(0..100)));
        }
        writer.signal("KILL");
        writer.end();
        if command.wait().unwrap().success() {
            handed_in.insert(name);
        }
    }
    assert!(handed_in.len() as u32 >= rounds / 3, "{} of {rounds} handed in", handed_in.len());
    // Waiting documents are taken in by the next writer.
    world.index();
    let all = listed(&world);
    let names: BTreeSet<String> = all.iter().map(|of| of["origin"].as_str().unwrap().to_owned()).collect();
    assert_eq!(names.len(), all.len(), "a document came twice");
    assert!(handed_in.is_subset(&names), "lost: {:?}", handed_in.difference(&names));
    // Those whose command was killed are handed in again; then the quotes are what they are without any kill.
    for round in 0..rounds {
        world.run(&format!("{IMPORT} --source s{} {round}.csv", round % 3)).success();
    }
    let told = audited(&world);
    world.run("events export --datadir data all.events").success();
    let quotes = |told: &str| told.split("events, ").nth(1).unwrap().to_owned();
    fs::rename(world.path("data"), world.path("killed")).unwrap();
    world.index();
    for round in 0..rounds {
        world.run(&format!("{IMPORT} --source s{} {round}.csv", round % 3)).success();
    }
    assert_eq!(audited(&world), told, "{}", quotes(&told));
}

/// An index of the main network begins with the prices that ship with Cairn, once and unless a flag forbids it.
#[test]
fn the_main_network_begins_with_prices() {
    let data = cairn_testkit::shared_data_or_skip!();
    let world = World::empty(CAIRN);
    fs::create_dir(world.path("blocks")).unwrap();
    fs::copy(data.join("mainnet/blk00000.dat"), world.path("blocks/blk00000.dat")).unwrap();
    let both = "index --network main --datadir data --blocks-dir blocks --to 200 --once";
    let (index, both) = (&format!("{both} --starter-labels false"), both);
    world.run(&format!("{index} --starter-prices false")).success();
    assert!(listed(&world).is_empty());
    world.run(index).success();
    let all = listed(&world);
    assert_eq!(all.iter().map(|of| of["source"].as_str().unwrap()).collect::<Vec<_>>(), ["brk", "ecb"]);
    assert_eq!(all[0]["rows"], 5_695);
    assert!(all.iter().all(|of| of["origin"].as_str().unwrap().contains("not fetched again")), "{all:?}");
    // A withdrawn document does not come back, and one that is there does not come twice.
    let hash = all[1]["document"].as_str().unwrap();
    world.run(&format!("events withdraw --datadir data --reason old {hash}")).success();
    let all = listed(&world);
    world.run(index).success();
    assert_eq!(listed(&world), all);
    assert!(audited(&world).contains(", 5695 quotes, 0 claims"), "{}", audited(&world));
    // And with labels, which have the genesis block's address.
    world.run(both).success();
    assert!(audited(&world).contains(", 41768 claims, 187 tags of pools"), "{}", audited(&world));
    let genesis = world.stdout("labels show --datadir data 1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa");
    assert!(genesis.contains("satoshi-nakamoto") && genesis.contains("onchain_verified"), "{genesis}");
    let licences = world.stdout("labels licences --datadir data");
    assert!(licences.contains("OpenSanctions") || licences.contains("MIT licence"), "{licences}");
}

/// The newest price is an observation: if it is damaged, that is reported, and stops neither blocks nor answers.
#[test]
fn a_damaged_price_of_the_moment_stops_nothing() {
    let world = World::small(CAIRN, 20);
    world.index();
    csv(&world, "a.csv", 100, 200);
    world.run(&format!("{IMPORT} --source one a.csv")).success();
    let writer = Writer::open(&world.path("data/index")).unwrap();
    writer
        .commit::<WriteError>(|batch| {
            batch.put(LiveQuotes::FAMILY, b"lBTC\0\0USD\0\0", b"no price");
            Ok(())
        })
        .unwrap();
    writer.flush().unwrap();
    drop(writer);
    let mut running = world.start("run --network regtest --datadir data --blocks-dir blocks --listen 127.0.0.1:0");
    running.wait_for("the newest prices of an earlier run are damaged");
    let address = running.address();
    wait_until("the price", || get(&address, "/v1/price").0 == 200);
    let price: Value = serde_json::from_str(&get(&address, "/v1/price").1).unwrap();
    assert_eq!((&price["kind"], &price["source"]), (&"candle".into(), &"one".into()), "{price}");
    let health: Value = serde_json::from_str(&get(&address, "/api/health/full").1).unwrap();
    assert!(health.to_string().contains("table live_quotes of the index is damaged"), "{health}");
    running.signal("TERM");
    running.end();
}
