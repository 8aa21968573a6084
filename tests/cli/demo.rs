//! The demo, from the command to the answers.

use std::{
    collections::{HashMap, HashSet},
    fs,
    time::{Instant, SystemTime, UNIX_EPOCH},
};

use bitcoin::{Address, ScriptBuf, Txid};
use cairn_chaingen::demo::{
    DEMO_BLOCKS, Question, RiskCase, SAVER_ACCOUNT_KEY, Unconfirmed, WAITING_SPAN, actors, chain_and_cases,
    chain_and_mempool, labelled_cases, showcase,
};
use cairn_support::{World, fails, get, get_json, wait_until};
use serde_json::{Value, json};

use crate::{CAIRN, demo_live::post, readme};

#[test]
fn demo_serves_its_actors_and_is_made_once() {
    let world = World::empty(CAIRN);
    let started = Instant::now();
    let mut running = world.start("demo --datadir demo --listen 127.0.0.1:0");
    let address = running.address();
    assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
    // Standard output and standard error come by different ways.
    running.wait_for("Press Ctrl-C to stop.");
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
    has_a_dashboard(&address);
    let documents = world.stdout("events list --datadir demo --json");
    assert_eq!(documents.matches("\"source\":\"demo-invented\"").count(), 3, "{documents}");
    assert_eq!(documents.matches("\"kind\":\"claims\"").count(), 12, "{documents}");

    says_who_they_are(&address);

    knows_the_cases(&address);

    shows_the_theft(&address);

    // The actors' balances are those of a ledger over the same blocks.
    let (chain, made) = chain_and_mempool(1).unwrap();
    let mut balances: HashMap<ScriptBuf, i64> = HashMap::new();
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
    shows_what_waits(&address, &made);

    // The answers that the README shows are those that it gets.
    let readme = fs::read_to_string(cairn_testkit::workspace_root().join("README.md")).unwrap();
    let mut shown = 0;
    for example in readme.split("curl 'http://127.0.0.1:8080").skip(1) {
        let path = example.split('\'').next().unwrap();
        let part = readme::shortened(example.split("```json\n").nth(1).unwrap().split("```").next().unwrap());
        readme::is_part_of(&part, &get_json(&address, path), path);
        shown += 1;
    }
    assert_eq!(shown, 3);

    readme::runs_the_examples(&readme, &address);

    explains_with_examples(&address);

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
        shows_what_waits(&address, &made);
    }
    world.run("verify --datadir demo").success();
}

/// The labels of the actors: sources that agree, two that do not, one that took its word back; and the pool's payouts.
fn says_who_they_are(address: &str) {
    let all = actors().unwrap();
    let of = |name: &str, at: usize| all.iter().find(|of| of.name == name).unwrap().addresses[at].to_string();
    let card = |wallet: &str| get_json(address, &format!("/v1/wallets/{wallet}/trust-safety"));
    let state = |wallet: &str| card(wallet)["assessment"]["state"].clone();
    assert_eq!((state(&of("exchange", 0)), state(&of("sleeper", 0))), ("labeled".into(), "conflicted".into()));
    let (delisted, listed) = (card(&of("whale", 0)), card(&of("mixer", 0)));
    let codes = |card: &Value| card["caveat_codes"].to_string();
    assert!(codes(&delisted).contains("\"delisted\""), "{delisted}");
    assert!(!codes(&listed).contains("\"delisted\"") && listed.to_string().contains("sanctioned"), "{listed}");
    let detail = get_json(address, &format!("/v1/wallets/{}/detail", of("exchange", 1))).to_string();
    assert!(detail.contains("key_signed") && detail.contains("self_disclosed"), "{detail}");

    let exchange = get_json(address, "/v1/entities/cairn-exchange");
    assert_eq!((&exchange["category"], &exchange["address_count"]), (&"exchange".into(), &4.into()), "{exchange}");
    // One deposit address on its own list brings those of all customers along, which are swept together.
    let inherited = &exchange["inherited"];
    assert_eq!(inherited["cluster_count"], 1, "{exchange}");
    assert!(inherited["address_count"].as_u64() > Some(70) && exchange["inherited_balance_sats"].as_u64() > Some(0));
    let named = &exchange["named"][0];
    assert_eq!((&named["address"], &named["contested"]), (&of("exchange", 3).into(), &true.into()), "{exchange}");
    assert_eq!(state(&of("exchange", 3)), "contested");
    let sats: i64 = [0, 1, 2, 5]
        .into_iter()
        .map(|at| {
            get_json(address, &format!("/v1/wallets/{}/overview", of("exchange", at)))["balance"]["confirmed_sats"]
                .as_i64()
                .unwrap()
        })
        .sum();
    assert_eq!(exchange["direct_balance_sats"], sats, "{exchange}");
    // The sleeper wakes after thirteen years, and nobody else.
    let sleeper: Vec<String> =
        all.iter().find(|of| of.name == "sleeper").unwrap().addresses.iter().map(ToString::to_string).collect();
    let sleeper: Vec<&str> = sleeper.iter().map(String::as_str).collect();
    let woken = get_json(address, "/v1/chain/awakenings?since=0&min_dormancy_days=4500");
    let whose: Vec<&str> =
        woken["awakenings"].as_array().unwrap().iter().map(|of| of["address"].as_str().unwrap()).collect();
    assert!(!whose.is_empty() && whose.iter().all(|of| sleeper.contains(of)), "{woken}");
    let found = get_json(address, "/v1/labels/search?q=cairn%20exchnage");
    assert_eq!(found["results"][0]["entity"], "cairn-exchange", "{found}");
    let blocks = get_json(address, "/v1/chain/recent-blocks?limit=50");
    let pools = blocks["blocks"].as_array().unwrap().iter().map(|block| block["pool"].to_string());
    let (payout, tag) = pools.fold((0, 0), |(payout, tag), pool| {
        (payout + usize::from(pool.contains("payout")), tag + usize::from(pool.contains("trailhead-mining")))
    });
    assert!(payout > 0 && tag > 0, "{payout} by payout, {tag} of the other pool");
}

