//! Each provider reads the answers that it documents, and distinguishes the errors of others. The shapes are those of
//! the providers' documentation; the numbers are made up.

use cairn_events::{Currency, Interval, Quote, Series};
use cairn_fetch::providers::{ALL, AnswerError, Provider, Rows, named};
use cairn_inputs::Pair;
use proptest::prelude::*;

fn provider(name: &str) -> &'static dyn Provider {
    named(name).unwrap()
}

fn pair(text: &str) -> Pair {
    text.parse().unwrap()
}

fn hourly(text: &str) -> Series {
    let Pair { base, quote } = pair(text);
    Series { base, quote, interval: Interval::Hour }
}

const COINBASE_TICKER: &str = r#"{"ask":"94386.57","bid":"94286.56","volume":"5957.1","trade_id":86326522,"price":"94286.55",
    "size":"0.00698254","time":"2024-11-20T01:02:03.456789Z","rfq_volume":"1.5"}"#;
const KRAKEN_TICKER: &str = r#"{"error":[],"result":{"XXBTZUSD":{"a":["94390.1","1","1.000"],"b":["94390.0","1","1.000"],
    "c":["94286.55","0.00010000"],"v":["1.0","2.0"],"p":["94000.1","94000.2"],"t":[1,2],"l":["90000.0","90000.0"],
    "h":["95000.0","95000.0"],"o":"94000.0"}}}"#;
const BITSTAMP_TICKER: &str = r#"{"timestamp":"1732064523","open":"94000","high":"95000","low":"90000","last":"94286.55","volume":"1.5",
    "vwap":"94001","bid":"94286","ask":"94287","side":"0","open_24":"93999","percent_change_24":"0.01"}"#;
const BINANCE_TICKER: &str = r#"{"symbol":"BTCEUR","price":"94286.55000000"}"#;

#[test]
fn names_are_found() {
    let names: Vec<&str> = ALL.iter().map(|provider| provider.name()).collect();
    assert_eq!(names, ["binance", "bitstamp", "coinbase", "ecb", "kraken"]);
    assert!(named("ftx").is_none());
    for provider in ALL {
        assert!(provider.info().home.starts_with("https://"));
        assert!(
            provider.name().parse::<cairn_events::Slug>().is_ok()
                && provider.info().licence.parse::<cairn_events::Slug>().is_ok()
        );
    }
}

#[test]
fn prices_of_the_moment_are_read() {
    for (name, of, text, at, path) in [
        ("coinbase", "BTC/USD", COINBASE_TICKER, Some(1_732_064_523), "/products/BTC-USD/ticker"),
        ("kraken", "BTC/USD", KRAKEN_TICKER, None, "/0/public/Ticker?pair=XBTUSD"),
        ("bitstamp", "BTC/USD", BITSTAMP_TICKER, Some(1_732_064_523), "/api/v2/ticker/btcusd/"),
        ("binance", "BTC/EUR", BINANCE_TICKER, None, "/api/v3/ticker/price?symbol=BTCEUR"),
    ] {
        let (provider, of) = (provider(name), pair(of));
        let tick = provider.tick(of, text.as_bytes()).unwrap();
        assert_eq!((tick.price.to_string().as_str(), tick.at), ("94286.55", at), "{name}");
        assert_eq!(provider.ticker(of).as_deref(), Some(path));
        assert_eq!(provider.refusal(200, text.as_bytes()), None, "{name}");
        let text = text.replace("94286.55000000", "94286.55");
        // Cut anywhere, it is not an answer.
        for cut in 0..text.len() {
            assert!(provider.tick(of, &text.as_bytes()[..cut]).is_err(), "{name}: {cut}");
        }
        for price in ["0", "0.00", "-1", "-94286.55", "1e16"] {
            let wrong = provider.tick(of, text.replace("94286.55", price).as_bytes());
            assert_eq!(wrong, Err(AnswerError::Price), "{name}: {price}");
        }
        for price in ["NaN", "", "1,5", "94286,55", "0x10", "1e999", "9.99999999999999999999999999999999999999"] {
            let wrong = provider.tick(of, text.replace("94286.55", price).as_bytes()).unwrap_err();
            assert!(matches!(wrong, AnswerError::Number(_)), "{name}: {price}: {wrong}");
        }
    }
    assert_eq!(provider("ecb").ticker(pair("EUR/USD")), None);
}

