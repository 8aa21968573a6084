//! Limits the number of requests that run at the same time. Each cost class has its own places, so heavy requests never
//! delay light ones. A place that becomes free goes to the client that has the fewest in use: one client alone may use
//! all, two share them. If too many requests wait, the client with most of them in the queue loses its newest.

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use tokio::{sync::oneshot, time::timeout};

use crate::{
    answers::{code::ErrorCode, error::ApiError},
    contract::cost::Cost,
    limits::client::{Client, Lineage},
};

/// The places of each class.
pub(crate) struct Admission {
    classes: [Arc<Class>; 3],
    waiting: Arc<AtomicUsize>,
    max_waiting: usize,
    /// Requests that wait for other programs without a place.
    outside: Arc<AtomicUsize>,
}

/// Heavy requests get this fraction of the places.
const HEAVY_SHARE: usize = 4;

/// Places of a class, where `all` is the number of places of the other classes.
pub(crate) fn places(cost: Cost, all: usize) -> usize {
    match cost {
        Cost::Light | Cost::Standard => all.max(1),
        Cost::Heavy => (all / HEAVY_SHARE).max(1),
    }
}

struct Class {
    places: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    taken: usize,
    /// Places in use, by level and network.
    running: HashMap<(usize, Option<IpAddr>), usize>,
    /// By order of arrival.
    queue: BTreeMap<u64, Waiter>,
    arrived: u64,
}

struct Waiter {
    who: Lineage,
    admit: oneshot::Sender<Permit>,
}

impl State {
    fn take(&mut self, who: Lineage) {
        self.taken += 1;
        for level in who.into_iter().enumerate() {
            *self.running.entry(level).or_default() += 1;
        }
    }

    fn give_back(&mut self, who: Lineage) {
        self.taken -= 1;
        for level in who.into_iter().enumerate() {
            if let Some(count) = self.running.get_mut(&level) {
                *count -= 1;
                if *count == 0 {
                    self.running.remove(&level);
                }
            }
        }
    }

    /// Places in use of each network, the largest network first.
    fn load(&self, who: Lineage) -> [usize; 3] {
        let mut load = [0; 3];
        for (level, count) in load.iter_mut().enumerate() {
            *count = self.running.get(&(level, who[level])).copied().unwrap_or_default();
        }
        load
    }

    /// Places in use of the client's site: its IPv4 address, or its /48.
    fn of_site(&self, who: Lineage) -> usize {
        let [_, site, _] = self.load(who);
        site
    }

    /// Removes and returns the next request: that of the client whose networks have the fewest places; of equals, the
    /// first.
    fn next(&mut self) -> Option<Waiter> {
        let number = self.queue.iter().min_by_key(|(_, waiter)| self.load(waiter.who)).map(|(number, _)| *number)?;
        self.queue.remove(&number)
    }

    /// The newest request of the client that waits with most, if it waits with more than `who` would.
    fn newest_of_most(&self, who: Lineage) -> Option<u64> {
        let mut counts: HashMap<Lineage, (usize, u64)> = HashMap::new();
        for (number, waiter) in &self.queue {
            let (count, newest) = counts.entry(waiter.who).or_default();
            (*count, *newest) = (*count + 1, *number);
        }
        let own = counts.get(&who).map_or(0, |(count, _)| *count);
        let (count, newest) = counts.into_values().max()?;
        (count > own + 1).then_some(newest)
    }
}

impl Class {
    /// Gives free places to those that wait.
    fn fill(self: &Arc<Self>) {
        loop {
            let (waiter, permit) = {
                let mut state = self.state.lock();
                if state.taken >= self.places {
                    return;
                }
                let Some(waiter) = state.next() else { return };
                state.take(waiter.who);
                let (who, beside) = (waiter.who, state.of_site(waiter.who));
                (waiter, Permit { class: Arc::clone(self), who, beside, is_filled: false })
            };
            // A client that has gone gives it back at once, and the next one is looked for.
            if let Err(mut permit) = waiter.admit.send(permit) {
                permit.is_filled = true;
            }
        }
    }
}

/// A place. It becomes free when this is dropped.
pub(crate) struct Permit {
    class: Arc<Class>,
    who: Lineage,
    /// Places that its site had, with this one, when it got it.
    beside: usize,
    /// True if somebody else looks for the next request.
    is_filled: bool,
}