/// The theft of the last day: who took part in it, where the loot stands, and the wallet that lost it.
fn shows_the_theft(address: &str) {
    let all = actors().unwrap();
    let of = |name: &str| all.iter().find(|of| of.name == name).unwrap();
    let thief: Vec<String> = of("thief").addresses.iter().map(ToString::to_string).collect();
    let card = |wallet: &str| get_json(address, &format!("/v1/wallets/{wallet}/trust-safety"));
    let detail = get_json(address, &format!("/v1/wallets/{}/detail", thief[0])).to_string();
    assert!(detail.contains("theft") && detail.contains("12.5 BTC taken from a saver"), "{detail}");
    let text = fs::read_to_string(cairn_testkit::workspace_root().join("docs/operators.md")).unwrap();
    assert!(
        [thief[0].as_str(), thief[1].as_str(), SAVER_ACCOUNT_KEY].iter().all(|name| text.contains(name)),
        "operators.md"
    );
    // Two sources do not agree on whether this address belongs to a service.
    assert_eq!(card(&thief[1])["assessment"]["state"], "conflicted");

    let graph = get_json(address, &format!("/v1/wallets/{}/flow-graph?direction=out&hops=4", thief[0]));
    let nodes = graph["nodes"].as_array().unwrap();
    let deposit = of("exchange").addresses[5].to_string();
    let mixer = of("mixer").addresses[0].to_string();
    for (wallet, sats) in [(&thief[1], 390_000_000), (&thief[2], 149_999_154), (&deposit, 319_999_586)] {
        let node = nodes.iter().find(|node| node["address"] == wallet.as_str()).unwrap_or_else(|| panic!("{wallet}"));
        assert_eq!(node["value_in_sats"], sats, "{node}");
    }
    assert!(nodes.iter().any(|node| node["address"] == mixer.as_str()), "{graph}");

    let body = json!({"wallet": [SAVER_ACCOUNT_KEY], "include": ["addresses"]});
    let (status, wallet) = post(address, "/v1/wallets/lookup", &body);
    assert_eq!((status, &wallet["address_count"]), (200, &10.into()), "{wallet}");
    assert!(wallet["balance"]["confirmed_sats"].as_u64() > Some(0), "{wallet}");
    let used: Vec<&Value> = wallet["addresses"].as_array().unwrap().iter().map(|used| &used["address"]).collect();
    assert!(of("saver").addresses.iter().all(|own| used.iter().any(|used| **used == own.to_string())), "{wallet}");
}

