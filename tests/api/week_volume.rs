//! The labelled share of what a week of blocks spent.

use std::collections::BTreeMap;

use bitcoin::ScriptBuf;
use serde_json::{Value, json};

use crate::{
    claims::{claim, take},
    examples::prices,
    priced::{self, now},
    support::{World, everything_world, get_ok},
};

/// Satoshis that the inputs of the last 1,008 blocks spent: all, and by script.
fn week_by_hand(world: &World) -> (u64, BTreeMap<ScriptBuf, u64>) {
    let tip = world.oracle.tip().unwrap().0;
    let (mut all, mut by_script) = (0, BTreeMap::new());
    for (number, height, _) in world.oracle.transactions(tip).filter(|(_, height, _)| height + 1_008 > tip) {
        assert!(height <= tip);
        for coin in world.oracle.spent(number) {
            all += coin.value_sats;
            *by_script.entry(coin.script.clone()).or_default() += coin.value_sats;
        }
    }
    (all, by_script)
}

#[tokio::test]
async fn the_labelled_share_of_a_week_is_told() {
    let world = &everything_world();
    let router = world.open_router();
    let (all, by_script) = week_by_hand(world);
    let mut busiest: Vec<(u64, ScriptBuf)> = by_script.into_iter().map(|(script, sats)| (sats, script)).collect();
    busiest.sort();
    let [.., second, first] = busiest.as_slice() else { panic!("nothing was spent") };
    // It is computed beside requests, which wait for a short time only.
    let told = async || {
        for _ in 0..200 {
            let body = get_ok(&router, "/api/health/full", "/api/health/full").await;
            let rows = body["components"].as_array().unwrap();
            let details = rows.iter().find(|of| of["name"] == "vault").unwrap()["details"].clone();
            if details["labelled_share_of_week_volume"].is_null() {
                assert!(details["week_volume_reason"].as_str().unwrap().contains("being computed"), "{details}");
                continue;
            }
            return details;
        }
        panic!("the week is not computed");
    };
    let share = |of: &Value| (of.as_f64().unwrap() * 1e6).round() as u64;
    let part = |sats: u64| sats * 1_000_000 / all;
    take(world, "one", now() - 9, false, &[claim(&first.1, "abc")]);
    let details = told().await;
    assert_eq!(share(&details["labelled_share_of_week_volume"]), part(first.0));
    assert_eq!(
        (&details["week_volume_as_of_height"], &details["week_volume_reason"]),
        (&json!(world.oracle.tip().unwrap().0), &Value::Null)
    );
    // Another document changes the labels of all these blocks.
    take(world, "two", now() - 8, false, &[claim(&second.1, "abc"), claim(&first.1, "abc")]);
    let details = told().await;
    assert_eq!(share(&details["labelled_share_of_week_volume"]), part(first.0 + second.0));
    for (source, sats) in [("one", first.0), ("two", first.0 + second.0)] {
        let of = details["sources"].as_array().unwrap().iter().find(|of| of["source"] == source).unwrap();
        assert_eq!(share(&of["labelled_share_of_week_volume"]), part(sats), "{source}");
    }
    // Nobody labels a script that two entities are said to have.
    take(world, "three", now() - 7, false, &[claim(&first.1, "xyz")]);
    take(world, "four", now() - 7, false, &[claim(&first.1, "xyz")]);
    assert_eq!(share(&told().await["labelled_share_of_week_volume"]), part(second.0));
    // Prices change no label: the week is known at once.
    priced::take(world, "prices", now() - 6, prices());
    let body = get_ok(&router, "/api/health/full", "/api/health/full").await;
    let vault = body["components"].as_array().unwrap().iter().find(|of| of["name"] == "vault").unwrap().clone();
    assert_eq!(share(&vault["details"]["labelled_share_of_week_volume"]), part(second.0));
}
