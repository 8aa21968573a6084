//! Kraken, the downloadable history of candles (OHLCVT): CSV without header, of time, open, high, low, close, volume
//! and number of trades, oldest first.
//!
//! The time names the opening of the candle, in seconds. Minutes and hours without trades have no row. The volume is in
//! units of the base. The pair, and the interval in minutes, stand only in the name of the file: `XBTUSD_1440.csv`.

use super::{Head, Layout, is_dump};
use crate::{
    plan::{Columns, Plan},
    time::TimeFormat,
};

pub(super) const LAYOUT: Layout = Layout { name: "kraken", publisher: Some("kraken"), csv: Some(plan), json: None };

const NAMES: [&str; 7] = ["time", "open", "high", "low", "close", "volume", "trades"];

fn plan(head: &Head, named: bool) -> Option<Plan> {
    let row = head.row(0)?;
    let is_known = if named { row.len() == NAMES.len() } else { is_dump(row.iter().map(String::as_str), NAMES.len()) };
    let columns = Columns { close: 4, range: Some([1, 2, 3]), volume: Some(5), ..Columns::default() };
    is_known.then(|| Plan::candles(0, &NAMES, TimeFormat::UnixAny, columns))
}
