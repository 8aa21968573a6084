//! Candles and exchange rates of the past against the documents that they come from.

use std::collections::BTreeMap;

use cairn_events::{Interval, QuoteRow};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rust_decimal::{Decimal, RoundingStrategy};
use serde_json::{Value, json};

use crate::{
    priced::{DAY, day_before, decimal, row, series, take, time, whole_row},
    support::{assert_problem, everything_world, get, get_ok, validator},
};

const PRICES: &str = "/v1/market/price-history";
const RATES: &str = "/v1/market/fx-history";
/// 2024-10-04, a Friday.
const FRIDAY: u32 = 20_000;

/// Rows of a field, as text.
fn column(body: &Value, list: &str, field: &str) -> Vec<String> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    body[list].as_array().unwrap().iter().map(|row| text(&row[field])).collect()
}

/// A Thursday's, a Friday's and a Monday's rates, and prices of Friday, Saturday, Sunday and Tuesday.
fn weekend() -> Vec<QuoteRow> {
    let (dollars, euro) = (series("BTC", "USD", Interval::Day), series("EUR", "USD", Interval::Day));
    let yen = series("EUR", "JPY", Interval::Day);
    let mut rows = vec![
        whole_row(dollars, (FRIDAY + 1) * DAY, ["60754.60", "62465.90", "60459.10", "62067.50"]),
        whole_row(dollars, (FRIDAY + 2) * DAY, ["62067.50", "62370", "61689", "62052.00"]),
        row(dollars, (FRIDAY + 3) * DAY, "62819.11"),
        row(dollars, (FRIDAY + 5) * DAY, "62131.05"),
    ];
    for (day, usd, jpy) in
        [(FRIDAY - 1, "1.1029", "161.60"), (FRIDAY, "1.1015", "163.84"), (FRIDAY + 3, "1.0971", "162.96")]
    {
        rows.extend([row(euro, (day + 1) * DAY, usd), row(yen, (day + 1) * DAY, jpy)]);
    }
    rows
}

#[tokio::test]
async fn candles_are_told_with_their_gaps() {
    let world = &everything_world();
    let router = world.open_router();
    take(world, "one", 5, weekend());
    let body = get_ok(&router, PRICES, PRICES).await;
    assert_eq!((&body["currency"], &body["interval"]), (&json!("USD"), &json!("day")));
    let days = [1, 2, 3, 5].map(|day| time((FRIDAY + day) * DAY));
    assert_eq!(column(&body, "candles", "closes_at"), days);
    assert_eq!(column(&body, "candles", "close"), ["62067.5", "62052", "62819.11", "62131.05"]);
    assert_eq!(column(&body, "candles", "open"), ["60754.6", "62067.5", "null", "null"]);
    assert_eq!(column(&body, "candles", "high"), ["62465.9", "62370", "null", "null"]);
    assert_eq!(column(&body, "candles", "low"), ["60459.1", "61689", "null", "null"]);
    assert_eq!(column(&body, "candles", "missing_before"), ["0", "0", "0", "1"]);
    assert_eq!(column(&body, "candles", "source"), ["one"; 4]);
    assert_eq!(column(&body, "candles", "converted"), ["false"; 4]);
    let reasons = column(&body, "candles", "range_reason");
    assert!(reasons[0] == "null" && reasons[2].contains("only the close"), "{reasons:?}");
    assert_eq!((&body["first_closes_at"], &body["last_closes_at"]), (&json!(days[0]), &json!(days[3])));
    assert_eq!((&body["next_cursor"], &body["reason"]), (&Value::Null, &Value::Null));
    // The answer has the mean of two sources, but no course of the day: nobody knows it.
    take(world, "two", 5, vec![row(series("BTC", "USD", Interval::Day), (FRIDAY + 1) * DAY, "62068")]);
    let body = get_ok(&router, PRICES, &format!("{PRICES}?to={}", day_before((FRIDAY + 1) * DAY))).await;
    let friday = &body["candles"][0];
    assert_eq!((&friday["close"], &friday["sources"]), (&json!(62_067.75), &json!(2)));
    assert_eq!((&friday["source"], &friday["open"]), (&Value::Null, &Value::Null));
    assert!(friday["range_reason"].as_str().unwrap().contains("mean of two"));
}

