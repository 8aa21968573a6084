//! A router over the index of a small chain, and what it answers.

use std::{
    sync::{Arc, LazyLock},
    time::Duration,
};

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{HeaderMap, Request},
};
use bitcoin::hashes::{Hash, sha256};
use cairn_chaingen::{
    EverythingOptions,
    corefiles::{FileOptions, Layout, write_chain},
    everything,
};
use cairn_http::HttpConfig;
use cairn_link::IndexSlot;
use cairn_model::{BlockHash, MempoolDelta, Network};
use cairn_operations::{ApiConfig, ApiState, router_with};
use cairn_pipeline::{Engine, NoProgress, SyncOptions};
use cairn_reader::Facts;
use cairn_sources::BlockFiles;
use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tower::ServiceExt;

/// Longest answer in bytes.
const MAX_ANSWER: usize = 16 << 20;
/// No answer takes longer, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(60);

/// An answer.
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body; empty for a stream of events.
    pub body: Vec<u8>,
}

impl Answer {
    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The type of the body.
    pub fn kind(&self) -> &str {
        self.headers.get("content-type").and_then(|kind| kind.to_str().ok()).unwrap_or_default()
    }

    /// Nothing failed inside: an error is one of the documented ones.
    pub fn assert_documented(&self) {
        // A request may need a node, and there is none.
        assert!(self.status < 500 || self.status == 503, "{}: {}", self.status, self.text());
        // HEAD has no body, and clients may ask for a compressed one.
        if self.body.is_empty() || self.headers.contains_key("content-encoding") {
            return;
        }
        if self.kind().starts_with("application/problem+json") {
            let problem = self.json();
            assert_eq!(problem["status"], self.status, "{problem}");
            assert!(problem["error"].is_string() && problem["detail"].is_string(), "{problem}");
            assert_ne!(problem["error"], "internal_error", "{problem}");
        } else if self.kind().starts_with("application/json") {
            self.json();
        }
    }
}

/// The index and a router with every route.
pub struct World {
    router: Router,
    runtime: Runtime,
    /// A script with several transactions, as `scripthash:…`.
    pub busy: String,
    /// A transaction of it.
    pub txid: String,
    /// Hash of a block with several transactions.
    pub block: String,
    _engine: Engine,
    _folders: (TempDir, TempDir),
}

static WORLD: LazyLock<World> = LazyLock::new(World::new);

impl World {
    /// The one of this process.
    pub fn get() -> &'static World {
        &WORLD
    }

    fn new() -> World {
        let options = EverythingOptions { blocks: 120, max_txs: 6, forks: vec![2], showpieces: false };
        let chain = everything(13, &options).unwrap();
        let (blocks, data) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let files = FileOptions::new(bitcoin::Network::Regtest, [1, 2, 3, 4, 5, 6, 7, 8]);
        write_chain(blocks.path(), &chain, &Layout::tidy(files)).unwrap();
        let facts = Facts { blocks_dir: Some(blocks.path().to_owned()), ..Facts::of(Network::Regtest) };
        let mut engine = Engine::open(data.path(), &facts).unwrap();
        let files = BlockFiles::open(blocks.path(), Network::Regtest).unwrap();
        let survey = files.survey(&|_| {}).unwrap();
        engine.sync(&files, &survey, &SyncOptions::default(), &NoProgress).unwrap();
        engine.follow_up(&NoProgress, true).unwrap();
        let slot = Arc::new(IndexSlot::with(engine.reader()));
        let active = chain.active();
        let tip = &active[active.len() - 1];
        let (height, hash) = (tip.height, BlockHash(tip.hash().to_byte_array()));
        slot.set_best_height(Some(height));
        slot.pool().apply(&[
            MempoolDelta::Reset { sequence: 1 },
            MempoolDelta::Block { height, hash, time: tip.block.header.time },
            MempoolDelta::Sequence(2),
        ]);
        let http = HttpConfig {
            gates_enabled: false,
            rate_limit: 0,
            base_url: "http://cairn.test".to_owned(),
            mcp_versions: cairn_mcp::protocol_versions(),
            ..ApiConfig::default().http
        };
        let state = ApiState::new(slot, ApiConfig::from(http));
        let router = router_with(state, |api| cairn_mcp::routes(api, cairn_mcp::Options::default()));
        let large = active.iter().rev().max_by_key(|mined| mined.block.txdata.len()).unwrap();
        let spender = large.block.txdata.last().unwrap();
        // Coinbases of a seeded chain pay few scripts again and again.
        let script = &active[5].block.txdata[0].output[0].script_pubkey;
        World {
            router,
            runtime: tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap(),
            busy: format!("scripthash:{}", hex::encode(sha256::Hash::hash(script.as_bytes()).to_byte_array())),
            txid: spender.compute_txid().to_string(),
            block: large.hash().to_string(),
            _engine: engine,
            _folders: (blocks, data),
        }
    }

    /// Answers a request, in this process.
    pub fn ask(&self, request: Request<Body>) -> Answer {
        self.runtime.block_on(async {
            let answering = tokio::time::timeout(PATIENCE, self.router.clone().oneshot(request));
            let (parts, body) = answering.await.expect("an answer takes too long").unwrap().into_parts();
            let mut answer = Answer { status: parts.status.as_u16(), headers: parts.headers, body: Vec::new() };
            // A stream goes on for ever.
            if !answer.kind().starts_with("text/event-stream") {
                let reading = tokio::time::timeout(PATIENCE, to_bytes(body, MAX_ANSWER));
                answer.body = reading.await.expect("a body takes too long").expect("a body is too long").to_vec();
            }
            answer
        })
    }

    /// Answers a GET.
    pub fn get_path(&self, path: &str) -> Answer {
        self.ask(Request::get(path).body(Body::empty()).unwrap())
    }
}
