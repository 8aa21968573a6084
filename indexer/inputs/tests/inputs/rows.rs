//! Errors of rows, and forms in which files may be written.

use std::io::Read;

use cairn_events::Interval;
use cairn_inputs::{Code, InputError, Options, Pair, parse_zone, read_quotes, sorted};

use crate::support::{NOW, btc_usd, mapped, options, read, sample, shown, told, try_read};

const HEADER: &str = "date,open,high,low,close,volume\n";

fn days(rows: &str) -> String {
    // Two good days at the front show the interval.
    format!("{HEADER}2024-01-01,1,3,1,2,5\n2024-01-02,1,3,1,2,5\n{rows}")
}

#[track_caller]
fn bad(row: &str, expected: &str) {
    let (rows, report) = read(days(row), &btc_usd());
    assert_eq!((rows.len(), told(&report)), (2, vec![expected.to_owned()]), "{row}");
}

#[test]
fn each_kind_of_bad_row_has_its_line_and_column() {
    bad("2024-01-03,0,3,1,2,5\n", "4 open zero");
    bad("2024-01-03,1,3,1,0.000,5\n", "4 close zero");
    bad("2024-01-03,1,3,-1,2,5\n", "4 low negative");
    bad("2024-01-03,1,3,1,2,-5\n", "4 volume negative");
    bad("2024-01-03,1,3,1,NaN,5\n", "4 close not_a_number");
    bad("2024-01-03,inf,3,1,2,5\n", "4 open not_a_number");
    bad("2024-01-03,\"1,000\",3000,1,2,5\n", "4 open not_a_number");
    bad("2024-01-03,1,3,1,1.00000000000000000000000000001,5\n", "4 close too_many_digits");
    bad("2024-01-03,1,1e16,1,2,5\n", "4 high too_large");
    bad("2024-01-03,1,3,1,,5\n", "4 close no_value");
    bad("2024-01-03,1,1,3,2,5\n", "4 high range");
    bad("2024-01-03,4,3,1,2,5\n", "4 open range");
    bad("2024-01-03,1,3,1,0.5,5\n", "4 close range");
    bad("03.01.2024,1,3,1,2,5\n", "4 date bad_time");
    bad("2024-02-30,1,3,1,2,5\n", "4 date bad_time");
    bad("2024-01-03 12:00,1,3,1,2,5\n", "4 - misaligned");
    bad("2026-01-01,1,3,1,2,5\n", "4 - future");
    bad("9998-12-31,1,3,1,2,5\n", "4 - future");
    bad("2009-01-02,1,3,1,2,5\n", "4 - too_early");
    bad("1969-01-02,1,3,1,2,5\n", "4 - too_early");
    bad("2024-01-02,1.0,3,1,2.00,5\n", "4 - repeated");
    bad("2024-01-02,1,3,1,2.01,5\n", "4 - conflicting");
    bad("2024-01-03,1,3,1,2\n", "4 - column_count");
    bad("2024-01-03,1,3,1,2,5,6\n", "4 - column_count");
    bad("\n\n2024-01-03,1,3,1,2,5\0\n", "6 - nul");
    bad("2024-01-03,1,3,1,2,\"5\n", "4 - quoting");
    bad(&format!("2024-01-03,1,3,1,2,{}\n", "5".repeat(70_000)), "4 - too_long");
    let mut bytes = days("2024-01-03,1,3,1,2,").into_bytes();
    bytes.extend_from_slice(b"\xff\n");
    assert_eq!(told(&read(bytes, &btc_usd()).1), ["4 - encoding"]);
}

#[test]
fn messages_name_the_cell() {
    let (_, report) = read(days("2024-01-03,1,3,1,x\u{1}y,5\n2024-01-04,1,3\n"), &btc_usd());
    let messages: Vec<String> = report.bad_rows.iter().map(ToString::to_string).collect();
    assert_eq!(
        messages,
        ["line 4, column close: not a number: \"x\\u{1}y\"", "line 5: wrong number of columns: \"3 instead of 6\""]
    );
    assert!(report.by_code.keys().all(|code| Code::ALL.contains(code)));
}