impl fmt::Debug for Permit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit").field("who", &self.who).finish_non_exhaustive()
    }
}

impl Permit {
    /// How many requests its site had at the same time when it began, with this one.
    pub(crate) fn beside(&self) -> usize {
        self.beside
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.class.state.lock().give_back(self.who);
        if !self.is_filled {
            self.class.fill();
        }
    }
}

impl Admission {
    /// `all` places for each class (fewer for heavy requests), and at most `max_waiting` requests in the queue;
    /// `waiting` is their current number.
    pub(crate) fn new(all: usize, max_waiting: usize, waiting: Arc<AtomicUsize>) -> Self {
        let class = |cost| Arc::new(Class { places: places(cost, all), state: Mutex::default() });
        Admission { classes: Cost::ALL.map(class), waiting, max_waiting, outside: Arc::default() }
    }

    /// The number of requests that wait for other programs without a place.
    pub(crate) fn outside(&self) -> &Arc<AtomicUsize> {
        &self.outside
    }

    /// Waits for a place.
    ///
    /// # Errors
    /// Returns 503 `overloaded` if the queue is full, or if no place became free within `limit`.
    pub(crate) async fn enter(&self, cost: Cost, client: Option<&Client>, limit: Duration) -> Result<Permit, ApiError> {
        let overloaded =
            |detail: &str| ApiError::unavailable(ErrorCode::Overloaded, format!("{detail}; try again in a moment"), 1);
        let [light, standard, heavy] = &self.classes;
        let class = match cost {
            Cost::Light => light,
            Cost::Standard => standard,
            Cost::Heavy => heavy,
        };
        let who = client.map_or([None; 3], Client::lineage);
        let (admit, admitted) = oneshot::channel();
        let number = {
            let mut state = class.state.lock();
            if state.taken < class.places && state.queue.is_empty() {
                state.take(who);
                let beside = state.of_site(who);
                drop(state);
                return Ok(Permit { class: Arc::clone(class), who, beside, is_filled: false });
            }
            if self.waiting.fetch_add(1, Ordering::Relaxed) >= self.max_waiting {
                let Some(newest) = state.newest_of_most(who) else {
                    self.waiting.fetch_sub(1, Ordering::Relaxed);
                    return Err(overloaded("too many requests are waiting"));
                };
                // Dropping its sender fails that request as overloaded.
                state.queue.remove(&newest);
            }
            let number = state.arrived;
            state.arrived += 1;
            state.queue.insert(number, Waiter { who, admit });
            number
        };
        let _waits = QueuedRequest { class, number, waiting: &self.waiting };
        match timeout(limit, admitted).await {
            Ok(Ok(permit)) => Ok(permit),
            Ok(Err(_)) => Err(overloaded("too many requests are waiting")),
            Err(_) => Err(overloaded("too many requests are running")),
        }
    }
}

/// A request in the queue. It leaves when this is dropped, also if its client disconnects.
struct QueuedRequest<'a> {
    class: &'a Class,
    number: u64,
    waiting: &'a AtomicUsize,
}

