//! The place of an admitted request. A request that waits for another program gives it back meanwhile: a facilitator or
//! a Lightning node that hangs would otherwise take the places of all requests.

use std::{
    cell::RefCell,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::runtime::Handle;

use super::{
    admission::{Admission, Permit},
    client::Client,
};
use crate::{answers::error::ApiError, contract::cost::Cost};

/// Requests that wait for other programs without a place. Further ones keep their places: each needs a thread.
const MAX_OUTSIDE: usize = 64;

/// A request that was admitted. It has its place until its work ends, even if the client has disconnected.
pub(crate) struct Admitted<'a> {
    admission: &'a Admission,
    cost: Cost,
    client: Option<Client>,
    held: RefCell<Held>,
}

/// The place of a request that runs, or its count while it waits for another program.
struct Held {
    place: Option<Permit>,
    _outside: Option<Outside>,
}

/// Counts a request that waits without a place.
struct Outside(Arc<AtomicUsize>);

impl Outside {
    /// Counts one more; `None` if too many wait already.
    fn enter(count: &Arc<AtomicUsize>) -> Option<Self> {
        let more = |count| (count < MAX_OUTSIDE).then_some(count + 1);
        count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok().map(|_| Outside(Arc::clone(count)))
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl fmt::Debug for Admitted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Admitted").field("cost", &self.cost).finish_non_exhaustive()
    }
}

impl<'a> Admitted<'a> {
    /// A request that has this place.
    pub(crate) fn new(admission: &'a Admission, cost: Cost, client: Option<Client>, permit: Permit) -> Self {
        Admitted { admission, cost, client, held: RefCell::new(Held { place: Some(permit), _outside: None }) }
    }

    /// Gives the place back before a wait for another program. Too many that wait keep theirs.
    pub(crate) fn give_back(&self) {
        let mut held = self.held.borrow_mut();
        if held.place.is_some()
            && let Some(outside) = Outside::enter(self.admission.outside())
        {
            *held = Held { place: None, _outside: Some(outside) };
        }
    }

    /// Waits for a place after [`Admitted::give_back`]. Does nothing if the request has its place.
    ///
    /// # Errors
    /// Returns 503 `overloaded` if no place became free within `limit`.
    pub(crate) fn enter_again(&self, runtime: &Handle, limit: Duration) -> Result<(), ApiError> {
        if self.held.borrow().place.is_some() {
            return Ok(());
        }
        let permit = runtime.block_on(self.admission.enter(self.cost, self.client.as_ref(), limit))?;
        *self.held.borrow_mut() = Held { place: Some(permit), _outside: None };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_millis(20);

    #[tokio::test(flavor = "multi_thread")]
    async fn a_place_is_free_for_others_while_its_request_waits() {
        let admission = Arc::new(Admission::new(1, 10, Arc::default()));
        let permit = admission.enter(Cost::Standard, None, SOON).await.unwrap();
        let runtime = Handle::current();
        let waits = tokio::task::spawn_blocking(move || {
            let admitted = Admitted::new(&admission, Cost::Standard, None, permit);
            let enter = || runtime.block_on(admission.enter(Cost::Standard, None, SOON));
            assert!(admitted.enter_again(&runtime, SOON).is_ok(), "it has its place");
            assert!(enter().is_err());
            admitted.give_back();
            let other = enter().unwrap();
            admitted.give_back();
            assert_eq!(admitted.enter_again(&runtime, SOON).unwrap_err().code, "overloaded");
            assert_eq!(admission.outside().load(Ordering::Relaxed), 1, "it waits still");
            drop(other);
            admitted.enter_again(&runtime, SOON).unwrap();
            assert_eq!(admission.outside().load(Ordering::Relaxed), 0);
            assert!(enter().is_err());
            drop(admitted);
            assert!(enter().is_ok());
        });
        waits.await.unwrap();
    }

    #[tokio::test]
    async fn few_wait_without_a_place() {
        let admission = Admission::new(MAX_OUTSIDE + 1, 10, Arc::default());
        let mut all = Vec::new();
        for _ in 0..=MAX_OUTSIDE {
            let permit = admission.enter(Cost::Light, None, SOON).await.unwrap();
            all.push(Admitted::new(&admission, Cost::Light, None, permit));
        }
        all.iter().for_each(Admitted::give_back);
        assert_eq!(admission.outside().load(Ordering::Relaxed), MAX_OUTSIDE);
        assert!(all[MAX_OUTSIDE].held.borrow().place.is_some());
        drop(all);
        assert_eq!(admission.outside().load(Ordering::Relaxed), 0);
    }
}
