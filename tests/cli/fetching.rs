//! Prices from the network, with the real binary: fetchers beside an indexer, and imports of URLs.

use std::{
    collections::BTreeMap,
    fs,
    io::Write,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::Duration,
};

use cairn_reader::Reader;
use cairn_support::{
    Running, World,
    exchanges::{binance, kraken},
    fails, get, grown,
    server::{Reply, Server},
    wait_until,
};
use flate2::{Compression, write::GzEncoder};
use serde_json::Value;

use crate::{CAIRN, ledger::listed};

fn column(documents: &[Value], name: &str) -> Vec<String> {
    documents.iter().map(|of| of[name].as_str().map_or_else(|| of[name].to_string(), str::to_owned)).collect()
}

fn stop(mut running: Running) -> String {
    running.signal("TERM");
    let (status, took) = running.end();
    assert_eq!(status.code(), Some(143), "{}", running.said());
    assert!(took < Duration::from_secs(5), "{took:?}");
    running.said()
}

const INDEX: &str = "--network regtest --datadir data --blocks-dir blocks";

/// Requests for candles that a server has seen.
fn candles_asked(server: &Server) -> usize {
    server.seen().iter().filter(|request| !request.path.to_lowercase().contains("ticker")).count()
}

#[test]
fn fetchers_bring_closed_candles_once() {
    let (one, two) = (Server::start(binance), Server::start(kraken));
    let endpoints = format!("binance={},kraken={}", one.url("/a"), two.url("/b"));
    let prices = format!(
        "--price-sources binance,kraken --price-pairs BTC/EUR --price-endpoint {endpoints} --allow-private-addresses"
    );
    let world = World::small(CAIRN, 20);
    let mut writer = world.start(&format!("index {INDEX} {prices}"));
    writer.wait_for("height=20");
    wait_until("four documents", || listed(&world).len() == 4);
    let documents = listed(&world);
    let mut rows: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for of in &documents {
        rows.entry(of["source"].as_str().unwrap().to_owned()).or_default().push(of["rows"].to_string());
        assert_eq!(of["repeated_rows"], 0);
        assert!(of["origin"].as_str().unwrap().starts_with("http://127.0.0.1"), "{of}");
    }
    let expected = [("binance", ["1000", "1000"]), ("kraken", ["719", "719"])];
    assert_eq!(rows, BTreeMap::from(expected.map(|(name, rows)| (name.to_owned(), rows.map(str::to_owned).to_vec()))));
    let said = stop(writer);
    assert!(!said.contains("WARN"), "{said}");
    // The price of the moment is in the index: the middle of 100 and 102.
    let live = Reader::open(&world.path("data/index")).unwrap().view().unwrap().ledger().live_quotes().unwrap();
    assert_eq!((live.len(), live[0].price.to_string().as_str(), live[0].sources), (1, "101", 2));

    // Again, this time with a server: nothing is new, and nobody is asked for candles.
    let asked = (candles_asked(&one), candles_asked(&two));
    assert_eq!(asked, (2, 2));
    let line = format!("run {INDEX} {prices} --listen 127.0.0.1:0 --admin-listen 127.0.0.1:0");
    let mut running = world.start(&line);
    running.wait_for("serving operators address=");
    let said = running.said();
    let admin = said.split("serving operators address=").nth(1).unwrap().split_whitespace().next().unwrap().to_owned();
    let metrics = || get(&admin, "/metrics").1;
    wait_until("prices", || metrics().contains("cairn_price_last_tick_seconds{pair=\"BTC/EUR\"} "));
    assert!(metrics().contains("cairn_price_fetches_total{source=\"kraken\"} 1\n"), "{}", metrics());
    std::thread::sleep(Duration::from_millis(1_500));
    stop(running);
    assert_eq!(listed(&world), documents);
    assert_eq!((candles_asked(&one), candles_asked(&two)), asked);
    assert_eq!(fs::read_dir(world.path("data/inbox")).unwrap().count(), 0);
}

