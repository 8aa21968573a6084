//! The value of balances at the prices of their days.

use cairn_events::{Interval, QuoteRow};
use rust_decimal::Decimal;
use serde_json::{Value, json};

use crate::{
    priced::{DAY, exact, row, series, take, time},
    support::{World, everything_world, get, get_ok, script_hash},
};

const HISTORY: &str = "/v1/wallets/{address}/balance-history";

/// The script with the most days.
fn longest(world: &World) -> &bitcoin::Script {
    world.oracle.scripts().max_by_key(|script| world.oracle.daily(script).len()).unwrap()
}

fn path(world: &World) -> String {
    format!("/v1/wallets/{}/balance-history", script_hash(longest(world)))
}

fn tip_day(world: &World) -> u32 {
    world.oracle.headers().last().unwrap().monotone_time / DAY
}

/// Cents of an amount at a price in cents, half to even.
fn cents(sats: u64, price: u64) -> Decimal {
    let whole = u128::from(sats) * u128::from(price);
    let (cents, rest) = (whole / 100_000_000, whole % 100_000_000);
    let cents = cents + u128::from(rest > 50_000_000 || rest == 50_000_000 && cents % 2 == 1);
    Decimal::from_i128_with_scale(cents.try_into().unwrap(), 2).normalize()
}

/// The price of a day in these tests, in cents.
fn price_of(day: u32) -> u64 {
    10_000 + u64::from(day % 1_000) * 137
}

/// The days' closes, except some.
fn daily(days: std::ops::RangeInclusive<u32>, without: &[u32]) -> Vec<QuoteRow> {
    let of = series("BTC", "USD", Interval::Day);
    let close = |day: u32| format!("{}.{:02}", price_of(day) / 100, price_of(day) % 100);
    let kept = days.filter(|day| !without.contains(day));
    kept.map(|day| row(of, (day + 1) * DAY, &close(day))).collect()
}

#[tokio::test]
async fn each_day_has_the_value_at_its_close() {
    let world = &everything_world();
    let router = world.open_router();
    let days = world.oracle.daily(longest(world));
    let (first, last) = (days[0].day, days[days.len() - 1].day);
    assert!(last - first > 20, "{first} to {last}");
    let unpriced = get_ok(&router, HISTORY, &path(world)).await;
    for point in unpriced["points"].as_array().unwrap() {
        assert!(point["value"].is_null() && point["price"].is_null(), "{point}");
        assert!(point["value_reason"].as_str().unwrap().contains("no prices are loaded"));
    }
    // The series begins in the third day, and lacks the tenth.
    take(world, "one", 5, daily(first + 2..=tip_day(world) - 1, &[first + 9]));
    let body = get_ok(&router, HISTORY, &path(world)).await;
    assert_eq!(body["currency"], "USD");
    let points = body["points"].as_array().unwrap();
    assert_eq!(points.len(), days.len());
    for (point, day) in points.iter().zip(&days) {
        let reason = match day.day - first {
            0 | 1 => Some("begins later"),
            9 => Some("no candle closed on that day"),
            _ => None,
        };
        match reason {
            Some(reason) => {
                assert!(point["value"].is_null() && point["price_as_of"].is_null(), "{point}");
                assert!(point["value_reason"].as_str().unwrap().contains(reason), "{point}");
            }
            None if day.day == tip_day(world) => {
                assert_eq!(point["price_as_of"], time(day.day * DAY), "the last one known");
                assert_eq!(body["price_stale"], false);
            }
            None => {
                assert_eq!(exact(&point["value"]), cents(day.balance_sats, price_of(day.day)), "{point}");
                assert_eq!(point["price_as_of"], time((day.day + 1) * DAY));
                assert_eq!((&point["price_source"], &point["value_reason"]), (&json!("one"), &Value::Null));
            }
        }
    }
    // A part of it says the same, and the table too.
    let date = points[12]["date"].as_str().unwrap();
    let part = get_ok(&router, HISTORY, &format!("{}?from={date}&to={date}", path(world))).await;
    assert_eq!(part["points"], json!([points[12]]));
    let csv = get(&router, &format!("{}?format=csv", path(world))).await;
    let lines: Vec<&str> = csv.text.lines().collect();
    let columns =
        "date,balance_sats,received_sats,sent_sats,tx_count,value,price,price_as_of,price_source,value_reason";
    assert_eq!((lines[0], lines.len()), (columns, days.len() + 1));
    let value = format!(",{:.2},{},", exact(&points[12]["value"]), points[12]["price"]);
    assert!(lines[13].contains(&value), "{}", lines[13]);
    assert!(lines[10].ends_with(",,,,,no candle closed on that day"), "{}", lines[10]);
    assert!(csv.rows_read() <= unpriced_rows(world).await + days.len() as u64 + 2, "{} rows", csv.rows_read());
}