/// The cases of the last day: each transaction is there, and has the address or belongs to one that has it.
fn knows_the_cases(address: &str) {
    let (_, cases) = chain_and_cases(1).unwrap();
    assert!(cases.len() > 20);
    for case in cases {
        let wallet = case.address.to_string();
        let overview = get_json(address, &format!("/v1/wallets/{wallet}/overview"));
        assert!(overview["tx_count"].as_u64() > Some(0), "{}: {overview}", case.id);
        let txs = case.txids.iter().map(|txid| get_json(address, &format!("/v1/tx/{txid}?io_limit=200")));
        let txs: Vec<Value> = txs.collect();
        assert!(txs.iter().all(|tx| tx["status"]["state"] == "confirmed"), "{}: {txs:?}", case.id);
        assert!(txs.iter().any(|tx| tx.to_string().contains(&wallet)), "{}: {wallet}", case.id);
        match case.question {
            Question::Signals => shows_its_signal(address, &case),
            Question::Sources(depth) => shows_its_stop(address, &case, "risk-exposure", "sources", depth),
            Question::Destinations(depth) => shows_its_stop(address, &case, "risk-exposure", "destinations", depth),
            Question::Sanctions(depth) => shows_its_stop(address, &case, "sanctions-exposure", "sources", depth),
        }
    }
    // The list names one of them since the middle of the day.
    let courier = &labelled_cases().unwrap()[0].addresses[0];
    let card = get_json(address, &format!("/v1/wallets/{courier}/trust-safety"));
    assert!(card.to_string().contains("sanctioned") && card.to_string().contains("demo-authority"), "{card}");
}

/// The detector that a case is about fires, with transactions of the case; for a known service it is suppressed.
fn shows_its_signal(address: &str, case: &RiskCase) {
    let body = get_json(address, &format!("/v1/wallets/{}/risk-signals", case.address));
    let signals = body["signals"].as_array().unwrap();
    if case.id == "not_examined" {
        assert!(signals.iter().any(|signal| signal["state"] == "not_examined"), "{body}");
        return;
    }
    let signal = signals.iter().find(|signal| signal["id"] == case.id).unwrap_or_else(|| panic!("{}", case.id));
    let shop = actors().unwrap().into_iter().find(|of| of.name == "merchant").unwrap().addresses[0].clone();
    let expected = if case.address == shop { "suppressed" } else { "fired" };
    assert_eq!(signal["state"], expected, "{}: {signal}", case.id);
    // A listing is a claim: no transaction shows it.
    let named = signal["txids"].as_array().unwrap();
    let is_of_case = |txid: &Value| case.txids.iter().any(|of| *txid == of.to_string());
    assert!(named.iter().any(is_of_case) || case.id == "sanctioned_direct" || expected == "suppressed", "{signal}");
}

/// The exposure that a case is about has its reason: among the amounts that are unresolved, as mined coins, or on a
/// path.
fn shows_its_stop(address: &str, case: &RiskCase, operation: &str, side: &str, depth: u32) {
    let query = format!("direction={side}&depth={depth}&min_share_ppm=0&path_limit=50");
    let body = get_json(address, &format!("/v1/wallets/{}/{operation}?{query}", case.address));
    let found = &body[side];
    let any = |list: &str, name: &str, value: &str| {
        found[list].as_array().unwrap().iter().any(|row| row[name].as_str() == Some(value))
    };
    let is_shown = match case.id {
        "coinbase" => found["mined"]["haircut_sats"].as_u64() > Some(0),
        // The list gives no date of its own, so that it is unknown whether the party was listed before the document.
        "before_listing" => any("paths", "listing", "unknown") && !any("paths", "listing", "after"),
        "after_listing" => any("paths", "listing", "after"),
        "service" => any("paths", "stop", "service") || any("unresolved", "reason", "service"),
        reason => any("unresolved", "reason", reason),
    };
    assert!(is_shown, "{} of {}: {body}", case.id, case.address);
}

/// A row of a list that an answer has, by its transaction.
fn row_of(address: &str, path: &str, list: &str, txid: &str) -> Value {
    let body = get_json(address, path);
    let row = body[list].as_array().unwrap().iter().find(|row| row["txid"] == txid);
    row.unwrap_or_else(|| panic!("{path} has no {txid}")).clone()
}

/// Fails unless the example on the page of a definition has these members of an answer.
fn tells(address: &str, id: &str, row: &Value, names: &[&str]) {
    let page = get(address, &format!("/api/reference/definitions/{id}")).1;
    let example = page.split("Example, of the demo chain").nth(1).unwrap_or_else(|| panic!("{id} has no example"));
    for name in names {
        let told = row.pointer(&format!("/{name}")).unwrap_or_else(|| panic!("{id}: no {name}")).to_string();
        assert!(example.contains(told.trim_matches('"')), "{id}: {name} is {told}");
    }
}

