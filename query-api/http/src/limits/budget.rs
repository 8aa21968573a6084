//! Rate limit per client and minute. Memory does not grow with the number of clients: the state is a table of fixed
//! size. If too many clients share a set, the one that has used least is dropped.

use std::{
    hash::{BuildHasher, RandomState},
    time::{Duration, Instant},
};

use parking_lot::Mutex;

use crate::limits::client::Client;

/// The time in which a budget refills completely.
pub const WINDOW: Duration = Duration::from_secs(60);
/// [`WINDOW`] in nanoseconds.
const WINDOW_NANOS: u64 = 60_000_000_000;

/// Sets of the table and clients per set: one mebibyte for 65 536 clients.
const SETS: usize = 8192;
const WAYS: usize = 8;

/// A client: a keyed hash of its address (0: empty), and when its budget is full again.
#[derive(Clone, Copy, Default)]
struct Entry {
    who: u64,
    whole_at: u64,
}

/// The budgets of all clients.
pub(crate) struct Budgets {
    limit: u32,
    /// Nanoseconds to refill one unit.
    per_unit: u64,
    /// Keyed, so that a client cannot target another client's set.
    keys: RandomState,
    sets: Box<[Mutex<[Entry; WAYS]>]>,
    began: Instant,
}

/// The remaining budget.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RemainingBudget {
    /// Units.
    pub(crate) units: u32,
    /// Seconds until the budget is full again.
    pub(crate) whole_in: u64,
}

impl Budgets {
    /// Budgets of `limit` units per minute; 0: no limit.
    pub(crate) fn new(limit: u32) -> Self {
        let sets = if limit == 0 { 0 } else { SETS };
        Budgets {
            limit,
            per_unit: WINDOW_NANOS / u64::from(limit.max(1)),
            keys: RandomState::new(),
            sets: (0..sets).map(|_| Mutex::default()).collect(),
            began: Instant::now(),
        }
    }

    /// Units per minute; 0: no limit.
    pub(crate) fn limit(&self) -> u32 {
        self.limit
    }

    /// Takes units from a client's budget and returns the rest.
    ///
    /// # Errors
    /// Returns the seconds to wait if too few units are left.
    pub(crate) fn take(&self, client: &Client, units: u32) -> Result<RemainingBudget, u32> {
        let now = u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.take_at(client, units, now)
    }

    /// Takes units that a client has used already. They may exceed its budget: it then waits until they are paid, at
    /// most one window longer than with an empty budget.
    pub(crate) fn owe(&self, client: &Client, units: u32) {
        let now = u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.owe_at(client, units, now);
    }

    fn owe_at(&self, client: &Client, units: u32, now: u64) {
        self.entry(client, |known| {
            let whole_at = known.map_or(now, |entry| entry.whole_at.max(now));
            let after = whole_at.saturating_add(self.per_unit.saturating_mul(units.into()));
            Some(after.min(now.saturating_add(2 * WINDOW_NANOS)))
        });
    }

    /// Changes when a client's budget is full again; not with `None`.
    fn entry(&self, client: &Client, change: impl FnOnce(Option<Entry>) -> Option<u64>) {
        let who = self.keys.hash_one(client).max(1);
        // The number of sets is a power of two; the low bits choose one.
        let place = usize::try_from(who % SETS as u64).unwrap_or_default();
        let Some(set) = self.sets.get(place) else { return };
        let mut set = set.lock();
        let known = set.iter().position(|entry| entry.who == who);
        // An empty entry, or the client that has used least.
        let least = || set.iter().enumerate().min_by_key(|(_, e)| e.whole_at).map_or(0, |(at, _)| at);
        let at = known.unwrap_or_else(least);
        if let Some(whole_at) = change(known.map(|at| set[at])) {
            set[at] = Entry { who, whole_at };
        }
    }

