//! How clients authenticate: one text for all documents, so that they cannot differ.

use serde_json::{Value, json};

use crate::{config::HttpConfig, contract::operation::RegisteredOperation};

/// Name of the scheme of wallet sessions.
pub(super) const BEARER: &str = "wallet_session";
/// Name of the scheme of bridge keys.
pub(super) const KEY: &str = "bridge_key";

/// The operations of which some requests need a session or key; none while the gates are disabled.
pub(crate) fn gated<'o>(operations: &'o [RegisteredOperation], config: &HttpConfig) -> Vec<&'o RegisteredOperation> {
    operations.iter().filter(|op| config.gates_enabled && op.info.conditional).collect()
}

/// Purpose of a wallet session and a bridge key.
pub(super) fn schemes(operations: &[RegisteredOperation], config: &HttpConfig) -> [String; 2] {
    let names: Vec<&str> = gated(operations, config).iter().map(|op| op.info.name).collect();
    let needed = match names.as_slice() {
        [] => "Nothing needs it on this server.".to_owned(),
        names => format!("Only some requests of {} need it; everything else is open.", names.join(", ")),
    };
    [
        format!("A wallet session: `Authorization: Bearer <token>`. {needed}"),
        "The key of a bridge pass: `X-WR-API-Key: <key>`. It gives the same access as a wallet session.".to_owned(),
    ]
}

/// How clients authenticate, and which operations need it.
pub(crate) fn authentication(operations: &[RegisteredOperation], config: &HttpConfig) -> Value {
    let [session, key] = schemes(operations, config);
    let needed_for: Vec<&str> = gated(operations, config).iter().map(|op| op.info.name).collect();
    json!({
        "required": false,
        "schemes": [
            {"id": BEARER, "type": "http", "scheme": "bearer", "in": "header", "name": "Authorization",
                "description": session},
            {"id": KEY, "type": "apiKey", "in": "header", "name": "X-WR-API-Key", "description": key},
        ],
        "needed_for": needed_for,
    })
}
