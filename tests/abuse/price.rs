//! Costs of requests, and the units that their clients are charged.

use std::time::{Duration, Instant};

use bitcoin::consensus;
use cairn_support::loopback::Client;
use serde_json::{Value, json};

use crate::{
    support::{Server, WORLD, by_hash},
    usage::{UNITS_PER_MINUTE, charged, server_time},
};

/// A unit of processor time.
const UNIT: Duration = Duration::from_micros(1_000);
/// Requests of one path are repeated for so long.
const ENOUGH: Duration = Duration::from_millis(if cfg!(debug_assertions) { 1_000 } else { 150 });

/// All parts of the answer about a whole wallet.
const EVERYTHING: [&str; 5] = ["addresses", "transactions", "balance_history", "dashboard", "pnl"];
/// An account that nobody uses: its key is that of BIP 86's vectors, as test networks write it.
const ACCOUNT: &str =
    "tpubDC5FSnBiZDMmhiuCmWAYsLwgLYrrT9rAqvTySfuCCrgsWz8wxMXUS9Tb9iVMvcRbvFcAHGkMD5Kx8koh4GquNGNTfohfk7pgjhaPCdXpoba";

/// A request.
struct Case {
    path: String,
    /// The body of a POST; `None` for GET.
    body: Option<Value>,
}

