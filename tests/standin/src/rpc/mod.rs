//! JSON-RPC: requests, batches, errors and the table of methods.

mod args;
mod chain;
mod mempool;
pub(crate) mod render;
mod server;
mod txs;
mod wallet;

use serde_json::{Map, Value, json};

use crate::http::Response;
use crate::state::Shared;

pub(crate) use args::Args;
pub(crate) use chain::{block_json, chain_info, header_json};
pub(crate) use mempool::{contents, pool_info};

/// Codes of Core's `rpc/protocol.h`.
pub(crate) mod code {
    pub(crate) const INVALID_REQUEST: i32 = -32600;
    pub(crate) const METHOD_NOT_FOUND: i32 = -32601;
    pub(crate) const PARSE: i32 = -32700;
    pub(crate) const MISC: i32 = -1;
    pub(crate) const TYPE: i32 = -3;
    pub(crate) const WALLET: i32 = -4;
    pub(crate) const NOT_FOUND: i32 = -5;
    pub(crate) const INVALID_PARAMETER: i32 = -8;
    pub(crate) const WALLET_UNLOCK_NEEDED: i32 = -13;
    pub(crate) const WALLET_NOT_FOUND: i32 = -18;
    pub(crate) const WALLET_NOT_SPECIFIED: i32 = -19;
    pub(crate) const DATABASE: i32 = -20;
    pub(crate) const DESERIALIZATION: i32 = -22;
    pub(crate) const VERIFY: i32 = -25;
    pub(crate) const REJECTED: i32 = -26;
    pub(crate) const IN_CHAIN: i32 = -27;
    pub(crate) const WARM_UP: i32 = -28;
}

/// An error as a client sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RpcError {
    pub(crate) code: i32,
    pub(crate) message: String,
}

impl RpcError {
    pub(crate) fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    fn to_json(&self) -> Value {
        json!({ "code": self.code, "message": self.message })
    }
}

pub(crate) type Result<T = Value> = std::result::Result<T, RpcError>;

type Run = fn(&Shared, &Args) -> Result;

/// Name, names of the parameters, function.
const METHODS: &[(&str, &[&str], Run)] = &[
    ("finalizepsbt", &["psbt", "extract"], wallet::finalize_psbt),
    ("getbalances", &[], wallet::balances),
    ("getbestblockhash", &[], chain::best_block_hash),
    ("getblock", &["blockhash", "verbosity"], chain::block),
    ("getblockchaininfo", &[], chain::blockchain_info),
    ("getblockcount", &[], chain::block_count),
    ("getblockhash", &["height"], chain::block_hash),
    ("getblockheader", &["blockhash", "verbose"], chain::block_header),
    ("getblocktemplate", &["template_request"], mempool::block_template),
    ("getchaintips", &[], chain::chain_tips),
    ("getdifficulty", &[], chain::difficulty),
    ("getindexinfo", &["index_name"], server::index_info),
    ("getmempoolancestors", &["txid", "verbose"], mempool::ancestors),
    ("getmempooldescendants", &["txid", "verbose"], mempool::descendants),
    ("getmempoolentry", &["txid"], mempool::entry),
    ("getmempoolinfo", &[], mempool::info),
    ("getnetworkinfo", &[], server::network_info),
    ("getrawmempool", &["verbose", "mempool_sequence"], mempool::raw_mempool),
    ("getrawtransaction", &["txid", "verbosity", "blockhash"], txs::raw_transaction),
    ("gettxout", &["txid", "n", "include_mempool"], txs::tx_out),
    ("gettxoutsetinfo", &["hash_type", "hash_or_height", "use_index"], chain::tx_out_set_info),
    ("getwalletinfo", &[], wallet::info),
    ("getzmqnotifications", &[], server::zmq_notifications),
    ("invalidateblock", &["blockhash"], chain::invalidate_block),
    ("listunspent", &["minconf", "maxconf", "addresses", "include_unsafe", "query_options"], wallet::list_unspent),
    ("reconsiderblock", &["blockhash"], chain::reconsider_block),
    ("sendrawtransaction", &["hexstring", "maxfeerate", "maxburnamount"], txs::send_raw_transaction),
    ("submitblock", &["hexdata", "dummy"], chain::submit_block),
    ("testmempoolaccept", &["rawtxs", "maxfeerate"], txs::test_mempool_accept),
    ("uptime", &[], server::uptime),
    (
        "walletcreatefundedpsbt",
        &["inputs", "outputs", "locktime", "options", "bip32derivs"],
        wallet::create_funded_psbt,
    ),
    ("walletprocesspsbt", &["psbt", "sign", "sighashtype", "bip32derivs", "finalize"], wallet::process_psbt),
];

