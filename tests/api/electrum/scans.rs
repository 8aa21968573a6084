//! Scans for silent payments where the index is damaged. Whole scans are tested with Bitcoin Core and `bdk_sp`.

use std::sync::Arc;

use cairn_electrum::Options;
use cairn_link::IndexSlot;
use cairn_reader::Reader;
use serde_json::json;

use super::Server;
use crate::{
    damaged::{closed_with_tweaks, damage},
    support::open_config,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_client_hears_once_that_a_row_is_damaged() {
    let data = closed_with_tweaks();
    damage(&data, "tweaks");
    let slot = Arc::new(IndexSlot::with(Arc::new(Reader::open(&data.path().join("index")).unwrap())));
    let server = Server::over(&slot, open_config(), Options::default(), None).await;
    let mut client = server.speak("1.4").await;
    // Any key may ask; this spend key is the generator of the curve.
    let spend = "0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798";
    let keys = json!([format!("{:064x}", 1), spend, 0]);
    let begun = client.ask("blockchain.silentpayments.subscribe", keys.clone()).await;
    let said = client.notified().await;
    assert_eq!(said["method"], "blockchain.silentpayments.subscribe");
    let params = &said["params"];
    assert_eq!(params["subscription"], begun, "{said}");
    assert_eq!((&params["progress"], &params["history"]), (&json!(0.0), &json!([])), "{said}");
    let text = params["error"]["message"].as_str().unwrap_or_else(|| panic!("{said}"));
    assert!(text.contains("table tweaks of the index is damaged"), "{text}");
    // The scan looks again every two seconds, and says it no more.
    tokio::time::sleep(std::time::Duration::from_secs(5)).await;
    client.ask("server.ping", json!([])).await;
    assert_eq!(client.news, Vec::<serde_json::Value>::new());
}
