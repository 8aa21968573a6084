//! Each layout, by the facts in its sample.

use cairn_inputs::{InputError, Layout, Options};

use crate::support::{btc_usd, options, read, sample, show, shown, told, try_read};

/// Reads a sample, finding its layout by itself, then with the layout named: the same.
fn facts(file: &str, layout: &str, options: &Options, expected: &[&str], bad: &[&str]) {
    let (rows, report) = read(sample(file), options);
    assert_eq!(report.layout, layout, "{file}");
    assert_eq!(shown(&rows), expected, "{file}");
    assert_eq!(told(&report), bad, "{file}");
    let named = Options { layout: Some(Layout::named(layout).unwrap()), ..options.clone() };
    assert_eq!(read(sample(file), &named), (rows, report), "{file}");
}

#[test]
fn plain() {
    facts(
        "plain.csv",
        "plain",
        &btc_usd(),
        &[
            "2024-11-19T00:00:00Z BTC/USD 86400 89855.99 92594 89376.9 90464.08",
            "2024-11-20T00:00:00Z BTC/USD 86400 90464.08 93905.51 90357 92310.79",
            "2024-11-21T00:00:00Z BTC/USD 86400 92310.79 94831.97 91500 94286.56",
        ],
        &[],
    );
}

#[test]
fn yahoo() {
    facts(
        "yahoo.csv",
        "yahoo",
        &btc_usd(),
        &[
            "2014-09-18T00:00:00Z BTC/USD 86400 465.864014 468.174011 452.421997 457.334015",
            "2014-09-19T00:00:00Z BTC/USD 86400 456.859985 456.859985 413.104004 424.440002",
            "2014-09-20T00:00:00Z BTC/USD 86400 424.102997 427.834991 384.532013 394.79599",
        ],
        &["5 close no_value"],
    );
}

#[test]
fn cryptodatadownload() {
    // The pair stands in the file.
    facts(
        "cryptodatadownload.csv",
        "cryptodatadownload",
        &options(),
        &[
            "2022-03-02T00:00:00Z BTC/USD 86400 43221.71 43626.49 43185.48 43185.48 v49.0062887",
            "2022-03-01T00:00:00Z BTC/USD 86400 37717.1 44256.08 37468.99 43178.98 v3160.61807",
            "2022-02-28T00:00:00Z BTC/USD 86400 39146.66 39886.92 37015.74 37712.68 v1701.817043",
        ],
        &[],
    );
    // Milliseconds, volumes the other way round, hours.
    facts(
        "cryptodatadownload_ms.csv",
        "cryptodatadownload",
        &options(),
        &[
            "2024-06-05T03:00:00Z BTC/USDT 3600 67100 67300 66900 67250 v160.8",
            "2024-06-05T02:00:00Z BTC/USDT 3600 67200 67400 67000 67100 v140.2",
            "2024-06-05T01:00:00Z BTC/USDT 3600 67000 67500 66800 67200 v150.5",
        ],
        &[],
    );
    let without_address = sample("cryptodatadownload.csv").splitn(2, |byte| *byte == b'\n').nth(1).unwrap().to_vec();
    assert_eq!(read(without_address, &options()).0, read(sample("cryptodatadownload.csv"), &options()).0);
}

#[test]
fn coinbase() {
    for file in ["coinbase.json", "coinbase.csv"] {
        facts(
            file,
            "coinbase",
            &btc_usd(),
            &[
                "2024-11-21T00:00:00Z BTC/USD 86400 92310.79 94831.97 91500 94286.56 v21000.5",
                "2024-11-20T00:00:00Z BTC/USD 86400 90464.08 93905.51 90357 92310.79 v18000.12345678",
                "2024-11-19T00:00:00Z BTC/USD 86400 89855.99 92594 89376.9 90464.08 v0",
            ],
            &[],
        );
    }
    assert!(matches!(try_read(&sample("coinbase.json"), &options()), Err(InputError::PairUnknown)));
    // Another exchange's arrays of six: milliseconds, and the close before the high.
    let other = b"[[1732060800000,92310.79,94286.56,94831.97,91500,21000.5]]";
    assert!(matches!(try_read(other, &btc_usd()), Err(InputError::Unrecognised { .. })));
}

#[test]
fn kraken() {
    facts(
        "kraken.csv",
        "kraken",
        &btc_usd(),
        &[
            "2013-10-07T00:00:00Z BTC/USD 86400 122 122 122 122 v0.1",
            "2013-10-08T00:00:00Z BTC/USD 86400 123.61 123.61 123.61 123.61 v0.1",
            "2013-10-09T00:00:00Z BTC/USD 86400 123.91 124.19 123.9 124.18 v3.9916",
        ],
        &[],
    );
}