/// The methods that a request body calls.
pub(crate) fn methods(body: &[u8]) -> Vec<String> {
    let name = |request: &Value| request.get("method").and_then(Value::as_str).map(str::to_owned);
    match serde_json::from_slice::<Value>(body) {
        Ok(Value::Array(batch)) => batch.iter().filter_map(name).collect(),
        Ok(request) => name(&request).into_iter().collect(),
        Err(_) => Vec::new(),
    }
}

/// Answers a request or a batch. `call` executes one method.
pub(crate) fn answer(version: u32, body: &[u8], mut call: impl FnMut(&str, Option<&Value>) -> Result) -> Response {
    let reply = |status, value: &Value| {
        let mut body = render::to_bytes(value);
        body.push(b'\n');
        Response::json(status, body)
    };
    match serde_json::from_slice::<Value>(body) {
        Err(_) => {
            let error = RpcError::new(code::PARSE, "Parse error");
            reply(500, &json!({ "result": null, "error": error.to_json(), "id": null }))
        }
        Ok(Value::Array(batch)) => {
            let answers: Vec<Value> =
                batch.iter().filter_map(|request| one(version, request, &mut call).map(|(value, _)| value)).collect();
            // A batch of JSON-RPC 2.0 notifications has no answer.
            if answers.is_empty() && !batch.is_empty() {
                return Response::text(204, "");
            }
            reply(200, &Value::Array(answers))
        }
        Ok(request) => match one(version, &request, &mut call) {
            None => Response::text(204, ""),
            Some((value, status)) => reply(status, &value),
        },
    }
}

/// Answers one request: the answer and the HTTP status, if it stands alone. Nothing for a notification.
fn one(version: u32, request: &Value, call: &mut impl FnMut(&str, Option<&Value>) -> Result) -> Option<(Value, u16)> {
    let id = request.get("id");
    let marked = request.get("jsonrpc").and_then(Value::as_str);
    // Core speaks 2.0 from v28 on, and before answers such requests in the old form.
    let second = version >= 280_000 && marked == Some("2.0");
    let result = match request {
        Value::Object(request) => match request.get("method") {
            Some(Value::String(method)) => call(method, request.get("params")),
            Some(_) => Err(RpcError::new(code::INVALID_REQUEST, "Method must be a string")),
            None => Err(RpcError::new(code::INVALID_REQUEST, "Missing method")),
        },
        _ => Err(RpcError::new(code::INVALID_REQUEST, "Invalid Request object")),
    };
    if second && id.is_none() {
        return None;
    }
    let status = match &result {
        _ if second => 200,
        Ok(_) => 200,
        Err(error) if error.code == code::INVALID_REQUEST => 400,
        Err(error) if error.code == code::METHOD_NOT_FOUND => 404,
        Err(_) => 500,
    };
    let mut answer = Map::new();
    if second {
        answer.insert("jsonrpc".to_owned(), json!("2.0"));
    }
    match result {
        Ok(value) => {
            answer.insert("result".to_owned(), value);
            if !second {
                answer.insert("error".to_owned(), Value::Null);
            }
        }
        Err(error) => {
            if !second {
                answer.insert("result".to_owned(), Value::Null);
            }
            answer.insert("error".to_owned(), error.to_json());
        }
    }
    answer.insert("id".to_owned(), id.cloned().unwrap_or(Value::Null));
    Some((Value::Object(answer), status))
}

/// Executes a method, for the wallet of this name if the request's path has one.
pub(crate) fn execute(shared: &Shared, wallet: Option<&str>, method: &str, params: Option<&Value>) -> Result {
    let Some((_, names, run)) = METHODS.iter().find(|(name, ..)| *name == method) else {
        return Err(RpcError::new(code::METHOD_NOT_FOUND, "Method not found"));
    };
    run(shared, &Args::new(names, params)?.of_wallet(wallet))
}