#[test]
fn another_pair_is_no_answer() {
    let other = |name: &str, of: &str, text: &str| {
        let wrong = provider(name).tick(pair(of), text.as_bytes()).unwrap_err();
        assert!(matches!(wrong, AnswerError::OtherPair { .. }), "{name}: {wrong}");
    };
    other("kraken", "BTC/EUR", KRAKEN_TICKER);
    other("kraken", "BTC/USD", &KRAKEN_TICKER.replace("XXBTZUSD", "XETHZUSD"));
    other("kraken", "BTC/USD", &KRAKEN_TICKER.replace("XXBTZUSD", "XBTUSDT"));
    other("binance", "BTC/EUR", &BINANCE_TICKER.replace("BTCEUR", "BTCUSDT"));
    other("bitstamp", "BTC/USD", &BITSTAMP_TICKER.replace("\"side\"", "\"pair\":\"BTC/EUR\",\"side\""));
    let euros = BITSTAMP_OHLC.replace("BTC/USD", "BTC/EUR");
    assert!(matches!(
        provider("bitstamp").rows(hourly("BTC/USD"), euros.as_bytes()),
        Err(AnswerError::OtherPair { .. })
    ));
    let two = KRAKEN_OHLC.replace("\"last\"", "\"XETHZUSD\":[],\"last\"");
    assert!(matches!(provider("kraken").rows(hourly("BTC/USD"), two.as_bytes()), Err(AnswerError::Form(_))));
    // A token is not a dollar.
    let binance = provider("binance");
    assert!(binance.series(pair("BTC/USD")).is_empty() && binance.ticker(pair("BTC/USD")).is_none());
    assert_eq!(binance.series(pair("BTC/USDT"))[0].quote.as_str(), "USDT");
}

// Openings at 2024-11-20 00:00 and 01:00.
const COINBASE_CANDLES: &str =
    "[[1732064400,94000.1,94500.5,94100,94300.25,12.5],[1732060800,93000,94200,93500,94100,1.0e-2]]";
const KRAKEN_OHLC: &str = r#"{"error":[],"result":{"XXBTZUSD":[[1732060800,"93500","94200","93000","94100","93900.1","0.01",7],
    [1732064400,"94100","94500.5","94000.1","94300.25","94200.0","12.50000000",120]],"last":1732060800}}"#;
const BITSTAMP_OHLC: &str = r#"{"data":{"pair":"BTC/USD","ohlc":[
    {"timestamp":"1732060800","open":"93500","high":"94200","low":"93000","close":"94100","volume":"0.01"},
    {"timestamp":"1732064400","open":"94100","high":"94500.5","low":"94000.1","close":"94300.25","volume":"12.50000000"}]}}"#;
const BINANCE_KLINES: &str = r#"[[1732060800000,"93500.00","94200.00","93000.00","94100.00","0.01000000",1732064399999,"940.1",7,"0.005","470","0"],
    [1732064400000,"94100.00","94500.50","94000.10","94300.25","12.50000000",1732067999999,"1.0",120,"6","5","0"]]"#;

const CANDLES: [(&str, &str, &str); 4] = [
    ("coinbase", "BTC/USD", COINBASE_CANDLES),
    ("kraken", "BTC/USD", KRAKEN_OHLC),
    ("bitstamp", "BTC/USD", BITSTAMP_OHLC),
    ("binance", "BTC/EUR", BINANCE_KLINES),
];

fn written(rows: &Rows) -> Vec<String> {
    let mut all: Vec<String> = rows
        .good
        .iter()
        .map(|row| {
            let (range, quote) = (row.quote.range.unwrap(), row.quote);
            let volume = quote.volume.unwrap();
            format!("{} {} {} {} {} {volume}", row.closes_at, range.open, range.high, range.low, quote.close)
        })
        .collect();
    all.sort();
    all
}

#[test]
fn candles_are_read_exactly() {
    for (name, of, text) in CANDLES {
        let (provider, series) = (provider(name), hourly(of));
        let rows = provider.rows(series, text.as_bytes()).unwrap();
        assert_eq!(
            written(&rows),
            ["1732064400 93500 94200 93000 94100 0.01", "1732068000 94100 94500.5 94000.1 94300.25 12.5"],
            "{name}"
        );
        assert!(rows.bad.is_empty() && rows.good.iter().all(|row| row.series == series));
        assert_eq!(provider.refusal(200, text.as_bytes()), None, "{name}");
        for cut in 0..text.len() {
            assert!(provider.rows(series, &text.as_bytes()[..cut]).is_err(), "{name}: {cut}");
        }
    }
}

