//! Requests that fail, or nearly do.

use serde_json::json;

use super::{Corpus, JSON, PLAIN, record::Asked};

/// The operations as they were agreed upon, those that are not built yet among them.
const AGREED: &str = include_str!("../../../query-api/operations/agreed.tsv");
const MAINNET: &str = "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa";
const NOBODY: &str = "bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080";

impl Corpus<'_> {
    pub(super) async fn errors(&mut self) {
        self.bad_identifiers().await;
        self.bad_queries().await;
        self.bad_bodies().await;
        self.bad_methods().await;
        self.bad_routes().await;
        self.conditions().await;
        self.an_empty_index().await;
    }

    async fn bad_identifiers(&mut self) {
        let tip = self.demo.tip();
        let unknown = "77".repeat(32);
        let of_coinbase = "00".repeat(32);
        for address in [
            "xyz",
            "%20",
            "%00",
            "%ff",
            "%C3%BC",
            MAINNET,
            "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4",
            "tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx",
            "bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt081",
            "BCRT1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KYGT080",
            NOBODY,
            "scripthash:00",
            "scripthash:zz",
            &format!("scripthash:{unknown}"),
            &format!("SCRIPTHASH:{unknown}"),
            &"1".repeat(129),
            &"1".repeat(5_000),
        ] {
            for rest in ["overview", "transactions", "balance-history", "summary"] {
                self.get('c', format!("/v1/wallets/{address}/{rest}")).await;
            }
        }
        let upper = self.demo.txs[0].txid.to_uppercase();
        for txid in ["00", "zz", "%ff", "-", "%20", &"g".repeat(64), &"a".repeat(65), &unknown, &of_coinbase, &upper] {
            for path in [format!("/v1/tx/{txid}"), format!("/v1/tx/{txid}/status"), format!("/v1/tx/{txid}/op-return")]
            {
                self.get('c', path).await;
            }
            self.get('u', format!("/v1/tx/{txid}/status")).await;
            self.get('u', format!("/v1/mempool/tx/{txid}")).await;
        }
        let beyond = [tip + 1, tip + 100, u32::MAX].map(|height| height.to_string());
        for block in ["-1", "1e3", "0x10", "00", "007", "%20", "1.0", "99999999999999999999", "999999999999999999999"] {
            self.get('c', format!("/v1/blocks/{block}")).await;
        }
        for block in beyond.iter().chain([&unknown, &"z".repeat(64), &"a".repeat(63)]) {
            self.get('c', format!("/v1/blocks/{block}")).await;
            self.get('u', format!("/v1/blocks/{block}")).await;
        }
    }

    async fn bad_queries(&mut self) {
        let txid = self.demo.txs[0].txid.clone();
        let pending = self.demo.pending[0].txid.clone();
        let lists: [(String, &[&str]); 9] = [
            (
                format!("/v1/wallets/{NOBODY}/transactions"),
                &[
                    "limit=0",
                    "limit=101",
                    "limit=-1",
                    "limit=",
                    "limit=ten",
                    "limit=1.0",
                    "limit=99999999999999999999",
                    "limit=1&limit=2",
                    "offset=10001",
                    "offset=10000",
                    "view=huge",
                    "view=",
                    "view=full",
                    "cursor=zz",
                    "cursor=",
                    "cursor=zz&offset=1",
                    "limit=0&offset=10001&view=huge&cursor=",
                    "limt=3&ofset=1",
                    "LIMIT=3",
                    "limit=%ff",
                    "limit=%zz",
                    "%ff=1",
                    "&&==",
                    "limit=3&&offset=1",
                ],
            ),
            (
                format!("/v1/wallets/{NOBODY}/balance-history"),
                &[
                    "from=2024-13-01",
                    "from=2024-02-30",
                    "from=2024-02-29&to=2023-01-01",
                    "from=yesterday",
                    "to=20240101",
                    "from=0000-00-00",
                    "from=9999-12-31",
                    "from=&to=",
                    "form=2024-01-01",
                ],
            ),
            (format!("/v1/wallets/{MAINNET}/overview"), &["view=huge", "view=compact&view=compact", "veiw=compact"]),
            (
                format!("/v1/tx/{txid}"),
                &[
                    "include_hex=1",
                    "include_hex=yes",
                    "include_hex=",
                    "include_hex=TRUE",
                    "io_limit=0",
                    "io_limit=25001",
                    "io_limit=x&include_hex=x",
                    "iolimit=1",
                    "include_hex=false&io_limit=1",
                ],
            ),
            (
                "/v1/blocks/7".to_owned(),
                &["tx_limit=101", "tx_limit=-1", "tx_offset=100001", "tx_offset=100000", "tx_limit=0"],
            ),
            (
                "/v1/chain/recent-blocks".to_owned(),
                &["limit=0", "limit=51", "cursor=00", "cursor=77", "limt=3&limit=2", "cursor=%00"],
            ),
            (
                "/v1/network/mempool/stress".to_owned(),
                &["history_hours=721", "history_hours=-1", "include_components=x"],
            ),
            (
                format!("/v1/mempool/tx/{pending}"),
                &[
                    "relatives_limit=1001",
                    "io_limit=25001",
                    "relatives_limit=x&io_limit=-1",
                    "relatives_limit=0&io_limit=0",
                ],
            ),
            ("/v1/qr".to_owned(), &["", "data=", "dta=x", "data=a&data=b", "data=%ff", "data=%00"]),
        ];
        for (path, queries) in &lists {
            for query in *queries {
                for world in ['c', 'u'] {
                    self.get(world, format!("{path}?{query}")).await;
                }
            }
        }
        self.get('c', format!("/v1/qr?data={}", "x".repeat(4_096))).await;
        self.get('c', format!("/v1/qr?data={}", "x".repeat(4_097))).await;
        self.get('u', "/v1/chain/projected-blocks?txids_limit=1001").await;
        // A cursor belongs to its list, its filters and its chain.
        let busy = self.demo.busy[0].clone();
        let got = self.get('c', format!("/v1/wallets/{busy}/transactions?limit=3")).await;
        let cursor = got.body["next_cursor"].as_str().unwrap().to_owned();
        let cut = &cursor[..cursor.len() - 2];
        for target in [
            format!("/v1/wallets/{NOBODY}/transactions?cursor={cursor}"),
            format!("/v1/wallets/{busy}/transactions?limit=9&cursor={cursor}"),
            format!("/v1/wallets/{busy}/transactions?cursor={}", cursor.to_uppercase()),
            format!("/v1/wallets/{busy}/transactions?cursor={cut}00"),
            format!("/v1/wallets/{busy}/transactions?cursor={cut}"),
            format!("/v1/wallets/{busy}/transactions?offset=3&cursor={cursor}"),
            format!("/v1/chain/recent-blocks?cursor={cursor}"),
        ] {
            self.get('u', target).await;
        }
    }

    async fn bad_bodies(&mut self) {
        let (txid, to) = (&self.demo.txs[5].txid, &self.demo.txs[5].to);
        let stranger = format!("scripthash:{}", "ab".repeat(32));
        let verify = [
            json!({}),
            json!({"txid": txid}),
            json!({"txid": 5, "address": 5}),
            json!({"txid": txid, "address": to, "expected_address": to}),
            json!({"txid": txid, "address": MAINNET}),
            json!({"txid": "77".repeat(32), "address": to}),
            json!({"txid": txid, "address": stranger, "min_confirmations": 0}),
            json!({"txid": txid, "address": to, "min_amount_sats": 0}),
            json!({"txid": txid, "address": to, "min_amount_sats": 1, "expected_amount_btc": 1}),
            json!({"txid": txid, "address": to, "expected_amount_btc": "0.00000001"}),
            json!({"txid": txid, "address": to, "expected_amount_btc": 0.000000001}),
            json!({"txid": txid, "address": to, "expected_amount_btc": -1}),
            json!({"txid": txid, "address": to, "min_confirmations": 1_000_001}),
            json!({"txid": txid, "address": to, "min_confirmations": 100_000}),
            json!({"txid": txid, "address": to, "min_confirmations": 1.5, "min_amount_sats": "x"}),
            json!({"txid": txid, "address": to, "extra": [1, {"a": null}]}),
            json!({"txid": txid, "address": to, "txid_": 1}),
        ];
        for body in verify {
            self.post('c', "/v1/tx/verify", body.clone()).await;
            self.post('u', "/v1/tx/verify", body).await;
        }
        let raw = &self.demo.pending[1].raw;
        let broadcast = [
            json!({}),
            json!({"tx_hex": ""}),
            json!({"tx_hex": "0"}),
            json!({"tx_hex": "zz"}),
            json!({"tx_hex": "00"}),
            json!({"tx_hex": 1}),
            json!({"tx_hex": [raw]}),
            json!({"tx_hex": format!(" {raw}\n")}),
            json!({"tx_hex": format!("{raw}00")}),
            json!({"tx_hex": &raw[..raw.len() - 2]}),
            json!({"tx_hex": raw, "maxfeerate": 1}),
            json!({"tx_hex": self.demo.txs[0].raw}),
            json!({"tx_hex": "00".repeat(400_001)}),
        ];
        for body in broadcast {
            self.post('c', "/v1/tx/broadcast", body.clone()).await;
            self.post('u', "/v1/tx/broadcast", body).await;
        }
        for path in ["/v1/tx/verify", "/v1/tx/broadcast"] {
            let post = || Asked::get('u', path).method("POST");
            for body in
                ["", "[]", "1", "null", "{", "{\"a\":1,\"a\":1}", "{\"txid\":\"\\ud800\"}", "{\"a\":1e400}", "{} {}"]
            {
                self.send(post().body(JSON, body)).await;
            }
            self.send(post().body(JSON, b"{\"a\":\"\xff\"}".to_vec())).await;
            for kind in ["text/plain", "text/html", "application/x-www-form-urlencoded", "application/vnd.api+json", ""]
            {
                self.send(post().body(kind, "{}")).await;
            }
            self.send(post()).await;
            let large = json!({"txid": "a".repeat(2 << 20)}).to_string();
            self.send(post().body(JSON, large)).await;
        }
        self.send(Asked::get('u', "/api/health").header("content-length", "99999999")).await;
    }

    async fn bad_methods(&mut self) {
        for path in [
            "/about",
            "/openapi.json",
            "/v1/chain/recent-blocks",
            "/v1/tx/zz",
            "/v1/tx/verify",
            "/v1/billing/catalog",
            "/v1/none",
        ] {
            for method in ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"] {
                self.send(Asked::get('u', path).method(method)).await;
            }
            let preflight = Asked::get('u', path).method("OPTIONS").header("origin", "https://example.org");
            let preflight = preflight.header("access-control-request-method", "GET");
            self.send(preflight.header("access-control-request-headers", "authorization, x-y")).await;
            self.send(Asked::get('u', path).header("origin", "https://example.org")).await;
        }
    }

    async fn bad_routes(&mut self) {
        for path in [
            "/v1/walets/x/overview",
            "/v1/chain/recent_blocks",
            "/v1/chain/recent-blocks/",
            "/api/helth",
            "/v1/wallets/",
            "/v1/wallets//overview",
            "/v1//wallets",
            "//v1/wallets",
            "/v1",
            "/v2/wallets",
            "/%ff/%00",
            "/mcp/",
            "/.well-known/nothing",
            "/..%2fetc",
            "/v1/blocks",
            "/v1/blocks/",
            "/v1/tx",
            "/V1/WALLETS",
            "/admin",
            "/metrics",
        ] {
            for world in ['c', 'g', 'e'] {
                self.get(world, path).await;
            }
        }
        self.get('c', format!("/{}", "x".repeat(20_000))).await;
        for line in AGREED.lines().skip(1) {
            let columns: Vec<&str> = line.split('\t').collect();
            // Operations with a part in their path are asked elsewhere, if they are built.
            if !columns[2].is_empty() {
                let target = columns[1].replace(['{', '}'], "x");
                self.send(Asked::get('c', target).method(columns[0])).await;
            }
        }
    }

    async fn conditions(&mut self) {
        for path in ["/v1/blocks/7", "/openapi.json", "/v1/tx/zz", "/v1/qr?data=x", "/v1/mempool/stats"] {
            for tag in ["*", "\"x\"", "x", "", "W/\"x\", *"] {
                self.send(Asked::get('u', path).header("if-none-match", tag)).await;
            }
            for (name, value) in [
                ("accept", "text/html"),
                ("accept", "application/json;q=0"),
                ("authorization", "Bearer x"),
                ("authorization", "Basic eA=="),
                ("x-wr-api-key", "cairn_key_nothing"),
                ("x-request-id", "mine"),
                ("range", "bytes=0-5"),
            ] {
                self.send(Asked::get('g', path).header(name, value)).await;
            }
        }
    }

    async fn an_empty_index(&mut self) {
        let txid = self.demo.txs[0].txid.clone();
        for path in [
            "/v1/blocks/0".to_owned(),
            format!("/v1/wallets/{NOBODY}/overview"),
            format!("/v1/wallets/{MAINNET}/transactions"),
            format!("/v1/wallets/{NOBODY}/balance-history"),
            format!("/v1/tx/{txid}"),
            format!("/v1/tx/{txid}/status"),
            format!("/v1/tx/{txid}/op-return"),
            format!("/v1/mempool/tx/{txid}"),
            "/v1/tx/zz".to_owned(),
            "/v1/qr?data=x".to_owned(),
        ] {
            self.get_again('e', &path).await;
        }
        let body = json!({"txid": txid, "address": NOBODY});
        self.post('e', "/v1/tx/verify", body).await;
        let body = json!({"tx_hex": self.demo.pending[0].raw});
        self.post('e', "/v1/tx/broadcast", body).await;
        for path in PLAIN {
            self.send(Asked::get('e', path).method("POST").body(JSON, "{}")).await;
        }
    }
}
