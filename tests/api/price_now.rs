//! The price of the moment: its age, its source, what is missing, and whether answers are known to be the same.

use axum::{body::Body, http::Request};
use cairn_events::{Interval, LiveQuote};
use cairn_link::Publish;
use serde_json::{Value, json};

use crate::{
    priced::{DAY, day_before, decimal, exact, live, now, row, series, take, time},
    support::{World, everything_world, get, get_ok, script_hash, send},
};

const PRICE: &str = "/v1/price";
const OVERVIEW: &str = "/v1/wallets/{address}/overview";
const SUMMARY: &str = "/v1/network/summary";
const FULL: &str = "/api/health/full";

fn overview(world: &World) -> String {
    // One with a balance.
    let rich = world.oracle.all_totals().iter().max_by_key(|(_, totals)| totals.balance_sats()).unwrap();
    format!("/v1/wallets/{}/overview", script_hash(rich.0))
}

fn balance(world: &World) -> u64 {
    world.oracle.all_totals().values().map(|totals| totals.balance_sats()).max().unwrap()
}

/// The close of the last whole minute, hour or day.
fn last(interval: Interval) -> u32 {
    now() / interval.seconds() * interval.seconds()
}

#[tokio::test]
async fn without_prices_all_is_null_and_says_why() {
    let world = &everything_world();
    let router = world.open_router();
    let body = get_ok(&router, PRICE, PRICE).await;
    for field in ["price", "as_of", "source", "sources", "stale", "kind", "fx", "change_24h_pct", "price_usd"] {
        assert!(body[field].is_null(), "{field}: {body}");
    }
    for reason in ["price_reason", "change_24h_reason", "price_usd_reason"] {
        assert!(body[reason].as_str().unwrap().contains("no prices are loaded"), "{body}");
    }
    assert_eq!(body["market"], json!({"prices": [], "omitted": 0}));
    let body = get_ok(&router, OVERVIEW, &overview(world)).await;
    assert_eq!((&body["price"], &body["value_usd"]), (&Value::Null, &Value::Null));
    assert_eq!(body["caveat_codes"], json!([{"code": "no_price_source", "params": {}}]));
    let body = get_ok(&router, SUMMARY, SUMMARY).await;
    assert!(body["price_usd"].is_null() && body["price_stale"].is_null() && body["price_reason"].is_string());
    // Prices there are, but not of this moment.
    take(world, "one", 5, vec![row(series("BTC", "USD", Interval::Day), now() / DAY * DAY + 9 * DAY, "50000")]);
    let body = get_ok(&router, OVERVIEW, &overview(world)).await;
    let caveat = &body["caveat_codes"][0];
    assert_eq!((&caveat["code"], &caveat["params"]["currency"]), (&json!("price_missing"), &json!("USD")));
    assert!(caveat["params"]["reason"].as_str().unwrap().contains("begins later"));
    assert!(body["caveats"][0].as_str().unwrap().contains("begins later"));
    // Of a currency without rates.
    take(world, "one", 6, vec![row(series("BTC", "USD", Interval::Day), last(Interval::Day), "50000")]);
    let body = get_ok(&router, PRICE, &format!("{PRICE}?currency=SEK")).await;
    assert!(body["price"].is_null() && body["price_usd"] == 50_000);
    assert!(body["price_reason"].as_str().unwrap().contains("no exchange rates"));
}