#[test]
fn a_candle_that_cannot_be_is_refused_and_the_others_are_taken() {
    let wrong = |name: &str, from: &str, to: &str| {
        let (_, of, text) = CANDLES.into_iter().find(|(is, ..)| *is == name).unwrap();
        assert!(text.contains(from), "{name}: {from}");
        let rows = provider(name).rows(hourly(of), text.replacen(from, to, 1).as_bytes()).unwrap();
        assert_eq!((rows.good.len(), rows.bad.len()), (1, 1), "{name}: {from} to {to}");
        rows.bad[0].clone()
    };
    assert_eq!(wrong("coinbase", "94300.25", "0"), (1, AnswerError::Price));
    assert_eq!(wrong("coinbase", "94300.25", "-1"), (1, AnswerError::Price));
    assert_eq!(wrong("coinbase", "94300.25", "94600"), (1, AnswerError::Range));
    assert_eq!(wrong("coinbase", "1732064400", "1732064401"), (1, AnswerError::Misaligned));
    assert!(matches!(wrong("coinbase", "1732064400", "null"), (1, AnswerError::Time(_))));
    assert!(matches!(wrong("coinbase", ",12.5]", "]"), (1, AnswerError::Form(_))));
    assert_eq!(wrong("kraken", "\"94300.25\"", "\"0.0\""), (2, AnswerError::Price));
    assert!(matches!(wrong("kraken", "\"94300.25\"", "\"abc\""), (2, AnswerError::Number(_))));
    assert_eq!(wrong("kraken", "\"12.50000000\"", "\"-1\""), (2, AnswerError::Price));
    assert_eq!(wrong("bitstamp", "\"94500.5\"", "\"94200\""), (2, AnswerError::Range));
    assert_eq!(wrong("binance", "1732064400000,", "1732064400001,"), (2, AnswerError::Misaligned));
    assert_eq!(wrong("binance", "94300.25", "-94300.25"), (2, AnswerError::Price));
}

#[test]
fn what_is_asked_for_is_what_is_documented() {
    let path = |name: &str, of: &str| provider(name).candles(hourly(of), 1_732_060_800, 1_732_068_000);
    assert_eq!(
        path("coinbase", "BTC/USD"),
        "/products/BTC-USD/candles?granularity=3600&start=2024-11-20T00:00:00Z&end=2024-11-20T01:00:00Z"
    );
    assert_eq!(path("kraken", "BTC/EUR"), "/0/public/OHLC?pair=XBTEUR&interval=60&since=1732060799");
    assert_eq!(path("bitstamp", "BTC/USD"), "/api/v2/ohlc/btcusd/?step=3600&limit=2&start=1732060800&end=1732064400");
    assert_eq!(
        path("binance", "BTC/EUR"),
        "/api/v3/klines?symbol=BTCEUR&interval=1h&startTime=1732060800000&endTime=1732064400000&limit=1000"
    );
    let days = |name: &str| provider(name).series(pair("BTC/EUR"));
    assert_eq!(days("kraken").len(), 2);
    assert!(provider("kraken").candles(days("kraken")[0], 86_400, 172_800).contains("interval=1440"));
    assert!(provider("binance").candles(days("binance")[0], 86_400, 172_800).contains("interval=1d"));
}