#[test]
fn binance() {
    let options = Options { pair: Some("BTCUSDT".parse().unwrap()), ..options() };
    let expected = [
        "2017-08-18T00:00:00Z BTC/USDT 86400 4261.48 4485.39 4200.74 4285.08 v795.150377",
        "2017-08-19T00:00:00Z BTC/USDT 86400 4285.08 4371.52 3938.77 4108.37 v1199.888264",
    ];
    facts("binance.csv", "binance", &options, &expected, &[]);
    // Microseconds; the end of a single row gives its interval.
    facts(
        "binance_us.csv",
        "binance",
        &options,
        &["2025-01-02T00:00:00Z BTC/USDT 86400 93576 95151.15 92888 94591.79 v10373.32613"],
        &[],
    );
    let csv = String::from_utf8(sample("binance.csv")).unwrap();
    let header = "open_time,open,high,low,close,volume,close_time,quote_volume,count,taker_buy_volume,\
                  taker_buy_quote_volume,ignore\n";
    assert_eq!(shown(&read(format!("{header}{csv}"), &options).0), expected);
    let json: Vec<String> = csv.lines().map(|line| format!("[{line}]")).collect();
    assert_eq!(shown(&read(format!("[{}]", json.join(",")), &options).0), expected);
}

#[test]
fn bitstamp() {
    let expected = [
        "2024-11-19T00:00:00Z BTC/USD 86400 89855.99 92594 89376.9 90464.08 v2100.12345678",
        "2024-11-20T00:00:00Z BTC/USD 86400 90464.08 93905.51 90357 92310.79 v2200.5",
        "2024-11-21T00:00:00Z BTC/USD 86400 92310.79 94831.97 91500 94286.56 v0",
    ];
    facts("bitstamp.json", "bitstamp", &options(), &expected, &[]);
    let other = Options { pair: Some("BTC/EUR".parse().unwrap()), ..options() };
    let error = try_read(&sample("bitstamp.json"), &other).unwrap_err();
    assert_eq!(error.to_string(), "the file is for BTC/USD, not for BTC/EUR");
}

#[test]
fn coingecko() {
    // A price at 00:00 is the close of the day before, but for the older rows, which name the day itself. A price of
    // five past midnight is not a close.
    facts(
        "coingecko.csv",
        "coingecko",
        &btc_usd(),
        &[
            "2013-04-29T00:00:00Z BTC/USD 86400 135.3",
            "2013-04-30T00:00:00Z BTC/USD 86400 141.96",
            "2013-05-01T00:00:00Z BTC/USD 86400 135.3",
            "2018-01-30T00:00:00Z BTC/USD 86400 11157.6638878978",
            "2018-01-31T00:00:00Z BTC/USD 86400 9989.68977659669",
            "2025-05-08T00:00:00Z BTC/USD 86400 97026.49",
            "2025-05-09T00:00:00Z BTC/USD 86400 103076.28",
            "2025-05-10T00:00:00Z BTC/USD 86400 102962.54",
        ],
        &["6 - misaligned"],
    );
    // The one row for which both rules hold would be refused in any case.
    let text = String::from_utf8(sample("coingecko.csv")).unwrap().replace("00:05:18", "00:00:00");
    assert_eq!(told(&read(text, &btc_usd()).1), ["6 - conflicting"]);
}