#[tokio::test]
async fn the_newest_candle_is_the_price() {
    let world = &everything_world();
    let router = world.open_router();
    let (day, minute) = (last(Interval::Day), last(Interval::Minute));
    let dollars = |interval| series("BTC", "USD", interval);
    take(
        world,
        "one",
        5,
        vec![row(dollars(Interval::Day), day - DAY, "60000"), row(dollars(Interval::Day), day, "61234.5")],
    );
    let body = get_ok(&router, PRICE, PRICE).await;
    assert_eq!((&body["price"], &body["price_usd"]), (&json!(61_234.5), &json!(61_234.5)));
    assert_eq!((&body["as_of"], &body["price_fetched_at"]), (&json!(time(day)), &json!(time(day))));
    assert_eq!((&body["kind"], &body["interval"], &body["stale"]), (&json!("candle"), &json!("day"), &json!(false)));
    assert_eq!((&body["source"], &body["sources"], &body["dropped"]), (&json!("one"), &json!(1), &json!(0)));
    assert_eq!((&body["disputed"], &body["fx"]), (&json!(false), &Value::Null));
    // 1 234.5 ÷ 60 000 = 2.0575 %
    assert_eq!(body["change_24h_pct"].to_string(), "2.06");
    assert_eq!(body["market"]["prices"][0]["currency"], "USD");
    let shown = get_ok(&router, SUMMARY, SUMMARY).await;
    assert_eq!((&shown["price_usd"], &shown["price_stale"]), (&json!(61_234.5), &json!(false)));
    assert_eq!((&shown["price_as_of"], &shown["price_source"]), (&json!(time(day)), &json!("one")));
    let shown = get_ok(&router, OVERVIEW, &overview(world)).await;
    let price = json!({"usd": 61_234.5, "as_of": time(day), "source": "one", "sources": 1, "stale": false});
    assert_eq!((&shown["price"], &shown["caveat_codes"]), (&price, &json!([])));
    // Satoshis times tenths of a dollar, in cents, half to even.
    let (whole, half) = (u128::from(balance(world)) * 6_123_450, 50_000_000);
    let (cents, rest) = (whole / 100_000_000, whole % 100_000_000);
    let cents = cents + u128::from(rest > half || rest == half && cents % 2 == 1);
    let value = format!("{}.{:02}", cents / 100, cents % 100);
    assert_eq!(exact(&shown["value_usd"]), decimal(&value).normalize());
    let text = get(&router, &overview(world)).await.text;
    assert!(text.contains(&format!("\"value_usd\":{value},")), "two decimals, always");
    let batch = json!({"addresses": [overview(world).split('/').nth(3).unwrap()]});
    let batch = crate::support::post(&router, "/v1/batch/overview", &batch).await;
    assert_eq!(batch.body["results"][0]["value_usd"], shown["value_usd"]);
    // A candle that closed later counts, unless it is earlier than the day's.
    take(world, "one", 6, vec![row(dollars(Interval::Minute), minute, "62000")]);
    let body = get_ok(&router, PRICE, PRICE).await;
    if minute > day {
        assert_eq!((&body["price"], &body["interval"]), (&json!(62_000), &json!("minute")));
    }
}

#[tokio::test]
async fn old_prices_are_stale() {
    let world = &everything_world();
    let router = world.open_router();
    let day = last(Interval::Day);
    let daily = series("BTC", "USD", Interval::Day);
    take(world, "one", 5, vec![row(daily, day - 2 * DAY, "60000")]);
    let stale = |body: &Value| body["stale"].as_bool().unwrap();
    assert!(stale(&get_ok(&router, PRICE, PRICE).await), "two days and some seconds");
    let body = get_ok(&router, OVERVIEW, &overview(world)).await;
    assert_eq!(body["price"]["stale"], true);
    let params = json!({"source": "one", "as_of": time(day - 2 * DAY)});
    assert_eq!(body["caveat_codes"], json!([{"code": "source_stale", "params": params}]));
    assert_eq!(get_ok(&router, SUMMARY, SUMMARY).await["price_stale"], true);
    let body = get_ok(&router, PRICE, PRICE).await;
    assert!(body["change_24h_pct"].is_null() && body["change_24h_reason"].as_str().unwrap().contains("begins later"));
    take(world, "one", 6, vec![row(daily, day - 8 * DAY, "60000")]);
    let body = get_ok(&router, PRICE, PRICE).await;
    assert!(body["change_24h_reason"].as_str().unwrap().contains("too old"), "{body}");
    take(world, "one", 7, vec![row(daily, day - DAY, "60000")]);
    assert!(!stale(&get_ok(&router, PRICE, PRICE).await), "a day and some hours");
    // A live quote is as old as it is.
    world.slot.publish_live_quotes(&[live("USD", "61000", now() - 595)]);
    let body = get_ok(&router, PRICE, PRICE).await;
    assert_eq!((&body["kind"], &body["interval"], &body["stale"]), (&json!("live"), &Value::Null, &json!(false)));
    assert_eq!((&body["sources"], &body["dropped"], &body["source"]), (&json!(2), &json!(1), &Value::Null));
    world.slot.publish_live_quotes(&[live("USD", "61000", now() - 605)]);
    let body = get_ok(&router, PRICE, PRICE).await;
    assert_eq!((&body["price"], &body["stale"]), (&json!(61_000), &json!(true)));
}

