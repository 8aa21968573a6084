//! The days that the charts show.

use crate::query::Parameters;

/// Ranges that the page offers: name in the query, words, months up to the newest day.
pub(super) const RANGES: [(&str, &str, Option<u32>); 5] = [
    ("1m", "1 month", Some(1)),
    ("6m", "6 months", Some(6)),
    ("1y", "1 year", Some(12)),
    ("5y", "5 years", Some(60)),
    ("all", "All", None),
];

/// First and last day of the charts; `None` leaves it to the operation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Days {
    pub(super) from: Option<String>,
    pub(super) to: Option<String>,
    /// Name of the chosen range; empty if the days were entered.
    pub(super) range: &'static str,
}

impl Days {
    /// Reads them from a query. `newest` is the day of the tip.
    pub(super) fn chosen(parameters: &Parameters, newest: Option<&str>) -> Self {
        let day = |name: &str| parameters.get(name).map(str::to_owned);
        let (from, to) = (day("from"), day("to"));
        if from.is_some() || to.is_some() {
            return Days { from, to, range: "" };
        }
        let asked = parameters.get("range").unwrap_or("all");
        let (range, months) =
            RANGES.iter().find(|(name, ..)| *name == asked).map_or(("all", None), |(name, _, months)| (*name, *months));
        let from = newest.zip(months).and_then(|(newest, months)| months_before(newest, months));
        Days { from, to: newest.map(str::to_owned), range }
    }
}

/// The day some months earlier, at most the 28th of its month.
fn months_before(day: &str, months: u32) -> Option<String> {
    let mut parts = day.split('-').map(str::parse::<u32>);
    let (year, month, day) = (parts.next()?.ok()?, parts.next()?.ok()?, parts.next()?.ok()?);
    let month = year.checked_mul(12)?.checked_add(month)?.checked_sub(months.checked_add(1)?)?;
    Some(format!("{:04}-{:02}-{:02}", month / 12, month % 12 + 1, day.min(28)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn days(query: &str) -> Days {
        let (parts, ()) = axum::http::Request::get(format!("/x?{query}")).body(()).unwrap().into_parts();
        Days::chosen(&Parameters::of(&parts), Some("2025-12-31"))
    }

    #[test]
    fn ranges_end_at_the_newest_day() {
        for (query, from, to, range) in [
            ("range=1m", Some("2025-11-28"), "2025-12-31", "1m"),
            ("range=1y", Some("2024-12-28"), "2025-12-31", "1y"),
            ("", None, "2025-12-31", "all"),
            ("range=x", None, "2025-12-31", "all"),
            ("range=1m&from=2024-01-01&to=b", Some("2024-01-01"), "b", ""),
        ] {
            assert_eq!(days(query), Days { from: from.map(str::to_owned), to: Some(to.to_owned()), range }, "{query}");
        }
    }

    #[test]
    fn broken_days_are_left_to_the_operation() {
        assert_eq!((months_before("soon", 1), months_before("0000-01-01", 12)), (None, None));
        assert_eq!(months_before("2026-01-05", 1).as_deref(), Some("2025-12-05"));
    }
}