/// By hand, with the rates of the last business day before each close.
#[tokio::test]
async fn a_weekend_in_other_currencies() {
    let world = &everything_world();
    let router = world.open_router();
    take(world, "one", 5, weekend());
    let body = get_ok(&router, PRICES, &format!("{PRICES}?currency=jpy")).await;
    // 62 067.50 × 163.84 ÷ 1.1015, 62 052.00 × 163.84 ÷ 1.1015, 62 819.11 × 163.84 ÷ 1.1015, 62 131.05 × 162.96 ÷
    // 1.0971.
    let closes = ["9232082.8", "9229777.3", "9343879.2", "9228763"];
    assert_eq!(column(&body, "candles", "close"), closes);
    assert_eq!(column(&body, "candles", "converted"), ["true"; 4]);
    let friday = day_before((FRIDAY + 1) * DAY);
    let monday = day_before((FRIDAY + 4) * DAY);
    assert_eq!(column(&body, "candles", "fx_date"), [friday.clone(), friday.clone(), friday, monday]);
    // 60 754.60 × 163.84 ÷ 1.1015
    assert_eq!(column(&body, "candles", "open")[0], "9036798.6");
    // 62 067.50 ÷ 1.1015
    let body = get_ok(&router, PRICES, &format!("{PRICES}?currency=EUR")).await;
    assert_eq!(column(&body, "candles", "close")[0], "56348.162");
    // Where a price is quoted in the currency, it is not converted.
    let own = series("BTC", "EUR", Interval::Day);
    take(world, "three", 6, vec![row(own, (FRIDAY + 2) * DAY, "56000"), row(own, (FRIDAY + 4) * DAY, "57000")]);
    let body = get_ok(&router, PRICES, &format!("{PRICES}?currency=EUR")).await;
    assert_eq!(column(&body, "candles", "converted"), ["true", "false", "true", "false", "true"]);
    assert_eq!(column(&body, "candles", "close")[1], "56000");
    assert_eq!(column(&body, "candles", "fx_date")[1], "null");
    // There are no rates of this one, and no candles of this interval.
    for query in ["currency=SEK", "interval=hour"] {
        let body = get_ok(&router, PRICES, &format!("{PRICES}?{query}")).await;
        assert!(body["candles"] == json!([]) && body["reason"].is_string(), "{body}");
    }
    // Before the first rate, the answer has the candle without a price.
    take(world, "one", 7, vec![row(series("BTC", "USD", Interval::Day), (FRIDAY - 5) * DAY, "61000")]);
    let body = get_ok(&router, PRICES, &format!("{PRICES}?currency=JPY")).await;
    let first = &body["candles"][0];
    assert!(first["close"].is_null() && first["fx_date"].is_null(), "{first}");
    assert!(first["close_reason"].as_str().unwrap().contains("no exchange rate"));
}

#[tokio::test]
async fn rates_of_the_euro_and_between_others() {
    let world = &everything_world();
    let router = world.open_router();
    take(world, "bank", 5, weekend());
    let rates = |query: &'static str| {
        let router = &router;
        async move { get_ok(router, RATES, &format!("{RATES}?{query}")).await }
    };
    let body = rates("").await;
    assert_eq!((&body["base"], &body["quote"], &body["cross"]), (&json!("EUR"), &json!("USD"), &json!(false)));
    assert_eq!(column(&body, "rates", "rate"), ["1.1029", "1.1015", "1.0971"]);
    assert_eq!(column(&body, "rates", "date"), [0, 1, 4].map(|day| day_before((FRIDAY + day) * DAY)));
    assert_eq!(column(&body, "rates", "missing_before"), ["0", "0", "2"]);
    assert_eq!(column(&body, "rates", "source"), ["bank"; 3]);
    // 1 ÷ 1.1029 …; 161.60 ÷ 1.1029 …
    let body = rates("base=usd&quote=eur").await;
    assert_eq!(column(&body, "rates", "rate"), ["0.90670052", "0.90785293", "0.91149394"]);
    let body = rates("base=USD&quote=JPY").await;
    assert_eq!(
        (column(&body, "rates", "rate"), &body["cross"]),
        (["146.5228", "148.74262", "148.53705"].map(str::to_owned).to_vec(), &json!(true))
    );
    let body = rates("base=USD&quote=SEK").await;
    assert!(body["rates"] == json!([]) && body["reason"].is_string());
    let friday = day_before((FRIDAY + 1) * DAY);
    let body = get_ok(&router, RATES, &format!("{RATES}?from={friday}&to={friday}")).await;
    assert_eq!(column(&body, "rates", "date"), [friday]);
    let reply = get(&router, &format!("{RATES}?base=USD&quote=JPY&format=csv")).await;
    let lines: Vec<&str> = reply.text.lines().collect();
    assert_eq!(lines[0], "date,closes_at,rate,source,missing_before");
    assert_eq!(lines[3], "2024-10-07,2024-10-08T00:00:00Z,148.53705,bank,2");
    assert_problem(&get(&router, &format!("{RATES}?base=USD&quote=usd")).await, 422, "validation_error");
}

