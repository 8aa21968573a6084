//! Binance, public data of candles (klines): CSV of twelve columns, oldest first, without header for spot, with one for
//! futures; or the same rows as JSON arrays, as its interface answers.
//!
//! The first column names the opening of the candle, in milliseconds, for spot since 2025 in microseconds. The seventh
//! is the last millisecond or microsecond of the candle, which gives the interval of a file with a single row. The
//! volume is in units of the base. The pair stands only in the name of the file: `BTCUSDT-1d-2024-11.csv`.

use super::{Head, JsonShape, Layout, is_dump, no_pair};
use crate::{
    csv::Cells,
    plan::{Columns, Plan},
    time::TimeFormat,
};

pub(super) const LAYOUT: Layout = Layout {
    name: "binance",
    publisher: Some("binance"),
    csv: Some(plan),
    json: Some(JsonShape { keys: &[], fits, plan: candles, pair: no_pair }),
};

const NAMES: [&str; 12] = [
    "open_time",
    "open",
    "high",
    "low",
    "close",
    "volume",
    "close_time",
    "quote_volume",
    "count",
    "taker_buy_volume",
    "taker_buy_quote_volume",
    "ignore",
];

fn plan(head: &Head, named: bool) -> Option<Plan> {
    let row = head.row(0)?;
    if row.len() == NAMES.len() && row.first().is_some_and(|name| name == "open_time") {
        return Some(Plan { skip: 1, ..candles() });
    }
    let is_known = if named { row.len() == NAMES.len() } else { is_dump(row.iter().map(String::as_str), NAMES.len()) };
    is_known.then(candles)
}

fn fits(cells: &Cells) -> bool {
    is_dump(cells.iter(), NAMES.len())
}

fn candles() -> Plan {
    let columns = Columns { close: 4, range: Some([1, 2, 3]), volume: Some(5), symbol: None, end: Some(6) };
    Plan::candles(0, &NAMES, TimeFormat::UnixAny, columns)
}
