//! The open streams of the old transport, shared fairly between networks.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use tokio::sync::mpsc::Sender;
use uuid::Uuid;

/// The open streams. If there is no place left, a client whose network has fewer streams than another takes the place of
/// one of the other's: so one client may use its whole share, and nobody is shut out by others.
#[derive(Default)]
pub(crate) struct Streams {
    open: Mutex<HashMap<Uuid, StreamEntry>>,
}

/// Maximum size of the unread answers of a stream in bytes. The first one may be longer.
const MAX_UNREAD: usize = 1 << 20;

/// An answer that nobody has read yet. It counts for its stream until it is dropped.
pub(crate) struct Unread {
    pub(crate) text: String,
    counted: Arc<AtomicUsize>,
}

impl Unread {
    /// Counts an answer, if there is room for it.
    fn count(text: String, counted: &Arc<AtomicUsize>) -> Option<Self> {
        let before = counted.fetch_add(text.len(), Ordering::Relaxed);
        let unread = Unread { text, counted: Arc::clone(counted) };
        // Dropping it takes it off.
        (before == 0 || before.saturating_add(unread.text.len()) <= MAX_UNREAD).then_some(unread)
    }
}

impl Drop for Unread {
    fn drop(&mut self) {
        self.counted.fetch_sub(self.text.len(), Ordering::Relaxed);
    }
}

/// Where the answers of a stream go.
#[derive(Clone)]
pub(crate) struct Outlet {
    pub(crate) sender: Sender<Unread>,
    unread: Arc<AtomicUsize>,
}

impl Outlet {
    pub(crate) fn new(sender: Sender<Unread>) -> Self {
        Outlet { sender, unread: Arc::default() }
    }

    /// An answer to send; `None` if too much is unread.
    pub(crate) fn count(&self, text: String) -> Option<Unread> {
        Unread::count(text, &self.unread)
    }
}

/// An open stream.
pub(crate) struct StreamEntry {
    pub(crate) outlet: Outlet,
    pub(crate) client: Option<IpAddr>,
    /// When it was opened, or the last message came.
    pub(crate) used: Instant,
}

/// The networks of a client, the widest first: /32, /48 and /64 of IPv6; an IPv4 address is its own network.
type Networks = [u128; 3];

fn networks(client: Option<IpAddr>) -> Networks {
    match client {
        None => [0; 3],
        Some(IpAddr::V4(ip)) => [u128::from(ip.to_ipv6_mapped()); 3],
        Some(IpAddr::V6(ip)) => [32, 48, 64].map(|bits| u128::from(ip) >> (128 - bits) << (128 - bits)),
    }
}

