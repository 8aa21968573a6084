//! Bitstamp, candles: `{"data":{"ohlc":[{"timestamp":"…","open":"…",…}],"pair":"BTC/USD"}}`, oldest first.
//!
//! The timestamp names the opening of the candle, in seconds. The volume is in units of the base. `pair` says what is
//! quoted; it stands behind the rows, which are held until then (an answer has at most 1,000).

use super::{JsonShape, Layout};
use crate::{
    csv::Cells,
    plan::{Columns, Plan},
    time::TimeFormat,
    words::Pair,
};

pub(super) const LAYOUT: Layout = Layout {
    name: "bitstamp",
    publisher: Some("bitstamp"),
    csv: None,
    json: Some(JsonShape { keys: &NAMES, fits, plan, pair }),
};

const NAMES: [&str; 6] = ["timestamp", "open", "high", "low", "close", "volume"];

fn fits(_: &Cells) -> bool {
    true
}

fn plan() -> Plan {
    let columns = Columns { close: 4, range: Some([1, 2, 3]), volume: Some(5), ..Columns::default() };
    Plan::candles(0, &NAMES, TimeFormat::UnixAny, columns)
}

fn pair(key: &str, value: &str) -> Result<Option<Pair>, ()> {
    if key == "pair" { value.parse().map(Some).map_err(|_| ()) } else { Ok(None) }
}