/// Every operation, as dear as it gets here, and paths without an operation.
fn cases() -> Vec<Case> {
    let worst = &WORLD.worst;
    let (busy, quiet) = (&worst.busy_address, by_hash(&worst.quiet));
    let mut paths: Vec<String> = [&worst.inputs, &worst.outputs, &worst.witness, &worst.pushes, &worst.carriers]
        .iter()
        .flat_map(|tx| {
            let id = tx.compute_txid();
            ["", "?io_limit=25000", "?include_hex=true", "/status", "/op-return"]
                .map(|rest| format!("/v1/tx/{id}{rest}"))
        })
        .collect();
    for wallet in [busy, &quiet] {
        let of = |rest: &str| format!("/v1/wallets/{wallet}/{rest}");
        paths.extend(["overview", "transactions?limit=100", "transactions?limit=100&offset=2000"].map(of));
        paths.extend(["balance-history", "balance-history?format=csv"].map(of));
        paths.extend(["pnl", "pnl?method=fifo&explain=true", "pnl?format=csv", "dashboard?range=all"].map(of));
        let widest = "flow-graph?hops=4&node_limit=200&min_btc=0";
        paths.extend(["flow-graph", widest, "flow-graph?hops=4&node_limit=200&min_btc=0&fold=entity"].map(of));
        paths.extend(
            [
                "trust-safety",
                "trust-safety?as_of=3",
                "summary",
                "detail?limit=200",
                "contributors",
                "surveillance-status",
                "intelligence",
                "risk-signals",
                "risk-exposure?depth=4&path_limit=50",
                "sanctions-exposure?depth=4&path_limit=50",
                "evidence-pack?depth=4&tx_limit=100&proofs=true",
            ]
            .map(of),
        );
        paths.extend([format!("/v1/wallets/{wallet}"), format!("/v1/address/{wallet}/overview")]);
    }
    // One has the script of the largest transactions.
    let entities =
        ["categories", "directory?per_category=50", "list?limit=500", "many?member_limit=200", "nobody-has-it"];
    let of_many = ["many/activity", "many/activity?limit=100", "many/activity?since=1d"];
    paths.extend(entities.iter().chain(&of_many).map(|rest| format!("/v1/entities/{rest}")));
    let names = ["q=a", "q=source&limit=100", "q=xxxxxxxxxxxx%20yyyyyyyy", "q=many&limit=100&format=csv"];
    paths.extend(names.map(|query| format!("/v1/labels/search?{query}")));
    let tip = worst.payouts;
    paths.extend([format!("/v1/blocks/{tip}"), format!("/v1/blocks/{}", tip - 1), format!("/v1/qr?data={busy}")]);
    paths.push(format!("/v1/qr?data={}", "Z".repeat(1_200)));
    paths.extend(["list?window=1y&limit=200", "stone-pool?limit=100"].map(|rest| format!("/v1/pools/{rest}")));
    let others = ["/v1/chain/recent-blocks", "/v1/network/summary", "/api/health", "/api/health/full", "/livez"];
    paths.push("/v1/chain/supply-distribution".to_owned());
    paths.push("/v1/onchain".to_owned());
    paths.push("/v1/silent-payments/tweaks?from_height=0&limit=5000".to_owned());
    let old = [
        "chain/awakenings?since=0&limit=500",
        "chain/dormant-movements?since=0&limit=200",
        "chain/dormant-alerts?limit=200",
    ];
    paths.extend(old.iter().chain(&["pulse/dormant?since=0&limit=100"]).map(|rest| format!("/v1/{rest}")));
    let large = [
        "chain/whale-alerts?range=30d&limit=1000",
        "chain/whale-alerts?range=30d&limit=1000&flow_type=to_exchange&offset=100000",
        "chain/whale-alerts/labeled?range=30d&limit=1000",
        "pulse/whales?since=0&limit=100",
        "pulse/consolidations?since=0&limit=100",
        "pulse/summary",
        "dormancy/weekly.json?week=2011-W10",
        "dormancy/weekly.md",
        "chain/dormancy-flushes?since=0&limit=50",
        "dormancy/whale-wakeups?since=0&limit=200",
        "dormancy/watchlist?limit=200&offset=50000",
        "miner/flows?range=30d&limit=50",
        "miner/flows?range=30d&pool=stone-pool",
        "exchange/flows?range=30d&limit=50",
        "exchange/flows?range=1y&exchange=many&mode=pit",
        "exchange/flows/summary",
        "chain/activity-feed?limit=200",
        "chain/activity-feed?limit=200&types=exchange_flow_large",
        "events?after=1-1&limit=100&entity=many",
    ];
    paths.extend(large.map(|rest| format!("/v1/{rest}")));
    paths.push(format!("/v1/chain/awakenings?since=0&limit=500&address_filter={busy}"));
    paths.extend(["compliance-tier?limit=500", "coverage"].map(|rest| format!("/v1/sanctions/ofac/{rest}")));
    paths.extend(others.map(str::to_owned));
    let market = [
        "market/price-history?limit=5000",
        "market/price-history?currency=JPY&limit=5000",
        "market/fx-history?limit=5000",
    ];
    paths.extend(
        market.into_iter().chain(["price", "price?currency=EUR", "dashboard"]).map(|rest| format!("/v1/{rest}")),
    );
    paths.push(format!("/v1/wallets/{busy}/balance-history?currency=EUR"));
    paths.push(format!("/v1/address/{busy}/risk-signals"));
    paths.push(format!("/v1/risk-check/{busy}?depth=2"));
    paths.extend([format!("/v1/community/reports/{busy}?limit=100"), "/v1/community/reports/rp_0/status".to_owned()]);
    paths.push(format!("/v1/wallets/{busy}/pnl?currency=EUR"));
    paths.push(format!("/v1/wallets/{busy}/transactions?limit=100&currency=JPY"));
    let hash = "ab".repeat(32);
    paths.extend([format!("/v1/timestamp/{hash}"), format!("/v1/timestamp/{hash}/proof")]);
    paths.push("/v1/timestamp/quote".to_owned());
    // There is no mempool: they say so.
    let unconfirmed = ["stats", "fee-distribution"].map(|rest| format!("/v1/mempool/{rest}"));
    paths.extend(unconfirmed.into_iter().chain([format!("/v1/mempool/tx/{}", worst.inputs.compute_txid())]));
    let others = ["/v1/chain/projected-blocks", "/v1/fees/recommended", "/v1/network/mempool/stress", "/v1/wallets"];
    paths.extend(others.map(str::to_owned));
    paths.extend(
        ["/openapi.json", "/llms-full.txt", "/v1/capabilities", "/v1/beta-status", "/about"].map(str::to_owned),
    );
    paths.extend(["/v1/billing/catalog", "/v1/l402/challenges/ch_0", "/v1/billing/checkout/co_0"].map(str::to_owned));
    paths.push(format!("/{}", "x".repeat(60_000)));
    paths.push(format!("/v1/wallets?{}", "y=1&".repeat(10_000)));
    let tool = |name: &str, arguments: Value| json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}});
    let unknown: Vec<_> = (0..40_000).map(|n| (format!("unknown_{n}"), json!(n))).collect();
    let all = json!({"txid": worst.inputs.compute_txid().to_string(), "io_limit": 25_000});
    let posts = [
        ("/v1/batch/overview", json!({"addresses": vec![busy.as_str(); 100]})),
        ("/v1/batch/trust-safety", json!({"addresses": vec![busy.as_str(); 100]})),
        ("/v1/batch/summary", json!({"addresses": vec![quiet.as_str(); 100]})),
        ("/v1/batch/intelligence", json!({"addresses": [busy.as_str(), quiet.as_str()]})),
        ("/v1/batch/risk-signals", json!({"addresses": [busy.as_str(), quiet.as_str()]})),
        ("/v1/addresses/risk-signals", json!({"addresses": [busy.as_str(), quiet.as_str()]})),
        ("/v1/risk-check/batch", json!({"addresses": [busy.as_str(), quiet.as_str()], "depth": 2})),
        (
            "/v1/tx/verify",
            json!({"txid": worst.outputs.compute_txid().to_string(), "expected_address": busy, "min_amount_sats": 1}),
        ),
        ("/v1/tx/verify", Value::from_iter(unknown)),
        // Nothing anchors: it says so.
        ("/v1/timestamp", json!({"hash": "ab".repeat(32)})),
        // A proof with 250 operations in a row.
        ("/v1/timestamp/verify", json!({"proof_base64": format!("{PROOF_START}{}{PROOF_END}", "CAgI".repeat(83))})),
        (
            "/v1/wallets/lookup",
            json!({"wallet": vec![format!("addr({busy})"); 20], "include": EVERYTHING, "limit": 100}),
        ),
        ("/v1/wallets/lookup", json!({"wallet": [ACCOUNT], "gap_limit": 1_000})),
        (
            "/v1/wallets/lookup",
            json!({"wallet": vec![format!("wsh(multi(1,{}))", vec![format!("{ACCOUNT}/0/*"); 20].join(",")); 20]}),
        ),
        ("/v1/tx/broadcast", json!({"tx_hex": hex::encode(consensus::serialize(&worst.carriers))})),
        ("/v1/feedback", json!({"type": "general", "message": "x".repeat(2_000)})),
        (
            "/v1/community/reports",
            json!({
                "address": busy, "category": "scam", "description": "x".repeat(2_000),
                "evidence_txids": vec![worst.inputs.compute_txid().to_string(); 20],
            }),
        ),
        ("/v1/community/reports/rp_0/vote", json!({"vote": "up"})),
        // Nobody issued it: the database is asked.
        ("/v1/billing/redeem", json!({"code": UNKNOWN_CODE})),
        ("/v1/billing/checkout", json!({"plan_id": "wallet-monthly", "payment_method_id": "onchain"})),
        ("/v1/billing/checkout/co_0/refresh", json!({})),
        ("/mcp/", json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}})),
        ("/mcp/", tool("get_transaction", all)),
        ("/mcp/", tool("search_endpoints", json!({"query": "wallet balance fee ".repeat(1_500)}))),
    ];
    let posts = posts.map(|(path, body)| Case { path: path.to_owned(), body: Some(body) });
    paths.into_iter().map(|path| Case { path, body: None }).chain(posts).collect()
}

