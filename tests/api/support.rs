//! An index of a generated chain and a router over it.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, LazyLock, Mutex},
};

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{HeaderMap, Request},
};
use cairn_chaingen::{
    Chain, EverythingOptions,
    corefiles::{FileOptions, Layout, write_chain},
    everything,
};
use cairn_http::HttpConfig;
use cairn_link::IndexSlot;
use cairn_model::Network;
use cairn_operations::{ApiConfig, ApiState, openapi_document, router};
use cairn_pipeline::{Engine, NoProgress, SyncOptions};
use cairn_reader::Facts;
use cairn_sources::BlockFiles;
use cairn_testkit::{Oracle, temp_dir};
use jsonschema::Validator;
use serde_json::{Value, json};
use tempfile::TempDir;
use tower::ServiceExt;

/// The answer to a request.
pub struct Reply {
    pub status: u16,
    pub headers: HeaderMap,
    pub text: String,
    pub body: Value,
}

impl Reply {
    pub fn rows_read(&self) -> u64 {
        self.headers["x-rows-read"].to_str().unwrap().parse().unwrap()
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |v| v.to_str().unwrap())
    }
}

/// An index and the chain that it is of.
pub struct World {
    pub chain: Chain,
    pub oracle: Oracle,
    pub slot: Arc<IndexSlot>,
    pub engine: Mutex<Engine>,
    pub blocks_dir: PathBuf,
    _folders: (TempDir, TempDir),
}

impl World {
    pub fn of(chain: Chain) -> World {
        let (blocks, data) = (temp_dir(), temp_dir());
        write_tidy(blocks.path(), &chain);
        let engine = indexed(Network::Regtest, blocks.path(), data.path());
        let active: Vec<_> = chain.active().iter().map(|m| m.block.clone()).collect();
        World {
            oracle: Oracle::of(Network::Regtest, &active),
            slot: Arc::new(IndexSlot::with(engine.reader())),
            engine: Mutex::new(engine),
            blocks_dir: blocks.path().to_owned(),
            chain,
            _folders: (blocks, data),
        }
    }

    /// A router with this configuration.
    pub fn router(&self, config: ApiConfig) -> Router {
        router(ApiState::new(Arc::clone(&self.slot) as Arc<_>, config))
    }

    /// A router without gates.
    pub fn open_router(&self) -> Router {
        self.router(open_config())
    }
}

fn indexed(network: Network, blocks: &Path, data: &Path) -> Engine {
    let facts = Facts { blocks_dir: Some(blocks.to_owned()), ..Facts::of(network) };
    let mut engine = Engine::open(data, &facts).unwrap();
    engine.set_silent_payments(true);
    let files = BlockFiles::open(blocks, network).unwrap();
    let survey = files.survey(&|_| {}).unwrap();
    engine.sync(&files, &survey, &SyncOptions::default(), &NoProgress).unwrap();
    engine.follow_up(&NoProgress, true).unwrap();
    engine
}

/// A router without gates over an index of a file of blocks, as Core writes it; and the folder that both are in.
pub fn router_of_file(network: Network, file: &Path) -> (Router, TempDir) {
    let folder = temp_dir();
    let blocks = folder.path().join("blocks");
    std::fs::create_dir(&blocks).unwrap();
    std::fs::copy(file, blocks.join("blk00000.dat")).unwrap();
    let engine = indexed(network, &blocks, &folder.path().join("data"));
    let slot = Arc::new(IndexSlot::with(engine.reader()));
    (router(ApiState::new(slot as Arc<_>, open_config())), folder)
}

pub fn open_config() -> ApiConfig {
    ApiConfig::from(HttpConfig {
        gates_enabled: false,
        base_url: "http://cairn.test".to_owned(),
        ..ApiConfig::default().http
    })
}

pub fn write_tidy(dir: &Path, chain: &Chain) {
    let files = FileOptions::new(bitcoin::Network::Regtest, [1, 2, 3, 4, 5, 6, 7, 8]);
    write_chain(dir, chain, &Layout::tidy(files)).unwrap();
}

/// The index of a chain in which everything occurs.
pub fn everything_world() -> World {
    let options = EverythingOptions { blocks: 150, max_txs: 8, forks: vec![1, 5], showpieces: true };
    World::of(everything(11, &options).unwrap())
}

