//! Yahoo Finance, history as CSV: `Date,Open,High,Low,Close,Adj Close,Volume`, oldest first.
//!
//! The date names the opening of the candle, 00:00 UTC for currencies. A day that Yahoo lost is a row of `null`. The
//! volume is in units of the quote, so it is left out. The file does not say what is quoted.

use super::{Head, Layout, are};
use crate::{
    plan::{Columns, Plan},
    time::TimeFormat,
};

pub(super) const LAYOUT: Layout = Layout { name: "yahoo", publisher: Some("yahoo"), csv: Some(plan), json: None };

const NAMES: [&str; 7] = ["date", "open", "high", "low", "close", "adj close", "volume"];

fn plan(head: &Head, _: bool) -> Option<Plan> {
    let columns = Columns { close: 4, range: Some([1, 2, 3]), ..Columns::default() };
    are(&head.names(0), &NAMES).then(|| Plan::candles(1, &NAMES, TimeFormat::Iso, columns))
}
