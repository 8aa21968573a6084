//! Balance, value and activity of an address over time, as charts and as tables.

use serde::Deserialize;
use serde_json::Number;

use crate::{
    chart::{Chart, Point, Shape},
    format::{btc, decimal, signed_btc},
    links::Markup,
};

/// Points of a chart. More would be narrower than a pixel of a phone, and make the page heavy.
const DRAWN: usize = 180;
/// Rows of a table: the newest days or months with a change.
const ROWS: usize = 50;

#[derive(Deserialize)]
pub(super) struct History {
    pub(super) currency: String,
    pub(super) points: Vec<Day>,
}

#[derive(Deserialize)]
pub(super) struct Day {
    pub(super) date: String,
    pub(super) balance_sats: i64,
    pub(super) received_sats: i64,
    pub(super) sent_sats: i64,
    pub(super) value: Option<Number>,
    pub(super) value_reason: Option<String>,
}

/// Movements of a month.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Month {
    /// Year and month: `2024-03`.
    pub(super) name: String,
    pub(super) received_sats: i64,
    pub(super) sent_sats: i64,
}

impl Month {
    /// Change of the balance in the month.
    pub(super) fn net_sats(&self) -> i64 {
        self.received_sats.saturating_sub(self.sent_sats)
    }

    fn moved(&self) -> bool {
        self.received_sats != 0 || self.sent_sats != 0
    }
}

impl History {
    pub(super) fn balance(&self) -> Markup {
        let shown = |day: &Day| Some((day.balance_sats as f64, btc(day.balance_sats)));
        self.draw("Balance by day in BTC", Shape::Steps, &shown)
    }

    /// The value as a chart; nothing if no day has a price.
    pub(super) fn value(&self) -> Markup {
        let shown = |day: &Day| {
            let value = day.value.as_ref()?;
            Some((value.as_f64()?, format!("{} {}", decimal(&value.to_string()), self.currency)))
        };
        self.draw(&format!("Value by day in {}", self.currency), Shape::Line, &shown)
    }

    fn draw(&self, name: &str, shape: Shape, shown: &dyn Fn(&Day) -> Option<(f64, String)>) -> Markup {
        let known: Vec<(usize, &Day, f64, String)> = self
            .points
            .iter()
            .enumerate()
            .filter_map(|(at, day)| shown(day).map(|(y, words)| (at, day, y, words)))
            .collect();
        let step = known.len().div_ceil(DRAWN).max(1);
        let last = known.len().saturating_sub(1);
        let kept = known.iter().enumerate().filter(|(at, _)| at % step == 0 || *at == last);
        let points: Vec<Point> = kept
            .map(|(_, (at, day, y, words))| Point { x: *at as f64, y: *y, label: format!("{}: {words}", day.date) })
            .collect();
        let by_value = |a: &&(usize, &Day, f64, String), b: &&(usize, &Day, f64, String)| a.2.total_cmp(&b.2);
        let (least, most) = (known.iter().min_by(by_value), known.iter().max_by(by_value));
        let (Some(first), Some(end), Some(least), Some(most)) = (known.first(), known.last(), least, most) else {
            return Markup::default();
        };
        let (ends, bounds) = ([first.1.date.as_str(), end.1.date.as_str()], [least.3.as_str(), most.3.as_str()]);
        Chart { name, shape, points: &points, ends, bounds }.draw()
    }

    /// The newest days on which something moved.
    pub(super) fn changes(&self) -> Vec<&Day> {
        let moved = |day: &&Day| day.received_sats != 0 || day.sent_sats != 0;
        self.points.iter().rev().filter(moved).take(ROWS).collect()
    }

    fn months(&self) -> Vec<Month> {
        let mut months: Vec<Month> = Vec::new();
        for day in &self.points {
            let name = day.date.get(..7).unwrap_or(&day.date);
            match months.last_mut() {
                Some(month) if month.name == name => {
                    month.received_sats = month.received_sats.saturating_add(day.received_sats);
                    month.sent_sats = month.sent_sats.saturating_add(day.sent_sats);
                }
                _ => months.push(Month {
                    name: name.to_owned(),
                    received_sats: day.received_sats,
                    sent_sats: day.sent_sats,
                }),
            }
        }
        months
    }

