//! On-chain statistics against the ledger, coin by coin, while prices come, change and go. Every figure is compared as
//! text, so exactly.

use std::collections::BTreeMap;

use axum::Router;
use cairn_chaingen::{Everything, EverythingOptions, everything};
use cairn_events::{Body, Currency, Document, DocumentHash, Interval, Provenance, Quote, QuoteRow, Series, Slug};
use cairn_pipeline::{NoProgress, SyncOptions};
use cairn_sources::BlockFiles;
use cairn_testkit::Oracle;
use num_bigint::BigInt;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rust_decimal::Decimal;
use serde_json::{Value, json, value::RawValue};

use crate::{
    onchain_ledger::{AGES, Closes, DAY, Fields, Naive, date, millionths},
    support::{Reply, World, assert_problem, everything_world, get, validator, write_tidy},
};

const PATH: &str = "/v1/onchain";

fn document(number: u64, source: &str, body: Body) -> Document {
    let slug = |text: &str| text.parse::<Slug>().unwrap();
    let mut hash = [7; 32];
    hash[..8].copy_from_slice(&number.to_be_bytes());
    Document {
        provenance: Provenance {
            source: slug(source),
            licence: slug("cc0-1.0"),
            origin: "a test".to_owned(),
            retrieved_at: 1_800_000_000 + number as u32,
            document: DocumentHash(hash),
        },
        received_at: None,
        body,
    }
}

fn quotes(closes: &Closes) -> Body {
    let series = Series { base: Currency::BTC, quote: Currency::USD, interval: Interval::Day };
    let row = |(day, close): (&u32, &Decimal)| QuoteRow {
        series,
        closes_at: (day + 1) * DAY,
        quote: Quote { close: *close, range: None, volume: None },
    };
    Body::Quotes(closes.iter().map(row).collect())
}

fn take(world: &World, document: &Document) {
    world.engine.lock().unwrap().take_document(document, 1_900_000_000).unwrap();
}

/// The members of an object, as they are written.
fn members(text: &str) -> BTreeMap<String, String> {
    let members: BTreeMap<String, &RawValue> = serde_json::from_str(text).unwrap();
    members.into_iter().map(|(name, value)| (name, value.get().to_owned())).collect()
}

fn items(text: &str) -> Vec<String> {
    let items: Vec<&RawValue> = serde_json::from_str(text).unwrap();
    items.into_iter().map(|value| value.get().to_owned()).collect()
}

/// Compares an object of an answer with what is expected, nulls and their reasons among it.
fn assert_fields(text: &str, expected: &Fields, what: &str) {
    let (found, mut reasons) = (members(text), BTreeMap::new());
    for (name, figure) in expected.iter().filter(|(name, _)| !name.starts_with("hodl_")) {
        let value = found.get(name).unwrap_or_else(|| panic!("{what}: no {name}"));
        match figure {
            Ok(figure) => assert_eq!(value.trim_matches('"'), figure, "{what}: {name}"),
            Err(reason) => {
                assert_eq!(value, "null", "{what}: {name}");
                reasons.insert(name.clone(), reason.clone());
            }
        }
    }
    let told: BTreeMap<String, String> = serde_json::from_str(&found["reasons"]).unwrap();
    assert_eq!(told, reasons, "{what}");
}

