//! CoinGecko, history as CSV: `snapped_at,price,market_cap,total_volume`, oldest first.
//!
//! From 2018-01-30 on, `snapped_at` is a moment: the price at 00:00 UTC is the close of the day that ends then. Up to
//! 2018-01-29 the price is the close of the day that it names. A comparison of bitcoin's rows with daily candles shows
//! it: rows of every month before lie near the one close, those of every month after near the other. (It covers 2014 to
//! 2021; in 2013 prices of exchanges differ too much to decide.) Read as moments, the older rows would be known a day
//! too early. The rows of both days are the close of 2018-01-29; of the two, the second is refused. (That of bitcoin in
//! dollars is of 00:05:18, and a few others are not of 00:00 either. A price within a day is not a close.)
//!
//! The volume is that of a day in units of the quote, so it is left out. The file does not say what is quoted.

use super::{Head, Layout, are};
use crate::{
    plan::{Columns, Plan, Stamp},
    time::TimeFormat,
};

pub(super) const LAYOUT: Layout =
    Layout { name: "coingecko", publisher: Some("coingecko"), csv: Some(plan), json: None };

/// 2018-01-30 00:00 UTC.
const FIRST_MOMENT: i64 = 1_517_270_400;

const NAMES: [&str; 4] = ["snapped_at", "price", "market_cap", "total_volume"];

fn plan(head: &Head, _: bool) -> Option<Plan> {
    let columns = Columns { close: 1, ..Columns::default() };
    are(&head.names(0), &NAMES)
        .then(|| Plan { stamp: Stamp::CloseSince(FIRST_MOMENT), ..Plan::candles(1, &NAMES, TimeFormat::Iso, columns) })
}
