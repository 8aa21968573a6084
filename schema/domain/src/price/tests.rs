//! Prices against a linear search over all candles.
#![allow(clippy::unwrap_used)]

use std::convert::Infallible;

use cairn_events::{Chosen, Currency, Interval, LiveQuote};
use proptest::prelude::*;
use rust_decimal::Decimal;

use super::*;

/// A series, a close, and the quote that holds.
type Candle = (Series, u32, Chosen);

/// All candles, in no order.
struct Heap(Vec<Candle>);

impl Quotes for Heap {
    type Error = Infallible;

    fn last(&self, series: Series, time: u32) -> Result<Option<(u32, Chosen)>, Infallible> {
        let of_series = self.0.iter().filter(|(of, at, _)| *of == series && *at <= time);
        Ok(of_series.max_by_key(|(_, at, _)| *at).map(|(_, at, chosen)| (*at, chosen.clone())))
    }
}

const DAY: u32 = 86_400;
/// 2024-10-04, a Friday.
const FRIDAY: u32 = 20_000;
const JPY: &str = "JPY";

fn code(text: &str) -> Currency {
    text.parse().unwrap()
}

fn chosen(close: Decimal) -> Chosen {
    let source = Some("tests".parse().unwrap());
    Chosen { close, range: None, source, sources: 1, dropped: 0, disputed: false }
}

fn candle(base: &str, quote: &str, interval: Interval, closes_at: u32, close: &str) -> Candle {
    let series = Series { base: code(base), quote: code(quote), interval };
    (series, closes_at, chosen(close.parse().unwrap()))
}

fn number(text: &str) -> Decimal {
    text.parse().unwrap()
}

fn at(heap: &Heap, currency: &str, time: u32) -> Result<Price, Missing> {
    price_at(heap, code(currency), time).unwrap()
}

#[test]
fn a_candle_is_known_at_its_close_and_the_last_one_counts() {
    let heap = Heap(vec![
        candle("BTC", "USD", Interval::Day, FRIDAY * DAY, "60000"),
        candle("BTC", "USD", Interval::Hour, FRIDAY * DAY, "60001"),
        candle("BTC", "USD", Interval::Hour, FRIDAY * DAY + 7_200, "60100"),
        candle("BTC", "USD", Interval::Minute, FRIDAY * DAY + 7_140, "60090"),
    ]);
    assert_eq!(at(&heap, "USD", FRIDAY * DAY - 1), Err(Missing::BeforeSeries));
    // If three candles close together, that of the day counts.
    let first = at(&heap, "USD", FRIDAY * DAY).unwrap();
    assert_eq!((first.price, first.interval, first.gap(FRIDAY * DAY + 5)), (60_000.into(), Some(Interval::Day), 5));
    for (time, price) in [(7_139, 60_000), (7_140, 60_090), (7_199, 60_090), (7_200, 60_100), (90_000, 60_100)] {
        assert_eq!(at(&heap, "USD", FRIDAY * DAY + time).unwrap().price, price.into(), "{time}");
    }
    assert_eq!(at(&heap, "EUR", FRIDAY * DAY), Err(Missing::NoRate(NoRate::NoSeries)));
    assert_eq!(at(&Heap(vec![]), "USD", 9), Err(Missing::NoSeries));
    assert_eq!(at(&Heap(vec![]), "EUR", 9), Err(Missing::NoSeries));
}

