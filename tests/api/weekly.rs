//! The weekly report on old coins, against what follows from the blocks.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{ToSpan, civil::Date};
use serde_json::Value;

use crate::support::{World, assert_problem, count_of, get, get_ok};

const JSON: &str = "/v1/dormancy/weekly.json";
const TEXT: &str = "/v1/dormancy/weekly.md";

const YEAR: u64 = 365 * 86_400;
const YEARS: [u64; 6] = [1, 2, 3, 5, 7, 10];

/// Satoshis, coins and coin-seconds destroyed by class of age, then movements with their satoshis by transaction.
#[derive(Clone, Default, Debug)]
struct Old {
    classes: [(u64, u64, u128); 6],
    movements: BTreeMap<String, u64>,
}

/// Old coins that were spent, by Monday of their week.
fn weeks(world: &World) -> BTreeMap<u32, Old> {
    let oracle = &world.oracle;
    let mut weeks: BTreeMap<u32, Old> = BTreeMap::new();
    for (tx_num, height, tx) in oracle.transactions(oracle.tip().unwrap().0) {
        let day = oracle.day(height);
        let week = weeks.entry(day - (day + 3) % 7).or_default();
        let mut moved = 0;
        for coin in oracle.spent(tx_num) {
            let age = oracle.age_seconds(coin, height);
            let Some(class) = YEARS.iter().rposition(|years| age >= years * YEAR) else { continue };
            let of = &mut week.classes[class];
            *of = (of.0 + coin.value_sats, of.1 + 1, of.2 + u128::from(coin.value_sats) * u128::from(age));
            moved += if age >= 5 * YEAR { coin.value_sats } else { 0 };
        }
        if moved >= 1_000_000_000 {
            week.movements.insert(tx.compute_txid().to_string(), moved);
        }
    }
    weeks
}

fn date(day: u32) -> Date {
    Date::constant(1970, 1, 1).saturating_add(i64::from(day).days())
}

fn name(monday: u32) -> String {
    let week = date(monday).iso_week_date();
    format!("{:04}-W{:02}", week.year(), week.week())
}

fn assert_totals(found: &Value, weeks: &[&Old], by: u64, what: &str) {
    let sum = |of: &dyn Fn(&Old) -> u64| weeks.iter().map(|week| of(week)).sum::<u64>() / by;
    assert_eq!(count_of(found, "old_sats"), sum(&|of| of.classes.iter().map(|class| class.0).sum()), "{what}");
    assert_eq!(count_of(found, "coin_count"), sum(&|of| of.classes.iter().map(|class| class.1).sum()), "{what}");
    assert_eq!(count_of(found, "movement_count"), sum(&|of| of.movements.len() as u64), "{what}");
    assert_eq!(count_of(found, "movement_sats"), sum(&|of| of.movements.values().sum()), "{what}");
    let destroyed: u128 = weeks.iter().flat_map(|week| week.classes).map(|class| class.2).sum();
    let days = destroyed as f64 / 86_400.0 / 1e8 / by as f64;
    assert!((found["coin_days_destroyed"].as_f64().unwrap() - days).abs() < 1e-6, "{what}: {found}");
}

#[tokio::test]
async fn reports_are_those_of_the_blocks() {
    let world = &World::of(cairn_chaingen::demo::chain(1).unwrap());
    let router = world.open_router();
    let weeks = weeks(world);
    let none = Old::default();
    let of = |monday: u32| weeks.get(&monday).unwrap_or(&none);
    let tip = world.oracle.tip().unwrap().0;
    let (first, last) = (world.oracle.day(0), world.oracle.day(tip));
    let this = last - (last + 3) % 7;
    // Those with movements, some others, and the ends.
    let with_movements = weeks.iter().filter(|(_, week)| !week.movements.is_empty()).map(|(monday, _)| *monday);
    let mut asked: BTreeSet<u32> = with_movements.collect();
    assert!(asked.len() >= 3);
    asked.extend((first..last).step_by(371).map(|day| day - (day + 3) % 7).filter(|monday| *monday > first));
    asked.extend([this, this - 7]);
    let mut listed = 0;
    for monday in asked {
        let week = name(monday);
        let body = get_ok(&router, JSON, &format!("{JSON}?week={week}")).await;
        assert_eq!((&body["week"], &body["is_complete"]), (&week.as_str().into(), &(monday + 7 <= last).into()));
        let days = [date(monday).to_string(), date(monday + 6).to_string()];
        assert_eq!([&body["from_date"], &body["to_date"]], [&Value::from(days[0].as_str()), &days[1].as_str().into()]);
        assert_totals(&body["totals"], &[of(monday)], 1, &week);
        assert_totals(&body["previous_week"], &[of(monday - 7)], 1, &week);
        let average = u64::from((monday - first) / 7).min(52);
        if average > 1 {
            let year: Vec<&Old> = (1..=average as u32).map(|back| of(monday - 7 * back)).collect();
            assert_totals(&body["average_week"], &year, average, &week);
            assert_eq!(body["average_weeks"], average);
        } else {
            assert!(body["average_week"].is_null() && body["average_reason"].is_string(), "{body}");
        }
        for (class, row) in body["classes"].as_array().unwrap().iter().enumerate() {
            let (now, before) = (of(monday).classes[class], of(monday - 7).classes[class]);
            let found = ["from_years", "old_sats", "coin_count", "previous_sats"].map(|name| count_of(row, name));
            assert_eq!(found, [YEARS[class], now.0, now.1, before.0], "{week}: {row}");
        }
        let mut movements: Vec<(u64, &String)> = of(monday).movements.iter().map(|(id, sats)| (*sats, id)).collect();
        movements.sort_by_key(|(sats, _)| std::cmp::Reverse(*sats));
        let top = body["top_movements"].as_array().unwrap();
        let sums: Vec<u64> = top.iter().map(|row| count_of(row, "old_sats")).collect();
        assert_eq!(sums, movements.iter().take(10).map(|(sats, _)| *sats).collect::<Vec<_>>(), "{week}");
        assert!(top.iter().all(|row| of(monday).movements.contains_key(row["txid"].as_str().unwrap())));
        assert_eq!(count_of(&body, "movements_omitted"), movements.len().saturating_sub(10) as u64);
        listed += top.len();
        // The text has the same figures.
        let text = get(&router, &format!("{TEXT}?week={week}")).await;
        assert!(text.header("content-type").starts_with("text/markdown"));
        let sats = count_of(&body["totals"], "old_sats");
        let btc = format!("{}.{:02} BTC", sats / 100_000_000, sats % 100_000_000 / 1_000_000);
        assert!(
            text.text.starts_with(&format!("# Old coins in {week}\n")) && text.text.contains(&btc),
            "{}",
            text.text
        );
        assert!(top.iter().all(|row| text.text.contains(row["txid"].as_str().unwrap())), "{}", text.text);
        assert_eq!(text.text.contains("The week is not over"), monday + 7 > last);
    }
    assert!(listed >= 3);
    // Without a week, the last whole one.
    let body = get_ok(&router, JSON, JSON).await;
    assert_eq!(body["week"], name(this - 7));
    for bad in ["2025-W54", "2025-52", "last", "2025-W1"] {
        assert_problem(&get(&router, &format!("{JSON}?week={bad}")).await, 422, "validation_error");
    }
    let later = name(this + 7);
    assert_problem(&get(&router, &format!("{TEXT}?week={later}")).await, 422, "validation_error");
}
