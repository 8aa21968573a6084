//! The course of a balance against the ledger, whole and in parts.

use bitcoin::Script;
use cairn_testkit::DayRow;
use serde_json::Value;

use crate::support::{World, assert_problem, everything_world, get, get_ok, script_hash, validator};

const HISTORY: &str = "/v1/wallets/{address}/balance-history";

fn path(script: &Script) -> String {
    format!("/v1/wallets/{}/balance-history", script_hash(script))
}

/// The day of the date as the API writes it.
pub fn written(day: u32) -> String {
    let date = jiff::civil::date(1970, 1, 1) + jiff::Span::new().days(day);
    date.to_string()
}

pub fn assert_points(points: &Value, expected: &[DayRow], what: &str) {
    let points = points.as_array().unwrap();
    assert_eq!(points.len(), expected.len(), "{what}");
    for (point, day) in points.iter().zip(expected) {
        assert_eq!(point["date"], written(day.day), "{what}");
        assert_eq!(point["balance_sats"], day.balance_sats, "{what}: {point}");
        assert_eq!(point["received_sats"], day.received_sats, "{what}: {point}");
        assert_eq!(point["sent_sats"], day.sent_sats, "{what}: {point}");
        assert_eq!(point["tx_count"], day.tx_count, "{what}: {point}");
    }
}

/// The ledger's days from `from` to `to`: none before the first activity, none after the tip.
fn ledger(world: &World, script: &Script, from: Option<u32>, to: Option<u32>) -> Vec<DayRow> {
    let whole = world.oracle.daily(script);
    let (first, last) = (whole[0].day, whole[whole.len() - 1].clone());
    let tip = world.oracle.headers().last().unwrap().monotone_time / 86_400;
    let start = from.unwrap_or(first);
    let end = to.unwrap_or(last.day.max(start)).min(tip);
    let after =
        (last.day + 1..=end).map(|day| DayRow { day, received_sats: 0, sent_sats: 0, tx_count: 0, ..last.clone() });
    whole.iter().cloned().chain(after).filter(|row| row.day >= start && row.day <= end).collect()
}

#[tokio::test]
async fn every_script_every_day() {
    let world = &everything_world();
    let router = world.open_router();
    let schema = validator(HISTORY);
    for script in world.oracle.scripts() {
        let body = get(&router, &path(script)).await.body;
        assert!(schema.is_valid(&body), "{body}");
        assert_points(&body["points"], &world.oracle.daily(script), &script.to_string());
    }
}

#[tokio::test]
async fn parts_of_a_history() {
    let world = &everything_world();
    let router = world.open_router();
    let tip = world.oracle.headers().last().unwrap().monotone_time / 86_400;
    let mut scripts: Vec<_> = world.oracle.scripts().collect();
    // The longest and the busiest ones, and some of the others.
    scripts.sort_by_key(|script| {
        std::cmp::Reverse((world.oracle.daily(script).len(), world.oracle.history(script).len()))
    });
    let mut quiet_days = 0;
    for script in scripts[..20].iter().chain(scripts[20..].iter().step_by(9)) {
        let whole = world.oracle.daily(script);
        let (first, last) = (whole[0].day, whole[whole.len() - 1].day);
        let middle = first + (last - first) / 2;
        let days = [first - 1, first, first + 1, middle, middle + 1, last - 1, last, last + 1, tip, tip + 2];
        let bounds = || days.iter().copied().map(Some).chain([None]);
        for (from, to) in bounds().flat_map(|from| bounds().map(move |to| (from, to))) {
            let query: Vec<String> = [("from", from), ("to", to)]
                .into_iter()
                .filter_map(|(name, day)| day.map(|day| format!("{name}={}", written(day))))
                .collect();
            let target = format!("{}?{}", path(script), query.join("&"));
            let reply = get(&router, &target).await;
            if matches!((from, to), (Some(from), Some(to)) if from > to) {
                assert_problem(&reply, 422, "validation_error");
                assert_eq!(
                    (&reply.body["errors"][0]["in"], &reply.body["errors"][0]["name"]),
                    (&"query".into(), &"to".into())
                );
                continue;
            }
            assert_eq!(reply.status, 200, "{target}: {}", reply.text);
            let expected = ledger(world, script, from, to);
            quiet_days += expected.iter().filter(|row| row.tx_count == 0 && row.balance_sats > 0).count();
            assert_points(&reply.body["points"], &expected, &target);
        }
    }
    assert!(quiet_days > 100, "balances that stand still are part of it");
}

#[tokio::test]
async fn days_that_are_none() {
    let world = &everything_world();
    let router = world.open_router();
    let script = world.oracle.scripts().next().unwrap();
    for bad in [
        "",
        "2024",
        "2024-02-30",
        "2024-1-1",
        "20240101",
        "2024-01-01T00:00:00Z",
        "yesterday",
        "1704067200",
        "%2B2024-01-1",
    ] {
        let reply = get(&router, &format!("{}?from={bad}&to={bad}", path(script))).await;
        assert_problem(&reply, 422, "validation_error");
        // Both are named, with their right form.
        let errors = reply.body["errors"].as_array().unwrap();
        let names: Vec<_> = errors.iter().map(|e| e["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["from", "to"], "{bad}");
        assert_eq!(errors[0]["example"], "2024-01-01");
    }
    // Days before all chains and after them are days.
    let (from, to) = ("0001-01-01", "9999-12-31");
    let body = get_ok(&router, HISTORY, &format!("{}?from={from}", path(script))).await;
    assert_points(&body["points"], &world.oracle.daily(script), "from the beginning");
    for nothing in
        [format!("to={from}"), format!("from={to}"), "to=1969-12-31".to_owned(), format!("from={to}&to={to}")]
    {
        let body = get_ok(&router, HISTORY, &format!("{}?{nothing}", path(script))).await;
        assert_eq!(body["points"], Value::Array(vec![]), "{nothing}");
    }
    let unseen = format!("/v1/wallets/scripthash:{}/balance-history?from=2020-01-01", "5a".repeat(32));
    assert_eq!(get_ok(&router, HISTORY, &unseen).await["points"], Value::Array(vec![]));
}