/// The pages of definitions say the same of the demo chain as its answers.
fn explains_with_examples(address: &str) {
    const SLEEPER: &str = "8828b52ed2aca8efb3d4767df7956ab8e6a323226ca9cb03e1f0f49ff756ac38";
    const WAKES: &str = "eb26d9bf62b8b47171e323802036a72988ed15e05f2420d67ebb0e4f0d6703ff";
    let find = |path: &str, list: &str, txid: &str| row_of(address, path, list, txid);
    let old = find("/v1/chain/dormant-movements?since=2380&until=2430", "movements", SLEEPER);
    let names =
        ["txid", "height", "old_btc", "old_inputs", "oldest_age_days", "average_age_days", "coin_days_destroyed"];
    tells(address, "old-coins", &old, &names);
    let large = find("/v1/pulse/whales?since=2380&limit=100", "confirmed", SLEEPER);
    assert_eq!((&large["to_owner"]["entity"], &large["external_output_count"]), (&"cairn-exchange".into(), &1.into()));
    assert_eq!(
        (&large["to_owner"]["is_inherited"], large["caveat_codes"].to_string()),
        (&true.into(), "[]".to_owned())
    );
    let names = ["txid", "height", "net_external_btc", "net_external_min_btc", "flow_direction"];
    tells(address, "whale-alerts", &large, &names);
    let flush = "c29c355f36a86b11b8a1c837a09ab3d2b04d2b7b75dde40af8680a6318d99a9c";
    let flush = find("/v1/chain/dormancy-flushes?since=1800&until=1900", "flushes", flush);
    let names = ["txid", "height", "old_btc", "coin_count", "spend_count", "average_age_days", "classification"];
    tells(address, "dormancy-flushes", &flush, &[&names[..], &["exchange_percent", "holder/address"]].concat());
    let wakes = find("/v1/dormancy/whale-wakeups?since=0", "wakeups", WAKES);
    let names = ["txid", "height", "old_btc", "spent_btc", "spent_percent", "quiet_since_txid", "quiet_days"];
    tells(address, "whale-wakeups", &wakes, &names);
    assert_eq!((&wakes["first_spend"], &wakes["script_count"]), (&true.into(), &1.into()));
    let watched = get_json(address, "/v1/dormancy/watchlist");
    let names = ["as_of_height", "total_count", "total_old_btc", "watchlist/0/holder/address", "watchlist/0/old_btc"];
    tells(address, "dormancy-watchlist", &watched, &[&names[..], &["watchlist/0/quiet_days"]].concat());
    assert_eq!(watched["watchlist"][0]["never_spent"], true);
    let gathers = "1cc5a5adecc7696e0f369cc4de11e69b635d60593cce866a48cd97d53fe496bd";
    let gathers = find("/v1/pulse/consolidations?since=2990&limit=100", "confirmed", gathers);
    tells(address, "consolidations", &gathers, &["txid", "height", "input_count", "value_btc", "output_count"]);
    let flows = get_json(address, "/v1/miner/flows?pool=stone-pool");
    let is_then = |day: &&Value| day["date"] == "2025-12-29";
    let day = flows["pools"][0]["days"].as_array().unwrap().iter().find(is_then).unwrap();
    tells(address, "miner-flows", day, &["date", "block_count", "mined_sats", "outflow_sats", "to_exchange_sats"]);
    assert_eq!(flows["pools"][0]["holder_count"], 1);
    let days_of = |query: &str, date: &str| {
        let flows = get_json(address, &format!("/v1/exchange/flows?exchange=cairn-exchange&{query}"));
        let days = flows["exchanges"][0]["days"].as_array().unwrap().clone();
        days.into_iter().find(|day| day["date"] == date).unwrap_or_else(|| panic!("{flows}"))
    };
    let names = ["date", "tx_count", "inflow_sats", "outflow_sats", "internal_sats", "fees_sats"];
    tells(address, "exchange-flows", &days_of("range=7d", "2025-12-30"), &names);
    tells(address, "exchange-flows", &days_of("mode=pit&range=1y", "2025-10-04"), &["date", "reclassified_sats"]);
    let ping = "ae5e6892606a1e426914d2fa042e6a70cbca0b38977d143774b9b94bf0b28a33";
    let tx = get_json(address, &format!("/v1/tx/{ping}?io_limit=100"));
    tells(address, "dust-campaigns", &tx, &["txid"]);
    let is_paid = |output: &&Value| output["value_sats"] == 547;
    assert_eq!(tx["outputs"].as_array().unwrap().iter().filter(is_paid).count(), 80, "{tx}");
    let gained = get_json(address, "/v1/wallets/bcrt1qsev7nzxvg9ec4hzwzrcw4ngqjjvt20tu0cfpxp/pnl");
    let names = ["acquired_sats", "acquired_cost", "disposed_sats", "proceeds", "fee_sats", "realized_gain"];
    tells(address, "profit-and-loss", &gained["totals"], &names);
    tells(address, "profit-and-loss", &gained, &["address", "total_gain"]);
    let pinged = "bcrt1pgqf8m79vnqgzqwwple84v3s3qrucklznznrakhl5yd9yh9nvtqvsng0kzg";
    let pinged = get_json(address, &format!("/v1/wallets/{pinged}/surveillance-status"));
    tells(address, "dust-campaigns", &pinged, &["address"]);
    let told = ["observed", "dust_payment_count", "other_ping_count"].map(|name| pinged[name].clone());
    assert_eq!(told, [Value::from(false), 1.into(), 1.into()], "{pinged}");
    // Events of the feed about the one who wakes up.
    let feed = |kind: &str, txid: &str| {
        let row = find(&format!("/v1/chain/activity-feed?limit=200&types={kind}"), "events", txid);
        tells(address, "activity-feed", &row, &["type", "height", "txid", "value_btc"]);
    };
    feed("whale_wakeup", WAKES);
    feed("dormancy_flush", "7bfdcf6d77c56728b8441b82e0d8dc5487fb4de277340a51df50a3848b91a57b");
    feed("whale_tx", SLEEPER);
}