#[test]
fn the_last_candle_that_has_closed_is_taken() {
    // It closes at the very second that is now.
    let text = days("2025-12-31,1,3,1,2,5\n");
    assert_eq!(read(&text, &btc_usd()).0.last().unwrap().closes_at, NOW);
    let earlier = Options { now: NOW - 1, ..btc_usd() };
    assert_eq!(told(&read(&text, &earlier).1), ["4 - future"]);
}

#[test]
fn currencies_are_older_than_bitcoin() {
    let text = "date,close\n1999-01-04,1.1789\n1999-01-05,1.1790\n1969-12-30,1\n1969-12-31,1\n";
    let euro = Options { pair: Some("EUR/USD".parse().unwrap()), ..options() };
    let (rows, report) = read(text, &euro);
    assert_eq!(shown(&rows)[0], "1999-01-05T00:00:00Z EUR/USD 86400 1.1789");
    assert_eq!(told(&report), ["4 - too_early", "5 - too_early"]);
    assert_eq!(told(&read(text, &btc_usd()).1).len(), 4);
}

#[test]
fn rows_in_the_wrong_place_are_taken_and_told() {
    let text = "date,close\n2024-01-01,1\n2024-01-02,2\n2024-01-04,4\n2024-01-03,3\n2024-01-05,5\n";
    let (rows, report) = read(text, &btc_usd());
    assert_eq!((rows.len(), told(&report)), (5, vec!["5 - out_of_order".to_owned()]));
    assert_eq!((report.refused, report.by_code[&Code::OutOfOrder]), (0, 1));
    // Newest first is an order too.
    let mut lines: Vec<&str> = text.lines().skip(1).collect();
    lines.reverse();
    let (back, report) = read(format!("date,close\n{}\n", lines.join("\n")), &btc_usd());
    assert_eq!(report.by_code.values().sum::<u64>(), 1);
    assert_eq!(sorted(back), sorted(rows));
}

#[test]
fn a_hundred_bad_rows_are_listed_and_all_counted() {
    let text = days(&"2024-01-03,0,3,1,2,5\n".repeat(250));
    let (_, report) = read(text, &btc_usd());
    assert_eq!((report.bad_rows.len(), report.by_code[&Code::Zero], report.refused), (100, 250, 250));
}

#[test]
fn gaps_are_measured() {
    let text = "date,close\n2024-01-01,1\n2024-01-02,1\n2024-01-05,1\n2024-01-06,1\n2024-01-08,1\n";
    let (_, report) = read(text, &btc_usd());
    let gaps = report.series[0].gaps;
    assert_eq!((gaps.count, gaps.missing, gaps.longest.unwrap().missing), (2, 3, 2));
    assert_eq!(
        jiff::Timestamp::from_second(gaps.longest.unwrap().after.into()).unwrap().to_string(),
        "2024-01-03T00:00:00Z"
    );
}

#[test]
fn symbols_must_stay_the_same() {
    let text = "unix,symbol,open,high,low,close\n1646092800,BTC/USD,1,1,1,1\n1646179200,BTCUSD,1,1,1,1\n\
                1646265600,ETH/USD,1,1,1,1\n1646352000,,1,1,1,1\n1646438400,BTC/USD,1,1,1,1\n";
    let (rows, report) = read(text, &options());
    assert_eq!((rows.len(), told(&report)), (3, vec!["4 symbol symbol".to_owned(), "5 symbol symbol".to_owned()]));
    let other = Options { pair: Some("ETH/USD".parse().unwrap()), interval: Some(Interval::Day), ..options() };
    assert_eq!(read(text, &other).1.taken, 1);
}

#[test]
fn ends_of_lines_marks_and_quotes() {
    let expected = read(sample("plain.csv"), &btc_usd()).0;
    let text = String::from_utf8(sample("plain.csv")).unwrap();
    let quoted: String = text.lines().map(|line| format!("\"{}\"\n", line.replace(',', "\",\""))).collect();
    for written in [
        text.replace('\n', "\r\n"),
        format!("\u{feff}{text}"),
        format!("\u{feff}{quoted}").replace('\n', "\r\n"),
        text.trim_end().to_owned(),
        text.trim_end().replace('\n', "\r\n"),
        text.replace('\n', "\n\n \r\n"),
        format!("\n\r\n{text}\n\n"),
        text.replace('\n', ",\n"),
        text.replace(',', " , "),
        text.to_ascii_uppercase(),
        quoted,
    ] {
        assert_eq!(read(&written, &btc_usd()).0, expected, "{written:?}");
    }
    // Lines are counted from the first of the file.
    let (_, report) = read(format!("\n\n{}2024-11-21,0,1,1,1\n", text.replace('\n', "\r\n\r\n")), &btc_usd());
    assert_eq!(told(&report), ["11 open zero"]);
    // An input that gives a byte at a time is not another file.
    struct Slow<'a>(&'a [u8]);
    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let length = buffer.len().min(1);
            self.0.read(&mut buffer[..length])
        }
    }
    let mut rows = Vec::new();
    read_quotes(Slow(text.as_bytes()), &btc_usd(), &mut |row| rows.push(row)).unwrap();
    assert_eq!(rows, expected);
}