#[test]
fn blockchain_com() {
    let expected = [
        "2021-11-08T00:00:00Z BTC/USD 86400 63293.22",
        "2021-11-09T00:00:00Z BTC/USD 86400 67562.17",
        "2021-11-10T00:00:00Z BTC/USD 86400 66954.11",
    ];
    facts("blockchain_com.csv", "blockchain-com", &options(), &expected, &["2 market-price zero"]);
    facts("blockchain_com.json", "blockchain-com", &options(), &expected, &["7 market-price zero"]);
    // Without its header it could be anybody's: it must be named.
    let headless = sample("blockchain_com.csv").splitn(2, |byte| *byte == b'\n').nth(1).unwrap().to_vec();
    assert!(matches!(try_read(&headless, &options()), Err(InputError::Unrecognised { .. })));
    let named = Options { layout: Some(Layout::named("blockchain-com").unwrap()), ..options() };
    assert_eq!(shown(&read(headless, &named).0), expected);
    // Every third day, in a zone one hour behind in winter.
    let website = "Timestamp,market-price\n2018-03-19 23:00:00,8605.64\n2018-03-22 23:00:00,8725.37\n\
                   2018-03-26 00:00:00,8457.96\n";
    assert!(matches!(try_read(website.as_bytes(), &options()), Err(InputError::IntervalUnknown { .. })));
    let azores = Options {
        zone: Some(cairn_inputs::parse_zone("Atlantic/Azores").unwrap()),
        interval: Some(cairn_events::Interval::Day),
        ..options()
    };
    let closes = ["2018-03-20", "2018-03-23", "2018-03-26"];
    let rows = read(website, &azores).0;
    assert!(shown(&rows).iter().zip(closes).all(|(row, day)| row.starts_with(day)), "{:?}", shown(&rows));
    assert_eq!(rows.len(), 3);
    // Charts of something else.
    for field in [r#""unit":"BTC""#, r#""name":"Market Capitalization (USD)""#, r#""metric1":"hash-rate""#] {
        let other = format!(r#"{{{field},"values":[{{"x":1636329600,"y":1}},{{"x":1636416000,"y":1}}]}}"#);
        assert!(matches!(try_read(other.as_bytes(), &options()), Err(InputError::OtherLayout { .. })), "{field}");
    }
}

#[test]
fn investing() {
    let expected = |volume: &str| {
        [
            "2024-11-21T00:00:00Z BTC/USD 86400 92310.79 94831.97 91500 94286.56 v71150".to_owned(),
            "2024-11-20T00:00:00Z BTC/USD 86400 90464.08 93905.51 90357 92310.79 v3400000".to_owned(),
            format!("2024-11-19T00:00:00Z BTC/USD 86400 89855.99 92594 89376.9 90464.08{volume}"),
        ]
    };
    let numeric = expected("");
    facts("investing.csv", "investing", &btc_usd(), &numeric.each_ref().map(String::as_str), &[]);
    let named = expected(" v5600000000");
    facts("investing_named.csv", "investing", &btc_usd(), &named.each_ref().map(String::as_str), &[]);
    // Where the day comes first, the same.
    let text = String::from_utf8(sample("investing.csv")).unwrap();
    let day_first = text.replace("11/20/", "20/11/").replace("11/19/", "19/11/").replace("11/18/", "18/11/");
    assert_eq!(shown(&read(day_first, &btc_usd()).0), numeric);
}

#[test]
fn ecb() {
    let (rows, report) = read(sample("ecb.csv"), &Options::new(1_800_000_000));
    assert_eq!((report.layout, report.publisher), ("ecb", Some("ecb")));
    // Three days of 41 currencies; not every one had a rate.
    assert_eq!(report.rows, 3 * 41);
    assert!(report.bad_rows.is_empty(), "cells without rate are only counted");
    let of =
        |code: &str| -> Vec<String> { rows.iter().filter(|row| row.series.quote.as_str() == code).map(show).collect() };
    assert_eq!(
        of("USD"),
        [
            "2026-10-31T00:00:00Z EUR/USD 86400 1.1172",
            "2010-01-06T00:00:00Z EUR/USD 86400 1.4442",
            "2010-01-05T00:00:00Z EUR/USD 86400 1.4389"
        ]
    );
    assert_eq!(of("EEK").len(), 2, "the kroon ended with 2010");
    assert_eq!(of("CYP").len(), 0);
    let usd = Options { pair: Some("EUR/USD".parse().unwrap()), ..Options::new(1_800_000_000) };
    let (only, report) = read(sample("ecb.csv"), &usd);
    assert_eq!((shown(&only), report.rows), (of("USD"), 3));
    let none = Options { pair: Some("USD/EUR".parse().unwrap()), ..options() };
    let error = try_read(&sample("ecb.csv"), &none).unwrap_err().to_string();
    assert!(error.contains("no rates for USD/EUR; it has EUR/USD, EUR/JPY"), "{error}");
}

#[test]
fn names_of_layouts() {
    for layout in Layout::ALL {
        assert_eq!(Layout::named(layout.name()).unwrap().name(), layout.name());
    }
    let error = Layout::named("mtgox").unwrap_err().to_string();
    assert!(error.contains("yahoo, cryptodatadownload, coinbase, kraken"), "{error}");
    let yahoo = Options { layout: Some(Layout::named("yahoo").unwrap()), ..btc_usd() };
    let error = try_read(&sample("plain.csv"), &yahoo).unwrap_err().to_string();
    assert!(error.contains("not a file of the layout yahoo") && error.contains("date, open"), "{error}");
    let error = try_read(b"a,b\n1,2\n", &btc_usd()).unwrap_err().to_string();
    assert!(error.contains("begins \"a, b\"") && error.contains("column map"), "{error}");
}

#[test]
fn sources_other_than_the_publisher_are_told() {
    let source = |name: &str| Options { source: Some(name.parse().unwrap()), ..btc_usd() };
    assert!(!read(sample("kraken.csv"), &source("kraken")).1.is_other_source);
    assert!(read(sample("kraken.csv"), &source("bitstamp")).1.is_other_source);
    assert!(!read(sample("plain.csv"), &source("anybody")).1.is_other_source);
    assert!(!read(sample("kraken.csv"), &btc_usd()).1.is_other_source);
}