/// By hand: 62 067.50 $ × 163.84 ¥/€ ÷ 1.1015 $/€ = 9 232 082.796… ¥.
#[test]
fn other_currencies_go_by_the_last_business_day() {
    let rates = |day: u32, usd: &str, jpy: &str| {
        [
            candle("EUR", "USD", Interval::Day, (day + 1) * DAY, usd),
            candle("EUR", JPY, Interval::Day, (day + 1) * DAY, jpy),
        ]
    };
    let mut candles = vec![
        candle("BTC", "USD", Interval::Day, (FRIDAY + 2) * DAY, "62067.5"),
        candle("BTC", "USD", Interval::Day, (FRIDAY + 4) * DAY, "62900"),
    ];
    candles.extend(rates(FRIDAY - 1, "1.1029", "161.60"));
    candles.extend(rates(FRIDAY, "1.1015", "163.84"));
    candles.extend(rates(FRIDAY + 3, "1.0971", "162.96"));
    let heap = Heap(candles);
    // On Sunday, and on Monday until its rate is known at its end, Friday's holds.
    for time in [(FRIDAY + 2) * DAY, (FRIDAY + 2) * DAY + 43_200, (FRIDAY + 4) * DAY - 1] {
        let yen = at(&heap, JPY, time).unwrap();
        assert_eq!((yen.price.round_dp(2), yen.as_of), (number("9232082.80"), (FRIDAY + 2) * DAY), "{time}");
        let rate = yen.rate.unwrap();
        assert_eq!((rate.day(), rate.source.unwrap().as_str()), (FRIDAY, "tests"));
        // 62 067.50 ÷ 1.1015 = 56 348.161…
        assert_eq!(at(&heap, "EUR", time).unwrap().price.round_dp(3), number("56348.162"));
    }
    // From the end of Monday on, Monday's: 62 900 × 162.96 ÷ 1.0971.
    assert_eq!(at(&heap, JPY, (FRIDAY + 4) * DAY).unwrap().price.round_dp(2), number("9342980.59"));
    assert_eq!(at(&heap, JPY, (FRIDAY + 9) * DAY).unwrap().rate.unwrap().day(), FRIDAY + 3);
    let later = (FRIDAY + 4) * DAY + RATE_OLDEST;
    assert!(at(&heap, JPY, later).unwrap().rate.unwrap().is_stale_at(later));
    // The rates end, as the prices do: the last price has the rate of its own time.
    let last = at(&heap, JPY, later + 1).unwrap();
    assert_eq!((last.price.round_dp(2), last.rate.unwrap().day()), (number("9342980.59"), FRIDAY + 3));
    let mut longer = heap.0;
    longer.push(candle("BTC", "USD", Interval::Day, later + DAY, "63000"));
    assert_eq!(at(&Heap(longer), JPY, later + DAY), Err(Missing::NoRate(NoRate::NotThen)));
}

#[test]
fn rates_are_of_the_same_day() {
    let heap = Heap(vec![
        candle("EUR", "USD", Interval::Day, FRIDAY * DAY, "1.1"),
        candle("EUR", "USD", Interval::Day, (FRIDAY + 1) * DAY, "1.2"),
        candle("EUR", JPY, Interval::Day, FRIDAY * DAY, "165"),
    ]);
    let rate = |base, target, time| rate_at(&heap, code(base), code(target), time).unwrap();
    let yen = rate("USD", JPY, (FRIDAY + 2) * DAY).unwrap();
    assert_eq!((yen.value(), yen.closes_at), (150.into(), FRIDAY * DAY));
    assert_eq!(rate("USD", "EUR", (FRIDAY + 2) * DAY).unwrap().base, number("1.2"));
    assert_eq!(rate("USD", "SEK", (FRIDAY + 2) * DAY), Err(NoRate::NoSeries));
    assert_eq!(rate("USD", JPY, FRIDAY * DAY - 1), Err(NoRate::NotThen));
}

#[test]
fn stale_prices_of_the_currency_give_way_to_fresh_converted_ones() {
    let mut candles = vec![
        candle("BTC", "EUR", Interval::Day, FRIDAY * DAY, "50000"),
        candle("BTC", "USD", Interval::Day, (FRIDAY + 3) * DAY, "66000"),
    ];
    let own = |candles: &[Candle], days: u32| {
        let price = at(&Heap(candles.to_vec()), "EUR", (FRIDAY + days) * DAY).unwrap();
        (price.price, price.rate.is_none())
    };
    assert_eq!(own(&candles, 3), (50_000.into(), true), "there is no rate");
    candles.push(candle("EUR", "USD", Interval::Day, (FRIDAY + 2) * DAY, "1.1"));
    assert_eq!(own(&candles, 2), (50_000.into(), true), "two days are not stale");
    assert_eq!(own(&candles, 3), (60_000.into(), false));
    assert_eq!(own(&candles, 6), (50_000.into(), true), "both are stale");
}