    /// The newest months in which something moved.
    pub(super) fn active_months(&self) -> Vec<Month> {
        self.months().into_iter().rev().filter(Month::moved).take(ROWS).collect()
    }

    /// The change of the balance by month as a chart; nothing if nothing moved.
    pub(super) fn activity(&self) -> Markup {
        let months = self.months();
        let (Some(first), Some(last), true) = (months.first(), months.last(), months.iter().any(Month::moved)) else {
            return Markup::default();
        };
        let label = |month: &Month| {
            let (received, sent) = (btc(month.received_sats), btc(month.sent_sats));
            format!("{}: {} (received {received}, sent {sent})", month.name, signed_btc(month.net_sats()))
        };
        let points: Vec<Point> = months
            .iter()
            .enumerate()
            .map(|(at, month)| Point { x: at as f64, y: month.net_sats() as f64, label: label(month) })
            .collect();
        let nets = || months.iter().map(Month::net_sats);
        let (least, most) = (nets().min().unwrap_or_default().min(0), nets().max().unwrap_or_default().max(0));
        let name = format!("Change of the balance by month, {} to {}", first.name, last.name);
        let (ends, bounds) = ([first.name.as_str(), last.name.as_str()], [btc(least), btc(most)]);
        let bounds = [bounds[0].as_str(), bounds[1].as_str()];
        Chart { name: &name, shape: Shape::Bars, points: &points, ends, bounds }.draw()
    }

    /// Why days have no value, if any has none.
    pub(super) fn reason(&self) -> Option<&str> {
        self.points.iter().rev().find_map(|day| day.value_reason.as_deref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(at: usize, sats: i64, value: Option<f64>) -> Day {
        Day {
            date: format!("day {at}"),
            balance_sats: sats,
            received_sats: i64::from(at.is_multiple_of(2)),
            sent_sats: 0,
            value: value.and_then(Number::from_f64),
            value_reason: value.is_none().then(|| "no price".to_owned()),
        }
    }

    #[test]
    fn long_histories_are_drawn_by_few_points() {
        let points = (0..5_000).map(|at| day(at, at as i64, (at > 10).then_some(1.5))).collect();
        let history = History { currency: "EUR".to_owned(), points };
        let svg = history.balance().0;
        assert!(
            svg.matches("class=\"spot\"").count() <= DRAWN + 1 && svg.contains("day 4999: 0.00004999 BTC"),
            "{svg}"
        );
        assert!(history.value().0.contains("1.50 EUR") && !history.value().0.contains("day 0:"));
        assert_eq!((history.changes().len(), history.reason()), (ROWS, Some("no price")));
        assert!(history.activity().0.is_empty() || !history.activity().0.contains("NaN"));
        assert!(History { currency: "EUR".to_owned(), points: Vec::new() }.value().0.is_empty());
    }
    #[test]
    fn days_are_summed_by_month() {
        let day = |date: &str, received_sats, sent_sats| Day {
            date: date.to_owned(),
            balance_sats: 0,
            received_sats,
            sent_sats,
            value: None,
            value_reason: None,
        };
        let points =
            vec![day("2024-01-30", 5, 0), day("2024-01-31", 2, 1), day("2024-02-01", 0, 0), day("2024-03-01", 0, 9)];
        let history = History { currency: "EUR".to_owned(), points };
        let months: Vec<(String, i64)> =
            history.active_months().into_iter().map(|month| (month.name.clone(), month.net_sats())).collect();
        assert_eq!(months, [("2024-03".to_owned(), -9), ("2024-01".to_owned(), 6)]);
        let svg = history.activity().0;
        assert!(svg.contains("2024-01: +0.00000006 BTC") && svg.contains("bar less"), "{svg}");
        assert_eq!(svg.matches("<rect").count(), 3);
    }
}