#[test]
fn sources_that_fail_do_not_stop_blocks() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let broken = Server::start(|_| Reply::status(500, "no"));
    let mut generator = grown(20);
    let world = World::with(CAIRN, generator.chain());
    let endpoints = format!("coinbase={},kraken=http://{}", broken.url(""), silent.local_addr().unwrap());
    let prices = format!("--price-sources coinbase,kraken --price-endpoint {endpoints}");
    let mut writer = world.start(&format!("index {INDEX} {prices} --allow-private-addresses"));
    writer.wait_for("height=20");
    writer.wait_for("a source of prices fails");
    generator.grow(3).unwrap();
    world.append(generator.chain());
    writer.wait_for("height=23");
    let said = stop(writer);
    let told: Vec<&str> = said.lines().filter(|line| line.contains("a source of prices fails")).collect();
    assert!(told.len() == 1 && told[0].contains("coinbase") && told[0].contains("500"), "{told:?}");
    assert!(listed(&world).is_empty());
    // Private addresses must be allowed; settings that do not fit together are reported before anything is opened.
    let mut writer = world.start(&format!("index {INDEX} {prices}"));
    writer.wait_for("is not in the public network");
    stop(writer);
    let line = |more: &str| format!("index --network regtest --datadir none --blocks-dir blocks {more}");
    fails(world.run(&line("--price-sources ftx")), 2, &["ftx", "kraken"]);
    fails(world.run(&line("--price-sources binance")), 2, &["binance quotes none of the pairs BTC/USD"]);
    fails(world.run(&line("--price-sources kraken --price-endpoint ecb=http://x")), 2, &["ecb", "--price-sources"]);
    assert!(!world.path("none").exists());
    // Off without configuration, and with --once.
    let asked = broken.seen().len();
    world.index();
    world.run(&format!("index {INDEX} {prices} --allow-private-addresses --once")).success();
    assert_eq!(broken.seen().len(), asked);
}

const IMPORT: &str = "prices import --datadir data --licence cc0-1.0 --pair BTC/USD --source one";

fn csv(days: u32) -> String {
    (0..days)
        .fold("date,close\n".to_owned(), |text, n| text + &format!("2015-{:02}-{:02},200.50\n", 1 + n / 28, 1 + n % 28))
}

fn gz(content: &[u8]) -> Vec<u8> {
    let mut to = GzEncoder::new(Vec::new(), Compression::best());
    to.write_all(content).unwrap();
    to.finish().unwrap()
}

#[test]
fn a_url_is_imported_and_asked_for_changes() {
    let (days, served) = (Arc::new(AtomicU32::new(100)), Arc::new(AtomicU32::new(0)));
    let server = {
        let (days, served) = (Arc::clone(&days), Arc::clone(&served));
        Server::start(move |request| {
            let days = days.load(Ordering::SeqCst);
            let etag = format!("\"{days}\"");
            if request.header("if-none-match") == Some(&etag) {
                return Reply::status(304, "").with("ETag", etag);
            }
            served.fetch_add(1, Ordering::SeqCst);
            Reply::ok(csv(days)).with("ETag", etag)
        })
    };
    let world = World::small(CAIRN, 20);
    world.index();
    let url = server.url("/prices.csv?from=2015&token=hunter2");
    let import = format!("{IMPORT} --allow-private-addresses {url}");
    assert!(world.stdout(&format!("{import} --dry-run")).contains("nothing is written"));
    assert!(listed(&world).is_empty());
    assert!(world.stdout(&import).contains("document 1: 100 new"));
    let text = world.stdout(&import);
    assert!(text.contains("has not changed since") && !text.contains("hunter2"), "{text}");
    assert_eq!(served.load(Ordering::SeqCst), 2);
    days.store(120, Ordering::SeqCst);
    assert!(world.stdout(&import).contains("20 new, 100 repeat"));
    assert!(world.stdout(&import).contains("has not changed"));
    let all = listed(&world);
    assert_eq!(all.len(), 2);
    let origin = column(&all, "origin").remove(0);
    assert_eq!(origin, server.url("/prices.csv?from=2015&token=***"));
    let now = cairn_clock::now_secs();
    let retrieved: jiff::Timestamp = all[0]["retrieved_at"].as_str().unwrap().parse().unwrap();
    assert!(now.abs_diff(retrieved.as_second() as u64) < 120);
    // No secret is anywhere in the data folder.
    for file in fs::read_dir(world.path("data/fetched")).unwrap() {
        assert!(!fs::read_to_string(file.unwrap().path()).unwrap().contains("hunter2"));
    }
    // Another ledger has nothing yet, whatever was fetched before.
    fs::rename(world.path("data/index"), world.path("old")).unwrap();
    fs::remove_dir_all(world.path("data/ledger")).unwrap();
    world.index();
    assert!(world.stdout(&import).contains("120 new"));
}

