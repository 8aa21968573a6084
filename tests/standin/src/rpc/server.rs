//! Methods about the node itself.

use serde_json::{Map, Value, json};

use super::chain::warnings;
use super::render::btc;
use super::{Args, Result};
use crate::state::Shared;

/// Core's name of its version on the network.
fn subversion(version: u32) -> String {
    format!("/Satoshi:{}.{}.{}/", version / 10_000, version / 100 % 100, version % 100)
}

pub(super) fn network_info(shared: &Shared, _: &Args) -> Result {
    let world = shared.world();
    let policy = &world.node.policy;
    Ok(json!({
        "version": policy.version,
        "subversion": subversion(policy.version),
        "protocolversion": 70016,
        "localservices": "0000000000000c09",
        "localservicesnames": ["NETWORK", "WITNESS", "NETWORK_LIMITED", "P2P_V2"],
        "localrelay": true,
        "timeoffset": 0,
        "networkactive": true,
        "connections": 8,
        "connections_in": 0,
        "connections_out": 8,
        "networks": [],
        "relayfee": btc(policy.relay_fee),
        "incrementalfee": btc(policy.relay_fee),
        "localaddresses": [],
        "warnings": warnings(&world.node),
    }))
}

pub(super) fn uptime(shared: &Shared, _: &Args) -> Result {
    Ok(json!(shared.uptime().as_secs()))
}

pub(super) fn index_info(shared: &Shared, args: &Args) -> Result {
    let wanted = args.value(0).and_then(Value::as_str);
    let height = shared.world().node.height();
    let mut indexes = Map::new();
    for (name, on) in [("txindex", shared.txindex), ("coinstatsindex", shared.coinstatsindex)] {
        if on && wanted.is_none_or(|wanted| wanted == name) {
            indexes.insert(name.to_owned(), json!({ "synced": true, "best_block_height": height }));
        }
    }
    Ok(Value::Object(indexes))
}

pub(super) fn zmq_notifications(shared: &Shared, _: &Args) -> Result {
    let rows = shared.zmq_addresses().into_iter();
    Ok(rows
        .map(|(topic, address)| {
            json!({ "type": format!("pub{}", topic.name()), "address": address, "hwm": shared.high_water_mark })
        })
        .collect())
}
