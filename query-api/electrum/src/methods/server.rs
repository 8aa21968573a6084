//! Methods about the server itself.

use cairn_http::Cost;
use serde_json::{Value, json};

use crate::{
    answer::{Answer, write},
    client::Client,
    failure::Failure,
    negotiate::{Version, asked, negotiate},
    options::SOFTWARE,
    params::Params,
};

/// Negotiates the version. Further parameters are ignored, as version 1.6 requires.
pub(super) async fn version(client: &mut Client, params: &Params) -> Answer {
    client.electrum.charge(client.asker).await?;
    if client.version.is_some() {
        return Err(Failure::bad("server.version was already sent"));
    }
    let Some(asked) = asked(params.get(1, "protocol_version")) else {
        return Err(Failure::params("protocol_version is neither a version nor a list of two"));
    };
    // From 1.6 on, this must be the first request.
    let newest = if client.has_asked { Version::LAST_LENIENT } else { Version::NEWEST };
    let Some(version) = negotiate(asked, newest) else {
        client.is_refused = true;
        let (from, to) = (Version::OLDEST, newest);
        return Err(Failure::bad(format!("unsupported protocol version; versions {from} to {to} are served")));
    };
    client.version = Some(version);
    write(&json!([SOFTWARE, version.to_string()]))
}

/// Answers the methods that need no index; `None` if it is another one.
pub(super) async fn answer(client: &Client, method: &str, _: &Params) -> Option<Answer> {
    let value = match method {
        "server.ping" => Value::Null,
        "server.banner" => json!(client.electrum.options.banner),
        "server.donation_address" => json!(""),
        "server.peers.subscribe" => json!([]),
        "server.add_peer" => json!(false),
        "server.features" => return Some(features(client).await),
        _ => return None,
    };
    Some(client.electrum.charge(client.asker).await.and_then(|()| write(&value)))
}

async fn features(client: &Client) -> Answer {
    let genesis = client.electrum.read(Cost::Light, client.asker, |at, _| Ok(at.header(0)?.hash)).await?;
    let versions = super::silentpayments::versions(client).await?;
    let mut features = json!({
        "genesis_hash": genesis.to_string(),
        "hosts": {},
        "protocol_max": Version::NEWEST.to_string(),
        "protocol_min": Version::OLDEST.to_string(),
        "pruning": null,
        "server_version": SOFTWARE,
        "hash_function": "sha256",
    });
    if !versions.is_empty() {
        features["silent_payments"] = json!(versions);
    }
    write(&features)
}