#[test]
fn the_live_quote_counts_while_it_is_the_newest() {
    let heap = Heap(vec![candle("BTC", "USD", Interval::Minute, FRIDAY * DAY + 600, "60000")]);
    let live = |at: u32| LiveQuote {
        base: Currency::BTC,
        quote: Currency::USD,
        price: 61_000.into(),
        at: FRIDAY * DAY + at,
        source: None,
        sources: 2,
        dropped: 1,
        disputed: false,
    };
    let now =
        |live: &[LiveQuote], at: u32| current_price(&heap, live, Currency::USD, FRIDAY * DAY + at).unwrap().unwrap();
    let newest = now(&[live(601)], 700);
    assert_eq!((newest.price, newest.interval, newest.dropped), (61_000.into(), None, 1));
    assert_eq!(now(&[live(599)], 700).price, 60_000.into());
    assert_eq!(now(&[live(600)], 700).price, 61_000.into());
    assert_eq!(now(&[live(701)], 700).price, 60_000.into(), "a quote of the future");
    assert!(!newest.is_stale_at(FRIDAY * DAY + 1_201) && newest.is_stale_at(FRIDAY * DAY + 1_202));
    let euros = LiveQuote { quote: Currency::EUR, ..live(650) };
    assert_eq!(now(&[euros, live(620), live(610)], 700).as_of, FRIDAY * DAY + 620);
}

#[test]
fn prices_go_stale_after_two_intervals_and_ten_minutes() {
    for (interval, seconds) in
        [(None, 600), (Some(Interval::Minute), 600), (Some(Interval::Hour), 7_200), (Some(Interval::Day), 172_800)]
    {
        assert_eq!(stale_after(interval), seconds);
        assert!(!is_stale(1_000, interval, 1_000 + seconds) && is_stale(1_000, interval, 1_001 + seconds));
        assert!(!is_stale(1_000, interval, 0));
    }
}

#[test]
fn the_change_is_against_a_day_before() {
    let mut candles = vec![
        candle("BTC", "USD", Interval::Day, FRIDAY * DAY, "60000"),
        candle("BTC", "USD", Interval::Day, (FRIDAY + 1) * DAY, "61234"),
    ];
    let change = |candles: &[Candle], days: u32| {
        let heap = Heap(candles.to_vec());
        let price = at(&heap, "USD", (FRIDAY + days) * DAY).unwrap();
        change_over_day(&heap, &price, Currency::USD).unwrap()
    };
    // 1 234 ÷ 60 000 = 2.0566… %
    assert_eq!(change(&candles, 1), Ok(number("2.06")));
    assert_eq!(change(&candles, 0), Err(NoChange::Missing(Missing::BeforeSeries)));
    candles.push(candle("BTC", "USD", Interval::Day, (FRIDAY + 5) * DAY, "1"));
    assert_eq!(change(&candles, 5), Err(NoChange::Stale));
}

#[test]
fn a_day_has_the_last_candle_of_its_own() {
    let heap = Heap(vec![
        candle("BTC", "USD", Interval::Day, FRIDAY * DAY, "59000"),
        candle("BTC", "USD", Interval::Day, (FRIDAY + 1) * DAY, "60000"),
        candle("BTC", "USD", Interval::Hour, (FRIDAY + 2) * DAY - 3_600, "61000"),
        candle("BTC", "USD", Interval::Day, (FRIDAY + 4) * DAY, "62000"),
        candle("BTC", "EUR", Interval::Day, (FRIDAY + 1) * DAY, "55000"),
        candle("EUR", "USD", Interval::Day, (FRIDAY + 1) * DAY, "1.25"),
    ]);
    let close = |currency, day, until| day_price(&heap, code(currency), day, until).unwrap().map(|price| price.price);
    assert_eq!(close("USD", FRIDAY, None), Ok(60_000.into()));
    assert_eq!(close("USD", FRIDAY + 1, None), Ok(61_000.into()));
    assert_eq!(close("USD", FRIDAY + 2, None), Err(NoDayPrice::Gap));
    assert_eq!(close("USD", FRIDAY - 2, None), Err(NoDayPrice::Missing(Missing::BeforeSeries)));
    assert_eq!(close("USD", FRIDAY + 2, Some((FRIDAY + 2) * DAY + 5)), Ok(61_000.into()));
    assert_eq!(close("USD", FRIDAY + 1, Some((FRIDAY + 1) * DAY + 5)), Ok(61_000.into()));
    assert_eq!(close("USD", FRIDAY - 2, Some((FRIDAY - 2) * DAY + 5)), Err(NoDayPrice::Missing(Missing::BeforeSeries)));
    assert_eq!(close("EUR", FRIDAY, None), Ok(55_000.into()));
    assert_eq!(close("EUR", FRIDAY + 1, None), Ok(48_800.into()), "converted");
    assert_eq!(close("EUR", FRIDAY + 2, None), Err(NoDayPrice::Gap));
    assert_eq!(close("JPY", FRIDAY, None), Err(NoDayPrice::Missing(Missing::NoRate(NoRate::NoSeries))));
}