    fn take_at(&self, client: &Client, units: u32, now: u64) -> Result<RemainingBudget, u32> {
        let mut taken = Ok(RemainingBudget { units: u32::MAX, whole_in: 0 });
        self.entry(client, |known| {
            let whole_at = known.map_or(now, |entry| entry.whole_at.max(now));
            let after = whole_at.saturating_add(self.per_unit.saturating_mul(units.into()));
            let owed = after - now;
            if owed > WINDOW_NANOS {
                let wait = Duration::from_nanos(owed - WINDOW_NANOS);
                taken = Err(u32::try_from(wait.as_secs()).unwrap_or(u32::MAX).saturating_add(1));
                return None;
            }
            taken = Ok(RemainingBudget {
                units: u32::try_from((WINDOW_NANOS - owed) / self.per_unit).unwrap_or(u32::MAX).min(self.limit),
                whole_in: owed.div_ceil(1_000_000_000),
            });
            Some(after)
        });
        taken
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderMap;
    use proptest::prelude::*;

    use super::*;
    use crate::config::HttpConfig;

    const SECOND: u64 = 1_000_000_000;

    fn client(number: u32) -> Client {
        let ip = std::net::Ipv4Addr::from(number);
        Client::of((ip, 1).into(), &HeaderMap::new(), &HttpConfig::default())
    }

    #[test]
    fn a_budget_is_spent_and_comes_back() {
        let budgets = Budgets::new(60);
        let take = |units, at| budgets.take_at(&client(1), units, at);
        assert_eq!(take(10, 0), Ok(RemainingBudget { units: 50, whole_in: 10 }));
        assert_eq!(take(50, 0), Ok(RemainingBudget { units: 0, whole_in: 60 }));
        assert_eq!(take(1, 0), Err(2));
        // A refused request cost nothing.
        assert_eq!(take(1, SECOND), Ok(RemainingBudget { units: 0, whole_in: 60 }));
        assert_eq!(take(10, SECOND), Err(11));
        assert_eq!(take(10, 11 * SECOND), Ok(RemainingBudget { units: 0, whole_in: 60 }));
        assert_eq!(take(0, 1000 * SECOND), Ok(RemainingBudget { units: 60, whole_in: 0 }));
        // Others have their own.
        assert_eq!(budgets.take_at(&client(2), 60, 0), Ok(RemainingBudget { units: 0, whole_in: 60 }));
    }

    #[test]
    fn what_was_used_is_owed() {
        let budgets = Budgets::new(60);
        let take = |units, at| budgets.take_at(&client(1), units, at);
        assert_eq!(take(2, 0), Ok(RemainingBudget { units: 58, whole_in: 2 }));
        budgets.owe_at(&client(1), 48, 0);
        assert_eq!(take(10, 0), Ok(RemainingBudget { units: 0, whole_in: 60 }));
        // More than there is: the client waits for it, but never longer than two windows.
        budgets.owe_at(&client(1), 20, 0);
        assert_eq!(take(1, 0), Err(22));
        assert_eq!(take(1, 21 * SECOND), Ok(RemainingBudget { units: 0, whole_in: 60 }));
        budgets.owe_at(&client(1), u32::MAX, 21 * SECOND);
        assert_eq!(take(0, 21 * SECOND), Err(61));
        assert_eq!(take(1, 82 * SECOND), Ok(RemainingBudget { units: 0, whole_in: 60 }));
    }

    #[test]
    fn no_limit_is_no_limit() {
        let budgets = Budgets::new(0);
        for _ in 0..100_000 {
            assert!(budgets.take(&client(1), 10).is_ok());
        }
    }

    #[test]
    fn a_flood_of_clients_forgets_those_that_owe_least() {
        let budgets = Budgets::new(60);
        let busy = client(7);
        budgets.take_at(&busy, 60, 0).unwrap();
        for other in 1000..400_000 {
            budgets.take_at(&client(other), 1, 0).unwrap();
        }
        assert!(budgets.take_at(&busy, 1, 0).is_err());
    }

    proptest! {
        /// However requests come, a client gets at most two budgets in a minute (a full one, and the refill meanwhile),
        /// and the rest never exceeds the limit.
        #[test]
        fn nobody_gets_more_than_is_his(steps in prop::collection::vec((0u32..30, 0u64..5), 1..200)) {
            let budgets = Budgets::new(60);
            let (mut now, mut got) = (0, Vec::new());
            for (units, pause) in steps {
                now += pause * SECOND;
                match budgets.take_at(&client(3), units, now) {
                    Ok(left) => {
                        got.push((now, u64::from(units)));
                        prop_assert!(left.units <= 60 && left.whole_in <= 60);
                    }
                    Err(wait) => prop_assert!((1..=60).contains(&wait)),
                }
            }
            for (from, _) in &got {
                let within = got.iter().filter(|(at, _)| at >= from && *at < from + 60 * SECOND);
                prop_assert!(within.map(|(_, units)| units).sum::<u64>() <= 120);
            }
        }
    }
}