/// It is computed without being asked for, and health shows its age.
fn has_a_dashboard(address: &str) {
    let state = || get_json(address, "/api/health")["live_data"]["dashboard_snapshot"].clone();
    wait_until("the dashboard", || state()["status"] == "fresh");
    let state = state();
    assert!(state["cache_age_seconds"].as_f64() < Some(60.0) && state["stale_after_seconds"] == 600, "{state}");
    let dashboard = get_json(address, "/v1/dashboard");
    assert_eq!(dashboard["snapshot"]["cached_at"], state["cached_at"]);
    assert_eq!(dashboard["summary"]["height"], DEMO_BLOCKS, "{dashboard}");
    assert_eq!(dashboard["summary"], get_json(address, "/v1/network/summary"));
}

/// The mempool's operations, wallets and transactions speak of these unconfirmed transactions.
fn shows_what_waits(address: &str, made: &[Unconfirmed]) {
    let replaced: HashMap<Txid, &Unconfirmed> = made.iter().filter_map(|new| Some((new.replaces?, new))).collect();
    let (left, waiting): (Vec<_>, Vec<_>) = made.iter().partition(|old| replaced.contains_key(&old.tx.compute_txid()));
    assert!(!left.is_empty() && waiting.len() > 1_000);

    let stats = get_json(address, "/v1/mempool/stats");
    assert_eq!(stats["count"], waiting.len(), "{stats}");
    assert_eq!(stats["fees_sats"], waiting.iter().map(|made| made.fee()).sum::<u64>(), "{stats}");
    let projected = get_json(address, "/v1/chain/projected-blocks");
    let blocks = projected["blocks"].as_array().unwrap();
    assert!(blocks.len() >= 3, "{projected}");
    assert_eq!(blocks[0]["height"], DEMO_BLOCKS + 1);
    assert!(blocks[0]["weight"].as_u64() > Some(3_800_000) && blocks[0]["weight"].as_u64() < Some(4_000_000));
    let held: u64 = blocks.iter().map(|block| block["tx_count"].as_u64().unwrap()).sum();
    assert_eq!(held, waiting.len() as u64, "everything pays enough for one of the blocks: {projected}");

    let fees = get_json(address, "/v1/fees/recommended");
    let rates = ["fastest", "half_hour", "hour", "economy", "minimum"]
        .map(|name| fees[format!("{name}_fee_sat_vb")].as_f64().unwrap());
    assert!(rates.is_sorted_by(|faster, slower| faster >= slower), "{fees}");
    assert!(rates[0] > rates[1] && rates[1] > rates[4] && rates[4] >= 1.0, "{fees}");
    for path in ["/v1/mempool/fee-distribution", "/v1/network/mempool/stress", "/v1/network/summary"] {
        get_json(address, path);
    }
    let health = get_json(address, "/api/health/full");
    assert_eq!(health["status"], "ok", "{health}");
    let component = |name: &str| {
        let components = health["components"].as_array().unwrap();
        components.iter().find(|component| component["name"] == name).unwrap().clone()
    };
    assert_eq!(component("node")["status"], "not_configured", "{health}");
    assert_eq!(component("node")["details"]["source"], "demo", "{health}");
    assert_eq!(component("mempool")["details"]["projection"], "current", "{health}");
    assert!(component("mempool")["reason"].as_str().unwrap().contains("generated by the demo"), "{health}");

    // Unconfirmed transactions change the balances of these actors alone.
    for actor in actors().unwrap() {
        let wallet: &Address = &actor.addresses[0];
        let overview = get_json(address, &format!("/v1/wallets/{wallet}/overview"));
        let expected = net(&waiting, &wallet.script_pubkey());
        assert_eq!(expected != 0, actor.has_unconfirmed, "{}", actor.name);
        assert_eq!(overview["balance"]["unconfirmed_sats"], expected, "{}: {overview}", actor.name);
    }

    // The oldest is half an hour old, the newest new.
    let status = |made: &Unconfirmed| get_json(address, &format!("/v1/tx/{}/status", made.tx.compute_txid()));
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    for (made, age) in [(made.first().unwrap(), WAITING_SPAN.as_secs()), (made.last().unwrap(), 0)] {
        let status = status(made);
        assert_eq!(status["state"], "mempool", "{status}");
        let seen = status["mempool_first_seen"].as_str().unwrap();
        // The time of day will do.
        let seconds = seen[11..19].split(':').fold(0, |sum, part| sum * 60 + part.parse::<u64>().unwrap());
        assert!((age.saturating_sub(5)..age + 90).contains(&((now + 86_400 - seconds) % 86_400)), "{seen}, now {now}");
    }
    for old in left {
        let status = status(old);
        let by = replaced[&old.tx.compute_txid()].tx.compute_txid().to_string();
        assert_eq!(status["state"], "conflicted", "{status}");
        assert!(status["departed"].to_string().contains(&by), "{status}");
    }
    let texts: HashSet<String> = waiting
        .iter()
        .filter(|made| made.tx.weight().to_wu() < 2_000)
        .filter(|made| made.tx.output.iter().any(|output| output.script_pubkey.is_op_return()))
        .take(20)
        .map(|made| {
            let answer = get_json(address, &format!("/v1/tx/{}/op-return", made.tx.compute_txid()));
            answer["outputs"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
        })
        .collect();
    assert!(texts.len() > 3, "{texts:?}");
}

/// Net effect of transactions on a script, in satoshis.
fn net(txs: &[&Unconfirmed], script: &ScriptBuf) -> i64 {
    let outputs = txs.iter().flat_map(|made| &made.tx.output).filter(|output| output.script_pubkey == *script);
    let spent = txs.iter().flat_map(|made| &made.spent).filter(|coin| coin.txout.script_pubkey == *script);
    outputs.map(|output| output.value.to_sat() as i64).sum::<i64>()
        - spent.map(|coin| coin.txout.value.to_sat() as i64).sum::<i64>()
}

#[test]
fn demo_touches_only_folders_of_its_own() {
    let world = World::small(CAIRN, 3);
    world.index();
    let before = world.stdout("db checksum --datadir data");
    fails(world.run("demo --datadir data --listen 127.0.0.1:0"), 2, &["is not empty and not a demo folder"]);
    assert_eq!(world.stdout("db checksum --datadir data"), before);
    // The setting of the other commands is not the demo's.
    let mut command = world.command("config");
    let output = command.env("CAIRN_DATADIR", "data").output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("# demo_datadir is not set"));
    // Half a demo is made again.
    fs::create_dir(world.path("half")).unwrap();
    fs::write(world.path("half/demo.json"), r#"{"chain":"another","tip":null}"#).unwrap();
    fs::create_dir(world.path("half/index")).unwrap();
    fs::write(world.path("half/index/CURRENT"), "rubbish").unwrap();
    let mut running = world.start("demo --datadir half --listen 127.0.0.1:0");
    assert_eq!(get(&running.address(), "/api/health").0, 200);
    drop(running);
    let path = world.path("half/mempool.deltas");
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() - 1]).unwrap();
    fails(world.run("demo --datadir half --listen 127.0.0.1:0"), 1, &["the file ends early", "to start over"]);
    fs::write(world.path("half/demo.json"), "{").unwrap();
    fails(world.run("demo --datadir half --listen 127.0.0.1:0"), 1, &["demo.json", "to start over"]);
}