#[test]
fn what_cannot_be_fetched_is_told_with_its_reason() {
    let is_broken = Arc::new(AtomicBool::new(false));
    let server = {
        let is_broken = Arc::clone(&is_broken);
        Server::start(move |request| match request.path.as_str() {
            _ if is_broken.load(Ordering::SeqCst) => Reply { cut: 100, ..Reply::ok("date,close\n") },
            "/long.csv" => Reply::ok(vec![b'1'; 200_000]),
            "/slow.csv" => Reply { pause: Some(Duration::from_millis(200)), ..Reply::ok(csv(100)) },
            "/loop" => Reply::status(301, "").with("Location", "/loop"),
            "/inside" => Reply::status(301, "").with("Location", "http://10.0.0.1/latest/meta-data/"),
            "/a.csv.gz" => Reply::ok(gz(csv(90).as_bytes())),
            "/bomb.gz" => Reply::ok(gz(&vec![b'1'; 8 << 20])),
            "/zip" => Reply::ok(&b"PK\x05\x06"[..]),
            _ => Reply::status(404, "nothing here"),
        })
    };
    let world = World::small(CAIRN, 20);
    world.index();
    let import = |more: &str, path: &str| world.run(&format!("{IMPORT} {more} {}", server.url(path)));
    let allowed = "--allow-private-addresses";
    fails(import("", "/a.csv.gz"), 1, &["127.0.0.1", "--allow-private-addresses"]);
    assert!(server.seen().is_empty(), "nobody has connected");
    import(allowed, "/a.csv.gz").success();
    fs::write(world.path("b.csv.gz"), gz(csv(95).as_bytes())).unwrap();
    assert!(world.stdout(&format!("{IMPORT} b.csv.gz")).contains("5 new, 90 repeat"));
    // A packed file is the document that it unpacks to.
    fs::write(world.path("b.csv"), csv(95)).unwrap();
    assert!(world.stdout(&format!("{IMPORT} b.csv")).contains("was there before"));
    fails(import(&format!("{allowed} --max-size 100K"), "/long.csv"), 1, &["longer than 102400 bytes", "--max-size"]);
    fails(import(&format!("{allowed} --max-time 1"), "/slow.csv"), 1, &["within 1 s", "--max-time"]);
    fails(import(&format!("{allowed} --max-unpacked 1M"), "/bomb.gz"), 1, &["1048576 bytes", "--max-unpacked"]);
    fails(import(allowed, "/loop"), 1, &["redirects"]);
    fails(import(allowed, "/inside"), 1, &["redirects to 10.0.0.1", "refused"]);
    fails(import(allowed, "/missing?key=hunter2"), 1, &["404", "nothing here", "key=***"]);
    fails(import(allowed, "/zip"), 1, &["ZIP archive is damaged"]);
    fails(world.run(&format!("{IMPORT} ftp://x/a.csv")), 2, &["http://"]);
    let credentials = world.run(&format!("{IMPORT} https://ann:hunter2@x/a.csv"));
    assert!(!String::from_utf8_lossy(&credentials.get_output().stderr).contains("hunter2"));
    fails(credentials, 2, &["credentials"]);
    is_broken.store(true, Ordering::SeqCst);
    fails(import(allowed, "/cut.csv"), 1, &["127.0.0.1"]);
    assert_eq!(listed(&world).len(), 2);
}
