//! Decides who ends a paid request: the worker that redeems its payment, or the time limit and the client that give it
//! up.

use std::sync::{
    Arc,
    atomic::{AtomicU8, Ordering},
};

use prometheus::IntCounter;

/// The worker is at it.
const RUNNING: u8 = 0;
/// The payment is redeemed, or about to be: the answer follows.
const COMMITTED: u8 = 1;
/// Nobody waits any more: nothing may be redeemed.
const ABANDONED: u8 = 2;
/// The client has left while its payment was redeemed.
const LEFT: u8 = 3;

/// Decides between both, once.
#[derive(Debug, Default)]
pub(crate) struct Delivery(AtomicU8);

impl Delivery {
    /// Reserves the answer for its client. False if nobody waits any more.
    pub(crate) fn commit(&self) -> bool {
        self.decide(COMMITTED)
    }

    /// Gives the request up. False if its answer follows.
    pub(crate) fn abandon(&self) -> bool {
        self.decide(ABANDONED)
    }

    /// True unless the client has left since its answer was reserved.
    pub(crate) fn is_awaited(&self) -> bool {
        self.0.load(Ordering::Acquire) != LEFT
    }

    /// Notes that the client has left before its answer.
    fn leave(&self) {
        self.0.store(LEFT, Ordering::Release);
    }

    fn decide(&self, wanted: u8) -> bool {
        let decided = self.0.compare_exchange(RUNNING, wanted, Ordering::AcqRel, Ordering::Acquire);
        decided.map_or_else(|before| before == wanted, |_| true)
    }
}

/// Gives a request up when it is dropped before its answer has come.
#[derive(Debug)]
pub(crate) struct Waiting {
    delivery: Arc<Delivery>,
    has_come: bool,
    lost: Option<IntCounter>,
}

impl Waiting {
    /// Waits for an answer. `lost` counts paid answers that nobody waited for any more.
    pub(crate) fn of(delivery: Arc<Delivery>, lost: Option<IntCounter>) -> Self {
        Waiting { delivery, has_come: false, lost }
    }

    /// The answer has come.
    pub(crate) fn end(mut self) {
        self.has_come = true;
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if !self.has_come && !self.delivery.abandon() {
            self.delivery.leave();
            self.lost.iter().for_each(IntCounter::inc);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_the_two_is_first() {
        let delivery = Arc::new(Delivery::default());
        assert!(delivery.commit() && delivery.commit() && !delivery.abandon());
        let delivery = Arc::new(Delivery::default());
        assert!(delivery.abandon() && !delivery.commit());
    }

    #[test]
    fn a_client_that_leaves_while_it_pays_is_noticed() {
        let delivery = Arc::new(Delivery::default());
        let waiting = Waiting::of(Arc::clone(&delivery), None);
        assert!(delivery.commit() && delivery.is_awaited());
        drop(waiting);
        assert!(!delivery.is_awaited() && !delivery.commit());
    }

    #[test]
    fn only_paid_answers_are_lost() {
        let lost = IntCounter::new("lost", "lost").unwrap();
        let waiting = |commits: bool| {
            let delivery = Arc::new(Delivery::default());
            let waiting = Waiting::of(Arc::clone(&delivery), Some(lost.clone()));
            assert!(!commits || delivery.commit());
            (waiting, delivery)
        };
        waiting(true).0.end();
        drop(waiting(false));
        assert_eq!(lost.get(), 0);
        drop(waiting(true));
        assert_eq!(lost.get(), 1);
    }
}
