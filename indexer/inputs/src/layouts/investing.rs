//! Investing.com: `"Date","Price","Open","High","Low","Vol.","Change %"`, newest first, with a byte order mark. `Price`
//! is the close. Some files lack `Vol.`.
//!
//! The date names the opening of the candle, 00:00 UTC: `11/20/2024` or `Nov 20, 2024`. National sites write the day
//! first: the first lines show it (a number above 12 is a day). Otherwise the month comes first. Numbers have commas
//! between thousands; volumes end with K, M or B, are in units of the base, and `-` where there is none. The file does
//! not say what is quoted.

use super::{Head, Layout, column, range};
use crate::{
    number::NumberStyle,
    plan::{Columns, Plan},
    time::{TimeFormat, seconds},
};

pub(super) const LAYOUT: Layout =
    Layout { name: "investing", publisher: Some("investing.com"), csv: Some(plan), json: None };

const MONTH_FIRST: &str = "%m/%d/%Y";
const DAY_FIRST: &str = "%d/%m/%Y";
const MONTH_NAMED: &str = "%b %d, %Y";

fn plan(head: &Head, _: bool) -> Option<Plan> {
    let names = head.names(0);
    let (date, close, _) = (column(&names, "date")?, column(&names, "price")?, column(&names, "change %")?);
    let columns = Columns { close, range: range(&names), volume: column(&names, "vol."), ..Columns::default() };
    let dates = || head.rows_from(1).iter().filter_map(|row| row.get(date));
    let fits = |pattern: &str| {
        let format = TimeFormat::Pattern(pattern.to_owned());
        dates().filter(|text| seconds(text, &format, None).is_ok()).count()
    };
    let (month_first, day_first, named) = (fits(MONTH_FIRST), fits(DAY_FIRST), fits(MONTH_NAMED));
    let pattern = if named > month_first.max(day_first) {
        MONTH_NAMED
    } else if day_first > month_first {
        DAY_FIRST
    } else {
        MONTH_FIRST
    };
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let plan = Plan::candles(1, &names, TimeFormat::Pattern(pattern.to_owned()), columns);
    let numbers = NumberStyle { thousands: Some(','), suffixes: true, ..NumberStyle::PLAIN };
    Some(Plan { time: date, numbers, ..plan })
}