/// A price, for comparisons: the price, when it was known, its candle, and the day of the rate.
type Brief = (Decimal, u32, Option<Interval>, Option<u32>);

fn brief(price: &Price) -> Brief {
    (price.price, price.as_of, price.interval, price.rate.as_ref().map(|rate| rate.closes_at))
}

/// The newest in a currency, by a look at everything.
fn newest(all: &[Candle], live: &[LiveQuote], currency: Currency, time: u32) -> Option<Brief> {
    let mut best: Option<(u32, u32, Brief)> = None;
    let candles = all
        .iter()
        .filter(|(series, ..)| series.base == Currency::BTC && series.quote == currency)
        .map(|(series, at, chosen)| (*at, series.interval.seconds(), (chosen.close, *at, Some(series.interval), None)));
    let live = live.iter().filter(|quote| quote.quote == currency);
    let live = live.map(|quote| (quote.at, u32::MAX, (quote.price, quote.at, None, None)));
    for found in candles.chain(live).filter(|(at, ..)| *at <= time) {
        if best.is_none_or(|best| (best.0, best.1) < (found.0, found.1)) {
            best = Some(found);
        }
    }
    best.map(|(_, _, brief)| brief)
}

/// Closes of the euro's rate in a currency on a day.
fn euro(all: &[Candle], currency: Currency, closes_at: u32) -> Option<Decimal> {
    let of = |(series, at, _): &&Candle| (series.base, series.quote, *at) == (Currency::EUR, currency, closes_at);
    if currency == Currency::EUR { Some(Decimal::ONE) } else { all.iter().find(of).map(|(_, _, chosen)| chosen.close) }
}

fn converted(all: &[Candle], live: &[LiveQuote], currency: Currency, time: u32) -> Option<Brief> {
    let dollars = newest(all, live, Currency::USD, time)?;
    let rate = |time: u32| {
        let days = (0..=time / DAY).rev().map(|day| day * DAY).take_while(|closes_at| time - closes_at <= 30 * DAY);
        let mut both = days.filter_map(|day| Some((day, euro(all, currency, day)?, euro(all, Currency::USD, day)?)));
        both.next()
    };
    let (day, target, base) = rate(time).or_else(|| rate(dollars.1))?;
    Some(((dollars.0 * target / base).normalize(), dollars.1, dollars.2, Some(day)))
}

fn is_old(brief: &Brief, time: u32) -> bool {
    let most = match brief.2 {
        None | Some(Interval::Minute) => 600,
        Some(Interval::Hour) => 7_200,
        Some(Interval::Day) => 172_800,
    };
    time - brief.1 > most || brief.3.is_some_and(|day| time - day > 5 * DAY)
}

fn expected(all: &[Candle], live: &[LiveQuote], currency: Currency, time: u32) -> Option<Brief> {
    let own = newest(all, live, currency, time);
    if currency == Currency::USD {
        return own;
    }
    let converted = converted(all, live, currency, time);
    match (own, converted) {
        (Some(own), Some(converted)) => {
            Some(if is_old(&own, time) && !is_old(&converted, time) { converted } else { own })
        }
        (own, converted) => own.or(converted),
    }
}

