//! The demo, from the command to the answers.

use std::{collections::HashMap, fs, time::Instant};

use cairn_chaingen::demo::{DEMO_BLOCKS, actors, showcase};
use serde_json::Value;

use crate::common::{World, fails, get, get_json};

#[test]
fn demo_serves_its_actors_and_is_made_once() {
    let world = World::empty();
    let started = Instant::now();
    let mut running = world.start("demo --datadir demo --listen 127.0.0.1:0");
    let address = running.address();
    assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
    let said = running.said();
    assert!(said.contains("generating") && said.contains("indexed in bulk"), "{said}");

    // Every line that it invites to try gives an answer.
    let lines: Vec<&str> = said.lines().filter_map(|line| line.trim().strip_prefix("curl '")).collect();
    assert!(lines.len() >= 5, "{said}");
    for line in lines {
        let path = line.trim_end_matches('\'').strip_prefix(&format!("http://{address}")).unwrap();
        get_json(&address, path);
    }
    let health = get_json(&address, "/api/health");
    assert_eq!(health["_meta"]["tip"]["height"], DEMO_BLOCKS, "{health}");

    // The actors' balances are those of a ledger over the same blocks.
    let chain = cairn_chaingen::demo::chain(1).unwrap();
    let mut balances: HashMap<bitcoin::ScriptBuf, i64> = HashMap::new();
    for mined in chain.active().into_iter().skip(1) {
        for output in mined.block.txdata.iter().flat_map(|tx| &tx.output) {
            *balances.entry(output.script_pubkey.clone()).or_default() += output.value.to_sat() as i64;
        }
        for coin in mined.spent.iter().flatten() {
            *balances.entry(coin.txout.script_pubkey.clone()).or_default() -= coin.txout.value.to_sat() as i64;
        }
    }
    let addresses = actors().unwrap().into_iter().flat_map(|a| a.addresses);
    let mut rich = 0;
    for wallet in addresses.chain(showcase().unwrap().map(|s| s.address)) {
        let overview = get_json(&address, &format!("/v1/wallets/{wallet}/overview"));
        let expected = balances.get(&wallet.script_pubkey()).copied().unwrap_or_default();
        assert_eq!(overview["balance"]["confirmed_sats"].as_i64(), Some(expected), "{wallet}: {overview}");
        rich += usize::from(expected > 0);
    }
    assert!(rich >= 4, "only {rich} actors own anything");

    // The answer that the README shows is the one that it gets.
    let readme = fs::read_to_string(cairn_testkit::workspace_root().join("README.md")).unwrap();
    let path = readme.split("curl 'http://127.0.0.1:8080").nth(1).unwrap().split('\'').next().unwrap();
    let shown = readme.split("```json\n").nth(1).unwrap().split("```").next().unwrap();
    is_part_of(&serde_json::from_str(shown).unwrap(), &get_json(&address, path), path);

    // Raw bytes come from the demo's own block files.
    let tx = &chain.tip().block.txdata[1];
    let answer = get_json(&address, &format!("/v1/tx/{}", tx.compute_txid()));
    let script_sig = answer["inputs"][0]["script_sig_hex"].as_str();
    assert!(script_sig.is_some(), "{answer}");
    running.signal("INT");
    assert_eq!(running.end().0.code(), Some(130));

    // The second start finds it, and two may be served at once.
    let mut second = world.start("demo --datadir demo --listen 127.0.0.1:0");
    let mut third = world.start("demo --datadir demo --listen 127.0.0.1:0");
    for running in [&mut second, &mut third] {
        let address = running.address();
        assert_eq!(get_json(&address, "/api/health")["_meta"]["tip"]["height"], DEMO_BLOCKS);
        assert!(!running.said().contains("generating"), "{}", running.said());
    }
    world.run("verify --datadir demo").success();
}

/// Every member of `part` is in `whole`, with the same value.
fn is_part_of(part: &Value, whole: &Value, at: &str) {
    match part.as_object() {
        Some(members) => {
            members.iter().for_each(|(name, value)| is_part_of(value, &whole[name], &format!("{at}.{name}")))
        }
        None => assert_eq!(part, whole, "{at}"),
    }
}

#[test]
fn demo_touches_only_folders_of_its_own() {
    let world = World::small(3);
    world.index();
    let before = world.stdout("db checksum --datadir data");
    fails(world.run("demo --datadir data --listen 127.0.0.1:0"), 2, &["something else than a demo"]);
    assert_eq!(world.stdout("db checksum --datadir data"), before);
    // The setting of the other commands is not the demo's.
    let mut command = world.command("config");
    let output = command.env("CAIRN_DATADIR", "data").output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("# demo_datadir is not set"));
    // Half a demo is made anew.
    fs::create_dir(world.path("half")).unwrap();
    fs::write(world.path("half/demo.json"), r#"{"chain":"another","tip":null}"#).unwrap();
    fs::create_dir(world.path("half/index")).unwrap();
    fs::write(world.path("half/index/CURRENT"), "rubbish").unwrap();
    let mut running = world.start("demo --datadir half --listen 127.0.0.1:0");
    assert_eq!(get(&running.address(), "/api/health").0, 200);
    fs::write(world.path("half/demo.json"), "{").unwrap();
    fails(world.run("demo --datadir half --listen 127.0.0.1:0"), 1, &["demo.json", "to start over"]);
}
