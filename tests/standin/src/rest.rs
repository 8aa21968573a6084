//! The REST interface, as `-rest=1` opens it. No authentication.

use std::sync::Arc;

use bitcoin::consensus::{Encodable, serialize};
use bitcoin::{BlockHash, Txid, VarInt};
use serde_json::{Value, json};

use crate::http::{Request, Response};
use crate::node::{Node, Spent};
use crate::rpc::{chain_info, contents, pool_info, render};
use crate::state::Shared;
use crate::stored::Stored;

const MAX_HEADERS: usize = 2_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Bin,
    Hex,
    Json,
}

fn bad(why: impl Into<String>) -> Response {
    Response::text(400, format!("{}\r\n", why.into()))
}

fn missing(why: impl Into<String>) -> Response {
    Response::text(404, format!("{}\r\n", why.into()))
}

fn json_answer(value: &Value) -> Response {
    let mut body = render::to_bytes(value);
    body.push(b'\n');
    Response::json(200, body)
}

fn formed(form: Form, bytes: Vec<u8>, json: impl FnOnce() -> Value) -> Response {
    match form {
        Form::Bin => Response::binary(bytes),
        Form::Hex => Response::text(200, format!("{}\n", hex::encode(bytes))),
        Form::Json => json_answer(&json()),
    }
}

fn split(path: &str) -> (&str, Option<Form>) {
    match path.rsplit_once('.') {
        Some((stem, "bin")) => (stem, Some(Form::Bin)),
        Some((stem, "hex")) => (stem, Some(Form::Hex)),
        Some((stem, "json")) => (stem, Some(Form::Json)),
        _ => (path, None),
    }
}

/// Answers a request whose path begins with `/rest/`.
pub(crate) fn answer(shared: &Shared, request: &Request) -> Response {
    let path = request.path().strip_prefix("/rest/").unwrap_or_default();
    let (stem, form) = split(path);
    let Some(form) = form else {
        return missing("output format not found (available: .bin, .hex, .json)");
    };
    let parts: Vec<&str> = stem.split('/').collect();
    match (parts.as_slice(), form) {
        (["block", "notxdetails", hash], Form::Json) => block(shared, hash, form, 1),
        (["block", hash], _) => block(shared, hash, form, 3),
        (["headers", count, hash], _) => headers(shared, count, hash, form),
        (["headers", hash], _) => headers(shared, request.query("count").unwrap_or("5"), hash, form),
        (["blockhashbyheight", height], _) => hash_by_height(shared, height, form),
        (["tx", txid], _) => tx(shared, txid, form),
        (["spenttxouts", hash], _) if shared.version >= 300_000 => spent_tx_outs(shared, hash, form),
        (["mempool", "info"], Form::Json) => json_answer(&pool_info(&shared.world().node)),
        (["mempool", "contents"], Form::Json) => pool_contents(shared, request),
        (["chaininfo"], Form::Json) => json_answer(&chain_info(&shared.world().node)),
        (["mempool", ..] | ["chaininfo"], _) => missing("output format not found (available: json)"),
        _ => Response::text(404, ""),
    }
}

/// The block with that hash, if its data are there.
fn find(node: &Node, text: &str) -> Result<Arc<Stored>, Response> {
    let hash: BlockHash = match text.parse() {
        Ok(hash) if text.len() == 64 => hash,
        _ => return Err(bad(format!("Invalid hash: {text}"))),
    };
    let stored = node.get(&hash).ok_or_else(|| missing(format!("{text} not found")))?;
    match node.is_pruned(stored) {
        true => Err(missing(format!("{text} not available (pruned data)"))),
        false => Ok(Arc::clone(stored)),
    }
}

fn block(shared: &Shared, hash: &str, form: Form, verbosity: i64) -> Response {
    let found = find(&shared.world().node, hash);
    match found {
        Err(response) => response,
        Ok(stored) => {
            formed(form, stored.raw.clone(), || crate::rpc::block_json(&shared.world().node, &stored, verbosity))
        }
    }
}

