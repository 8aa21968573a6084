//! Sums per day: a balance history without gaps.

use cairn_model::Sats;

/// Movements of one day (UTC, monotone block time) and the balance at its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DayPoint {
    /// Days since 1970-01-01.
    pub day: u32,
    /// Balance after the day's last transaction.
    pub balance: Sats,
    /// Received on the day.
    pub received: Sats,
    /// Sent on the day.
    pub sent: Sats,
    /// Transactions of the day.
    pub tx_count: u64,
}

/// Impossible rows: days not in order, or a negative balance.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a history runs backwards or below zero at day {day}")]
pub struct Inconsistent {
    /// Days since 1970-01-01.
    pub day: u32,
}

/// Collects the movements of days.
#[derive(Clone, Default, Debug)]
pub struct Daily {
    /// Balance before the first day.
    opening: Sats,
    points: Vec<DayPoint>,
}

impl Daily {
    /// No days and no balance.
    #[must_use]
    pub fn new() -> Self {
        Daily::default()
    }

    /// No days, with this balance before the first one.
    #[must_use]
    pub fn after(opening: Sats) -> Self {
        Daily { opening, points: Vec::new() }
    }

    /// Adds the movements of `txs` transactions of `day`. Days must be in order; days in between get points without
    /// movement.
    pub fn add(&mut self, day: u32, received: Sats, sent: Sats, txs: u64) -> Result<(), Inconsistent> {
        let bad = Inconsistent { day };
        let newest = self.points.last().copied();
        if newest.is_some_and(|p| p.day > day) {
            return Err(bad);
        }
        let balance = newest.map_or(self.opening, |p| p.balance);
        for quiet in newest.map_or(day, |p| p.day + 1)..day {
            self.points.push(DayPoint { day: quiet, balance, received: 0, sent: 0, tx_count: 0 });
        }
        let balance = balance.checked_add(received).and_then(|b| b.checked_sub(sent)).ok_or(bad)?;
        match self.points.last_mut().filter(|p| p.day == day) {
            Some(point) => {
                point.balance = balance;
                point.received += received;
                point.sent += sent;
                point.tx_count += txs;
            }
            None => self.points.push(DayPoint { day, balance, received, sent, tx_count: txs }),
        }
        Ok(())
    }

    /// All days from the first to the last added one.
    #[must_use]
    pub fn finish(self) -> Vec<DayPoint> {
        self.points
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_have_no_gaps() {
        let mut daily = Daily::new();
        daily.add(10, 50, 0, 1).unwrap();
        daily.add(10, 0, 20, 1).unwrap();
        daily.add(13, 5, 35, 2).unwrap();
        let points = daily.finish();
        assert_eq!(points.iter().map(|p| p.day).collect::<Vec<_>>(), [10, 11, 12, 13]);
        assert_eq!(points[0], DayPoint { day: 10, balance: 30, received: 50, sent: 20, tx_count: 2 });
        assert_eq!(points[2], DayPoint { day: 12, balance: 30, received: 0, sent: 0, tx_count: 0 });
        assert_eq!(points[3].balance, 0);
    }

    #[test]
    fn what_cannot_be_is_an_error() {
        let mut daily = Daily::new();
        daily.add(10, 50, 0, 1).unwrap();
        assert_eq!(daily.add(9, 1, 0, 1), Err(Inconsistent { day: 9 }));
        assert_eq!(daily.add(11, 0, 51, 1), Err(Inconsistent { day: 11 }));
        assert!(daily.add(11, u64::MAX, 0, 1).is_err());
    }

    #[test]
    fn a_past_that_is_not_shown_counts() {
        let mut daily = Daily::after(50);
        daily.add(10, 0, 0, 0).unwrap();
        daily.add(12, 5, 55, 1).unwrap();
        daily.add(13, 0, 0, 0).unwrap();
        let balances: Vec<_> = daily.finish().iter().map(|p| (p.day, p.balance)).collect();
        assert_eq!(balances, [(10, 50), (11, 50), (12, 0), (13, 0)]);
        assert_eq!(Daily::after(50).add(10, 0, 51, 1), Err(Inconsistent { day: 10 }));
    }

    #[test]
    fn nothing_has_no_days() {
        assert!(Daily::new().finish().is_empty());
    }
}
