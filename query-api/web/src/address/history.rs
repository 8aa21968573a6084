//! Balance and value of an address over time, as charts and as a table.

use serde::Deserialize;
use serde_json::Number;

use crate::{
    chart::{Chart, Point, Shape},
    format::{btc, decimal},
    links::Markup,
};

/// Points of a chart: more are no wider than a hair.
const DRAWN: usize = 360;
/// Rows of the table: the newest changes.
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

impl History {
    /// The balance as a chart.
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
        assert!(history.value().0.contains("1.5 EUR") && !history.value().0.contains("day 0:"));
        assert_eq!((history.changes().len(), history.reason()), (ROWS, Some("no price")));
        assert!(History { currency: "EUR".to_owned(), points: Vec::new() }.value().0.is_empty());
    }
}