#[test]
fn refusals_are_told_apart() {
    let refusal = |name: &str, status: u16, text: &str| provider(name).refusal(status, text.as_bytes());
    let is = |wrong: Option<AnswerError>, limit: bool, words: &str| match wrong {
        Some(AnswerError::Refused { is_limit, says, .. }) => {
            assert!(is_limit == limit && says.contains(words), "{says} {is_limit}")
        }
        other => panic!("{other:?}"),
    };
    is(refusal("coinbase", 404, r#"{"message":"NotFound"}"#), false, "NotFound");
    is(refusal("coinbase", 429, r#"{"message":"Public rate limit exceeded"}"#), true, "Public rate limit exceeded");
    is(refusal("coinbase", 503, "<html>"), false, "");
    is(refusal("kraken", 200, r#"{"error":["EAPI:Rate limit exceeded"]}"#), true, "EAPI:Rate limit exceeded");
    is(refusal("kraken", 200, r#"{"error":["EGeneral:Too many requests"]}"#), true, "Too many requests");
    is(refusal("kraken", 200, r#"{"error":["EService:Unavailable"]}"#), true, "EService");
    is(refusal("kraken", 200, r#"{"error":["EQuery:Unknown asset pair"]}"#), false, "Unknown asset pair");
    assert_eq!(refusal("kraken", 200, r#"{"error":["WGeneral:Danger"],"result":{}}"#), None);
    is(refusal("bitstamp", 400, r#"{"code":"400.002","errors":[]}"#), true, "400.002");
    is(refusal("bitstamp", 404, r#"{"code":"404.001","errors":[{"message":"Not found"}]}"#), false, "404.001");
    is(refusal("bitstamp", 200, r#"{"status":"error","reason":"Invalid","code":"API0001"}"#), false, "Invalid");
    is(refusal("binance", 429, r#"{"code":-1003,"msg":"Too many requests."}"#), true, "-1003");
    is(
        refusal("binance", 418, r#"{"code":-1003,"msg":"Way too much request weight used; IP banned"}"#),
        true,
        "banned",
    );
    is(refusal("binance", 200, r#"{"code":-1003,"msg":"x"}"#), true, "-1003");
    is(refusal("binance", 400, r#"{"code":-1121,"msg":"Invalid symbol."}"#), false, "Invalid symbol");
    is(refusal("ecb", 500, ""), false, "");
}

const ECB: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<gesmes:Envelope xmlns:gesmes="http://www.gesmes.org/xml/2002-08-01" xmlns="http://www.ecb.int/vocabulary/2002-08-01/eurofxref">
<gesmes:subject>Reference rates</gesmes:subject><gesmes:Sender><gesmes:name>European Central Bank</gesmes:name></gesmes:Sender>
<Cube><Cube time="2024-11-20"><Cube currency="USD" rate="1.0562"/><Cube currency="JPY" rate="163.75"/></Cube>
<Cube time='2024-11-19'><Cube currency='USD' rate='1.0578'/><Cube currency='ISK' rate='0'/></Cube></Cube></gesmes:Envelope>"#;

#[test]
fn reference_rates_are_read() {
    let rows = |text: &str| provider("ecb").rows(hourly("EUR/USD"), text.as_bytes());
    let read = rows(ECB).unwrap();
    let all: Vec<String> =
        read.good.iter().map(|row| format!("{} {} {}", row.series.quote, row.closes_at, row.quote.close)).collect();
    // A day's rate is the candle of that day.
    assert_eq!(all, ["USD 1732147200 1.0562", "JPY 1732147200 163.75", "USD 1732060800 1.0578"]);
    assert!(read.good.iter().all(|row| row.series.base == Currency::EUR && row.series.interval == Interval::Day));
    assert_eq!(read.bad, [(4, AnswerError::Price)]);
    for cut in 0..ECB.len() {
        assert!(rows(&ECB[..cut]).is_err(), "{cut}");
    }
    for text in [
        "<html><Cube/></html>".to_owned(),
        ECB.replace("2024-11-20", "2024-13-20"),
        ECB.replace("<Cube time=\"2024-11-20\">", "<Cube>"),
        ECB.replacen("?>", "?><!DOCTYPE x [<!ENTITY a \"b\">]>", 1),
    ] {
        assert!(matches!(rows(&text), Err(AnswerError::Form(_) | AnswerError::Time(_))), "{text}");
    }
    assert_eq!(rows(&ECB.replace("currency=\"USD\"", "currency=\"US$\"")).unwrap().bad.len(), 2);
}

proptest! {
    /// Whatever a server answers: no panic, short errors, and no row that the ledger would refuse.
    #[test]
    fn hostile_answers_are_errors(
        which in 0usize..10,
        provider in 0usize..5,
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0u8..3), 0..6),
        status in prop::sample::select(vec![200u16, 400, 429, 500]),
    ) {
        let texts = [COINBASE_TICKER, KRAKEN_TICKER, BITSTAMP_TICKER, BINANCE_TICKER, COINBASE_CANDLES, KRAKEN_OHLC,
            BITSTAMP_OHLC, BINANCE_KLINES, ECB, r#"{"error":["EAPI:Rate limit exceeded"]}"#];
        let mut answer = texts[which].as_bytes().to_vec();
        for (at, byte, how) in edits {
            let at = at.index(answer.len().max(1));
            match how {
                0 if at < answer.len() => answer[at] = byte,
                1 => answer.insert(at.min(answer.len()), byte),
                _ => answer.truncate(at),
            }
        }
        let provider = ALL[provider];
        for of in ["BTC/USD", "BTC/EUR"] {
            match provider.tick(pair(of), &answer) {
                Ok(tick) => {
                    let quote = Quote { close: tick.price, range: None, volume: None };
                    prop_assert!(quote.is_sound());
                }
                Err(wrong) => prop_assert!(wrong.to_string().len() < 400),
            }
            match provider.rows(hourly(of), &answer) {
                Ok(rows) => {
                    for row in rows.good {
                        prop_assert!(row.quote.is_sound() && row.closes_at.is_multiple_of(row.series.interval.seconds()));
                    }
                    prop_assert!(rows.bad.iter().all(|(_, wrong)| wrong.to_string().len() < 400));
                }
                Err(wrong) => prop_assert!(wrong.to_string().len() < 400),
            }
        }
        prop_assert!(status == 200 || provider.refusal(status, &answer).is_some());
    }
}
