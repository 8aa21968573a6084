//! Files of prices: whatever the bytes, what is taken can be a document.

use cairn_inputs::{Layout, MAX_LISTED, Options, read_quotes, sorted};

use super::bounds::within;

/// Seconds since 1970 when the file is read.
const NOW: u32 = 1_800_000_000;
const FREE_BYTES: u64 = 1 << 20;
const BYTES_PER_BYTE: u64 = 400;

/// The first byte chooses the layout, and whether the caller says what is quoted.
pub fn run(bytes: &[u8]) {
    let Some((choice, file)) = bytes.split_first() else { return };
    let layout = Layout::ALL.get(usize::from(choice & 31)).copied();
    let pair = if choice & 32 != 0 { "BTC/USD".parse().ok() } else { None };
    let map = if choice & 64 != 0 && layout.is_none() { "time=Date,close=Close".parse().ok() } else { None };
    let options = Options { layout, pair, map, ..Options::new(NOW) };
    let mut rows = Vec::new();
    let limit = FREE_BYTES + BYTES_PER_BYTE * file.len() as u64;
    let report = within(limit, || read_quotes(file, &options, &mut |row| rows.push(row)));
    let Ok(report) = report else { return };
    assert!(report.bad_rows.len() <= MAX_LISTED);
    for row in &rows {
        assert!(row.quote.is_sound() && row.closes_at <= NOW);
    }
    let count = rows.len();
    let rows = sorted(rows);
    assert_eq!(rows.len(), count, "rows of one series and time were delivered twice");
    for pair in rows.windows(2) {
        assert!((pair[0].series, pair[0].closes_at) < (pair[1].series, pair[1].closes_at));
    }
}