#[tokio::test]
async fn other_currencies_are_told_at_once() {
    let world = &everything_world();
    let router = world.open_router();
    let day = last(Interval::Day);
    let daily = |base, quote| series(base, quote, Interval::Day);
    let rows = vec![
        row(daily("BTC", "USD"), day, "66000"),
        row(daily("BTC", "CHF"), day, "58000"),
        row(daily("EUR", "USD"), day - DAY, "1.1"),
        row(daily("EUR", "JPY"), day - DAY, "165"),
        // Long given up.
        row(daily("EUR", "RUB"), day - 40 * DAY, "117.2"),
    ];
    take(world, "one", 5, rows);
    let body = get_ok(&router, PRICE, &format!("{PRICE}?currency=jpy")).await;
    assert_eq!(
        (&body["currency"], &body["price"], &body["price_usd"]),
        (&json!("JPY"), &json!(9_900_000), &json!(66_000))
    );
    let fx = json!({"rate": 150, "date": day_before(day - DAY), "source": "one"});
    assert_eq!((&body["fx"], &body["stale"]), (&fx, &json!(false)));
    let prices = body["market"]["prices"].as_array().unwrap();
    let told: Vec<_> =
        prices.iter().map(|price| (price["currency"].as_str().unwrap(), price["price"].clone())).collect();
    let expected = [("CHF", json!(58_000)), ("EUR", json!(60_000)), ("JPY", json!(9_900_000)), ("USD", json!(66_000))];
    assert_eq!(told, expected);
    assert_eq!(prices.iter().map(|price| price["fx"].is_null()).collect::<Vec<_>>(), [true, false, false, true]);
    let body = get_ok(&router, PRICE, &format!("{PRICE}?currency=RUB")).await;
    assert!(body["price"].is_null() && body["price_reason"].as_str().unwrap().contains("30 days"));
    // Rates of six days ago convert, and are marked as old.
    take(
        world,
        "one",
        6,
        vec![row(daily("EUR", "SEK"), day - 6 * DAY, "11"), row(daily("EUR", "USD"), day - 6 * DAY, "1")],
    );
    let body = get_ok(&router, PRICE, &format!("{PRICE}?currency=SEK")).await;
    assert_eq!((&body["price"], &body["stale"]), (&json!(726_000), &json!(true)));
}

async fn etag(world: &World, path: &str) -> String {
    get(&world.open_router(), path).await.header("etag").to_owned()
}

/// The tag of an answer says whether the answer is the same; without a change nothing is read.
#[tokio::test]
async fn tags_change_with_prices_and_not_otherwise() {
    let world = &everything_world();
    let router = world.open_router();
    let day = last(Interval::Day);
    let daily = series("BTC", "USD", Interval::Day);
    let history = overview(world).replace("overview", "balance-history");
    let paths = [overview(world), SUMMARY.to_owned(), PRICE.to_owned(), "/v1/market/price-history".to_owned(), history];
    let tags = async || {
        let mut tags = Vec::new();
        for path in &paths {
            let (first, second) = (etag(world, path).await, get(&router, path).await);
            assert_eq!(first, second.header("etag"), "{path}");
            let request = Request::get(path).header("if-none-match", &first).body(Body::empty()).unwrap();
            assert_eq!(send(&router, request).await.status, 304, "{path}");
            tags.push(first);
        }
        tags
    };
    let changed = |before: &[String], after: &[String]| -> Vec<bool> {
        before.iter().zip(after).map(|(before, after)| before != after).collect()
    };
    let none = tags().await;
    take(world, "one", 5, vec![row(daily, day, "60000")]);
    let imported = tags().await;
    assert_eq!(changed(&none, &imported), [true; 5], "a document came");
    // The index is the same for another reader.
    world.slot.set_reader(world.engine.lock().unwrap().reader());
    assert_eq!(tags().await, imported);
    let at = now() - 300;
    let quote = |price: &str, at: u32| live("USD", price, at);
    let publish = |quotes: &[LiveQuote]| world.slot.publish_live_quotes(quotes);
    publish(&[quote("61000", at)]);
    let first = tags().await;
    assert_eq!(changed(&imported, &first), [true, true, true, false, false], "histories do not depend on it");
    publish(&[quote("61000", at)]);
    assert_eq!(tags().await, first, "the same quote");
    publish(&[quote("61000", at + 1)]);
    let second = tags().await;
    assert_eq!(changed(&first, &second), [true, true, true, false, false], "another time");
    publish(&[quote("61000", at + 1), live("EUR", "55000", at)]);
    let third = tags().await;
    assert_eq!(changed(&second, &third), [false, false, true, false, false], "another currency");
    // Candles older than the newest one change nothing.
    publish(&[quote("1", day - 1)]);
    assert_eq!(tags().await, imported);
    // It grows old: the answers say so, and their tags with them.
    publish(&[quote("61000", now() - 598)]);
    let fresh = (etag(world, PRICE).await, get_ok(&router, PRICE, PRICE).await["stale"].clone());
    tokio::time::sleep(std::time::Duration::from_millis(4_500)).await;
    let old = (etag(world, PRICE).await, get_ok(&router, PRICE, PRICE).await["stale"].clone());
    assert_eq!((&fresh.1, &old.1), (&json!(false), &json!(true)));
    assert_ne!(fresh.0, old.0);
}