#[tokio::test]
async fn days_and_moments_bound_the_list() {
    let world = &everything_world();
    let router = world.open_router();
    let hours = series("BTC", "USD", Interval::Hour);
    let start = FRIDAY * DAY;
    take(world, "one", 5, (1..=72).map(|hour| row(hours, start + hour * 3_600, &hour.to_string())).collect());
    let of = |query: String| {
        let router = &router;
        async move { column(&get_ok(router, PRICES, &format!("{PRICES}?interval=hour&{query}")).await, "candles", "close") }
    };
    let (friday, saturday) = (day_before((FRIDAY + 1) * DAY), day_before((FRIDAY + 2) * DAY));
    // A day has the candles that opened on it.
    let hours_of = |range: std::ops::RangeInclusive<u32>| range.map(|hour| hour.to_string()).collect::<Vec<_>>();
    assert_eq!(of(format!("from={friday}&to={friday}")).await, hours_of(1..=24));
    assert_eq!(of(format!("from={saturday}")).await, hours_of(25..=72));
    assert_eq!(of(format!("to={friday}")).await, hours_of(1..=24));
    let (from, to) = (time(start + 5 * 3_600), time(start + 7 * 3_600 + 1));
    assert_eq!(of(format!("from={from}&to={to}")).await, hours_of(6..=7), "after one, not after the other");
    // Without a beginning it is that of the newest ones.
    assert_eq!(of("limit=10".to_owned()).await, hours_of(63..=72));
    assert_eq!(of(format!("to={to}&limit=3")).await, hours_of(5..=7));
    let reply = get(&router, &format!("{PRICES}?from={saturday}&to={friday}")).await;
    assert_problem(&reply, 422, "validation_error");
    assert_eq!((&reply.body["errors"][0]["in"], &reply.body["errors"][0]["name"]), (&json!("query"), &json!("to")));
}

#[tokio::test]
async fn pages_join_to_the_whole() {
    let world = &everything_world();
    let router = world.open_router();
    let minutes = series("BTC", "USD", Interval::Minute);
    let kept = (0..500u32).filter(|minute| minute % 7 != 3 && minute % 31 > 4);
    take(world, "one", 5, kept.map(|minute| row(minutes, FRIDAY * DAY + minute * 60, "5")).collect());
    let base = format!("{PRICES}?interval=minute&from=2024-10-01&to=2024-11-30");
    let whole = get_ok(&router, PRICES, &format!("{base}&limit=5000")).await;
    let all = whole["candles"].as_array().unwrap();
    assert!(all.len() > 300 && whole["next_cursor"].is_null());
    for limit in [1, 7, 100] {
        let (mut found, mut cursor) = (Vec::new(), None::<String>);
        loop {
            let cursor_part = cursor.map_or_else(String::new, |cursor| format!("&cursor={cursor}"));
            let page = get_ok(&router, PRICES, &format!("{base}&limit={limit}{cursor_part}")).await;
            let rows = page["candles"].as_array().unwrap().clone();
            assert!(!rows.is_empty() && rows.len() <= limit);
            found.extend(rows);
            cursor = page["next_cursor"].as_str().map(str::to_owned);
            if cursor.is_none() || limit == 1 && found.len() == 40 {
                break;
            }
        }
        assert_eq!(found, all[..found.len()], "limit {limit}");
        assert!(limit == 1 || found.len() == all.len());
    }
    // A cursor is of its own list.
    let page = get_ok(&router, PRICES, &format!("{base}&limit=7")).await;
    let cursor = page["next_cursor"].as_str().unwrap();
    for other in [
        format!("{PRICES}?interval=hour&from=2024-10-01&to=2024-11-30&cursor={cursor}"),
        format!("{PRICES}?interval=minute&from=2024-10-02&to=2024-11-30&cursor={cursor}"),
        format!("{base}&currency=EUR&cursor={cursor}"),
        format!("{RATES}?cursor={cursor}"),
    ] {
        assert_problem(&get(&router, &other).await, 422, "validation_error");
    }
    // Tables say in a header that they are not whole.
    let reply = get(&router, &format!("{base}&limit=7&format=csv")).await;
    assert_eq!(reply.text.lines().count(), 8);
    let told = reply.headers.values().any(|value| value.to_str().unwrap_or_default().contains("more_rows"));
    assert!(told, "{:?}", reply.headers);
}