impl Streams {
    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut HashMap<Uuid, StreamEntry>) -> T) -> T {
        work(&mut self.open.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Where the answers of a stream go, for a message that has come.
    pub(crate) fn outlet(&self, id: &Uuid) -> Option<Outlet> {
        self.with(|open| {
            let entry = open.get_mut(id)?;
            entry.used = Instant::now();
            Some(entry.outlet.clone())
        })
    }

    /// Adds a stream, if there is a place: at most `max` in all and `max_per_client` for a client.
    pub(crate) fn add(&self, id: Uuid, entry: StreamEntry, max: usize, max_per_client: usize) -> bool {
        self.with(|open| {
            let client = entry.client;
            let of_client = open.values().filter(|entry| client.is_some() && entry.client == client).count();
            if of_client >= max_per_client {
                return false;
            }
            if open.len() >= max {
                // Its sender is dropped, which ends the stream.
                let Some(victim) = victim(open, client) else { return false };
                open.remove(&victim);
            }
            open.insert(id, entry);
            true
        })
    }
}

/// The stream that makes room for one of `client`: in the network with the most streams, if that has at least two more
/// than the client's own network, so that the two do not take the place from each other in turn.
fn victim(open: &HashMap<Uuid, StreamEntry>, client: Option<IpAddr>) -> Option<Uuid> {
    let own = networks(client);
    let mut within: Vec<(Networks, Uuid, Instant)> =
        open.iter().map(|(id, entry)| (networks(entry.client), *id, entry.used)).collect();
    for level in 0..3 {
        let largest = largest(&within, level)?;
        let count = |network: u128| within.iter().filter(|(of, ..)| of[level] == network).count();
        if largest != own[level] && count(largest) >= count(own[level]) + 2 {
            // From here on it is only asked who of the others uses most.
            for level in level..3 {
                let largest = self::largest(&within, level)?;
                within.retain(|(of, ..)| of[level] == largest);
            }
            return within.into_iter().min_by_key(|(_, id, used)| (*used, *id)).map(|(_, id, _)| id);
        }
        within.retain(|(of, ..)| of[level] == own[level]);
    }
    None
}

/// The network with the most streams.
fn largest(streams: &[(Networks, Uuid, Instant)], level: usize) -> Option<u128> {
    let mut counts: HashMap<u128, usize> = HashMap::new();
    for (of, ..) in streams {
        *counts.entry(of[level]).or_default() += 1;
    }
    counts.into_iter().max_by_key(|(network, count)| (*count, *network)).map(|(network, _)| network)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::time::Duration;

    use super::*;

    const MAX: usize = 256;
    const PER_CLIENT: usize = 32;

    fn open(streams: &Streams, client: &str) -> bool {
        let (sender, _) = tokio::sync::mpsc::channel(1);
        let entry =
            StreamEntry { outlet: Outlet::new(sender), client: Some(client.parse().unwrap()), used: Instant::now() };
        streams.add(Uuid::new_v4(), entry, MAX, PER_CLIENT)
    }

    fn count(streams: &Streams, is: impl Fn(&str) -> bool) -> usize {
        streams.with(|open| open.values().filter(|entry| is(&entry.client.unwrap().to_string())).count())
    }

    #[test]
    fn unread_answers_are_bounded() {
        let (sender, _receiver) = tokio::sync::mpsc::channel(4);
        let outlet = Outlet::new(sender);
        let first = outlet.count("x".repeat(2 * MAX_UNREAD)).unwrap();
        assert!(outlet.count("x".to_owned()).is_none());
        drop(first);
        let half = outlet.count("x".repeat(MAX_UNREAD / 2)).unwrap();
        let other = outlet.count("x".repeat(MAX_UNREAD / 2)).unwrap();
        assert!(outlet.count("x".to_owned()).is_none());
        drop((half, other));
        assert_eq!(outlet.unread.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn eight_clients_do_not_shut_out_others() {
        let streams = Streams::default();
        for client in 0..8 {
            for _ in 0..PER_CLIENT {
                assert!(open(&streams, &format!("192.0.2.{client}")));
            }
            assert!(!open(&streams, &format!("192.0.2.{client}")), "one client has only its share");
        }
        for other in 1..=28 {
            assert!(open(&streams, "198.51.100.1"), "{other}");
        }
        assert_eq!(count(&streams, |_| true), MAX);
        assert!((28..=29).contains(&count(&streams, |ip| ip == "198.51.100.1")));
        assert!((0..8).all(|client| count(&streams, |ip| ip == format!("192.0.2.{client}")) >= 28));
        // With equal shares nobody takes from anybody.
        let before = count(&streams, |ip| ip == "198.51.100.1");
        for _ in 0..10 {
            open(&streams, "198.51.100.1");
        }
        assert!(count(&streams, |ip| ip == "198.51.100.1") <= before + 1);
    }

    #[test]
    fn a_wide_network_is_one_of_many() {
        let streams = Streams::default();
        // A /32 with 65 536 networks of 48 bits, and a /48 with as many of 64.
        for at in 0..MAX {
            assert!(open(&streams, &format!("2001:db8:{at:x}:1::")));
        }
        for _ in 0..20 {
            assert!(open(&streams, "2a00:1:1:1::"));
        }
        assert_eq!(count(&streams, |ip| ip.starts_with("2a00")), 20);
        // Within the wide network, its parts share in turn.
        for _ in 0..5 {
            open(&streams, "2001:db8:0:1::");
        }
        assert!(count(&streams, |ip| ip == "2001:db8:0:1::" || ip == "2001:db8:0:1:0:0:0:0") <= 2);
    }

    #[test]
    fn the_stream_that_was_silent_longest_ends() {
        let streams = Streams::default();
        for _ in 0..8 {
            for client in 0..32 {
                assert!(open(&streams, &format!("192.0.2.{client}")));
            }
        }
        // All have as many; of the network that is taken from, one stream was silent while the others were used.
        let before = streams.with(|open| open.keys().copied().collect::<Vec<_>>());
        let silent = streams.with(|open| {
            let soon = Instant::now() + Duration::from_secs(1);
            let mut silent = HashMap::new();
            for (id, entry) in open.iter_mut() {
                // The first of each client stays as it was.
                if *silent.entry(entry.client).or_insert(*id) != *id {
                    entry.used = soon;
                }
            }
            silent
        });
        assert!(open(&streams, "198.51.100.1"));
        let gone: Vec<Uuid> = streams.with(|open| before.iter().filter(|id| !open.contains_key(id)).copied().collect());
        assert!(gone.len() == 1 && silent.values().any(|id| *id == gone[0]));
    }
}
