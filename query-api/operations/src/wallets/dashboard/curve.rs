//! The worth of a wallet over time.

use cairn_domain::{pnl::value_of, price::price_at};
use cairn_events::Currency;
use cairn_model::{DAY_SECS, day_of};

use crate::{
    candles::Candles,
    operation::prelude::*,
    price_now::why_missing,
    values::{Decimal, Money, PriceNumber, date},
};

const MAX_POINTS: u32 = 120;
/// Holdings and their value at the end of a day.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "EquityPoint")]
pub(super) struct EquityPoint {
    /// Day (UTC); the point is at its end. The last day may not be over.
    date: String,
    quantity_sats: u64,
    quantity_btc: Btc,
    /// Cost of the holdings.
    cost_basis: Option<Money>,
    /// Last known price at the end of the day.
    price: Option<PriceNumber>,
    value: Option<Money>,
    /// Why price and value are null; otherwise null.
    reason: Option<&'static str>,
}

/// Days from one to another, at equal distances.
pub(super) struct Curve {
    /// Days that are still to come, the next one last.
    days: Vec<u32>,
    points: Vec<(u32, Sats, Option<i128>)>,
    /// Holdings of the wallet so far.
    holds: (Sats, Option<i128>),
}

impl Curve {
    /// The last day is always one of them.
    pub(super) fn of(first: u32, last: u32) -> Self {
        let step = (last.saturating_sub(first) + 1).div_ceil(MAX_POINTS).max(1);
        let days = (first..=last).rev().step_by(step as usize).collect();
        Curve { days, points: Vec::new(), holds: (0, Some(0)) }
    }

    /// A transaction of this time comes: days that have ended before are done.
    pub(super) fn before(&mut self, time: u32) {
        while let Some(day) = self.days.pop_if(|day| *day < day_of(time)) {
            self.points.push((day, self.holds.0, self.holds.1));
        }
    }

    /// Sets the holdings after a transaction.
    pub(super) fn after(&mut self, holds: (Sats, Option<i128>)) {
        self.holds = holds;
    }

    /// The points, with their prices; none is later than the tip.
    pub(super) fn finish(
        mut self,
        ctx: &Ctx<'_>,
        (candles, currency): (&Candles<'_>, Currency),
        tip_time: u32,
    ) -> Result<Vec<EquityPoint>, ApiError> {
        self.before(u32::MAX);
        let point = |(day, sats, cost): (u32, Sats, Option<i128>)| {
            ctx.work.poll()?;
            let end = day.saturating_add(1).saturating_mul(DAY_SECS).min(tip_time.max(day.saturating_mul(DAY_SECS)));
            let price = price_at(candles, currency, end)?;
            let known = price.as_ref().ok().map(|price| price.price);
            Ok(EquityPoint {
                date: date(day),
                quantity_sats: sats,
                quantity_btc: Btc::of(sats),
                cost_basis: cost.map(Decimal),
                price: known.map(PriceNumber),
                value: known.and_then(|price| value_of(sats, price)).map(Decimal),
                reason: price.err().map(why_missing),
            })
        };
        std::mem::take(&mut self.points).into_iter().map(point).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_ends_with_the_last_day_and_has_few_points() {
        for (first, last, points) in [(5, 5, 1), (0, 119, 120), (0, 120, 61), (100, 6_000, 119), (7, 3, 0)] {
            let mut curve = Curve::of(first, last);
            assert_eq!(curve.days.len(), points, "{first} {last}");
            assert_eq!(curve.days.first().copied(), (points > 0).then_some(last));
            curve.before(u32::MAX);
            assert!(curve.points.is_sorted_by_key(|(day, ..)| *day));
        }
        // Each point is the state at the end of its day.
        let mut curve = Curve::of(1, 3);
        curve.before(DAY_SECS * 2 + 5);
        curve.after((7, None));
        curve.before(DAY_SECS * 3);
        curve.before(DAY_SECS * 3 + 9);
        curve.after((9, Some(1)));
        curve.before(u32::MAX);
        assert_eq!(curve.points, [(1, 0, Some(0)), (2, 7, None), (3, 9, Some(1))]);
    }
}
