//! Memory of bodies and answers on their way: one number bounds all of them, and clients share it. Small ones are not
//! counted: as many as there may be connections and places take little.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use cairn_work::Memory;
use parking_lot::Mutex;

use crate::{
    answers::error::{ApiError, no_room},
    limits::client::{Client, Lineage},
};

/// Bytes of all bodies and answers.
const ALL: u64 = 40 << 20;
/// Smaller sizes are not counted.
pub(crate) const SMALL: u64 = 64 << 10;

/// The memory that bodies and answers share.
pub(crate) struct FlightMemory {
    all: u64,
    taken: Mutex<ReservedBytes>,
}

#[derive(Default)]
struct ReservedBytes {
    all: u64,
    /// By level and network. No more than three for each share.
    by_network: HashMap<(usize, IpAddr), u64>,
}

impl FlightMemory {
    pub(crate) fn new() -> Arc<Self> {
        FlightMemory::of(ALL)
    }

    fn of(all: u64) -> Arc<Self> {
        Arc::new(FlightMemory { all, taken: Mutex::default() })
    }

    /// A share of nothing, which may grow.
    pub(crate) fn share(self: &Arc<Self>, client: Option<&Client>) -> Share {
        let who = client.map_or([None; 3], Client::lineage);
        Share { memory: Arc::clone(self), who, bytes: AtomicU64::new(0) }
    }
}

/// The memory of one body or answer; dropping it gives it back.
pub(crate) struct Share {
    memory: Arc<FlightMemory>,
    who: Lineage,
    /// Changed only while the memory is locked.
    bytes: AtomicU64,
}

impl Share {
    /// Reserves at least this many bytes. False if they are not available: all are taken; or the client, or one of its
    /// networks, would leave fewer bytes free than its other shares have. So one share may take all, and several leave
    /// room for others.
    pub(crate) fn grow(&self, bytes: u64) -> bool {
        let own = self.bytes.load(Ordering::Relaxed);
        let more = bytes.saturating_sub(own);
        if more == 0 {
            return true;
        }
        let mut taken = self.memory.taken.lock();
        let Some(left) = self.memory.all.checked_sub(taken.all + more) else { return false };
        let networks = || self.who.into_iter().enumerate().filter_map(|(level, network)| Some((level, network?)));
        if networks().any(|key| taken.by_network.get(&key).copied().unwrap_or_default() - own > left) {
            return false;
        }
        for key in networks() {
            *taken.by_network.entry(key).or_default() += more;
        }
        taken.all += more;
        self.bytes.store(bytes, Ordering::Relaxed);
        true
    }

    /// As [`Share::grow`].
    ///
    /// # Errors
    /// Returns 503 `overloaded`.
    pub(crate) fn hold(&self, bytes: u64) -> Result<(), ApiError> {
        if self.grow(bytes) { Ok(()) } else { Err(no_room()) }
    }
}

impl Memory for Share {
    fn hold(&self, bytes: u64) -> bool {
        self.grow(bytes)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let own = self.bytes.load(Ordering::Relaxed);
        if own == 0 {
            return;
        }
        let mut taken = self.memory.taken.lock();
        taken.all = taken.all.saturating_sub(own);
        for (level, network) in self.who.into_iter().enumerate() {
            let Some(key) = network.map(|network| (level, network)) else { continue };
            if let Some(bytes) = taken.by_network.get_mut(&key) {
                *bytes = bytes.saturating_sub(own);
                if *bytes == 0 {
                    taken.by_network.remove(&key);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(text: &str) -> Client {
        Client::at(text.parse().unwrap())
    }

    #[test]
    fn one_answer_may_take_all_and_gives_it_back() {
        let memory = FlightMemory::of(100);
        let share = memory.share(Some(&client("192.0.2.1")));
        assert!(share.grow(60) && share.grow(100) && share.grow(10) && !share.grow(101));
        assert!(!memory.share(None).grow(1));
        drop(share);
        assert!(memory.share(None).grow(100));
        assert!(memory.taken.lock().all == 0 && memory.taken.lock().by_network.is_empty());
    }

    #[test]
    fn many_answers_of_one_client_leave_room_for_others() {
        let memory = FlightMemory::of(100);
        let greedy: Vec<Share> = (0..100).map(|_| memory.share(Some(&client("192.0.2.1")))).collect();
        let taken = greedy.iter().filter(|share| share.grow(1)).count();
        assert_eq!(taken, 50);
        let other = memory.share(Some(&client("192.0.2.2")));
        assert!(other.grow(50));
        assert!(!memory.share(None).grow(1));
    }

    #[test]
    fn networks_of_a_provider_count_together() {
        let memory = FlightMemory::of(100);
        let shares: Vec<Share> =
            (0..100).map(|n| memory.share(Some(&client(&format!("2001:db8:1:{n:x}::1"))))).collect();
        let taken = shares.iter().filter(|share| share.grow(1)).count();
        assert_eq!(taken, 50);
        assert!(memory.share(Some(&client("2001:db9::1"))).grow(50));
    }
}
