//! Answers about the network against the blocks and the samples that they come from.

use cairn_model::MempoolSample;
use serde_json::{Value, json};

use crate::{
    health_full::{component, now},
    mempool_ops::settle,
    support::{World, assert_problem, everything_world, get, get_ok},
    unconfirmed::{FLOOR, Waiting},
};

const SUMMARY: &str = "/v1/network/summary";
const STRESS: &str = "/v1/network/mempool/stress";

#[tokio::test]
async fn the_pace_of_the_chain() {
    let world = &everything_world();
    let router = world.open_router();
    let body = get_ok(&router, SUMMARY, SUMMARY).await;
    let height = world.oracle.tip().unwrap().0;
    assert_eq!(body["height"], height);
    for (row, wanted) in body["hashrate_windows"].as_array().unwrap().iter().zip([144, 2016]) {
        let blocks = wanted.min(height);
        let took = world.oracle.monotone_time(height) - world.oracle.monotone_time(height - blocks);
        assert!(took > 0);
        assert_eq!((&row["blocks"], &row["seconds"]), (&json!(blocks), &json!(took)));
        let interval = f64::from(took) / f64::from(blocks);
        assert!((row["average_block_interval_seconds"].as_f64().unwrap() - interval).abs() < 0.001);
        // Every block of this chain has the easiest target: two hashes.
        let rate = 2.0 * f64::from(blocks) / f64::from(took) / 1e18;
        let shown = row["hashrate_eh"].as_f64().unwrap();
        assert!((shown / rate - 1.0).abs() < 1e-3, "{shown} for {rate}");
    }
    assert_eq!(body["hashrate_eh"], body["hashrate_windows"][0]["hashrate_eh"]);
    let bits = world.oracle.blocks()[height as usize].header.bits.to_consensus();
    assert_eq!(body["bits"], format!("{bits:08x}"));
    assert!((body["difficulty"].as_f64().unwrap() - 4.656_542_373_906_925e-10).abs() < 1e-20);
    assert_eq!((&body["next_adjustment"], &body["difficulty_epoch_progress_pct"]), (&Value::Null, &Value::Null));
    assert!(body["next_adjustment_reason"].as_str().unwrap().contains("regtest"));
    let next = (height / 150 + 1) * 150;
    let halving = &body["halving"];
    assert_eq!((&halving["next_height"], &halving["blocks_left"]), (&json!(next), &json!(next - height)));
    assert_eq!(halving["current_subsidy_sats"], 5_000_000_000u64 >> (height / 150));
    assert_eq!(halving["next_subsidy_sats"], 5_000_000_000u64 >> (next / 150));
    for (value, reason) in [
        ("price_usd", "price_reason"),
        ("mempool_vbytes", "mempool_reason"),
        ("fastest_fee_sat_vb", "fastest_fee_reason"),
    ] {
        assert!(body[value].is_null() && body[reason].is_string(), "{value}");
    }
    assert!(get(&router, SUMMARY).await.rows_read() <= 8);
}

#[tokio::test]
async fn the_summary_knows_the_mempool() {
    let world = &everything_world();
    let router = world.open_router();
    let mut waiting = Waiting::at_tip(world);
    let coin = waiting.coins(1_000_000).next().unwrap();
    let tx = waiting.send(&[coin], &[], 40_000);
    settle(&waiting).await;
    let body = get_ok(&router, SUMMARY, SUMMARY).await;
    assert_eq!((&body["mempool_vbytes"], &body["mempool_count"]), (&json!(tx.adjusted_vsize()), &json!(1)));
    let fees = get_ok(&router, "/v1/fees/recommended", "/v1/fees/recommended").await;
    assert!(body["fastest_fee_sat_vb"].is_number());
    assert_eq!(body["fastest_fee_sat_vb"], fees["fastest_fee_sat_vb"]);
    assert_eq!((&body["mempool_reason"], &body["mempool_as_of"]), (&Value::Null, &fees["as_of"]));
}

#[tokio::test]
async fn the_summary_needs_the_tip() {
    let world = &everything_world();
    let router = world.open_router();
    world.slot.set_best_height(Some(1_000));
    assert_problem(&get(&router, SUMMARY).await, 503, "index_syncing");
}

fn sample(world: &World, time_unix: u64, next_block_median: u64, stress: u32) {
    let sample = MempoolSample { time_unix, next_block_median, stress: Some(stress), ..MempoolSample::default() };
    world.engine.lock().unwrap().put_sample(&sample).unwrap();
}

