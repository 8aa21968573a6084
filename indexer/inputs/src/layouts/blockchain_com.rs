//! blockchain.com, the chart of the market price: CSV `Timestamp,market-price`, without these names as its interface
//! answers, or JSON with `{"x":…,"y":…}` as rows. Oldest first, dollars for a bitcoin.
//!
//! The time is a moment: the value at 00:00 UTC is the close of the day that ends then. So says a comparison of files
//! of 2022, with values from 2010 on, with daily candles. Files of 2017 named the day itself (their values are
//! averages, with many digits): those need a column map with `stamp=opening`.
//!
//! `x` is in seconds, in files from the website in milliseconds. The website writes CSV in the zone of who downloads
//! it: rows of 23:00 are refused unless the zone is given. Days without a price are 0, and refused. Charts of long
//! periods have every second or third day, and need the interval to be given.
//!
//! A CSV file without names could be of anybody: it is read only if the caller names this layout.

use super::{Head, JsonShape, Layout, are};
use crate::{
    csv::Cells,
    plan::{Columns, Plan, Stamp},
    time::TimeFormat,
    words::Pair,
};

pub(super) const LAYOUT: Layout = Layout {
    name: "blockchain-com",
    publisher: Some("blockchain.com"),
    csv: Some(plan),
    json: Some(JsonShape { keys: &["x", "y"], fits, plan: points, pair }),
};

const NAMES: [&str; 2] = ["timestamp", "market-price"];

fn plan(head: &Head, named: bool) -> Option<Plan> {
    if are(&head.names(0), &NAMES) {
        return Some(Plan { skip: 1, ..points() });
    }
    (named && head.row(0)?.len() == NAMES.len()).then(points)
}

fn fits(_: &Cells) -> bool {
    true
}

fn points() -> Plan {
    let columns = Columns { close: 1, ..Columns::default() };
    let plan = Plan::candles(0, &NAMES, TimeFormat::Any, columns);
    Plan { stamp: Stamp::Close, pair: Some(Pair::BTC_USD), ..plan }
}

/// Charts of other things have the same rows, but another name.
fn pair(key: &str, value: &str) -> Result<Option<Pair>, ()> {
    let is_price = match key {
        "name" => value.starts_with("Market Price"),
        "unit" => value == "USD",
        "metric1" => value == "market-price",
        _ => true,
    };
    if is_price { Ok(None) } else { Err(()) }
}
