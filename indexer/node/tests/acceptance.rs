//! Questions if the node would accept a transaction.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use common::{Response, Server};
use serde_json::json;

const HASH: &str = "00000000000000000000000000000000000000000000000000000000000000ff";

#[test]
fn acceptance_is_asked_without_sending() {
    let said = |result: serde_json::Value| {
        let server = Server::start(move |request| {
            assert_eq!(request.rpc()["method"], "testmempoolaccept");
            Response::rpc(request, Ok(result.clone()))
        });
        let outcome = server.client().test_mempool_accept(&[7], Some(10_000));
        let asked = server.requests.lock().unwrap().last().unwrap().rpc()["params"].clone();
        assert_eq!(asked, json!([["07"], "0.00010000"]));
        outcome
    };
    // As Bitcoin Core 25 to 31 answers.
    let fees = json!({ "base": 0.000_01, "effective-feerate": 0.000_07, "effective-includes": [HASH] });
    let allowed = json!([{ "txid": HASH, "wtxid": HASH, "allowed": true, "vsize": 141, "fees": fees }]);
    assert_eq!(said(allowed).unwrap(), None);
    let refused = json!([{ "txid": HASH, "allowed": false, "reject-reason": "missing-inputs", "reject-details": "x" }]);
    assert_eq!(said(refused).unwrap().unwrap(), "missing-inputs");
    for odd in [json!([]), json!([{ "txid": HASH }]), json!([{ "allowed": false }]), json!({}), json!(null)] {
        said(odd.clone()).expect_err(&odd.to_string());
    }
}
