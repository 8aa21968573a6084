//! Reading in memory, and rows as short text.

use std::{fs, path::Path};

use cairn_events::QuoteRow;
use cairn_inputs::{ColumnMap, InputError, Options, Pair, Report, read_quotes};

/// 2026-01-01 00:00 UTC.
pub(crate) const NOW: u32 = 1_767_225_600;

pub(crate) fn options() -> Options {
    Options::new(NOW)
}

pub(crate) fn btc_usd() -> Options {
    Options { pair: Some(Pair::BTC_USD), ..options() }
}

pub(crate) fn mapped(map: &str) -> Options {
    Options { map: Some(map.parse::<ColumnMap>().unwrap()), ..btc_usd() }
}

pub(crate) fn try_read(bytes: &[u8], options: &Options) -> Result<(Vec<QuoteRow>, Report), InputError> {
    let mut rows = Vec::new();
    let report = read_quotes(bytes, options, &mut |row| rows.push(row))?;
    check(&rows, &report, options.now);
    Ok((rows, report))
}

pub(crate) fn read(text: impl AsRef<[u8]>, options: &Options) -> (Vec<QuoteRow>, Report) {
    try_read(text.as_ref(), options).unwrap()
}

pub(crate) fn sample(name: &str) -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files").join(name)).unwrap()
}

/// Checks the promises of every report.
pub(crate) fn check(rows: &[QuoteRow], report: &Report, now: u32) {
    assert_eq!(report.rows, report.taken + report.refused, "nothing is lost");
    assert_eq!(report.taken, rows.len() as u64);
    assert_eq!(report.taken, report.series.iter().map(|series| series.taken).sum::<u64>());
    let refused = report.by_code.iter().filter(|(code, _)| code.is_refused()).map(|(_, count)| *count);
    assert_eq!(report.refused, refused.sum::<u64>());
    let told: u64 = report.by_code.values().sum();
    assert!(report.bad_rows.len() as u64 <= told.min(100));
    for series in &report.series {
        let closes: Vec<u32> = rows.iter().filter(|row| row.series == series.series).map(|row| row.closes_at).collect();
        assert_eq!((Some(&series.first), Some(&series.last)), (closes.iter().min(), closes.iter().max()));
        let slots = (series.last - series.first) / series.series.interval.seconds() + 1;
        assert_eq!(u64::from(slots), series.taken + series.gaps.missing);
        assert!(closes.iter().all(|close| close % series.series.interval.seconds() == 0 && *close <= now));
    }
}

/// `2024-11-21T00:00:00Z BTC/USD day open high low close volume`.
pub(crate) fn show(row: &QuoteRow) -> String {
    let time = jiff::Timestamp::from_second(i64::from(row.closes_at)).unwrap();
    let range = row.quote.range.map(|range| format!(" {} {} {}", range.open, range.high, range.low));
    let volume = row.quote.volume.map(|volume| format!(" v{volume}"));
    let (base, quote) = (row.series.base, row.series.quote);
    let seconds = row.series.interval.seconds();
    format!(
        "{time} {base}/{quote} {seconds}{} {}{}",
        range.unwrap_or_default(),
        row.quote.close,
        volume.unwrap_or_default()
    )
}

pub(crate) fn shown(rows: &[QuoteRow]) -> Vec<String> {
    rows.iter().map(show).collect()
}

/// The bad rows as `line column code`.
pub(crate) fn told(report: &Report) -> Vec<String> {
    let column = |bad: &cairn_inputs::BadRow| bad.column.clone().unwrap_or("-".to_owned());
    report.bad_rows.iter().map(|bad| format!("{} {} {}", bad.line, column(bad), bad.code)).collect()
}
