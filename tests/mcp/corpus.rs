//! A record of some hundred answers of the tools over the demo chain, in `corpus.tsv`, like the API's own.

use axum::Router;
use cairn_http::HttpConfig;
use cairn_mcp::{Options, SHORT_TOOL_ANSWER, protocol_versions, routes};
use cairn_operations::{ApiConfig, router_with};
use cairn_testkit::workspace_root;
use serde_json::{Value, json};

use crate::{
    demo::Demo,
    record::{Asked, Got, Recorder},
    rig::{NEWEST, WITH_HANDSHAKE},
};

/// Operations that take no arguments.
const PLAIN: [&str; 6] =
    ["service_health", "recent_blocks", "projected_blocks", "mempool_stats", "fee_distribution", "fees_recommended"];

struct Corpus<'d> {
    demo: &'d Demo,
    /// `c`: the confirmed chain alone; `u`: with what waits over it, and a node.
    routers: [(char, Router); 2],
    recorder: Recorder,
}

impl<'d> Corpus<'d> {
    fn over(demo: &'d Demo) -> Self {
        let recorder = Recorder::new("mcp");
        let config = demo.config();
        let http = HttpConfig { mcp_versions: protocol_versions(), ..config.http.clone() };
        let config = ApiConfig { http, ..config };
        let over = |slot| router_with(demo.with_node(&slot, config.clone()), |api| routes(api, Options::default()));
        let routers = [('c', over(demo.confirmed())), ('u', over(demo.unconfirmed()))];
        Corpus { demo, routers, recorder }
    }

    async fn send(&mut self, asked: Asked) -> Got {
        let router = self.routers.iter().find(|(letter, _)| *letter == asked.world).map(|(_, router)| router);
        self.recorder.send(router.unwrap(), &asked.header("host", "cairn.test")).await
    }

    /// Sends a body as it is.
    async fn raw(&mut self, body: &str, headers: &[(&str, &str)]) {
        let asked = Asked::get('u', "/mcp/").method("POST").body("application/json", body);
        let asked = headers.iter().fold(asked, |asked, (name, value)| asked.header(name, value));
        let name = format!("message {headers:?} {}", body.chars().take(150).collect::<String>());
        self.send(Asked { name: Some(name), ..asked }).await;
    }