/// Sends a request.
pub async fn send(router: &Router, request: Request<Body>) -> Reply {
    let response = router.clone().oneshot(request).await.unwrap();
    let (parts, body) = response.into_parts();
    let bytes = to_bytes(body, usize::MAX).await.unwrap();
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    let body = serde_json::from_str(&text).unwrap_or(Value::Null);
    Reply { status: parts.status.as_u16(), headers: parts.headers, text, body }
}

/// The number in a field of a row.
pub fn count_of(row: &Value, name: &str) -> u64 {
    row[name].as_u64().unwrap_or_else(|| panic!("{name}: {row}"))
}

/// Sends a GET.
pub async fn get(router: &Router, path: &str) -> Reply {
    send(router, Request::get(path).body(Body::empty()).unwrap()).await
}

/// Sends a POST with a JSON body.
pub async fn post(router: &Router, path: &str, body: &Value) -> Reply {
    let request = Request::post(path).header("content-type", "application/json");
    send(router, request.body(Body::from(body.to_string())).unwrap()).await
}

/// Sends a GET that has to succeed, and checks the answer against its schema in `/openapi.json`.
pub async fn get_ok(router: &Router, template: &str, path: &str) -> Value {
    let reply = get(router, path).await;
    assert_eq!(reply.status, 200, "{path}: {}", reply.text);
    assert_valid(template, &reply.body);
    assert_eq!(reply.body["_meta"]["endpoint"], template);
    reply.body
}

/// The description of the interface.
pub static DOCUMENT: LazyLock<Value> = LazyLock::new(|| openapi_document(&open_config()));

/// A validator of the answers of an operation.
pub fn validator(template: &str) -> Validator {
    let methods = &DOCUMENT["paths"][template];
    let operation = methods.get("get").unwrap_or(&methods["post"]);
    let schema = &answer_of(operation)["content"]["application/json"]["schema"];
    assert!(schema.is_object(), "{template} is not described");
    compile(schema)
}

/// The description of the answer of an operation: 200, or 202 if something goes on after it.
pub fn answer_of(operation: &Value) -> &Value {
    let responses = &operation["responses"];
    responses.get("200").unwrap_or(&responses["202"])
}

/// A validator of the JSON bodies that an operation takes.
pub fn body_validator(template: &str) -> Validator {
    let content = &DOCUMENT["paths"][template]["post"]["requestBody"]["content"];
    compile(&content["application/json"]["schema"])
}

fn compile(schema: &Value) -> Validator {
    let mut root = schema.clone();
    root["components"] = json!({"schemas": DOCUMENT["components"]["schemas"]});
    root["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    jsonschema::validator_for(&root).unwrap()
}

static PROBLEM: LazyLock<Validator> = LazyLock::new(|| compile(&json!({"$ref": "#/components/schemas/Problem"})));

pub fn assert_valid(template: &str, body: &Value) {
    check(&validator(template), template, body);
}

/// Checks that a reply is a failure of the one shape.
pub fn assert_problem(reply: &Reply, status: u16, code: &str) {
    assert_eq!((reply.status, &reply.body["error"]), (status, &code.into()), "{}", reply.text);
    assert_eq!(reply.header("content-type"), "application/problem+json");
    assert_eq!(reply.body["status"], status);
    assert_eq!(reply.body["request_id"], reply.header("x-request-id"));
    check(&PROBLEM, "a problem", &reply.body);
}

fn check(validator: &Validator, what: &str, body: &Value) {
    let errors: Vec<String> =
        validator.iter_errors(body).take(5).map(|e| format!("{}: {e}", e.instance_path)).collect();
    assert!(errors.is_empty(), "{what} is not as described: {errors:#?}");
}

/// `scripthash:<hex>` of a script.
pub fn script_hash(script: &bitcoin::Script) -> String {
    format!("scripthash:{}", hex(&sha256(script)))
}

fn sha256(script: &bitcoin::Script) -> [u8; 32] {
    use bitcoin::hashes::Hash;
    bitcoin::hashes::sha256::Hash::hash(script.as_bytes()).to_byte_array()
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

pub fn address(script: &bitcoin::Script) -> Option<String> {
    bitcoin::Address::from_script(script, bitcoin::Network::Regtest).ok().map(|a| a.to_string())
}
