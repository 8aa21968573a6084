//! Limits of a broadcast that the client sets, and what is sent in place of a transaction.

use bitcoin::consensus::serialize;
use cairn_operations::BroadcastLimits;
use serde_json::{Value, json};

use crate::{
    broadcast::{BROADCAST, Scripted, fresh, submit_as, with_node},
    support::{assert_problem, everything_world, hex, post},
    unconfirmed::Waiting,
};

#[tokio::test]
async fn limits_of_the_client_reach_the_node_and_refusals_name_them() {
    let world = &everything_world();
    let node = Scripted::new(world);
    let router = with_node(world, &node);
    let mut waiting = Waiting::at_tip(world);
    let tx = hex(&serialize(&fresh(&mut waiting, 5_000)));
    let limits = || *node.limits.lock().unwrap();
    assert_eq!(post(&router, BROADCAST, &json!({"tx_hex": tx})).await.status, 200);
    assert_eq!(limits(), BroadcastLimits::default());
    let body = json!({"tx_hex": tx, "max_fee_rate_sat_vb": 25, "max_burn_sats": 0});
    assert_eq!(post(&router, BROADCAST, &body).await.status, 200);
    assert_eq!(limits(), BroadcastLimits { max_fee_rate_sat_vb: Some(25), max_burn_sats: Some(0) });
    let bare = json!({"tx_hex": tx});
    let fee = "Fee exceeds maximum configured by user (e.g. -maxtxfee, maxfeerate)";
    let burn = "Unspendable output exceeds maximum configured by user (maxburnamount)";
    for (reason, code, name, own, value) in [
        (fee, "max_fee_exceeded", "max_fee_rate_sat_vb", true, json!(25)),
        (fee, "max_fee_exceeded", "max_fee_rate_sat_vb", false, Value::Null),
        (burn, "max_burn_exceeded", "max_burn_sats", true, json!(0)),
        (burn, "max_burn_exceeded", "max_burn_sats", false, Value::Null),
    ] {
        node.refuses(-25, reason);
        let reply = post(&router, BROADCAST, if own { &body } else { &bare }).await;
        assert_problem(&reply, 400, code);
        let set_by = if own { "request" } else { "node" };
        assert_eq!(reply.body["limit"], json!({"name": name, "set_by": set_by, "value": value}), "{}", reply.text);
        assert!(reply.body["detail"].as_str().unwrap().contains(name), "{}", reply.text);
    }
    for bad in
        [json!({"max_fee_rate_sat_vb": 0}), json!({"max_fee_rate_sat_vb": 100_001}), json!({"max_burn_sats": -1})]
    {
        let mut body = bad.clone();
        body["tx_hex"] = tx.clone().into();
        assert_problem(&post(&router, BROADCAST, &body).await, 422, "validation_error");
    }
    // A body that is not a transaction is named.
    for (body, says) in [
        ("", "is empty"),
        ("cHNidP8BAHUCAAAAASaBcTce3/KF6Tet7qSze3gADAVmy7OtZGQXE8pCFxv2", "is a damaged PSBT"),
        (&tx[..tx.len() - 2], "is cut"),
        (format!("{tx}00").as_str(), "has 1 more bytes"),
    ] {
        let reply = submit_as(&router, "text/plain", body.to_owned()).await;
        assert_problem(&reply, 400, "invalid_transaction");
        assert!(reply.body["detail"].as_str().unwrap().contains(says), "{}", reply.text);
    }
    for (body, says) in [("", "is empty"), ("{\"tx_hex\": \"00", "ends early"), ("{} {}", "more after its end")] {
        let reply = submit_as(&router, "application/json", body).await;
        assert_problem(&reply, 400, "malformed_json");
        assert!(reply.body["detail"].as_str().unwrap().contains(says), "{}", reply.text);
    }
}