impl Drop for QueuedRequest<'_> {
    fn drop(&mut self) {
        self.class.state.lock().queue.remove(&self.number);
        self.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_millis(20);
    const LONG: Duration = Duration::from_secs(60);

    fn client(ip: &str) -> Client {
        Client::at(ip.parse().unwrap())
    }

    #[tokio::test]
    async fn classes_do_not_keep_each_other_waiting() {
        let admission = Admission::new(8, 10, Arc::default());
        let first = admission.enter(Cost::Heavy, None, SOON).await.unwrap();
        let _second = admission.enter(Cost::Heavy, None, SOON).await.unwrap();
        assert_eq!(admission.enter(Cost::Heavy, None, SOON).await.map(drop).unwrap_err().code, "overloaded");
        let _standard = admission.enter(Cost::Standard, None, SOON).await.unwrap();
        let _light = admission.enter(Cost::Light, None, SOON).await.unwrap();
        drop(first);
        assert!(admission.enter(Cost::Heavy, None, SOON).await.is_ok());
        assert_eq!(admission.waiting.load(Ordering::Relaxed), 0);
    }

    #[tokio::test]
    async fn a_full_queue_sends_away_at_once() {
        let admission = Arc::new(Admission::new(1, 1, Arc::default()));
        let held = admission.enter(Cost::Standard, None, SOON).await.unwrap();
        let other = Arc::clone(&admission);
        let waiting = tokio::spawn(async move { other.enter(Cost::Standard, None, LONG).await.map(drop) });
        while admission.waiting.load(Ordering::Relaxed) == 0 {
            tokio::task::yield_now().await;
        }
        let error = admission.enter(Cost::Standard, None, LONG).await.map(drop).unwrap_err();
        assert_eq!((error.status.as_u16(), error.retry_after), (503, Some(1)));
        drop(held);
        waiting.await.unwrap().unwrap();
        // A client that goes away leaves the queue.
        let _held = admission.enter(Cost::Standard, None, SOON).await.unwrap();
        let gone = timeout(SOON, admission.enter(Cost::Standard, None, LONG)).await;
        assert!(gone.is_err() && admission.waiting.load(Ordering::Relaxed) == 0);
        assert!(admission.classes[1].state.lock().queue.is_empty());
    }

    /// Requests that each client keeps running until all have been served: how many places each had.
    async fn shares(clients: &[(&str, usize)], places: usize) -> Vec<usize> {
        let admission = Arc::new(Admission::new(places, 10_000, Arc::default()));
        let (done, mut served) = tokio::sync::mpsc::unbounded_channel();
        let mut number = 0;
        // They come one client after the other, each with all its requests.
        for (at, (ip, requests)) in clients.iter().enumerate() {
            for _ in 0..*requests {
                let (admission, done, client) = (Arc::clone(&admission), done.clone(), client(ip));
                tokio::spawn(async move {
                    let permit = admission.enter(Cost::Light, Some(&client), LONG).await.unwrap();
                    done.send((at, permit)).ok();
                });
                tokio::task::yield_now().await;
                number += 1;
            }
        }
        // The first requests got all places, so counting begins after that.
        let mut held = std::collections::VecDeque::new();
        let mut counts = vec![0; clients.len()];
        for turn in 0..number {
            let (at, permit) = served.recv().await.unwrap();
            held.push_back(permit);
            if held.len() == places {
                held.pop_front();
            }
            if (places * 2..places * 12).contains(&turn) {
                counts[at] += 1;
            }
        }
        counts
    }

    #[tokio::test]
    async fn one_client_alone_has_all_and_two_share() {
        assert_eq!(shares(&[("192.0.2.1", 200)], 8).await, [80]);
        let two = shares(&[("192.0.2.1", 200), ("192.0.2.2", 200)], 8).await;
        assert!(two.iter().all(|count| (36..=44).contains(count)), "{two:?}");
        // Clients of one network share its places.
        let networks = [("2001:db8:1:1::1", 200), ("2001:db8:1:2::1", 200), ("2001:db9::1", 200)];
        let three = shares(&networks, 8).await;
        assert!((36..=44).contains(&three[2]) && (16..=24).contains(&three[0]), "{three:?}");
    }

    #[tokio::test]
    async fn whoever_waits_with_most_makes_room() {
        let admission = Arc::new(Admission::new(1, 3, Arc::default()));
        let held = admission.enter(Cost::Light, Some(&client("192.0.2.1")), SOON).await.unwrap();
        let enter = |ip: &'static str| {
            let admission = Arc::clone(&admission);
            tokio::spawn(async move { admission.enter(Cost::Light, Some(&client(ip)), LONG).await.map(drop) })
        };
        let mut greedy = Vec::new();
        for waiting in 1..=3 {
            greedy.push(enter("192.0.2.1"));
            while admission.waiting.load(Ordering::Relaxed) < waiting {
                tokio::task::yield_now().await;
            }
        }
        let other = enter("192.0.2.2");
        let newest = greedy.pop().unwrap().await.unwrap();
        assert_eq!(newest.unwrap_err().code, "overloaded");
        drop(held);
        other.await.unwrap().unwrap();
        for waited in greedy {
            waited.await.unwrap().unwrap();
        }
        assert_eq!(admission.waiting.load(Ordering::Relaxed), 0);
    }
}