fn candles() -> impl Strategy<Value = Vec<Candle>> {
    let pairs = prop::sample::select(vec![
        ("BTC", "USD", Interval::Day),
        ("BTC", "USD", Interval::Hour),
        ("BTC", "USD", Interval::Minute),
        ("BTC", "EUR", Interval::Day),
        ("BTC", "EUR", Interval::Minute),
        ("BTC", "JPY", Interval::Hour),
        ("EUR", "USD", Interval::Day),
        ("EUR", "JPY", Interval::Day),
    ]);
    // Days weigh most, so that conversions occur.
    let time = prop_oneof![(0u32..45).prop_map(|day| day * DAY), 0u32..45 * DAY, 43 * DAY..45 * DAY];
    let row = (pairs, time, 1i64..100_000).prop_map(|((base, quote, interval), time, close)| {
        let closes_at = (FRIDAY * DAY + time) / interval.seconds() * interval.seconds();
        candle(base, quote, interval, closes_at, &Decimal::new(close, 3).to_string())
    });
    prop::collection::vec(row, 0..60).prop_map(|mut rows| {
        // One for each series and time.
        rows.sort_by_key(|row| (row.0, row.1));
        rows.dedup_by_key(|row| (row.0, row.1));
        rows
    })
}

fn live_quotes() -> impl Strategy<Value = Vec<LiveQuote>> {
    let quote = (prop::sample::select(vec!["USD", "EUR"]), 0u32..46 * DAY, 1i64..100_000);
    prop::collection::vec(quote, 0..3).prop_map(|quotes| {
        let live = |(currency, at, price): (&str, u32, i64)| LiveQuote {
            base: Currency::BTC,
            quote: code(currency),
            price: Decimal::new(price, 3),
            at: FRIDAY * DAY + at,
            source: None,
            sources: 2,
            dropped: 0,
            disputed: false,
        };
        let mut quotes: Vec<LiveQuote> = quotes.into_iter().map(live).collect();
        quotes.sort_by_key(|quote| (quote.quote, quote.at));
        quotes.dedup_by_key(|quote| (quote.quote, quote.at));
        quotes
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_price_at_any_time(
        all in candles(),
        live in live_quotes(),
        currency in prop::sample::select(vec!["USD", "EUR", "JPY", "SEK"]),
        time in prop_oneof![0u32..90 * DAY, (0u32..90).prop_map(|day| day * DAY), 43 * DAY..46 * DAY],
    ) {
        let (heap, currency, time) = (Heap(all.clone()), code(currency), FRIDAY * DAY + time);
        let found = price_at(&heap, currency, time).unwrap();
        prop_assert_eq!(found.as_ref().ok().map(brief), expected(&all, &[], currency, time), "{:?}", found);
        let now = current_price(&heap, &live, currency, time).unwrap();
        prop_assert_eq!(now.as_ref().ok().map(brief), expected(&all, &live, currency, time), "{:?}", now);
        if let Ok(price) = &now {
            prop_assert_eq!(price.is_stale_at(time), is_old(&brief(price), time));
        }
        // Each reason, by a look at everything.
        if let Err(missing) = found {
            let any = |base: &str, quote: Currency| all.iter().any(|c| (c.0.base, c.0.quote) == (code(base), quote));
            let has_rates = currency != Currency::USD && any("EUR", Currency::USD)
                && (currency == Currency::EUR || any("EUR", currency));
            let has_dollars = newest(&all, &[], Currency::USD, time).is_some();
            let reason = match (has_dollars && currency != Currency::USD, has_rates) {
                (true, true) => Missing::NoRate(NoRate::NotThen),
                (true, false) => Missing::NoRate(NoRate::NoSeries),
                _ if any("BTC", Currency::USD) || any("BTC", currency) => Missing::BeforeSeries,
                _ => Missing::NoSeries,
            };
            prop_assert_eq!(missing, reason);
        }
    }

    #[test]
    fn any_price_of_any_day(
        all in candles(),
        currency in prop::sample::select(vec!["USD", "EUR", "JPY"]),
        day in FRIDAY - 2..FRIDAY + 50,
    ) {
        let (heap, currency) = (Heap(all.clone()), code(currency));
        let of_day = |found: Option<Brief>| found.filter(|brief| brief.1 > day * DAY);
        let own = of_day(newest(&all, &[], currency, (day + 1) * DAY));
        let other = || of_day(converted(&all, &[], currency, (day + 1) * DAY));
        let expected = if currency == Currency::USD { own } else { own.or_else(other) };
        let found = day_price(&heap, currency, day, None).unwrap();
        prop_assert_eq!(found.as_ref().ok().map(brief), expected, "{:?}", found);
    }
}
