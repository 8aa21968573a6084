//! A record of some thousand answers over the demo chain, status and body, in `corpus.tsv`. A change that means to
//! change nothing leaves it as it is. See `record.rs` for how to write it again.

mod demo;
mod errors;
mod record;

use axum::Router;
use cairn_http::HttpConfig;
use cairn_link::IndexSlot;
use cairn_operations::{ApiConfig, ApiState, router};
use cairn_testkit::workspace_root;
pub use demo::Demo;
use demo::Paid;
use record::{Asked, Got, Recorder};
use serde_json::{Value, json};

const JSON: &str = "application/json";
const DOCUMENTS: [&str; 19] = [
    "/about",
    "/style.css",
    "/openapi.json",
    "/llms.txt",
    "/llms-full.txt",
    "/agents.json",
    "/.well-known/agent-card.json",
    "/.well-known/api-catalog",
    "/.well-known/mcp.json",
    "/checkout",
    "/getting-started",
    "/favicon.svg",
    "/robots.txt",
    "/api/reference",
    "/api/reference/",
    "/api/reference/errors/",
    "/api/reference/definitions/",
    "/api/reference/try.js",
    "/api/reference/nothing",
];
/// Operations that take no parameters.
const PLAIN: [&str; 13] = [
    "/api/health",
    "/api/health/full",
    "/v1/capabilities",
    "/v1/beta-status",
    "/v1/wallets",
    "/v1/chain/recent-blocks",
    "/v1/chain/projected-blocks",
    "/v1/chain/supply-distribution",
    "/v1/mempool/stats",
    "/v1/mempool/fee-distribution",
    "/v1/fees/recommended",
    "/v1/network/summary",
    "/v1/network/mempool/stress",
];
/// Those of them whose validators change with the clock: by the millisecond, so a second request may get either answer.
const OF_THE_MOMENT: [&str; 2] = ["/api/health/full", "/v1/network/mempool/stress"];

/// The routers that requests go to, and the record of what they answer. The first letter of a line names the router:
/// `c` the confirmed chain alone, `u` with what waits over it and a node, `g` the same with gates, `e` an empty index.
struct Corpus<'d> {
    demo: &'d Demo,
    routers: [(char, Router); 4],
    recorder: Recorder,
}

impl<'d> Corpus<'d> {
    fn over(demo: &'d Demo) -> Self {
        let recorder = Recorder::new("api");
        let (config, waiting) = (demo.config(), demo.unconfirmed());
        let http = HttpConfig { gates_enabled: true, ..config.http.clone() };
        let gated = ApiConfig { http, showcase_addresses: vec![demo.busy[0].clone()], ..config.clone() };
        let over = |slot, config: &ApiConfig| router(ApiState::new(slot, config.clone()));
        let routers = [
            ('c', over(demo.confirmed(), &config)),
            ('u', router(demo.with_node(&waiting, config.clone()))),
            ('g', router(demo.with_node(&waiting, gated))),
            ('e', over(std::sync::Arc::new(IndexSlot::new()), &config)),
        ];
        Corpus { demo, routers, recorder }
    }

    async fn send(&mut self, asked: Asked) -> Got {
        let router = self.routers.iter().find(|(letter, _)| *letter == asked.world).map(|(_, router)| router);
        self.recorder.send(router.unwrap(), &asked).await
    }

    async fn get(&mut self, world: char, target: impl Into<String>) -> Got {
        self.send(Asked::get(world, target)).await
    }

    async fn post(&mut self, world: char, target: &str, body: Value) -> Got {
        self.send(Asked::get(world, target).method("POST").body(JSON, body.to_string())).await
    }

    /// Sends a request, then once more with the validator of the answer.
    async fn get_again(&mut self, world: char, target: &str) {
        let got = self.get(world, target).await;
        if let Some(etag) = got.headers.get("etag").map(|etag| etag.to_str().unwrap().to_owned()) {
            self.send(Asked::get(world, target).header("if-none-match", &etag)).await;
        }
    }

    /// Sends a request for the first page of a list, and follows its cursors.
    async fn pages(&mut self, world: char, target: &str, most: usize) {
        let joint = if target.contains('?') { '&' } else { '?' };
        let mut next = target.to_owned();
        for _ in 0..most {
            let got = self.get(world, &next).await;
            let Some(cursor) = got.body["next_cursor"].as_str() else { break };
            next = format!("{target}{joint}cursor={cursor}");
        }
    }

