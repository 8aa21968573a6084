//! European Central Bank, the euro's reference rates (`eurofxref-hist.csv`): `Date,USD,JPY,…,` with a comma at the end
//! of each line, newest first; `N/A` where there is no rate.
//!
//! A rate says how many units of the currency a euro is worth: the series is EUR/USD. The rate of a day counts as that
//! day's candle, which closes at the next 00:00 UTC (it is published at about 16:00 in Frankfurt). Weekends and
//! holidays have no row. Each cell is a row of the report; cells without a rate are only counted.

use cairn_events::{Currency, Interval};

use super::{Head, Layout};
use crate::{
    plan::{Columns, Plan, Values, table},
    time::TimeFormat,
};

pub(super) const LAYOUT: Layout = Layout { name: "ecb", publisher: Some("ecb"), csv: Some(plan), json: None };

/// Columns of rates. There have been 42 currencies.
const MAX_RATES: usize = 200;

fn plan(head: &Head, _: bool) -> Option<Plan> {
    let mut names = head.row(0)?.to_vec();
    if names.last().is_some_and(String::is_empty) {
        names.pop();
    }
    let is_code = |name: &String| name.len() == 3 && name.bytes().all(|byte| byte.is_ascii_uppercase());
    let (date, codes) = names.split_first()?;
    let unique = codes.iter().enumerate().all(|(at, code)| codes.iter().position(|other| other == code) == Some(at));
    if date != "Date" || codes.is_empty() || codes.len() > MAX_RATES || !unique || !codes.iter().all(is_code) {
        return None;
    }
    let rates = table(Currency::EUR, &names)?;
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let plan = Plan::candles(1, &names, TimeFormat::Iso, Columns::default());
    Some(Plan { values: Values::Table(rates), interval: Some(Interval::Day), ..plan })
}