/// A code with a right check that nobody issued.
const UNKNOWN_CODE: &str =
    "cairn_code_000000000000_00000000000000000000000000000000000000000000000000000000000000003e0673e4";

/// A proof up to its first operation after the hash of the file, in base64.
pub const PROOF_START: &str =
    "AE9wZW5UaW1lc3RhbXBzAABQcm9vZgC/ieLohOiSlAEIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAI";
/// Its attestation, of an unknown kind.
pub const PROOF_END: &str = "AAECAwQFBgcIAA==";

/// True if the path is of this template: `{name}` stands for one part.
fn is_of(path: &str, template: &str) -> bool {
    let path = path.split('?').next().unwrap();
    let (parts, wanted): (Vec<_>, Vec<_>) = (path.split('/').collect(), template.split('/').collect());
    parts.len() == wanted.len() && parts.iter().zip(wanted).all(|(part, of)| of.starts_with('{') || *part == of)
}

/// Who adds an operation says what the worst request for it is.
#[test]
fn every_operation_has_a_case() {
    let server = Server::start(UNITS_PER_MINUTE);
    let document = Client::from(249, server.address).get("/openapi.json").json();
    let paths = document["paths"].as_object().unwrap();
    assert!(paths.len() > 20, "{} paths", paths.len());
    let cases = cases();
    for (template, methods) in paths {
        for method in ["get", "post"].into_iter().filter(|method| methods.get(method).is_some()) {
            let found =
                cases.iter().any(|case| case.body.is_some() == (method == "post") && is_of(&case.path, template));
            assert!(found, "{method} {template} has no case in tests/abuse/price.rs");
        }
    }
}

/// No request takes more than twice the processor time that its units stand for.
#[test]
fn units_stand_for_processor_time() {
    let server = Server::start(UNITS_PER_MINUTE);
    let mut failed = Vec::new();
    println!("| request | times | \u{b5}s each | units each | ratio |");
    println!("|---|---|---|---|---|");
    for (n, Case { path, body }) in cases().iter().enumerate() {
        // Once to warm it up, with another budget.
        Client::from(250, server.address).send(path, body.as_ref()).unwrap();
        std::thread::sleep(Duration::from_millis(5));
        let (start, began) = (server_time(), Instant::now());
        let mut times = 0u32;
        let (answer, units) = charged(&server, 10 + n as u8, |client| {
            loop {
                times += 1;
                let answer = client.send(path, body.as_ref()).unwrap();
                if answer.status == 429 || began.elapsed() >= ENOUGH {
                    return answer;
                }
            }
        });
        assert!(answer.status < 500 || answer.status == 503, "{path}: {}", answer.head);
        let used = server_time().saturating_sub(start);
        // The two looks at the budget are charged too.
        let ratio = used.as_secs_f64() / (UNIT.as_secs_f64() * (units + 2.0));
        // The part that distinguishes it from the others: the middle of a path is a long id.
        let shown =
            if path.len() > 80 { format!("{}…{}", &path[..14], &path[path.len() - 24..]) } else { path.clone() };
        let micros = used.as_micros() / u128::from(times);
        let method = if body.is_some() { "POST " } else { "" };
        println!("| `{method}{shown}` | {times} | {micros} | {:.1} | {ratio:.2} |", units / f64::from(times));
        if ratio > 2.0 {
            failed.push(format!("{shown}: {micros} µs for {:.1} units", units / f64::from(times)));
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}
