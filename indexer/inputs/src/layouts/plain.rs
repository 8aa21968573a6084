//! `date,open,high,low,close[,volume]`, as many tools write it; the columns in any order, or `date,close` alone.
//!
//! The time names the opening of the candle: a date, a date and time, or seconds, milliseconds or microseconds since
//! 1970. The volume is in units of the base. The file does not say what is quoted.

use super::{Head, Layout, column, range};
use crate::{
    plan::{Columns, Plan},
    time::TimeFormat,
};

pub(super) const LAYOUT: Layout = Layout { name: "plain", publisher: None, csv: Some(plan), json: None };

const TIMES: [&str; 7] = ["date", "time", "datetime", "timestamp", "unix", "open time", "open_time"];

fn plan(head: &Head, _: bool) -> Option<Plan> {
    let mut names = head.names(0);
    if names.last().is_some_and(String::is_empty) {
        names.pop();
    }
    let is_known = |name: &String| {
        TIMES.contains(&name.as_str()) || matches!(name.as_str(), "open" | "high" | "low" | "close" | "volume")
    };
    let time = names.iter().position(|name| TIMES.contains(&name.as_str()))?;
    let unique = names.iter().enumerate().all(|(at, name)| column(&names, name) == Some(at));
    let times = names.iter().filter(|name| TIMES.contains(&name.as_str())).count();
    let prices = names.iter().filter(|name| matches!(name.as_str(), "open" | "high" | "low")).count();
    if !unique || times != 1 || !names.iter().all(is_known) || (prices != 0 && prices != 3) {
        return None;
    }
    let columns = Columns {
        close: column(&names, "close")?,
        range: range(&names),
        volume: column(&names, "volume"),
        ..Columns::default()
    };
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    Some(Plan { time, ..Plan::candles(1, &names, TimeFormat::Any, columns) })
}
