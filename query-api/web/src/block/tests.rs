//! Pages of blocks from canned answers.

use axum::http::{StatusCode, header};

use crate::testing::{Canned, body_of, get};

const HASH: &str = "401e81ff95408534f0d2976c3fb26c0c61a807ffdd950b14ff65bf82ab831888";

fn answer(pool: &str, rates: &str, confirmations: u64) -> String {
    format!(
        r#"{{"height":1000,"hash":"{HASH}","confirmations":{confirmations},"time":"2016-11-21T20:59:59Z",
        "time_unix":1479761999,"monotone_time":"2016-11-21T21:00:10Z","previous_hash":"{HASH}","next_hash":null,
        "version":536870912,"merkle_root":"{HASH}","bits":"207fffff","nonce":6,"difficulty":null,"size":10288,
        "weight":24274,"tx_count":70,{pool},"coinbase":{{"txid":"aa","script_hex":"02e8",
        "text":"<script>alert(1)</script>\u202e","outputs":[{{"value_sats":5,"script_type":"pubkey",
        "address":null}}],"outputs_omitted":0}},"totals":{{"input_count":62,"output_count":21,"transferred_sats":9,
        "fees_sats":25770,"coin_days_destroyed":77.5,"subsidy_sats":78125000,"coinbase_sats":78150760,"unclaimed_sats":10}},
        "fee_percentiles":{rates},"transactions":[{{"index":0,"txid":"aa","vsize":145,"fee_sats":0,
        "fee_rate_sat_vb":null,"input_count":1,"output_count":2,"output_sats":7}},{{"index":1,"txid":"\"><b>",
        "vsize":1255,
        "fee_sats":3560,"fee_rate_sat_vb":2.836,"input_count":8,"output_count":2,"output_sats":4}}],
        "next_tx_offset":50}}"#
    )
}

const RATES: &str = r#"{"p10_sat_vb":2.3,"p25_sat_vb":2.8,"p50_sat_vb":5.9,"p75_sat_vb":5.9,"p90_sat_vb":15}"#;

#[tokio::test]
async fn hostile_texts_stay_inert_and_a_refused_part_leaves_the_rest() {
    let pool = r#""pool":{"name":"<i>Pool","slug":"a/b","by":"tag","other_pool":"<u>"}"#;
    let canned = Canned::new().told("block_detail", &answer(pool, RATES, 3));
    let day = r#"{"day":{"date":"2016-11-21","blocks":3,"coin_days_destroyed":1234.5},"day_complete":false}"#;
    let canned = canned.refused("whale_alerts", 503, "overloaded", "ask <again>").told("onchain_stats", day);
    let html = body_of(get(canned, "/block/1000").await).await;
    for absent in ["<script>alert", "<i>", "<u>", "<b>", "\u{202e}"] {
        assert!(!html.contains(absent), "{absent}");
    }
    for part in [
        "\\u{202e}",
        "/pool/a%2Fb",
        "which any miner can write",
        "ask &#60;again&#62;",
        "a script without an address",
        "the target is not valid",
        "2016-11-21 21:00 as monotone time",
        "5.9 sat/vB",
        "offset=50#transactions",
        "lost for good",
        "<dd>77.50<small>",
        "2016-11-21, which is not over, destroyed <strong>1\u{202f}234.50 coin days",
    ] {
        assert!(html.contains(part), "{part}: {html}");
    }
}

#[tokio::test]
async fn a_null_shows_its_reason() {
    let pool = r#""pool":null,"pool_reason":"no <known> pool""#;
    let canned = Canned::new().told("block_detail", &answer(pool, "null", 90_000));
    let html = body_of(get(canned, &format!("/block/{HASH}?offset=50")).await).await;
    for part in ["no &#60;known&#62; pool", "the block has only its coinbase", "this block is older", "← Previous"] {
        assert!(html.contains(part), "{part}: {html}");
    }
}

#[tokio::test]
async fn redirects_lead_to_the_hash() {
    let canned = || Canned::new().told("block_detail", &answer(r#""pool":null"#, "null", 1));
    let response = get(canned(), "/block-height/1000").await;
    assert_eq!(response.status(), StatusCode::FOUND);
    assert_eq!(response.headers()[header::LOCATION], format!("../block/{HASH}"));
    let listed = r#"{"blocks":[{"height":7,"hash":"ab","time":"2024-01-01T00:00:00Z","tx_count":1,"size":1,"weight":4,
        "fees_sats":0,"fee_range":null,"pool":null,"pool_reason":"<none>","coinbase":{"text":"<x>"}}],
        "next_cursor":"c&d"}"#;
    let response = get(Canned::new().told("recent_blocks", listed), "/block/tip").await;
    assert_eq!(
        (response.status(), response.headers()[header::LOCATION].as_bytes()),
        (StatusCode::FOUND, &b"../block/ab"[..])
    );
    let html = body_of(get(Canned::new().told("recent_blocks", listed), "/blocks").await).await;
    assert!(html.contains("&#60;x&#62;") && html.contains("cursor=c%26d") && html.contains("&#60;none&#62;"), "{html}");
    let response = get(Canned::new().told("recent_blocks", r#"{"blocks":[],"next_cursor":null}"#), "/block/tip").await;
    assert_eq!(response.status(), StatusCode::NOT_FOUND);
    assert_eq!(get(Canned::new(), "/block/9").await.status(), StatusCode::NOT_FOUND);
}
