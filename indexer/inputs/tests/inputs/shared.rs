//! Real files, where the folder of real data is at hand.

use std::fs;

use cairn_events::Interval;
use cairn_inputs::{Code, Options};

use crate::support::{btc_usd, read, show, told};

#[test]
fn days_of_bitcoin_since_2010() {
    let folder = cairn_testkit::shared_data_or_skip!();
    let bytes = fs::read(folder.join("prices/btcusd_daily_ohlc.csv")).unwrap();
    let lines = bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
    let (rows, report) = read(bytes, &Options::new(1_800_000_000).with_pair());
    assert_eq!((report.layout, report.interval, report.rows), ("plain", Some(Interval::Day), lines - 1));
    // The first day opened at zero.
    assert_eq!(told(&report), ["2 open zero"]);
    assert_eq!(show(&rows[0]), "2010-07-14T00:00:00Z BTC/USD 86400 0.01 0.01 0.01 0.01");
    let day = rows.iter().find(|row| row.closes_at == 1_732_147_200).unwrap();
    assert_eq!(show(day), "2024-11-21T00:00:00Z BTC/USD 86400 92310.79 94831.97 91500 94286.56");
    assert_eq!(report.series[0].gaps.count, 0);
}

#[test]
fn reference_rates_of_the_euro() {
    let folder = cairn_testkit::shared_data_or_skip!();
    let text = fs::read_to_string(folder.join("prices/ecb_eurofxref-hist.csv")).unwrap();
    let cells = text.lines().skip(1).flat_map(|line| line.trim_end_matches(',').split(',').skip(1));
    let (missing, rates): (Vec<&str>, Vec<&str>) = cells.partition(|cell| *cell == "N/A");
    let (rows, report) = read(&text, &Options::new(1_800_000_000));
    assert_eq!(report.layout, "ecb");
    assert_eq!((report.taken, report.by_code[&Code::NoValue]), (rates.len() as u64, missing.len() as u64));
    assert_eq!(report.by_code.len(), 1, "{:?}", report.bad_rows);
    let written: Vec<String> =
        rates.iter().map(|rate| rate.parse::<rust_decimal::Decimal>().unwrap().normalize().to_string()).collect();
    let read: Vec<String> = rows.iter().map(|row| row.quote.close.to_string()).collect();
    assert_eq!(read, written, "every cell, in the order of the file");
    let dollar = report.series.iter().find(|series| series.series.quote == cairn_events::Currency::USD).unwrap();
    assert!(dollar.gaps.longest.unwrap().missing >= 3, "Easter and Christmas");
}

trait WithPair {
    fn with_pair(self) -> Self;
}

impl WithPair for Options {
    fn with_pair(self) -> Self {
        Options { pair: btc_usd().pair, ..self }
    }
}