fn assert_answer(reply: &Reply, naive: &Naive<'_>, day: u32, what: &str) {
    assert_eq!(reply.status, 200, "{what}: {}", reply.text);
    let body = members(&reply.text);
    let expected = naive.day(day);
    assert_fields(&body["day"], &expected, what);
    let last = (0..=naive.tip()).filter(|height| naive.oracle.day(*height) <= day).max().unwrap();
    assert_eq!(members(&body["as_of"])["height"], last.to_string(), "{what}");
    assert_eq!(body["day_complete"], (day < naive.newest()).to_string(), "{what}");

    let (births, _) = naive.unspent(day);
    let supply: u64 = births.values().sum();
    let (realized, _) = naive.realized(&births);
    let realized = match &realized {
        Ok(sum) if *sum == BigInt::ZERO => Err("the realized cap is zero".to_owned()),
        other => other.clone(),
    };
    let waves = items(&body["hodl_waves"]);
    assert_eq!(waves.len(), AGES.len());
    for (at, wave) in waves.iter().map(|wave| members(wave)).enumerate() {
        let of_class = naive.of_class(&births, day, at);
        let sats: u64 = of_class.values().sum();
        assert_eq!((&wave["from_days"], &wave["sats"]), (&AGES[at].to_string(), &sats.to_string()), "{what}");
        let share = if supply == 0 { "0".to_owned() } else { millionths(&sats.into(), &supply.into()) };
        assert_eq!(wave["share"], share, "{what}: class {at}");
        assert_eq!(items(&members(&body["day"])["hodl_shares"])[at], share, "{what}: class {at}");
        let part = realized.as_ref().map(|whole| millionths(&naive.realized(&of_class).0.unwrap(), whole));
        assert_eq!(wave["realized_share"], part.unwrap_or_else(|_| "null".to_owned()), "{what}: class {at}");
    }
    let reason: Option<String> = serde_json::from_str(&body["hodl_waves_reason"]).unwrap();
    assert_eq!(reason, realized.err(), "{what}");

    for (name, days) in [("7d", 7), ("30d", 30)] {
        let first = (day + 1).saturating_sub(days).max(naive.genesis());
        let window = &members(&body["windows"])[name];
        assert_fields(window, &naive.sums(&naive.moved(first..=day)), &format!("{what}, {name}"));
        let ends: Value = serde_json::from_str(window).unwrap();
        assert_eq!((ends["from"].as_str().unwrap(), ends["to"].as_str().unwrap()), (&*date(first), &*date(day)));
        assert_eq!(ends["complete"], day + 1 - first == days, "{what}, {name}");
    }

    let price: Value = serde_json::from_str(&body["price"]).unwrap();
    match naive.price_of(day) {
        Err(reason) => {
            assert_eq!(price["reason"], reason, "{what}");
            assert!(
                ["usd", "as_of", "source", "sources", "stale"].iter().all(|field| price[field].is_null()),
                "{what}"
            );
        }
        Ok(close) => {
            let (of, _) = naive.price(day).unwrap().unwrap();
            assert_eq!(members(&body["price"])["usd"], close.to_string(), "{what}");
            assert_eq!(price["as_of"], format!("{}T00:00:00Z", date(of + 1)), "{what}");
            let old = (of + 1) * DAY + 2 * DAY < naive.oracle.monotone_time(naive.tip());
            assert_eq!(price["stale"], day == naive.newest() && old, "{what}");
            assert_eq!(price["sources"], 1, "{what}");
            assert!(price["source"].is_string() && price["reason"].is_null(), "{what}");
        }
    }
}

/// The rows of an answer in CSV, by column.
fn csv(reply: &Reply) -> Vec<BTreeMap<String, String>> {
    assert_eq!((reply.status, reply.header("content-type")), (200, "text/csv; charset=utf-8"), "{}", reply.text);
    let mut lines = reply.text.split("\r\n").filter(|line| !line.is_empty());
    let columns: Vec<&str> = lines.next().unwrap().split(',').collect();
    lines
        .map(|line| {
            // Reasons have no comma.
            let cells: Vec<&str> = line.split(',').collect();
            assert_eq!(cells.len(), columns.len(), "{line}");
            columns.iter().map(ToString::to_string).zip(cells.into_iter().map(str::to_owned)).collect()
        })
        .collect()
}

fn assert_rows(rows: &[BTreeMap<String, String>], naive: &Naive<'_>, first: u32, what: &str) {
    for (day, row) in (first..).zip(rows) {
        let mut expected: BTreeMap<String, String> = BTreeMap::new();
        let mut reasons = Vec::new();
        for (name, figure) in naive.day(day) {
            if let Err(reason) = &figure {
                reasons.push(format!("{name}: {reason}"));
            }
            expected.insert(name, figure.unwrap_or_default());
        }
        expected.insert("reasons".to_owned(), reasons.join("; "));
        assert_eq!(*row, expected, "{what}: {}", date(day));
    }
}

/// Asks for random heights and a random range of days.
async fn compare(router: &Router, naive: &Naive<'_>, rng: &mut ChaCha8Rng, what: &str) {
    let schema = validator(PATH);
    let newest = get(router, PATH).await;
    assert!(schema.is_valid(&newest.body), "{}", newest.text);
    assert_answer(&newest, naive, naive.newest(), &format!("{what}, now"));
    for _ in 0..4 {
        let height = rng.random_range(0..=naive.tip());
        let reply = get(router, &format!("{PATH}?as_of={height}")).await;
        assert!(schema.is_valid(&reply.body), "{}", reply.text);
        assert_answer(&reply, naive, naive.oracle.day(height), &format!("{what}, as of {height}"));
    }
    let (genesis, end) = (naive.genesis(), naive.newest());
    let first = rng.random_range(genesis..=end);
    let last = rng.random_range(first..=end.min(first + 60));
    let range = format!("{PATH}?from={}&to={}", date(first), date(last));
    let rows = csv(&get(router, &format!("{range}&format=csv")).await);
    assert_eq!(rows.len() as u32, last - first + 1, "{what}");
    assert_rows(&rows, naive, first, what);
    // The same days in JSON, and the last of them as the answer's own.
    let reply = get(router, &range).await;
    assert!(schema.is_valid(&reply.body), "{}", reply.text);
    assert_answer(&reply, naive, last, &format!("{what}, {range}"));
    let days = items(&members(&reply.text)["days"]);
    assert_eq!(days.len(), rows.len());
    for (day, text) in (first..).zip(&days) {
        assert_fields(text, &naive.day(day), &format!("{what}, {}", date(day)));
    }
}

