//! Compact views over the demo chain: at most half of the whole answer for wallets that are in use, and nothing in them
//! that the whole one lacks. The parts of every answer, `_meta` above all, weigh more in the answer for an unused
//! wallet.

use cairn_http::Location;
use cairn_operations::{ApiConfig, ApiState, router};
use serde_json::Value;

use crate::{
    corpus::Demo,
    support::{DOCUMENT, assert_valid, get},
};

/// Members that say what an answer is about, or why something is missing. They are in every view.
fn stays(name: &str) -> bool {
    let amount = name.ends_with("_sats") && !name.starts_with("confirmed");
    let identity = ["address", "canonical_address", "script_hash", "txid", "caveat_codes", "_meta", "warnings"];
    amount || identity.contains(&name) || name.ends_with("_reason") || name == "reason"
}

/// Checks that `compact` is a part of `full`, and that what has to stay has stayed, except in members that were left
/// out as a whole.
fn assert_part(at: &str, compact: &Value, full: &Value) {
    match (compact, full) {
        (Value::Object(compact), Value::Object(full)) => {
            for (name, value) in compact {
                let whole = full.get(name).unwrap_or_else(|| panic!("{at}.{name} is in the compact view only"));
                assert_part(&format!("{at}.{name}"), value, whole);
            }
            for name in full.keys().filter(|name| stays(name)) {
                assert!(compact.contains_key(name), "{at}.{name} is not in the compact view");
            }
        }
        (Value::Array(compact), Value::Array(full)) => {
            assert_eq!(compact.len(), full.len(), "{at}");
            compact.iter().zip(full).for_each(|(compact, full)| assert_part(at, compact, full));
        }
        _ => assert_eq!(compact, full, "{at}"),
    }
}

/// The paths of the wallet operations that have a compact view, as the description lists them.
fn paths() -> Vec<String> {
    let wallets = DOCUMENT["paths"].as_object().unwrap().iter();
    let wallets = wallets.filter(|(path, _)| path.starts_with("/v1/wallets/{address}/"));
    let views = wallets.filter(|(_, methods)| {
        let parameters = methods["get"]["parameters"].as_array().unwrap();
        parameters
            .iter()
            .any(|parameter| (&parameter["name"], &parameter["in"]) == (&"view".into(), &Location::Query.name().into()))
    });
    views.map(|(path, _)| path.clone()).collect()
}

#[tokio::test]
async fn compact_views_are_half_and_keep_what_identifies() {
    let demo = Demo::new();
    let waiting = demo.unconfirmed();
    let with_pool = router(demo.with_node(&waiting, demo.config()));
    let confirmed = router(ApiState::new(demo.confirmed(), ApiConfig::clone(&demo.config())));
    let templates = paths();
    assert!(templates.len() >= 2, "{templates:?}");
    let (mut reasons, mut measured) = (0, 0);
    for (name, server) in [("with a mempool", &with_pool), ("without", &confirmed)] {
        for template in &templates {
            for address in demo.named.iter().chain(&demo.busy).chain(&demo.others) {
                let path = template.replace("{address}", address);
                let (full, compact) = (get(server, &path).await, get(server, &format!("{path}?view=compact")).await);
                assert_eq!((full.status, compact.status), (200, 200), "{path}: {}", compact.text);
                assert_valid(template, &compact.body);
                let busy = full.body["tx_count"].as_u64().is_some_and(|count| count > 0)
                    || full.body["transactions"].as_array().is_some_and(|rows| rows.len() >= 10);
                let (size, whole) = (compact.text.len(), full.text.len());
                let most = if busy { whole / 2 } else { whole * 3 / 4 };
                assert!(size <= most, "{path} {name}: {size} bytes of {whole}: {}\n{}", compact.text, full.text);
                measured += usize::from(busy);
                assert_part(&path, &compact.body, &full.body);
                reasons += usize::from(compact.text.contains("_reason\":\""));
            }
        }
    }
    assert!(reasons > 0, "some of them have a reason");
    assert!(measured > 100, "{measured} answers about wallets in use");
}
