//! CoinGecko, history as CSV: `snapped_at,price,market_cap,total_volume`, oldest first.
//!
//! `snapped_at` is a moment: the price at 00:00 UTC is the close of the day that ends then. The volume is that of a day in
//! units of the quote, so it is left out. The file does not say what is quoted.
//!
//! The oldest rows of bitcoin (2013) lie nearer to the close of the day that they name than to that of the day before.
//! Nothing in the file tells them apart, so the rule is the same for all.

use super::{Head, Layout, are};
use crate::{
    plan::{Columns, Plan, Stamp},
    time::TimeFormat,
};

pub(super) const LAYOUT: Layout =
    Layout { name: "coingecko", publisher: Some("coingecko"), csv: Some(plan), json: None };

const NAMES: [&str; 4] = ["snapped_at", "price", "market_cap", "total_volume"];

fn plan(head: &Head, _: bool) -> Option<Plan> {
    let columns = Columns { close: 1, ..Columns::default() };
    are(&head.names(0), &NAMES)
        .then(|| Plan { stamp: Stamp::Close, ..Plan::candles(1, &NAMES, TimeFormat::Iso, columns) })
}