/// The price of the moment costs no rows, before and after documents.
#[tokio::test]
async fn the_price_costs_no_reads() {
    let world = &everything_world();
    let router = world.open_router();
    let paths = [overview(world), SUMMARY.to_owned()];
    let rows = async || {
        let mut rows = Vec::new();
        for path in &paths {
            rows.push(get(&router, path).await.rows_read());
        }
        rows
    };
    let before = rows().await;
    let daily = series("BTC", "USD", Interval::Day);
    let day = last(Interval::Day);
    for (n, interval) in [Interval::Day, Interval::Hour, Interval::Minute].into_iter().enumerate() {
        let times = (0..50).map(|n| last(interval) - n * interval.seconds());
        let rows_of = times.map(|closes_at| row(series("BTC", "USD", interval), closes_at, "60000")).collect();
        take(world, "one", 5 + n as u32, rows_of);
        assert_eq!(rows().await, before);
        assert_eq!(rows().await, before);
    }
    take(world, "two", 9, vec![row(daily, day, "60001")]);
    world.slot.publish_live_quotes(&[live("USD", "61000", now())]);
    assert_eq!(rows().await, before);
    assert_eq!(get_ok(&router, OVERVIEW, &paths[0]).await["price"]["usd"], 61_000);
    // The change of a day is looked up, in each of three series.
    assert!(get(&router, PRICE).await.rows_read() <= 3);
}

#[tokio::test]
async fn health_tells_how_old_prices_and_rates_are() {
    let world = &everything_world();
    let router = world.open_router();
    let rows = async || {
        let body = get_ok(&router, FULL, FULL).await;
        let of = |name: &str| {
            let all = body["components"].as_array().unwrap();
            all.iter().find(|component| component["name"] == name).unwrap().clone()
        };
        [of("market"), of("fx")]
    };
    for row in rows().await {
        assert!(row["status"] == "not_configured" && row["details"].is_null() && row["age_seconds"].is_null(), "{row}");
        assert!(row["reason"].as_str().unwrap().contains("are loaded"), "{row}");
    }
    let day = last(Interval::Day);
    let daily = |base, quote| series(base, quote, Interval::Day);
    take(world, "one", 5, vec![row(daily("BTC", "EUR"), day, "55000"), row(daily("EUR", "JPY"), day - 2 * DAY, "160")]);
    let [market, fx] = rows().await;
    assert_eq!((&market["status"], &fx["status"]), (&json!("missing"), &json!("missing")), "no dollars");
    assert_eq!((&market["details"]["series"], &fx["details"]["series"]), (&json!(1), &json!(1)));
    let old = vec![row(daily("BTC", "USD"), day - 4 * DAY, "60000"), row(daily("EUR", "USD"), day - 8 * DAY, "1.1")];
    take(world, "one", 6, old);
    let [market, fx] = rows().await;
    assert_eq!((&market["status"], &fx["status"]), (&json!("stale"), &json!("stale")));
    assert_eq!(market["details"]["as_of"], time(day - 4 * DAY));
    assert_eq!(
        (&market["details"]["stale_after_seconds"], &market["details"]["source"]),
        (&json!(172_800), &json!("one"))
    );
    let age = u64::from(now() - (day - 8 * DAY));
    assert!(fx["age_seconds"].as_u64().unwrap().abs_diff(age) <= 5 && fx["reason"].is_string());
    let new = vec![row(daily("BTC", "USD"), day, "60000"), row(daily("EUR", "USD"), day - 3 * DAY, "1.1")];
    take(world, "one", 7, new);
    for row in rows().await {
        assert_eq!((&row["status"], &row["reason"]), (&json!("ok"), &Value::Null));
    }
}
