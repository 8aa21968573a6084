//! The form of a question about a payment, and how it is read.

use axum::{body::Body, http::Request};
use proptest::{
    prop_assert_eq,
    test_runner::{Config, TestRunner},
};
use serde_json::{Value, json};

use crate::{
    support::{Reply, assert_problem, body_validator, everything_world, get, post, script_hash, send},
    verify::{VERIFY, ask_text, btc},
};

#[tokio::test]
async fn bad_requests() {
    let world = &everything_world();
    let router = world.open_router();
    let tx = &world.oracle.blocks()[9].txdata[0];
    let (txid, payee) = (tx.compute_txid().to_string(), script_hash(&tx.output[0].script_pubkey));
    let names = |reply: &Reply| -> Vec<String> {
        let errors = reply.body["errors"].as_array().unwrap();
        assert!(errors.iter().all(|e| e["in"] == "body"));
        errors.iter().map(|e| e["name"].as_str().unwrap().to_owned()).collect()
    };
    let takes = body_validator(VERIFY);
    let cases = [
        (json!({}), 422, "validation_error", vec!["txid", "expected_address"]),
        (json!({"txid": txid}), 422, "validation_error", vec!["expected_address"]),
        (json!({"txid": txid, "address": null}), 422, "validation_error", vec!["expected_address"]),
        (json!({"address": payee}), 422, "validation_error", vec!["txid"]),
        (json!({"txid": 5, "address": ["x"]}), 422, "validation_error", vec!["txid", "address"]),
        (json!({"txid": "zz", "address": payee}), 400, "invalid_txid", vec!["txid"]),
        (json!({"txid": txid, "address": "nobody"}), 400, "invalid_address", vec!["address"]),
        (json!({"txid": txid, "address": "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"}), 400, "wrong_network", vec!["address"]),
        (json!({"txid": txid, "address": payee, "expected_address": payee}), 422, "validation_error", vec!["address"]),
        (
            json!({"txid": txid, "address": payee, "min_amount_sats": 1, "expected_amount_btc": 1}),
            422,
            "validation_error",
            vec!["expected_amount_btc"],
        ),
        (
            json!({"txid": txid, "address": payee, "min_amount_sats": 0, "min_confirmations": -1}),
            422,
            "validation_error",
            vec!["min_amount_sats", "min_confirmations"],
        ),
        (
            json!({"txid": txid, "address": payee, "min_amount_sats": 2_100_000_000_000_001u64}),
            422,
            "validation_error",
            vec!["min_amount_sats"],
        ),
        (
            json!({"txid": txid, "address": payee, "min_amount_sats": 1.5}),
            422,
            "validation_error",
            vec!["min_amount_sats"],
        ),
        (
            json!({"txid": txid, "address": payee, "min_amount_sats": "5", "min_confirmations": 1_000_001}),
            422,
            "validation_error",
            vec!["min_amount_sats", "min_confirmations"],
        ),
        (
            json!({"txid": txid, "address": payee, "expected_amount_btc": true}),
            422,
            "validation_error",
            vec!["expected_amount_btc"],
        ),
    ];
    for (body, status, code, fields) in cases {
        let reply = post(&router, VERIFY, &body).await;
        assert_problem(&reply, status, code);
        assert_eq!(names(&reply), fields, "{body}");
        // A body that is refused for its form does not pass the schema either.
        assert!(status == 400 || !takes.is_valid(&body), "{body}");
    }
    for amount in [
        "0",
        "-0",
        "0.0",
        "-1",
        "-0.00000001",
        "0.000000001",
        "1.000000001",
        "20999999.999999991",
        "21000000.1",
        "1e-9",
        "1e20",
        "99999999999999999999999999",
        "0.10000000000000000000001",
    ] {
        for amount in [amount.to_owned(), format!("\"{amount}\"")] {
            let text = format!(r#"{{"txid":"{txid}","address":"{payee}","expected_amount_btc":{amount}}}"#);
            let reply = ask_text(&router, text).await;
            assert_problem(&reply, 422, "validation_error");
            assert_eq!(names(&reply), ["expected_amount_btc"], "{amount}");
        }
    }
    let text = format!(r#"{{"txid":"{txid}","address":"{payee}","expected_amount_btc":0.30000000000000004}}"#);
    let told = ask_text(&router, text).await.body["errors"][0]["message"].clone();
    assert_eq!(told, "has more than 8 decimals; the nearest valid amount is 0.3");
    for text in ["", "{", r#"{"txid":"a","txid":"b"}"#, r#"{"expected_amount_btc":1e999}"#, "{\"txid\":01}"] {
        assert_problem(&ask_text(&router, text).await, 400, "malformed_json");
    }
    // JSON of the wrong type is JSON, at the top as one level down.
    for text in ["[]", "null", "7", "true", r#""x""#, r#"[{"txid":"a"}]"#, r#"{"txid":[]}"#] {
        assert_problem(&ask_text(&router, text).await, 422, "validation_error");
    }
    for good in [
        json!({"txid": txid, "address": payee}),
        json!({"txid": txid, "expected_address": payee,
        "min_amount_sats": 5, "min_confirmations": 0}),
        json!({"txid": txid, "address": payee, "expected_amount_btc": 0.5}),
        json!({"txid": txid, "address": payee, "expected_amount_btc": "0.5"}),
    ] {
        assert!(takes.is_valid(&good), "{good}");
        assert_eq!(post(&router, VERIFY, &good).await.status, 200);
    }
}

#[tokio::test]
async fn unknown_members_pass_with_a_warning() {
    let world = &everything_world();
    let tx = &world.oracle.blocks()[9].txdata[0];
    let body = json!({"txid": tx.compute_txid().to_string(), "address": script_hash(&tx.output[0].script_pubkey),
        "min_amount_sat": 5, "deep": {"a": [1]}});
    let path = format!("{VERIFY}?txid=x");
    let reply = post(&world.open_router(), &path, &body).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    let warnings = reply.body["_meta"]["warnings"].as_array().unwrap();
    let unknown: Vec<&str> =
        warnings.iter().filter(|w| w["code"] == "unknown_parameter").map(|w| w["message"].as_str().unwrap()).collect();
    assert_eq!(unknown.len(), 3, "{unknown:?}");
    assert!(unknown[1].contains("did you mean min_amount_sats?"));
}

#[tokio::test]
async fn only_posts_and_nothing_is_kept() {
    let world = &everything_world();
    let router = world.open_router();
    for method in ["GET", "HEAD", "PUT", "DELETE"] {
        let request = Request::builder().method(method).uri(VERIFY).body(Body::empty()).unwrap();
        let reply = send(&router, request).await;
        assert_eq!((reply.status, reply.header("allow")), (405, "POST, OPTIONS"), "{method}");
        assert_eq!(reply.text.is_empty(), method == "HEAD");
    }
    let preflight = Request::options(VERIFY)
        .header("origin", "https://example.org")
        .header("access-control-request-method", "POST")
        .header("access-control-request-headers", "content-type");
    let reply = send(&router, preflight.body(Body::empty()).unwrap()).await;
    assert_eq!(reply.status, 204);
    assert_eq!(reply.header("access-control-allow-methods"), "POST, OPTIONS");

    let tx = &world.oracle.blocks()[9].txdata[0];
    let body = json!({"txid": tx.compute_txid().to_string(), "address": script_hash(&tx.output[0].script_pubkey)});
    let request = Request::post(VERIFY).header("content-type", "application/json").header("if-none-match", "*");
    let reply = send(&router, request.body(Body::from(body.to_string())).unwrap()).await;
    assert_eq!((reply.status, reply.header("cache-control"), reply.header("etag")), (200, "no-store", ""));
    assert_eq!(reply.body["_meta"]["endpoint"], "POST /v1/tx/verify");
    let described = &crate::support::DOCUMENT["paths"][VERIFY]["post"];
    assert!(described["responses"]["304"].is_null() && described["responses"]["200"]["headers"]["ETag"].is_null());
    assert_eq!((&described["x-tier"], &described["x-price-sats"]), (&"premium".into(), &21.into()));
    // The same path as a transaction of that name would have: that name is not a txid.
    assert_problem(&get(&router, "/v1/tx/verifi").await, 400, "invalid_txid");
}

/// Whatever amount a client writes, that amount is compared: no float rounds it.
#[test]
fn amounts_are_read_exactly() {
    let world = everything_world();
    let router = world.open_router();
    let tx = &world.oracle.blocks()[9].txdata[0];
    let (txid, payee) = (tx.compute_txid().to_string(), script_hash(&tx.output[0].script_pubkey));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut runner = TestRunner::new(Config { cases: 400, ..Config::default() });
    let spellings = (1..=2_100_000_000_000_000u64, 0usize..4, 0usize..12);
    let outcome = runner.run(&spellings, |(sats, spelling, zeros)| {
        let written = match spelling {
            0 => btc(sats),
            1 => format!("{}{}", btc(sats), "0".repeat(zeros)),
            2 => format!("{sats}e-8"),
            _ => format!("\"{}\"", btc(sats)),
        };
        let text = format!(r#"{{"txid":"{txid}","address":"{payee}","expected_amount_btc":{written}}}"#);
        let reply = runtime.block_on(ask_text(&router, text));
        prop_assert_eq!(&reply.body["expected"]["min_amount_sats"], &Value::from(sats), "{}: {}", written, reply.text);
        let printed = btc(sats);
        let printed = format!("\"min_amount_btc\":{},", printed.trim_end_matches('0').trim_end_matches('.'));
        proptest::prop_assert!(reply.text.contains(&printed), "{}", reply.text);
        Ok(())
    });
    outcome.unwrap();
}