fn random_close(rng: &mut ChaCha8Rng) -> Decimal {
    // From fractions of a cent to a million, with few or many decimals.
    let digits = rng.random_range(0..=16u32);
    let most = 10i128.pow(rng.random_range(2..=6) + digits);
    Decimal::from_i128_with_scale(rng.random_range(1..most), digits).normalize()
}

#[tokio::test]
async fn every_figure_is_that_of_the_ledger_while_prices_come_and_go() {
    let world = &everything_world();
    let router = world.open_router();
    let mut naive = Naive::of(&world.oracle);
    let (genesis, end) = (naive.genesis(), naive.newest());
    for seed in 0..3 {
        let rng = &mut ChaCha8Rng::seed_from_u64(seed);
        let number = seed * 100;
        compare(&router, &naive, rng, "no prices").await;
        // A series that begins later than the chain and ends before it, with gaps.
        let (begin, stop) = (rng.random_range(genesis..end), rng.random_range(end - 3..end + 2));
        let mut closes: Closes = (begin..=stop.max(begin)).map(|day| (day, random_close(rng))).collect();
        closes.retain(|day, _| *day == begin || rng.random_ratio(49, 50));
        take(world, &document(number + 1, "first", quotes(&closes)));
        naive.closes = closes.clone();
        compare(&router, &naive, rng, "a series with gaps").await;
        // A late correction of some days, which also fills the gaps, and one of a single early day.
        let correction: Closes =
            (begin..=end).map(|day| (day, random_close(rng))).filter(|(day, _)| day % 2 == 0).collect();
        if !correction.is_empty() {
            take(world, &document(number + 2, "first", quotes(&correction)));
        }
        naive.closes.extend(correction);
        compare(&router, &naive, rng, "corrected").await;
        let early = Closes::from([(begin, random_close(rng))]);
        take(world, &document(number + 3, "first", quotes(&early)));
        naive.closes.extend(early);
        compare(&router, &naive, rng, "corrected early").await;
        // All of them, up to the day before the newest: nothing is missing, and some coins are older.
        let whole: Closes = (begin..end).map(|day| (day, random_close(rng))).collect();
        take(world, &document(number + 4, "first", quotes(&whole)));
        naive.closes.extend(whole);
        compare(&router, &naive, rng, "whole").await;
        let day = get(&router, PATH).await.body["day"].take();
        assert_eq!(day["reasons"], json!({}), "{day}");
        assert!(day["mvrv"].is_number() && day["realized_cap_usd"].as_f64() > Some(0.0), "{day}");
        // Withdrawn: what came before holds again, until nothing is left.
        for withdrawn in 1..=4 {
            let mut hash = [7; 32];
            hash[..8].copy_from_slice(&(number + withdrawn).to_be_bytes());
            let body = Body::Withdrawal { document: DocumentHash(hash), reason: "it was wrong".to_owned() };
            take(world, &document(number + 10 + withdrawn, "first", body));
        }
        naive.closes.clear();
    }
    compare(&router, &naive, &mut ChaCha8Rng::seed_from_u64(9), "all withdrawn").await;
}

#[tokio::test]
async fn a_chain_that_was_reorganized_has_the_figures_of_the_straight_one() {
    let mut making = Everything::new(83, 6, false);
    making.grow(125).unwrap();
    let world = World::of(making.chain().clone());
    let closes = |oracle: &Oracle| -> Closes {
        let rng = &mut ChaCha8Rng::seed_from_u64(5);
        let days = oracle.day(20)..=oracle.day(oracle.tip().unwrap().0) + 40;
        days.map(|day| (day, random_close(rng))).collect()
    };
    let document = document(1, "first", quotes(&closes(&world.oracle)));
    take(&world, &document);
    let router = world.open_router();
    let before = get(&router, PATH).await;
    making.fork(12, 14).unwrap();
    write_tidy(&world.blocks_dir, making.chain());
    let files = BlockFiles::open(&world.blocks_dir, cairn_model::Network::Regtest).unwrap();
    let survey = files.survey(&|_| {}).unwrap();
    world.engine.lock().unwrap().sync(&files, &survey, &SyncOptions::default(), &NoProgress).unwrap();
    let straight = World::of(making.chain().clone());
    take(&straight, &document);
    let other = straight.open_router();
    let tip = straight.oracle.tip().unwrap().0;
    for query in ["".to_owned(), format!("?as_of={}", tip - 5), format!("?as_of={}", tip / 2)] {
        let [found, expected] =
            [get(&router, &format!("{PATH}{query}")).await, get(&other, &format!("{PATH}{query}")).await].map(
                |reply| (reply.body["day"].clone(), reply.body["windows"].clone(), reply.body["hodl_waves"].clone()),
            );
        assert_eq!(found, expected, "{query}");
        assert_ne!(found.0, before.body["day"], "{query}");
    }
    let mut naive = Naive::of(&straight.oracle);
    naive.closes = closes(&world.oracle);
    compare(&router, &naive, &mut ChaCha8Rng::seed_from_u64(6), "reorganized").await;
}