#[tokio::test]
async fn every_bad_parameter_is_named() {
    let world = &everything_world();
    let router = world.open_router();
    let query = "currency=btc&from=yesterday&to=2024-02-30&interval=week&limit=0&cursor=x&format=xml";
    let reply = get(&router, &format!("{PRICES}?{query}")).await;
    assert_problem(&reply, 422, "validation_error");
    let names = |body: &Value| {
        let errors = body["errors"].as_array().unwrap();
        let mut names: Vec<String> = errors.iter().map(|e| e["name"].as_str().unwrap().to_owned()).collect();
        names.sort();
        names
    };
    assert_eq!(names(&reply.body), ["currency", "cursor", "format", "from", "interval", "limit", "to"]);
    let reply = get(&router, &format!("{RATES}?base=x&quote=DOLLAR&limit=5001&from=1")).await;
    assert_problem(&reply, 422, "validation_error");
    assert_eq!(names(&reply.body), ["base", "from", "limit", "quote"]);
    let reply = get(&router, "/v1/price?currency=bitcoin").await;
    assert_problem(&reply, 422, "validation_error");
    assert_eq!(names(&reply.body), ["currency"]);
}

#[tokio::test]
async fn tables_have_the_same_rows() {
    let world = &everything_world();
    let router = world.open_router();
    take(world, "one", 5, weekend());
    let reply = get(&router, &format!("{PRICES}?currency=JPY&format=csv")).await;
    assert_eq!(reply.header("content-type"), "text/csv; charset=utf-8");
    let lines: Vec<&str> = reply.text.lines().collect();
    assert_eq!(
        lines[0],
        "closes_at,open,high,low,close,close_reason,source,sources,dropped,disputed,converted,fx_date,missing_before"
    );
    assert_eq!(lines[4], "2024-10-09T00:00:00Z,,,,9228763,,one,1,0,false,true,2024-10-07,1");
    assert_eq!(lines.len(), 5);
    let reply = get(&router, &format!("{PRICES}?format=markdown")).await;
    assert!(reply.text.contains("| 2024-10-05T00:00:00Z | 60754.6 |"), "{}", reply.text);
}

/// Random candles of two currencies and random rates, and what follows from them by a look at all of them.
#[tokio::test]
async fn whatever_is_loaded_is_what_is_told() {
    let rng = &mut ChaCha8Rng::seed_from_u64(15);
    for round in 0..6u32 {
        let world = &everything_world();
        let router = world.open_router();
        let days = 120;
        let mut pick = |base: &str, quote: &str, part: f64, most: u32| -> BTreeMap<u32, Decimal> {
            let days: Vec<u32> = (1..=days).filter(|_| rng.random_bool(part)).collect();
            let closes: BTreeMap<u32, Decimal> = days
                .into_iter()
                .map(|day| ((FRIDAY + day) * DAY, Decimal::new(rng.random_range(most / 2..most).into(), 4)))
                .collect();
            let of = series(base, quote, Interval::Day);
            let rows = closes.iter().map(|(closes_at, close)| row(of, *closes_at, &close.to_string()));
            take(world, &format!("{}-{}", base.to_lowercase(), quote.to_lowercase()), round, rows.collect());
            closes
        };
        let (dollars, yen) = (pick("BTC", "USD", 0.9, 600_000_000), pick("BTC", "JPY", 0.3, 2_000_000_000));
        let (euro_usd, euro_yen) = (pick("EUR", "USD", 0.5, 11_000), pick("EUR", "JPY", 0.5, 1_600_000));
        let expected: Vec<(u32, Option<Decimal>, bool)> = (1..=days)
            .map(|day| (FRIDAY + day) * DAY)
            .filter_map(|closes_at| {
                if let Some(own) = yen.get(&closes_at) {
                    return Some((closes_at, Some(*own), false));
                }
                let price = dollars.get(&closes_at)?;
                let mut both =
                    euro_usd.iter().rev().filter(|(day, _)| **day <= closes_at && euro_yen.contains_key(day));
                let rate = both.next().filter(|(day, _)| closes_at - **day <= 30 * DAY);
                Some((closes_at, rate.map(|(day, usd)| price * euro_yen[day] / usd), true))
            })
            .collect();
        let schema = validator(PRICES);
        let body = get(&router, &format!("{PRICES}?currency=JPY")).await.body;
        assert!(schema.is_valid(&body), "{body}");
        let found = body["candles"].as_array().unwrap();
        assert_eq!(found.len(), expected.len(), "round {round}");
        for (found, (closes_at, close, converted)) in found.iter().zip(&expected) {
            assert_eq!(found["closes_at"], time(*closes_at), "round {round}");
            assert_eq!(found["converted"], *converted, "round {round}: {found}");
            let rounded = close.map(|close| {
                close.round_sf_with_strategy(8, RoundingStrategy::MidpointNearestEven).unwrap().normalize()
            });
            let shown = (!found["close"].is_null()).then(|| decimal(&found["close"].to_string()).normalize());
            assert_eq!(shown, rounded, "round {round}: {found}");
        }
    }
}