/// Rows that the history takes without prices.
async fn unpriced_rows(_: &World) -> u64 {
    let world = &everything_world();
    get(&world.open_router(), &path(world)).await.rows_read()
}

#[tokio::test]
async fn a_late_correction_changes_the_past_at_once() {
    let world = &everything_world();
    let router = world.open_router();
    let first = world.oracle.daily(longest(world))[0].day;
    take(world, "one", 5, daily(first..=tip_day(world), &[]));
    let prices = format!("/v1/market/price-history?from={}", &time(first * DAY)[..10]);
    let before = (get(&router, &path(world)).await, get(&router, &prices).await);
    let of = series("BTC", "USD", Interval::Day);
    take(world, "one", 6, vec![row(of, (first + 5) * DAY, "7.5")]);
    let after = (get(&router, &path(world)).await, get(&router, &prices).await);
    assert_ne!(before.0.header("etag"), after.0.header("etag"));
    assert_ne!(before.1.header("etag"), after.1.header("etag"));
    let balance = world.oracle.daily(longest(world))[4].balance_sats;
    let points = |reply: &crate::support::Reply| reply.body["points"].as_array().unwrap().clone();
    let (old, new) = (points(&before.0), points(&after.0));
    for (at, (old, new)) in old.iter().zip(&new).enumerate() {
        assert_eq!(old == new, at != 4, "{at}: {new}");
    }
    assert_eq!(exact(&new[4]["value"]), cents(balance, 750));
    let candle = |reply: &crate::support::Reply| {
        let candles = reply.body["candles"].as_array().unwrap();
        candles.iter().find(|candle| candle["closes_at"] == time((first + 5) * DAY)).unwrap()["close"].clone()
    };
    assert_ne!(candle(&before.1), 7.5);
    assert_eq!(candle(&after.1), 7.5);
}

/// By hand: days of a price in dollars, and the rate of the business day before their end.
#[tokio::test]
async fn values_in_another_currency() {
    let world = &everything_world();
    let router = world.open_router();
    let days = world.oracle.daily(longest(world));
    let first = days[0].day;
    let mut rows = daily(first..=first + 12, &[]);
    let euro = series("EUR", "USD", Interval::Day);
    // A rate for the first two days, then none for three, then another one.
    rows.extend(
        [(first, "1.25"), (first + 1, "1.6"), (first + 5, "2")].map(|(day, rate)| row(euro, (day + 1) * DAY, rate)),
    );
    // One day is quoted in euros.
    rows.push(row(series("BTC", "EUR", Interval::Day), (first + 8) * DAY, "77.7"));
    take(world, "one", 5, rows);
    let body = get_ok(&router, HISTORY, &format!("{}?currency=eur", path(world))).await;
    assert_eq!(body["currency"], "EUR");
    let points = body["points"].as_array().unwrap();
    for (at, rate) in [125u64, 160, 160, 160, 160, 200, 200].into_iter().enumerate() {
        let (price, shown) = (price_of(first + at as u32) as f64 / rate as f64, points[at]["price"].as_f64().unwrap());
        assert!((shown / price - 1.0).abs() < 1e-7, "{at}: {shown} for {price}");
        let value = days[at].balance_sats as f64 / 1e8 * price;
        assert!((points[at]["value"].as_f64().unwrap() - value).abs() <= 0.005 + value * 1e-12, "{at}");
    }
    assert_eq!(points[7]["price"], 77.7);
    assert_eq!(exact(&points[7]["value"]), cents(days[7].balance_sats, 7_770));
    // Unknown currency: why, each day.
    let body = get_ok(&router, HISTORY, &format!("{}?currency=SEK", path(world))).await;
    for point in body["points"].as_array().unwrap() {
        assert!(point["value"].is_null() && point["value_reason"].is_string(), "{point}");
    }
}