    async fn documents(&mut self) {
        for world in ['c', 'g', 'e'] {
            for path in DOCUMENTS {
                self.get(world, path).await;
            }
        }
        for path in DOCUMENTS {
            self.get_again('u', path).await;
            self.send(Asked::get('u', path).method("HEAD")).await;
        }
        // Definitions and errors have pages that the index of definitions and the codes name.
        let openapi = self.get('u', "/openapi.json").await.body.to_string();
        let mut pages: Vec<&str> = openapi.split("/api/reference/definitions/").skip(1).collect();
        pages
            .iter_mut()
            .for_each(|rest| *rest = rest.split(|c: char| !c.is_alphanumeric() && c != '-').next().unwrap());
        pages.sort_unstable();
        pages.dedup();
        for page in pages {
            self.get('u', format!("/api/reference/definitions/{page}")).await;
        }
    }

    async fn plain(&mut self) {
        for world in ['c', 'u', 'g', 'e'] {
            for path in PLAIN {
                if OF_THE_MOMENT.contains(&path) {
                    self.get(world, path).await;
                } else {
                    self.get_again(world, path).await;
                }
                self.send(Asked::get(world, path).method("HEAD")).await;
                self.get(world, format!("{path}?view=compact")).await;
                self.get(world, format!("{path}?verbose=1&x=%C3%BC")).await;
            }
        }
        for world in ['c', 'u'] {
            for query in ["include_components=true", "history_hours=24", "history_hours=720&include_components=true"] {
                self.get(world, format!("/v1/network/mempool/stress?{query}")).await;
            }
            for limit in [0, 1, 7, 1000] {
                self.get(world, format!("/v1/chain/projected-blocks?txids_limit={limit}")).await;
            }
        }
        for data in
            ["x", "HELLO%20WORLD", "1234567890", "bitcoin%3Abcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080", "%C3%BC"]
        {
            self.get_again('c', &format!("/v1/qr?data={data}")).await;
        }
        self.get('c', format!("/v1/qr?data={}", "lorem%20ipsum".repeat(60))).await;
    }

    async fn blocks(&mut self) {
        let tip = self.demo.tip();
        for limit in [1, 50] {
            self.pages('c', &format!("/v1/chain/recent-blocks?limit={limit}"), 12).await;
        }
        self.pages('u', "/v1/chain/recent-blocks?limit=33", 6).await;
        for height in (0..=tip + 200).step_by(200) {
            self.get_again('c', &format!("/v1/chain/supply-distribution?as_of={height}")).await;
        }
        for from in [0, tip / 2, tip - 10, tip, tip + 1] {
            self.get_again('c', &format!("/v1/silent-payments/tweaks?from_height={from}")).await;
        }
        for more in ["&limit=1", "&dust_limit_sats=100000000", "&to_height=500&format=csv", "&limit=3&format=markdown"]
        {
            self.get('c', format!("/v1/silent-payments/tweaks?from_height=400{more}")).await;
        }
        let heights: Vec<u32> = (0..60).map(|at| at * tip / 60).chain(tip - 12..=tip).collect();
        for height in heights {
            self.get('c', format!("/v1/blocks/{height}")).await;
            if height % 2 == 0 {
                self.get('c', format!("/v1/blocks/{height}?tx_limit=2&tx_offset=1")).await;
            }
            if height % 3 == 0 {
                let hash = self.demo.hash(height);
                self.get_again('u', &format!("/v1/blocks/{hash}?tx_limit=100")).await;
            }
        }
        for stale in self.demo.world.chain.stale() {
            let (hash, height) = (stale[0].hash(), stale[0].height);
            self.get('c', format!("/v1/blocks/{hash}")).await;
            self.get('u', format!("/v1/blocks/{height}?tx_limit=0")).await;
            for tx in &stale[0].block.txdata {
                self.get('u', format!("/v1/tx/{}/status", tx.compute_txid())).await;
            }
        }
    }

    /// All that is asked about a wallet.
    async fn wallet(&mut self, world: char, address: &str) {
        let base = format!("/v1/wallets/{address}");
        for rest in [
            "overview",
            "overview?view=compact",
            "transactions",
            "transactions?limit=4&offset=2&view=compact",
            "balance-history",
        ] {
            self.get(world, format!("{base}/{rest}")).await;
        }
    }

