//! CryptoDataDownload: a line with its address, then `unix,date,symbol,open,high,low,close,Volume BTC,Volume USD` and
//! perhaps `tradecount`, newest first.
//!
//! `unix` names the opening of the candle, in seconds, in files of some exchanges in milliseconds. `date` says the
//! same, and is not read. Of the volumes, the one that is named after the base is taken. The symbol says what is
//! quoted.

use super::{Head, Layout, column, range};
use crate::{
    plan::{Columns, Plan},
    time::TimeFormat,
    words::Pair,
};

pub(super) const LAYOUT: Layout =
    Layout { name: "cryptodatadownload", publisher: Some("cryptodatadownload"), csv: Some(plan), json: None };

fn plan(head: &Head, _: bool) -> Option<Plan> {
    // Somebody may have taken the first line away.
    [0, 1].into_iter().find_map(|at| with_header(head, at))
}

fn with_header(head: &Head, at: usize) -> Option<Plan> {
    let names = head.names(at);
    let time = column(&names, "unix").or_else(|| column(&names, "unix timestamp"))?;
    let (symbol, close, range) = (column(&names, "symbol")?, column(&names, "close")?, range(&names)?);
    let pair: Option<Pair> = head.row(at + 1).and_then(|row| row.get(symbol)).and_then(|symbol| symbol.parse().ok());
    let of_base = pair.and_then(|pair| column(&names, &format!("volume {}", pair.base).to_ascii_lowercase()));
    let volume = of_base.or_else(|| column(&names, "volume"));
    let columns = Columns { close, range: Some(range), volume, symbol: Some(symbol), end: None };
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    Some(Plan { time, ..Plan::candles(at + 1, &names, TimeFormat::UnixAny, columns) })
}