#[test]
fn files_without_rows() {
    assert!(matches!(try_read(b"", &btc_usd()), Err(InputError::Empty)));
    assert!(matches!(try_read(b"\xef\xbb\xbf", &btc_usd()), Err(InputError::Empty)));
    assert!(matches!(try_read(b"\n \n\r\n", &btc_usd()), Err(InputError::Empty)));
    assert!(matches!(try_read(b"[]", &btc_usd()), Err(InputError::Empty)));
    assert!(matches!(try_read(br#"{"message":"NotFound"}"#, &btc_usd()), Err(InputError::Unrecognised { .. })));
    let (rows, report) = read("date,open,high,low,close", &options());
    assert_eq!((rows.len(), report.rows, report.interval), (0, 0, None));
    // All rows are bad: that is a report, not an error.
    let (_, report) = read("date,close\nx,1\n", &options());
    assert_eq!((report.rows, told(&report)), (1, vec!["2 date bad_time".to_owned()]));
    for packed in [&b"\x1f\x8b\x08\x00"[..], b"PK\x03\x04", b"\xff\xfed\x00", b"\x28\xb5\x2f\xfd"] {
        assert!(matches!(try_read(packed, &btc_usd()), Err(InputError::NotText(_))));
    }
    assert!(matches!(try_read(b"[[1732060800,1,", &btc_usd()), Err(InputError::Json { line: 1, .. })));
}

#[test]
fn intervals_are_found_or_asked_for() {
    let rows = |step: u32, count: u32| -> String {
        let row = |at: u32| format!("{},1\n", 1_704_067_200 + at * step);
        format!("time,close\n{}", (0..count).map(row).collect::<String>())
    };
    for interval in Interval::ALL {
        let (_, report) = read(rows(interval.seconds(), 30), &btc_usd());
        assert_eq!(report.interval, Some(interval));
        let given = Options { interval: Some(interval), ..btc_usd() };
        assert_eq!(read(rows(interval.seconds(), 30), &given).1.interval, Some(interval));
    }
    let error = |text: &str, options: &Options| try_read(text.as_bytes(), options).unwrap_err().to_string();
    assert!(error(&rows(300, 30), &btc_usd()).contains("(300 seconds); allowed are minute, hour and day"));
    assert!(error(&rows(60, 1), &btc_usd()).contains("no two rows differ in time"));
    let given = |interval| Options { interval: Some(interval), ..btc_usd() };
    // A single row, or two days without trades between, give no reason to doubt the given interval.
    assert_eq!(read(rows(60, 1), &given(Interval::Minute)).1.taken, 1);
    assert_eq!(read(rows(172_800, 3), &given(Interval::Day)).1.taken, 3);
    // The candle of an hour is not a candle of a day, nor is one of five minutes a candle of a minute.
    assert!(error(&rows(3_600, 30), &given(Interval::Day)).contains("3600 seconds apart, not 86400"));
    assert!(error(&rows(86_400, 30), &given(Interval::Hour)).contains("86400 seconds apart, not 3600"));
    assert!(error(&rows(300, 30), &given(Interval::Minute)).contains("300 seconds apart, not 60"));
    let hours = Options { interval: Some(Interval::Hour), ..options() };
    assert!(matches!(try_read(&sample("ecb.csv"), &hours), Err(InputError::OtherInterval { .. })));
}

#[test]
fn pairs_are_found_or_asked_for() {
    let error = try_read(&sample("plain.csv"), &options()).unwrap_err().to_string();
    assert!(error.contains("give the pair, for example BTC/USD"), "{error}");
    let other = Options { pair: Some("BTC/EUR".parse().unwrap()), ..options() };
    assert!(matches!(try_read(&sample("blockchain_com.csv"), &other), Err(InputError::OtherPair { .. })));
}

#[test]
fn column_maps() {
    let text = "Zeit;Schluss;Hoch;Tief;Start;Menge\n20.11.2024 01:00;94.286,56;94.831,97;91.500,00;92.310,79;1.000,5\n\
                20.11.2024 02:00;94.300;94.831,97;91.500;92.310,79;\n";
    let map = "time=zeit,close=Schluss,open=Start,high=Hoch,low=Tief,volume=Menge,time_format=%d.%m.%Y %H:%M,\
               zone=Europe/Berlin,delimiter=;,decimal=,,thousands=.";
    let (rows, report) = read(text, &mapped(map));
    assert_eq!(report.layout, "map");
    assert_eq!(
        shown(&rows),
        [
            "2024-11-20T01:00:00Z BTC/USD 3600 92310.79 94831.97 91500 94286.56 v1000.5",
            "2024-11-20T02:00:00Z BTC/USD 3600 92310.79 94831.97 91500 94300"
        ]
    );
    // By number, without header; the time names the close.
    let (rows, _) = read(
        "x|1704067260000|5\nx|1704067320000|6\n",
        &mapped("time=2,close=3,header=no,delimiter=pipe,time_format=unix_ms,stamp=close"),
    );
    assert_eq!(shown(&rows), ["2024-01-01T00:01:00Z BTC/USD 60 5", "2024-01-01T00:02:00Z BTC/USD 60 6"]);
    // The same columns with tabs.
    let (rows, _) = read(
        "x\t1704067260\t5\nx\t1704067320\t6\n",
        &mapped("time=2,close=3,header=no,delimiter=tab,time_format=unix"),
    );
    assert_eq!(rows[0].closes_at, 1_704_067_320);
    let error = try_read(text.as_bytes(), &mapped("time=Zeit,close=Ende,delimiter=;")).unwrap_err().to_string();
    assert!(error.contains("close=\"Ende\", but the file has Zeit, Schluss"), "{error}");
    let error = try_read(text.as_bytes(), &mapped("time=1,close=9,header=no,delimiter=;")).unwrap_err().to_string();
    assert!(error.contains("columns 1 to 6"), "{error}");
    let both = Options { layout: Some(cairn_inputs::Layout::ALL[0]), ..mapped("time=a,close=b") };
    assert!(matches!(try_read(b"a,b\n", &both), Err(InputError::LayoutAndMap)));
}

#[test]
fn clocks_that_change_are_told() {
    let hour = |text: &str| format!("{text},1\n");
    let spring: String = ["00:00", "01:00", "02:00", "03:00"].map(|time| hour(&format!("2024-03-10 {time}"))).concat();
    let autumn: String = ["00:00", "01:00", "01:00", "02:00"].map(|time| hour(&format!("2024-11-03 {time}"))).concat();
    let zone = Options { zone: Some(parse_zone("America/New_York").unwrap()), ..btc_usd() };
    let (rows, report) = read(format!("date,close\n{spring}"), &zone);
    assert_eq!(told(&report), ["4 date skipped_time"]);
    assert_eq!(shown(&rows)[2], "2024-03-10T08:00:00Z BTC/USD 3600 1");
    let hours = Options { interval: Some(Interval::Hour), ..zone.clone() };
    let (rows, report) = read(format!("date,close\n{autumn}"), &hours);
    assert_eq!(told(&report), ["3 date ambiguous_time", "4 date ambiguous_time"]);
    assert_eq!(shown(&rows)[1], "2024-11-03T08:00:00Z BTC/USD 3600 1");
    // Days of New York are not days of UTC.
    let (rows, report) = read("date,close\n2024-01-01,1\n2024-01-02,1\n", &zone);
    assert_eq!((rows.len(), report.by_code[&Code::Misaligned]), (0, 2));
    let kraken = Options { pair: Some(Pair::BTC_USD), ..zone };
    assert!(matches!(try_read(&sample("kraken.csv"), &kraken), Err(InputError::ZoneNotUsed)));
}
