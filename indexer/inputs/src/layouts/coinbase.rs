//! Coinbase Exchange, candles: a JSON array of `[time, low, high, open, close, volume]`, newest first, or the same as
//! CSV with these names in the first line.
//!
//! The time names the opening of the candle, in seconds. The volume is in units of the base. The file does not say what
//! is quoted.

use super::{Head, JsonShape, Layout, are, is_dump, no_pair};
use crate::{
    csv::Cells,
    plan::{Columns, Plan},
    time::TimeFormat,
};

pub(super) const LAYOUT: Layout = Layout {
    name: "coinbase",
    publisher: Some("coinbase"),
    csv: Some(plan),
    json: Some(JsonShape { keys: &[], fits, plan: candles, pair: no_pair }),
};

const NAMES: [&str; 6] = ["time", "low", "high", "open", "close", "volume"];

fn plan(head: &Head, _: bool) -> Option<Plan> {
    are(&head.names(0), &NAMES).then(|| Plan { skip: 1, ..candles() })
}

/// Another exchange has arrays of six too, but in milliseconds and another order.
fn fits(cells: &Cells) -> bool {
    is_dump(cells.iter(), NAMES.len()) && cells.get(0).len() <= 11
}

fn candles() -> Plan {
    let columns = Columns { close: 4, range: Some([3, 2, 1]), volume: Some(5), ..Columns::default() };
    Plan::candles(0, &NAMES, TimeFormat::UnixAny, columns)
}
