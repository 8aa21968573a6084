//! Sixty questions of analysts, operators and agents, each answered over `cairn mcp` in at most three calls and 24 000
//! bytes: the search names the tool, the tool answers. The script is fixed; what it stands for are the demo's own
//! addresses and transactions.

use cairn_support::{World, get_json};
use serde_json::{Value, json};

use crate::{
    CAIRN,
    stdio::{Spoken, rich},
};

/// Most calls for a question, and most bytes of what they answer.
const MAX: (usize, usize) = (3, 24_000);

/// A question, the calls that answer it after the search, and where the answer is in the last one. In arguments,
/// `{wallet}` and the like stand for what the demo has.
type Question = (&'static str, &'static [(&'static str, &'static str)], &'static str);

const QUESTIONS: &[Question] = &[
    (
        "how much bitcoin does this wallet hold",
        &[("wallet_overview", r#"{"address":"{wallet}"}"#)],
        "/balance/confirmed_sats",
    ),
    ("what is this wallet worth in dollars", &[("wallet_overview", r#"{"address":"{wallet}"}"#)], "/value_usd"),
    ("when was this address last used", &[("wallet_overview", r#"{"address":"{wallet}"}"#)], "/last_seen/time"),
    ("when was this address first used", &[("wallet_overview", r#"{"address":"{wallet}"}"#)], "/first_seen/time"),
    ("how much did this address ever receive", &[("wallet_overview", r#"{"address":"{wallet}"}"#)], "/received_sats"),
    (
        "balances of several addresses at once",
        &[("batch_overview", r#"{"addresses":["{wallet}","{labeled}"]}"#)],
        "/results/1/balance/confirmed_sats",
    ),
    (
        "newest payments of an address",
        &[("wallet_transactions", r#"{"address":"{wallet}","limit":5}"#)],
        "/transactions/0/txid",
    ),
    (
        "balance of an address over time",
        &[("wallet_balance_history", r#"{"address":"{wallet}","from":"{day}","to":"{day}"}"#)],
        "/points/0/balance_sats",
    ),
    (
        "profit and loss of a wallet in euros in 2024",
        &[("wallet_pnl", r#"{"address":"{wallet}","currency":"EUR"}"#)],
        "/totals",
    ),
    ("cost basis of my coins", &[("wallet_pnl", r#"{"address":"{wallet}"}"#)], "/holdings"),
    ("who owns this address", &[("wallet_trust_safety", r#"{"address":"{labeled}"}"#)], "/label"),
    (
        "how many independent sources say something of an address",
        &[("wallet_contributors", r#"{"address":"{labeled}"}"#)],
        "/origins/0",
    ),
    (
        "all claims about an address with their evidence",
        &[("wallet_detail", r#"{"address":"{labeled}"}"#)],
        "/groups/0",
    ),
    ("short summary of who an address is", &[("wallet_summary", r#"{"address":"{labeled}"}"#)], "/likely_entity"),
    ("is this address safe to pay", &[("wallet_trust_safety", r#"{"address":"{labeled}"}"#)], "/risk_indicator"),
    ("trace where the funds went", &[("wallet_flow_graph", r#"{"address":"{wallet}"}"#)], "/nodes/0"),
    ("who are the counterparties of a wallet", &[("wallet_flow_graph", r#"{"address":"{wallet}"}"#)], "/edges"),
    ("does anyone watch or dust my address", &[("surveillance_status", r#"{"address":"{wallet}"}"#)], "/observed"),
    ("example addresses to try", &[("wallet_index", "{}")], "/endpoints/0"),
    ("is my transaction confirmed yet", &[("tx_status", r#"{"txid":"{tx}"}"#)], "/confirmations"),
    ("is this payment final", &[("tx_status", r#"{"txid":"{tx}"}"#)], "/state"),
    (
        "inputs and outputs of a transaction",
        &[("tx_lookup", r#"{"txid":"{tx}","io_limit":10}"#)],
        "/outputs/0/value_sats",
    ),
    ("which fee did a transaction pay", &[("tx_lookup", r#"{"txid":"{tx}","io_limit":5}"#)], "/fee_sats"),
    (
        "did someone pay me 0.00000001 BTC to this address",
        &[("tx_verify", r#"{"txid":"{tx}","address":"{wallet}","expected_amount_btc":0.00000001}"#)],
        "/verified",
    ),
    ("why is my transaction stuck", &[("mempool_tx", r#"{"txid":"{pending}"}"#)], "/effective_fee_rate_sat_vb"),
    ("when will my unconfirmed transaction be mined", &[("mempool_tx", r#"{"txid":"{pending}"}"#)], "/txid"),
    ("text embedded in a transaction", &[("op_return_decode", r#"{"txid":"{tx}"}"#)], "/outputs"),
    ("transactions of the block at a height", &[("block_detail", r#"{"height_or_hash":"100"}"#)], "/tx_count"),
    (
        "which block has this hash and who mined it",
        &[("block_detail", r#"{"height_or_hash":"100","tx_limit":0}"#)],
        "/coinbase",
    ),
    (
        "one block by its height and what its coinbase left unclaimed",
        &[("block_detail", r#"{"height_or_hash":"100","tx_limit":0}"#)],
        "/totals/unclaimed_sats",
    ),
    ("latest blocks", &[("recent_blocks", r#"{"limit":5}"#)], "/blocks/0/hash"),
    ("what will the next block contain", &[("projected_blocks", "{}")], "/blocks"),
    ("which fee for the next hour", &[("fees_recommended", "{}")], "/hour_fee_sat_vb"),
    ("how much fee should I pay to be in the next block", &[("fees_recommended", "{}")], "/fastest_fee_sat_vb"),
    ("histogram of feerates in the mempool", &[("fee_distribution", "{}")], "/buckets"),
    ("how full is the mempool", &[("mempool_stats", "{}")], "/count"),
    ("is the network congested", &[("mempool_stress", "{}")], "/stress"),
    ("current difficulty and hashrate", &[("network_intelligence", "{}")], "/height"),
    ("when is the next halving", &[("network_intelligence", "{}")], "/height"),
    ("current bitcoin price in dollars", &[("bitcoin_price", "{}")], "/price"),
    ("bitcoin price history", &[("price_history", r#"{"limit":5}"#)], "/candles/0"),
    ("exchange rate between euro and dollar", &[("fx_history", r#"{"limit":5}"#)], "/rates"),
    ("coins that moved after ten years", &[("pulse_dormant", r#"{"limit":5}"#)], "/confirmed"),
    ("old coins on the move", &[("dormant_movements", r#"{"limit":5}"#)], "/movements"),
    ("large whale transactions", &[("whale_alerts", r#"{"limit":5}"#)], "/alerts"),
    ("sleeping whales that woke up", &[("whale_wakeups", r#"{"limit":5}"#)], "/wakeups"),
    ("dormancy flush of old coins", &[("dormancy_flushes", r#"{"limit":5}"#)], "/flushes"),
    ("watchlist of dormant coins", &[("dormancy_watchlist", r#"{"limit":5}"#)], "/total_count"),
    ("weekly report on old coins", &[("dormancy_weekly", "{}")], "/totals"),
    ("merged many small coins", &[("pulse_consolidations", r#"{"limit":5}"#)], "/confirmed_count"),
    ("deposits to exchanges", &[("exchange_flows", r#"{"limit":5}"#)], "/exchanges"),
    ("do coins flow into exchanges or out of them", &[("exchange_flows_summary", "{}")], "/windows"),
    ("what do miners sell", &[("miner_flows", "{}")], "/pools"),
    ("which mining pools are largest", &[("pool_list", "{}")], "/blocks"),
    (
        "addresses and balance of a known exchange",
        &[("entity_list", r#"{"limit":1}"#), ("entity_lookup", r#"{"entity_name":"{entity}"}"#)],
        "/balance_sats",
    ),
    (
        "newest transactions of an exchange",
        &[("entity_recent_activity", r#"{"entity_name":"{entity}","limit":5}"#)],
        "/transactions",
    ),
    ("which exchanges are known", &[("entity_list", r#"{"limit":5}"#)], "/entities/0/name"),
    ("find labels by a word", &[("labels_search", r#"{"q":"{entity}"}"#)], "/results"),
    ("is an address on the OFAC list", &[("ofac_coverage", "{}")], "/counts"),
    ("how is the supply distributed by age and balance", &[("supply_distribution", "{}")], "/by_age"),
    ("onchain statistics such as SOPR and MVRV", &[("onchain_stats", "{}")], "/day"),
    ("is the server synced", &[("service_health", "{}")], "/status"),
    ("rate limits of the service", &[("capabilities", "{}")], "/limits"),
];

/// A tool by the name of its operation, where they differ.
fn operation_of(tool: &str) -> &str {
    match tool {
        "service_health" => "health",
        "bitcoin_price" => "price",
        "network_intelligence" => "network_summary",
        other => other,
    }
}

struct Asker {
    client: Spoken,
    next: u32,
    calls: usize,
    bytes: usize,
}

impl Asker {
    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        self.next += 1;
        let result = self.client.ask(self.next, "tools/call", json!({"name": tool, "arguments": arguments}));
        let text = result["content"][0]["text"].as_str().unwrap_or_default();
        (self.calls, self.bytes) = (self.calls + 1, self.bytes + text.len());
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{tool}: {error}: {result}"))
    }
}

#[test]
fn sixty_questions_are_answered_in_three_calls() {
    let world = World::empty(CAIRN);
    let mut running = world.start("demo --datadir demo --listen 127.0.0.1:0");
    let address = running.address();
    let stand_ins = stand_ins(&address);
    let filled = |text: &str| {
        let text = stand_ins.iter().fold(text.to_owned(), |text, (name, value)| text.replace(name, value));
        serde_json::from_str::<Value>(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    };
    let mut client = Spoken::start(&world, &format!("mcp --url http://{address}"));
    client.greet("2025-11-25");
    let mut asker = Asker { client, next: 10, calls: 0, bytes: 0 };
    let listed = asker.client.ask(9, "tools/list", json!({}))["tools"].clone();
    let is_listed = |tool: &str| listed.as_array().unwrap().iter().any(|row| row["name"] == tool);
    let (mut missed, mut wrong) = (Vec::new(), Vec::new());
    for (question, calls, at) in QUESTIONS {
        (asker.calls, asker.bytes) = (0, 0);
        let found = asker.call("search_endpoints", &json!({"query": question, "limit": 3}));
        let names: Vec<String> = found["data"]["endpoints"]
            .as_array()
            .unwrap()
            .iter()
            .take(3)
            .map(|row| row["operation"].as_str().unwrap_or_default().to_owned())
            .collect();
        if !calls.iter().any(|(tool, _)| names.iter().any(|name| name == operation_of(tool))) {
            missed.push(format!("{question}: {names:?}"));
        }
        let mut said = Value::Null;
        for (tool, arguments) in *calls {
            let given = filled(arguments);
            said = match is_listed(tool) {
                true => asker.call(tool, &given),
                // An operation without a tool of its own is called by its name.
                false => asker.call("call_endpoint", &json!({"endpoint": tool, "arguments": given})),
            };
            if said["ok"] != true {
                break;
            }
        }
        if said["data"].pointer(at).is_none_or(Value::is_null)
            || (asker.calls, asker.bytes) > (MAX.0, usize::MAX)
            || asker.bytes > MAX.1
        {
            let text = said.to_string().chars().take(300).collect::<String>();
            wrong.push(format!("{question}: {} calls, {} bytes, {at} in {text}", asker.calls, asker.bytes));
        }
    }
    assert!(QUESTIONS.len() >= 60, "{}", QUESTIONS.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(missed.len() * 100 <= QUESTIONS.len() * 5, "{}", missed.join("\n"));
}

/// Values of the demo for each kind.
fn stand_ins(address: &str) -> Vec<(&'static str, String)> {
    let (wallet, _) = rich(address);
    let overview = get_json(address, &format!("/v1/wallets/{wallet}/overview"));
    let listed = get_json(address, &format!("/v1/wallets/{wallet}/transactions"));
    let txs = listed["transactions"].as_array().unwrap();
    let in_state = |state: &str| {
        txs.iter().find(|tx| tx["status"]["state"] == state).map(|tx| tx["txid"].as_str().unwrap().to_owned())
    };
    let day = overview["last_seen"]["time"].as_str().unwrap()[..10].to_owned();
    let entities = get_json(address, "/v1/entities/list?limit=50");
    let entity = entities["entities"]
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["category"] == "exchange")
        .unwrap_or(&entities["entities"][0]);
    let name = entity["name"].as_str().unwrap().to_owned();
    let labeled = labeled(address, &name);
    let pending = in_state("mempool").unwrap();
    let tx = overview["last_seen"]["txid"].as_str().unwrap().to_owned();
    vec![
        ("{wallet}", wallet),
        ("{tx}", tx),
        ("{pending}", pending),
        ("{day}", day),
        ("{entity}", name),
        ("{labeled}", labeled),
    ]
}

/// An address that a label names.
fn labeled(address: &str, entity: &str) -> String {
    let examples = get_json(address, "/v1/wallets")["endpoints"].clone();
    let trust = examples
        .as_array()
        .unwrap()
        .iter()
        .find_map(|row| row["example"].as_str()?.strip_suffix("/trust-safety").map(str::to_owned));
    match trust {
        Some(path) => path.rsplit_once('/').unwrap().1.to_owned(),
        None => panic!("no example of trust-safety, {entity}"),
    }
}