    /// Sends a message of a revision.
    async fn message(&mut self, world: char, version: &str, method: &str, params: Value) -> Got {
        let mut name = format!("{version} {method}");
        if let Some(tool) = params["name"].as_str() {
            name += &format!(" {tool} {}", params["arguments"]).chars().take(150).collect::<String>();
        }
        let mut params = params;
        let mut asked = Asked::get(world, "/mcp/").method("POST").header("accept", "application/json");
        asked.name = Some(name);
        if version == NEWEST {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": NEWEST,
                "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {},
            });
            asked = asked.header("mcp-method", method);
            if let Some(tool) = params["name"].as_str() {
                asked = asked.header("mcp-name", tool);
            }
        }
        if version >= "2025-06-18" && method != "initialize" {
            asked = asked.header("mcp-protocol-version", version);
        }
        let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
        self.send(asked.body("application/json", body.to_string())).await
    }

    /// Calls a tool over both chains.
    async fn call(&mut self, tool: &str, arguments: Value) {
        let names_size = |name: &String| name.ends_with("limit") || name == "format";
        let may_be_long = arguments.as_object().is_some_and(|given| given.keys().any(names_size));
        for world in ['c', 'u'] {
            let params = json!({"name": tool, "arguments": arguments});
            let got = self.message(world, WITH_HANDSHAKE[0], "tools/call", params).await;
            let text = got.body["result"]["content"][0]["text"].as_str().map_or(0, str::len);
            // The description of an endpoint, and a file that is asked for, are not lists.
            if !may_be_long && !["describe_endpoint", "call_endpoint"].contains(&tool) {
                assert!(text <= SHORT_TOOL_ANSWER, "{tool} {arguments}: {text} bytes");
            }
        }
    }

    async fn protocol(&mut self) {
        for version in WITH_HANDSHAKE.iter().copied().chain([NEWEST]) {
            let client = json!({"name": "test", "version": "1"});
            let hello = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": client});
            self.message('u', version, "initialize", hello).await;
            for method in ["ping", "tools/list", "resources/list", "prompts/list", "server/discover", "no/such"] {
                self.message('u', version, method, json!({})).await;
            }
            self.message('u', version, "tools/list", json!({"cursor": "x"})).await;
            let call = json!({"name": "block_detail", "arguments": {"height_or_hash": 5}});
            self.message('u', version, "tools/call", call).await;
            let unknown = json!({"name": "no_such_tool", "arguments": {}});
            self.message('u', version, "tools/call", unknown).await;
        }
        for body in [
            "",
            "{",
            "[]",
            "null",
            "{}",
            r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":1}"#,
            r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":1}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tx_lookup","arguments":[1]}}"#,
            r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"no"},5]"#,
            r#"[{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"mempool_stats"}}]"#,
        ] {
            self.raw(body, &[]).await;
            self.raw(body, &[("mcp-protocol-version", "2025-11-25")]).await;
        }
        let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
        for header in [
            ("mcp-protocol-version", "1999-01-01"),
            ("origin", "https://evil.test"),
            ("mcp-session-id", "x"),
            ("accept", "text/event-stream"),
        ] {
            self.raw(ping, &[header]).await;
        }
        for path in
            ["/mcp/", "/mcp", "/mcp/v1/", "/mcp/v1", "/mcp/messages", "/mcp/v2", "/.well-known/mcp.json", "/llms.txt"]
        {
            for method in ["GET", "HEAD", "PUT", "OPTIONS"] {
                self.send(Asked::get('u', path).method(method)).await;
            }
            self.send(Asked::get('u', path).method("POST").body("text/plain", ping)).await;
            self.send(Asked::get('u', path).method("POST").body("application/json", ping)).await;
        }
    }

    async fn wallets(&mut self) {
        let demo = self.demo;
        let nobody = format!("scripthash:{}", "ab".repeat(32));
        let addresses = demo.named.iter().chain(&demo.busy).chain(demo.others.iter().step_by(9));
        for address in addresses.chain([&nobody]) {
            self.call("wallet_overview", json!({"address": address})).await;
            self.call("wallet_transactions", json!({"address": address, "limit": 3})).await;
            self.call("wallet_balance_history", json!({"address": address})).await;
        }
        for (tool, arguments) in [
            ("wallet_overview", json!({"address": nobody, "view": "compact"})),
            ("wallet_overview", json!({"address": "xyz"})),
            ("wallet_overview", json!({"address": "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"})),
            ("wallet_overview", json!({})),
            ("wallet_overview", json!({"address": null})),
            ("wallet_overview", json!({"address": ["a", {"b": 1}]})),
            ("wallet_overview", json!({"address": demo.busy[0], "view": "huge"})),
            ("wallet_transactions", json!({"limit": 0, "offset": -1})),
            ("wallet_transactions", json!({"address": demo.busy[0], "limit": 100})),
            ("wallet_transactions", json!({"address": demo.busy[0], "limit": "many", "cursor": 1})),
            ("wallet_transactions", json!({"address": demo.busy[1], "offset": 40, "view": "compact"})),
            ("wallet_transactions", json!({"address": demo.busy[1], "limt": 3})),
            ("wallet_balance_history", json!({"address": demo.busy[0], "from": "2025-01-01", "to": "2025-06-30"})),
            ("wallet_balance_history", json!({"address": demo.busy[0], "from": "2025-13-01"})),
        ] {
            self.call(tool, arguments).await;
        }
    }

    async fn transactions(&mut self) {
        let demo = self.demo;
        let txs =
            demo.txs.iter().step_by(6).chain(demo.pending.iter().step_by(6)).chain(demo.replaced.iter().step_by(4));
        for tx in txs {
            for tool in ["tx_lookup", "tx_status", "op_return_decode", "mempool_tx"] {
                self.call(tool, json!({"txid": tx.txid})).await;
            }
            let body =
                json!({"txid": tx.txid, "address": tx.to, "min_amount_sats": tx.sats.max(1), "min_confirmations": 0});
            self.call("tx_verify", body).await;
        }
        for tx in demo.pending.iter().step_by(9).chain(demo.txs.iter().step_by(29)) {
            self.call("tx_broadcast", json!({"tx_hex": tx.raw})).await;
        }
        for (tool, arguments) in [
            ("tx_lookup", json!({})),
            ("tx_lookup", json!({"txid": ""})),
            ("tx_lookup", json!({"txid": "xyz"})),
            ("tx_lookup", json!({"txid": "77".repeat(32)})),
            ("tx_lookup", json!({"txid": "../../api/health"})),
            ("tx_lookup", json!({"txid": "é/%00?x=1#\u{0}"})),
            ("tx_lookup", json!({"txid": "a".repeat(100_000)})),
            ("tx_lookup", json!({"txid": demo.txs[3].txid, "include_hex": true, "io_limit": 1})),
            ("tx_lookup", json!({"txid": demo.txs[3].txid, "include_hex": "perhaps", "io_limit": 0})),
            ("mempool_tx", json!({"txid": demo.pending[2].txid, "relatives_limit": 0, "io_limit": 1})),
            ("tx_verify", json!({})),
            ("tx_verify", json!({"txid": 5})),
            ("tx_verify", json!({"txid": demo.txs[3].txid, "address": "x"})),
            ("tx_verify", json!({"txid": demo.txs[3].txid, "address": demo.txs[3].to, "expected_amount_btc": 0.5})),
            ("tx_broadcast", json!({})),
            ("tx_broadcast", json!({"tx_hex": "00"})),
            ("tx_broadcast", json!({"tx_hex": 7})),
        ] {
            self.call(tool, arguments).await;
        }
    }

    async fn the_rest(&mut self) {
        let demo = self.demo;
        for tool in PLAIN.iter().chain(&["network_intelligence", "mempool_stress"]) {
            self.call(tool, json!({})).await;
            self.call(tool, json!({"unknown": 1})).await;
        }
        for height in (0..=demo.tip() + 300).step_by(300) {
            self.call("block_detail", json!({"height_or_hash": height, "tx_limit": 2})).await;
        }
        for (tool, arguments) in [
            ("block_detail", json!({"height_or_hash": demo.hash(700)})),
            ("block_detail", json!({"height_or_hash": "700", "tx_limit": 100, "tx_offset": 1})),
            ("block_detail", json!({"height_or_hash": demo.tip(), "tx_limit": 100})),
            ("block_detail", json!({"height_or_hash": -1})),
            ("block_detail", json!({"height_or_hash": 1.5, "tx_limit": 101})),
            ("block_detail", json!({"height_or_hash": 99_999_999})),
            ("recent_blocks", json!({"limit": 50})),
            ("recent_blocks", json!({"limit": 51, "cursor": "zz"})),
            ("supply_distribution", json!({})),
            ("supply_distribution", json!({"as_of": 400})),
            ("supply_distribution", json!({"as_of": 99_999_999})),
            ("projected_blocks", json!({"txids_limit": 5})),
            ("projected_blocks", json!({"txids_limit": 1_000})),
            ("projected_blocks", json!({"txids_limit": 1_001})),
            ("mempool_stress", json!({"include_components": true, "history_hours": 2})),
            ("mempool_stress", json!({"include_components": "x", "history_hours": 721})),
            ("qr_code", json!({"data": "bitcoin:x"})),
            ("qr_code", json!({"data": ""})),
            ("qr_code", json!({})),
            ("search_endpoints", json!({})),
            ("search_endpoints", json!({"limit": 100})),
            ("search_endpoints", json!({"query": "what feerate is recommended"})),
            ("search_endpoints", json!({"query": "balance of an address over time", "limit": 2})),
            ("search_endpoints", json!({"query": "send a transaction"})),
            ("search_endpoints", json!({"query": "blocks"})),
            ("search_endpoints", json!({"query": "zzzz qqqq"})),
            ("search_endpoints", json!({"query": 1, "limit": 0})),
            ("search_endpoints", json!({"query": "x".repeat(257)})),
            ("call_endpoint", json!({})),
            ("call_endpoint", json!({"endpoint": 1})),
            ("call_endpoint", json!({"endpoint": "no_such"})),
            ("call_endpoint", json!({"endpoint": "health_full"})),
            ("call_endpoint", json!({"endpoint": "block_detail", "arguments": {"height_or_hash": "3", "tx_limit": 1}})),
            ("call_endpoint", json!({"endpoint": "block_detail", "arguments": "3"})),
            (
                "call_endpoint",
                json!({"endpoint": "GET /v1/blocks/{height_or_hash}", "arguments": {"height_or_hash": 3}}),
            ),
            ("call_endpoint", json!({"endpoint": " GET  /v1/blocks/3?tx_limit=1 ", "arguments": null})),
            ("call_endpoint", json!({"endpoint": "POST /v1/tx/verify", "arguments": {"txid": "x", "address": "x"}})),
            ("call_endpoint", json!({"endpoint": "DELETE /v1/wallets"})),
            ("call_endpoint", json!({"endpoint": "http://127.0.0.1/"})),
            ("call_endpoint", json!({"endpoint": "//evil.test/x"})),
            ("call_endpoint", json!({"endpoint": "/openapi.json"})),
            ("call_endpoint", json!({"endpoint": "/llms.txt"})),
            ("call_endpoint", json!({"endpoint": "/mcp/"})),
            ("call_endpoint", json!({"endpoint": "/v1/nothing"})),
            ("call_endpoint", json!({"endpoint": "/v1/billing/catalog"})),
            ("call_endpoint", json!({"endpoint": "/v1/qr?data=x"})),
            ("call_endpoint", json!({"endpoint": format!("/{}", "x".repeat(70_000))})),
        ] {
            self.call(tool, arguments).await;
        }
        // Every operation that is found, by its name alone.
        let all = json!({"name": "search_endpoints", "arguments": {"limit": 100}});
        let found = self.message('u', NEWEST, "tools/call", all).await.body;
        let found = found["result"]["structuredContent"]["data"]["endpoints"].as_array().unwrap().clone();
        assert!(found.len() >= 20);
        for endpoint in found {
            self.call("call_endpoint", json!({"endpoint": endpoint["operation"]})).await;
        }
    }
}

#[tokio::test]
async fn every_tool_says_over_the_demo_chain_what_it_said() {
    let demo = Demo::new();
    let mut corpus = Corpus::over(&demo);
    corpus.protocol().await;
    corpus.wallets().await;
    corpus.transactions().await;
    corpus.the_rest().await;
    assert!(corpus.recorder.len() >= 700, "{} messages", corpus.recorder.len());
    corpus.recorder.finish(&workspace_root().join("tests/mcp/corpus.tsv"));
}
