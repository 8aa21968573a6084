//! Limits the number of requests that run at the same time. Each cost class has its own slots, so heavy requests never
//! delay light ones. If too many requests wait, further ones are rejected at once.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

use crate::{
    answers::{code::ErrorCode, error::ApiError},
    contract::cost::Cost,
};

/// The slots of each class.
pub(crate) struct Admission {
    places: [Arc<Semaphore>; 3],
    waiting: Arc<AtomicUsize>,
    max_waiting: usize,
}

/// Heavy requests get this fraction of the slots.
const HEAVY_SHARE: usize = 4;

/// Slots of a class, where `all` is the number of slots of the other classes.
pub(crate) fn places(cost: Cost, all: usize) -> usize {
    match cost {
        Cost::Light | Cost::Standard => all.max(1),
        Cost::Heavy => (all / HEAVY_SHARE).max(1),
    }
}

impl Admission {
    /// `all` slots for each class (fewer for heavy requests), and at most `max_waiting` requests in the queue;
    /// `waiting` is their current number.
    pub(crate) fn new(all: usize, max_waiting: usize, waiting: Arc<AtomicUsize>) -> Self {
        let places = Cost::ALL.map(|cost| Arc::new(Semaphore::new(places(cost, all))));
        Admission { places, waiting, max_waiting }
    }

    /// Waits for a slot.
    ///
    /// # Errors
    /// 503 `overloaded`: the queue is full, or no slot became free within `limit`.
    pub(crate) async fn enter(&self, cost: Cost, limit: Duration) -> Result<OwnedSemaphorePermit, ApiError> {
        let overloaded =
            |detail: &str| ApiError::unavailable(ErrorCode::Overloaded, format!("{detail}; try again in a moment"), 1);
        let [light, standard, heavy] = &self.places;
        let places = match cost {
            Cost::Light => light,
            Cost::Standard => standard,
            Cost::Heavy => heavy,
        };
        if let Ok(permit) = Arc::clone(places).try_acquire_owned() {
            return Ok(permit);
        }
        let _waits = Waits::begin(self).ok_or_else(|| overloaded("too many requests are waiting"))?;
        match timeout(limit, Arc::clone(places).acquire_owned()).await {
            Ok(Ok(permit)) => Ok(permit),
            Ok(Err(_)) | Err(_) => Err(overloaded("too many requests are running")),
        }
    }
}

/// A request in the queue. It leaves when this is dropped, also if its client disconnects.
struct Waits<'a>(&'a AtomicUsize);

impl<'a> Waits<'a> {
    fn begin(admission: &'a Admission) -> Option<Self> {
        let waits = Waits(&admission.waiting);
        let before = admission.waiting.fetch_add(1, Ordering::Relaxed);
        // Dropping it frees the slot.
        (before < admission.max_waiting).then_some(waits)
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const SOON: Duration = Duration::from_millis(20);

    #[tokio::test]
    async fn classes_do_not_keep_each_other_waiting() {
        let admission = Admission::new(8, 10, Arc::default());
        let first = admission.enter(Cost::Heavy, SOON).await.unwrap();
        let _second = admission.enter(Cost::Heavy, SOON).await.unwrap();
        assert_eq!(admission.enter(Cost::Heavy, SOON).await.unwrap_err().code, "overloaded");
        assert!(
            admission.enter(Cost::Standard, SOON).await.is_ok() && admission.enter(Cost::Light, SOON).await.is_ok()
        );
        drop(first);
        assert!(admission.enter(Cost::Heavy, SOON).await.is_ok());
        assert_eq!(admission.waiting.load(Ordering::Relaxed), 0);
    }

    #[tokio::test]
    async fn a_full_queue_sends_away_at_once() {
        let admission = Arc::new(Admission::new(1, 1, Arc::default()));
        let held = admission.enter(Cost::Standard, SOON).await.unwrap();
        let other = Arc::clone(&admission);
        let waiting = tokio::spawn(async move { other.enter(Cost::Standard, Duration::from_secs(5)).await.map(drop) });
        while admission.waiting.load(Ordering::Relaxed) == 0 {
            tokio::task::yield_now().await;
        }
        let error = admission.enter(Cost::Standard, Duration::from_secs(60)).await.unwrap_err();
        assert_eq!((error.status.as_u16(), error.retry_after), (503, Some(1)));
        drop(held);
        waiting.await.unwrap().unwrap();
        // A client that goes away leaves the queue.
        let _held = admission.enter(Cost::Standard, SOON).await.unwrap();
        let gone = timeout(SOON, admission.enter(Cost::Standard, Duration::from_secs(60))).await;
        assert!(gone.is_err() && admission.waiting.load(Ordering::Relaxed) == 0);
    }
}