#[tokio::test]
async fn stress_leaves_out_what_is_unknown() {
    let world = &everything_world();
    let router = world.open_router();
    let mut waiting = Waiting::at_tip(world);
    let coin = waiting.coins(1_000_000).next().unwrap();
    let tx = waiting.send(&[coin], &[], 40_000);
    settle(&waiting).await;
    let plain = get_ok(&router, STRESS, STRESS).await;
    assert_eq!((&plain["components"], &plain["history"]), (&Value::Null, &Value::Null));
    let body = get_ok(&router, STRESS, &format!("{STRESS}?include_components=true&history_hours=1")).await;
    assert_eq!((&body["renormalised"], &body["unknown_components"]), (&json!(true), &json!(["feerate", "inflow"])));
    for name in ["feerate", "inflow"] {
        assert!(component(&body, name)["value"].is_null() && component(&body, name)["reason"].is_string());
    }
    let backlog = (1.0 + tx.adjusted_vsize() as f64 / 998_000.0).ln() / 145f64.ln();
    assert!((component(&body, "backlog")["value"].as_f64().unwrap() - backlog).abs() < 1e-5);
    assert_eq!(component(&body, "entry")["value"], 0, "{FLOOR:?}");
    let expected = 100.0 * 0.35 * backlog / 0.5;
    assert!((body["stress"].as_f64().unwrap() - expected).abs() < 0.001, "{}", body["stress"]);
    assert_eq!((&body["history"]["points"], &body["history"]["hours"]), (&json!([]), &json!(1)));
    let bad = get(&router, &format!("{STRESS}?history_hours=721&include_components=maybe")).await;
    assert_problem(&bad, 422, "validation_error");
    assert_eq!(bad.body["errors"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn stress_compares_with_thirty_days_and_gives_its_history() {
    let world = &everything_world();
    let router = world.open_router();
    let mut waiting = Waiting::at_tip(world);
    let coin = waiting.coins(1_000_000).next().unwrap();
    let tx = waiting.send(&[coin], &[], 40_000);
    settle(&waiting).await;
    let median = tx.fee_sats * 1000 / tx.adjusted_vsize();
    // Ten days of samples, four an hour; every fourth hour was dearer than now.
    // No sample lies within seconds of a whole day ago, so that a slow machine asks about the same ones.
    let start = now() - 10 * 86_400 + 450;
    let times: Vec<u64> = (0..960).map(|n| start + n * 900).collect();
    for (at, time) in times.iter().enumerate() {
        let dearer = at / 4 % 4 == 0;
        sample(world, *time, if dearer { median + 1 } else { median - 1 }, at as u32);
    }
    // Too old to count.
    sample(world, now() - 31 * 86_400, 0, 0);

    let body = get_ok(&router, STRESS, &format!("{STRESS}?include_components=true&history_hours=720")).await;
    assert_eq!(body["unknown_components"], json!(["inflow"]));
    let share = component(&body, "feerate")["value"].as_f64().unwrap();
    assert!((share - 0.75).abs() < 0.01, "{share}");
    let history = &body["history"];
    let points = history["points"].as_array().unwrap();
    assert_eq!(history["step_seconds"], 3_600);
    assert!((240..=241).contains(&points.len()), "{}", points.len());
    let shown: Vec<u64> = points.iter().map(|p| p["time_unix"].as_u64().unwrap()).collect();
    assert!(shown.windows(2).all(|pair| pair[0] < pair[1]));
    assert!(shown.iter().all(|time| times.contains(time)));
    assert!(points[0]["components"]["backlog"].is_null());

    let day = get_ok(&router, STRESS, &format!("{STRESS}?history_hours=24")).await;
    let points = day["history"]["points"].as_array().unwrap();
    assert_eq!(points.len(), times.iter().filter(|time| **time >= now() - 86_400).count());
    let last = points.last().unwrap();
    assert_eq!(
        (&last["time_unix"], &last["components"]),
        (times.last().map(|t| json!(t)).as_ref().unwrap(), &Value::Null)
    );
    assert_eq!((last["stress"].as_f64().unwrap() * 10_000.0).round() as usize, times.len() - 1);
    let reply = get(&router, &format!("{STRESS}?history_hours=720")).await;
    assert!(reply.rows_read() <= 4 * 721, "{}", reply.rows_read());
    // A new sample shows at once, although mempool and tip are the same.
    sample(world, now(), 1, 77);
    let tag = reply.header("etag").to_owned();
    let request = axum::http::Request::get(format!("{STRESS}?history_hours=720")).header("if-none-match", tag);
    let again = crate::support::send(&router, request.body(axum::body::Body::empty()).unwrap()).await;
    assert_eq!(again.status, 200);
    assert_eq!(
        again.body["history"]["points"].as_array().unwrap().last().unwrap()["time_unix"].as_u64().unwrap() / 60,
        now() / 60
    );
}