#[tokio::test]
async fn ranges_are_bounded_and_refused_with_a_reason() {
    // Long enough for more days than are answered at once.
    let options = EverythingOptions { blocks: 1_300, max_txs: 1, forks: Vec::new(), showpieces: false };
    let world = &World::of(everything(17, &options).unwrap());
    let router = world.open_router();
    let (genesis, newest) = (world.oracle.day(0), world.oracle.day(world.oracle.tip().unwrap().0));
    assert!(newest - genesis > 1_100, "{} days", newest - genesis);
    for (query, detail) in [
        (format!("from={}", date(genesis)), "at most 1000 are allowed".to_owned()),
        (format!("from={}&to={}", date(genesis), date(genesis + 1_000)), "these are 1001 days".to_owned()),
        (format!("from={}", date(newest + 1)), format!("the newest block is of {}", date(newest))),
        (format!("to={}", date(genesis - 1)), format!("the chain begins on {}", date(genesis))),
        ("to=1969-12-31".to_owned(), format!("the chain begins on {}", date(genesis))),
        (format!("from={}&to={}", date(genesis + 9), date(genesis + 8)), "must not be before from".to_owned()),
        (format!("as_of=3&to={}", date(newest)), "give either as_of, or from and to".to_owned()),
        ("as_of=-1".to_owned(), String::new()),
        ("format=xml".to_owned(), String::new()),
    ] {
        let reply = get(&router, &format!("{PATH}?{query}")).await;
        assert_problem(&reply, 422, "validation_error");
        assert!(reply.text.contains(&detail), "{query}: {}", reply.text);
    }
    let tip = world.oracle.tip().unwrap().0;
    assert_problem(&get(&router, &format!("{PATH}?as_of={}", tip + 1)).await, 404, "block_not_found");

    // The most days, in parts that together are the whole.
    let whole = format!("{PATH}?format=csv&from={}&to={}", date(genesis), date(genesis + 999));
    let reply = get(&router, &whole).await;
    let rows = csv(&reply);
    assert_eq!(rows.len(), 1_000);
    let part = csv(&get(&router, &format!("{PATH}?format=csv&from=0001-01-01&to={}", date(genesis + 400))).await);
    assert_eq!(part, rows[..401]);
    // The day alone: one row, also without a range.
    assert_eq!(csv(&get(&router, &format!("{PATH}?format=csv&to={}", date(genesis + 400))).await), rows[400..401]);
    let now = csv(&get(&router, &format!("{PATH}?format=csv")).await);
    assert_eq!((now.len(), &now[0]["date"]), (1, &date(newest)));
    // Days behind the newest block are not answered.
    assert_eq!(csv(&get(&router, &format!("{PATH}?format=csv&to={}", date(newest + 900))).await), now);
    let markdown = get(&router, &format!("{PATH}?format=markdown&from={}", date(newest - 2))).await;
    assert_eq!((markdown.status, markdown.text.lines().count()), (200, 5), "{}", markdown.text);

    // For one day: the supply before the windows, and three rows and those of its births for each of 30 days.
    let reply = get(&router, PATH).await;
    assert!(reply.rows_read() < 57 * 40 + 30 * 10, "{} rows", reply.rows_read());
    // Quiet days read nothing.
    assert!(get(&router, &whole).await.rows_read() < 57 * 40 + 150 * 20);
}

#[tokio::test]
async fn the_compact_view_is_at_most_half() {
    let world = &everything_world();
    let router = world.open_router();
    for query in ["", "&as_of=100"] {
        let whole = get(&router, &format!("{PATH}?view=full{query}")).await;
        let compact = get(&router, &format!("{PATH}?view=compact{query}")).await;
        assert!(compact.text.len() <= whole.text.len() / 2, "{} of {}", compact.text.len(), whole.text.len());
        for field in ["supply_sats", "realized_cap_usd", "mvrv", "sopr", "coin_days_destroyed", "reasons"] {
            assert_eq!(compact.body["day"][field], whole.body["day"][field], "{field}");
            assert!(compact.body["day"].get(field).is_some(), "{field}");
        }
        assert_eq!((&compact.body["as_of"], &compact.body["windows"]), (&whole.body["as_of"], &Value::Null));
    }
}