    async fn wallets(&mut self) {
        let demo = self.demo;
        for address in demo.named.iter().chain(&demo.others) {
            self.wallet('c', address).await;
        }
        for address in demo.named.iter().chain(demo.pending.iter().step_by(3).map(|tx| &tx.to)) {
            self.wallet('u', address).await;
        }
        for address in &demo.busy {
            self.wallet('c', address).await;
            self.wallet('u', address).await;
            let base = format!("/v1/wallets/{address}");
            self.pages('c', &format!("{base}/transactions?limit=100"), 4).await;
            self.pages('u', &format!("{base}/transactions?limit=7"), 6).await;
            self.pages('u', &format!("{base}/transactions?limit=20&view=compact"), 2).await;
            for query in ["limit=1&offset=1", "offset=50", "limit=3&offset=10000"] {
                self.get('u', format!("{base}/transactions?{query}")).await;
            }
            for query in
                ["from=2025-12-29", "to=2012-06-30", "from=2020-01-01&to=2020-12-31", "from=2011-02-02&to=2011-02-02"]
            {
                self.get('c', format!("{base}/balance-history?{query}")).await;
            }
            for query in ["", "?limit=2&offset=2", "?view=compact"] {
                self.get('g', format!("{base}/transactions{query}")).await;
                let bearer = Asked::get('g', format!("{base}/transactions{query}"));
                self.send(bearer.header("authorization", "Bearer cairn_ses_nothing")).await;
            }
            self.pages('g', &format!("{base}/transactions?limit=2"), 2).await;
            self.get_again('u', &format!("{base}/overview")).await;
        }
    }

    async fn transactions(&mut self) {
        let demo = self.demo;
        for (at, tx) in demo.txs.iter().enumerate() {
            self.transaction(if at % 4 == 0 { 'u' } else { 'c' }, tx).await;
        }
        for tx in demo.pending.iter().chain(&demo.replaced) {
            self.transaction('u', tx).await;
            let base = format!("/v1/mempool/tx/{}", tx.txid);
            self.get_again('u', &base).await;
            self.get('u', format!("{base}?relatives_limit=1&io_limit=1")).await;
        }
        for tx in demo.pending.iter().chain(&demo.replaced).step_by(5) {
            self.get('c', format!("/v1/mempool/tx/{}", tx.txid)).await;
            self.get('c', format!("/v1/tx/{}", tx.txid)).await;
        }
        for tx in demo.txs.iter().chain(&demo.pending).chain(&demo.replaced).step_by(6) {
            for world in ['u', 'c'] {
                self.post(world, "/v1/tx/broadcast", json!({"tx_hex": tx.raw})).await;
            }
            let text = Asked::get('u', "/v1/tx/broadcast").method("POST").body("text/plain", tx.raw.to_uppercase());
            self.send(text).await;
        }
    }

    /// All that is asked about a transaction.
    async fn transaction(&mut self, world: char, tx: &Paid) {
        for rest in ["", "?include_hex=true&io_limit=2", "/status", "/op-return"] {
            self.get(world, format!("/v1/tx/{}{rest}", tx.txid)).await;
        }
        let asked = json!({"txid": tx.txid, "expected_address": tx.to, "min_amount_sats": tx.sats.max(1)});
        self.post(world, "/v1/tx/verify", asked).await;
        let btc = format!("{}.{:08}", (tx.sats + 1) / 100_000_000, (tx.sats + 1) % 100_000_000);
        let (txid, to) = (&tx.txid, &tx.to);
        let asked =
            format!(r#"{{"txid":"{txid}","address":"{to}","expected_amount_btc":{btc},"min_confirmations":3}}"#);
        self.send(Asked::get(world, "/v1/tx/verify").method("POST").body(JSON, asked)).await;
    }
}

#[tokio::test]
async fn every_answer_over_the_demo_chain_is_what_it_was() {
    let demo = Demo::new();
    let mut corpus = Corpus::over(&demo);
    corpus.documents().await;
    corpus.plain().await;
    corpus.blocks().await;
    corpus.wallets().await;
    corpus.transactions().await;
    corpus.errors().await;
    assert!(corpus.recorder.len() >= 3_000, "{} requests", corpus.recorder.len());
    corpus.recorder.finish(&workspace_root().join("tests/api/corpus.tsv"));
}
