//! The page of a wallet from canned answers.

use axum::http::{StatusCode, header};

use crate::testing::{Canned, body_of, get, post};

const WALLET: &str = r#"{"branches":[{"item":0,"step":0,"script_type":"witness_v0_keyhash","is_ranged":true,
    "scanned":25,"used":1,"next_index":5,"next_address":"bc1<b>"}],"address_count":1,"balance":{"confirmed_sats":9,
    "immature_sats":0,"unconfirmed_sats":null,"unconfirmed_reason":"no <mempool>","total_sats":null},"utxo_count":1,
    "unconfirmed_tx_count":null,"addresses":[{"address":null,"script_hash":"aa","branch":0,"index":4,"tx_count":1,
    "balance_sats":9,"received_sats":9}],"addresses_omitted":0,"transactions":{"total":1,"unconfirmed_omitted":null,
    "currency":"USD","next_cursor":null,"transactions":[{"txid":"<i>","direction":"in","net_sats":9,"net_value":null,
    "value_reason":"no <price>","status":{"height":null},"time":null}]},"pnl":null}"#;

#[tokio::test]
async fn a_wallet_shows_reasons_and_nothing_of_what_was_entered() {
    let response =
        post(Canned::new().told("wallet_lookup", WALLET), "/wallet", "wallet=wpkh(tpubSECRET/0/*)&gap_limit=7").await;
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(response.headers()[header::CACHE_CONTROL], "private, no-store");
    // Browsers name no origin with the form of a page that has no referrer.
    assert_eq!(response.headers()[header::REFERRER_POLICY], "same-origin");
    let html = body_of(response).await;
    for part in [
        "no &#60;mempool&#62;",
        "no &#60;price&#62;",
        "…/0/5",
        "…/0/4",
        "scripthash:aa",
        "no profit and loss",
        "<dd>7<small>",
    ] {
        assert!(html.contains(part), "{part}: {html}");
    }
    for absent in ["tpubSECRET", "<i>", "bc1<b>"] {
        assert!(!html.contains(absent), "{absent}");
    }
}

#[tokio::test]
async fn refusals_keep_their_words_and_the_form() {
    let canned = Canned::new().refused("wallet_lookup", 400, "private_key_refused", "wallet[0]: has a private <key>");
    let response = post(canned, "/wallet", "wallet=tprvSECRET").await;
    assert_eq!(response.status(), StatusCode::BAD_REQUEST);
    let html = body_of(response).await;
    assert!(
        html.contains("has a private &#60;key&#62;") && html.contains("<textarea") && !html.contains("SECRET"),
        "{html}"
    );
    let large = format!("wallet={}", "x".repeat(70_000));
    let response = post(Canned::new(), "/wallet", &large).await;
    assert_eq!(response.status(), StatusCode::PAYLOAD_TOO_LARGE);
    assert!(body_of(response).await.contains("at most 65536 bytes"));
    assert_eq!(post(Canned::new(), "/wallet", "wallet=").await.status(), StatusCode::UNPROCESSABLE_ENTITY);
    let html = body_of(get(Canned::new(), "/wallet").await).await;
    assert!(html.contains("keeps nothing of it") && html.contains("method=\"post\""), "{html}");
}

#[tokio::test]
async fn addresses_are_rows() {
    let rows = r#"{"results":[{"address":"1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa","balance":{"confirmed_sats":5,
        "unconfirmed_sats":0,"total_sats":5},"tx_count":1,"received_sats":5,"value_usd":null,
        "assessment":{"label":{"value":"<u>x\u202e"}}},{"address":"1bad","error":"invalid_address",
        "detail":"not <valid>"}]}"#;
    let canned = Canned::new().told("batch_overview", rows);
    let html = body_of(post(canned, "/wallet", "wallet=1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa").await).await;
    for part in ["&#60;u&#62;x\\u{202e}", "not &#60;valid&#62;", "0.00000005 BTC", "no price is known"] {
        assert!(html.contains(part), "{part}: {html}");
    }
    let canned = Canned::new().refused("batch_overview", 402, "payment_required", "pay <now>");
    let response = post(canned, "/wallet", "wallet=1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa").await;
    assert_eq!(response.status(), StatusCode::PAYMENT_REQUIRED);
    assert!(body_of(response).await.contains("pay &#60;now&#62;"));
}