fn headers(shared: &Shared, count: &str, text: &str, form: Form) -> Response {
    let Some(count) = count.parse().ok().filter(|count| (1..=MAX_HEADERS).contains(count)) else {
        return bad(format!("Header count is invalid or out of acceptable range (1-{MAX_HEADERS}): {count}"));
    };
    let Ok(hash) = text.parse::<BlockHash>() else {
        return bad(format!("Invalid hash: {text}"));
    };
    let world = shared.world();
    let node = &world.node;
    let first = node.get(&hash).filter(|stored| node.is_active(stored));
    let heights = first.map_or(0..0, |stored| stored.height..node.height() + 1);
    let found: Vec<&Arc<Stored>> = heights.take(count).filter_map(|height| node.at(height)).collect();
    let bytes = found.iter().flat_map(|stored| serialize(&stored.block.header)).collect();
    formed(form, bytes, || found.iter().map(|stored| crate::rpc::header_json(node, stored)).collect())
}

fn hash_by_height(shared: &Shared, text: &str, form: Form) -> Response {
    let Ok(height) = text.parse::<u32>() else {
        return bad(format!("Invalid height: {text}"));
    };
    let hash = shared.world().hash_at(height);
    match (hash, form) {
        (None, _) => missing("Block height out of range"),
        // The hexadecimal form is the printed hash, not the bytes as they are stored.
        (Some(hash), Form::Hex) => Response::text(200, format!("{hash}\n")),
        (Some(hash), _) => formed(form, serialize(&hash), || json!({ "blockhash": hash.to_string() })),
    }
}

fn tx(shared: &Shared, text: &str, form: Form) -> Response {
    let Ok(txid) = text.parse::<Txid>() else {
        return bad(format!("Invalid hash: {text}"));
    };
    let world = shared.world();
    let node = &world.node;
    let pooled = node.pool.get(&txid).map(|entry| entry.tx.as_ref());
    let confirmed = || {
        let stored = node.block_of(&txid).filter(|_| shared.txindex)?;
        stored.block.txdata.iter().find(|tx| tx.compute_txid() == txid)
    };
    match pooled.or_else(confirmed) {
        None => missing(format!("{text} not found")),
        Some(tx) => formed(form, serialize(tx), || render::tx_json(tx, None, false, node.style())),
    }
}

fn pool_contents(shared: &Shared, request: &Request) -> Response {
    let flag = |name: &str, default: bool| match request.query(name) {
        None => Ok(default),
        Some("true") => Ok(true),
        Some("false") => Ok(false),
        Some(_) => Err(bad(format!("The \"{name}\" query parameter must be either \"true\" or \"false\"."))),
    };
    let (verbose, sequence) = match (flag("verbose", true), flag("mempool_sequence", false)) {
        (Ok(verbose), Ok(sequence)) => (verbose, sequence),
        (Err(response), _) | (_, Err(response)) => return response,
    };
    match contents(&shared.world().node.pool, verbose, sequence) {
        Ok(value) => json_answer(&value),
        Err(_) => bad("Verbose results cannot contain mempool sequence values. (hint: set \"verbose=false\")"),
    }
}

/// The outputs that a block spends: a list for each transaction, the coinbase's being empty.
fn spent_tx_outs(shared: &Shared, text: &str, form: Form) -> Response {
    let (stored, spent) = {
        let world = shared.world();
        let stored = match find(&world.node, text) {
            Ok(stored) => stored,
            Err(response) => return response,
        };
        match world.node.spent(&stored.hash) {
            Some(spent) => (stored, spent),
            None => return missing(format!("{text} undo not available")),
        }
    };
    let style = shared.world().node.style();
    let rows = || {
        let coins = |coins: &Vec<cairn_chaingen::Coin>| -> Value {
            coins
                .iter()
                .map(|coin| {
                    json!({
                        "value": render::btc(coin.txout.value.to_sat()),
                        "scriptPubKey": render::script_json(&coin.txout.script_pubkey, style),
                    })
                })
                .collect()
        };
        std::iter::once(json!([])).chain(spent.iter().map(coins)).collect()
    };
    debug_assert!(stored.height == 0 || stored.block.txdata.len() == spent.len() + 1);
    formed(form, spent_bytes(&spent), rows)
}

fn spent_bytes(spent: &Spent) -> Vec<u8> {
    let mut bytes = Vec::new();
    let length = |bytes: &mut Vec<u8>, count: usize| {
        // Writing to a vector cannot fail.
        let _ = VarInt(count as u64).consensus_encode(bytes);
    };
    length(&mut bytes, spent.len() + 1);
    length(&mut bytes, 0);
    for coins in spent {
        length(&mut bytes, coins.len());
        for coin in coins {
            let _ = coin.txout.consensus_encode(&mut bytes);
        }
    }
    bytes
}
