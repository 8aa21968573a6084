//! Places for streams that stay open, shared fairly between networks.

use std::{collections::HashMap, net::IpAddr, time::Instant};

use parking_lot::Mutex;
use uuid::Uuid;

/// The open streams, each with the value that holds it: dropping that ends the stream. If there is no place left, a
/// client whose network has fewer streams than another takes the place of one of the other's. So one client may use its
/// whole share, and nobody is shut out by others.
pub struct StreamSlots<H> {
    /// `None` once all have ended for good.
    open: Mutex<Option<HashMap<Uuid, StreamSlot<H>>>>,
}

impl<H> Default for StreamSlots<H> {
    fn default() -> Self {
        StreamSlots { open: Mutex::new(Some(HashMap::new())) }
    }
}

impl<H> std::fmt::Debug for StreamSlots<H> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StreamSlots").field("open", &self.with(|open| open.len())).finish()
    }
}

struct StreamSlot<H> {
    held: H,
    client: Option<IpAddr>,
    /// When it was opened, or last used.
    used: Instant,
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

impl<H> StreamSlots<H> {
    fn with<T: Default>(&self, work: impl FnOnce(&mut HashMap<Uuid, StreamSlot<H>>) -> T) -> T {
        self.open.lock().as_mut().map(work).unwrap_or_default()
    }

    /// Adds a stream, if there is a place: at most `max` in all and `max_per_client` for a client.
    pub fn add(&self, id: Uuid, held: H, client: Option<IpAddr>, [max, max_per_client]: [usize; 2]) -> bool {
        self.with(|open| {
            let of_client = open.values().filter(|place| client.is_some() && place.client == client).count();
            if of_client >= max_per_client {
                return false;
            }
            if open.len() >= max {
                // Its holder is dropped, which ends the stream.
                let Some(victim) = victim(open, client) else { return false };
                open.remove(&victim);
            }
            open.insert(id, StreamSlot { held, client, used: Instant::now() });
            true
        })
    }

    /// Marks the holder of a stream as used now; `None` if the stream has ended.
    pub fn touch(&self, id: &Uuid) -> Option<H>
    where
        H: Clone,
    {
        self.with(|open| {
            let place = open.get_mut(id)?;
            place.used = Instant::now();
            Some(place.held.clone())
        })
    }

    /// Frees the place of a stream.
    pub fn remove(&self, id: &Uuid) {
        self.with(|open| drop(open.remove(id)));
    }

    /// Ends all streams; there are no places from then on.
    pub fn close(&self) {
        *self.open.lock() = None;
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.with(|open| open.len())
    }
}

/// Finds the stream that makes room for one of `client`: in the network with the most streams, if it has at least two
/// more than the client's own network. With one more, the two networks would take the place from each other in turn.
fn victim<H>(open: &HashMap<Uuid, StreamSlot<H>>, client: Option<IpAddr>) -> Option<Uuid> {
    let own = networks(client);
    let mut within: Vec<(Networks, Uuid, Instant)> =
        open.iter().map(|(id, place)| (networks(place.client), *id, place.used)).collect();
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
    use std::time::Duration;

    use super::*;

    const MAX: usize = 256;
    const PER_CLIENT: usize = 32;

    fn open(places: &StreamSlots<()>, client: &str) -> bool {
        places.add(Uuid::now_v7(), (), Some(client.parse().unwrap()), [MAX, PER_CLIENT])
    }

    fn count(places: &StreamSlots<()>, is: impl Fn(&str) -> bool) -> usize {
        places.with(|open| open.values().filter(|place| is(&place.client.unwrap().to_string())).count())
    }

    #[test]
    fn eight_clients_do_not_shut_out_others() {
        let places = StreamSlots::default();
        for client in 0..8 {
            for _ in 0..PER_CLIENT {
                assert!(open(&places, &format!("192.0.2.{client}")));
            }
            assert!(!open(&places, &format!("192.0.2.{client}")), "one client has only its share");
        }
        for other in 1..=28 {
            assert!(open(&places, "198.51.100.1"), "{other}");
        }
        assert_eq!(places.count(), MAX);
        assert!((28..=29).contains(&count(&places, |ip| ip == "198.51.100.1")));
        assert!((0..8).all(|client| count(&places, |ip| ip == format!("192.0.2.{client}")) >= 28));
        // With equal shares nobody takes from anybody.
        let before = count(&places, |ip| ip == "198.51.100.1");
        for _ in 0..10 {
            open(&places, "198.51.100.1");
        }
        assert!(count(&places, |ip| ip == "198.51.100.1") <= before + 1);
        places.close();
        assert_eq!(places.count(), 0);
        assert!(!open(&places, "198.51.100.2"));
    }

    #[test]
    fn a_wide_network_is_one_of_many() {
        let places = StreamSlots::default();
        // A /32 with 65 536 networks of 48 bits, and a /48 with as many of 64.
        for at in 0..MAX {
            assert!(open(&places, &format!("2001:db8:{at:x}:1::")));
        }
        for _ in 0..20 {
            assert!(open(&places, "2a00:1:1:1::"));
        }
        assert_eq!(count(&places, |ip| ip.starts_with("2a00")), 20);
        // Within the wide network, its parts share in turn.
        for _ in 0..5 {
            open(&places, "2001:db8:0:1::");
        }
        assert_eq!(count(&places, |ip| ip == "2001:db8:0:1::"), 1);
        assert_eq!(places.count(), MAX);
    }

    #[test]
    fn the_stream_that_was_silent_longest_ends() {
        let places = StreamSlots::default();
        for _ in 0..8 {
            for client in 0..32 {
                assert!(open(&places, &format!("192.0.2.{client}")));
            }
        }
        // All have as many; of the network that is taken from, one stream was silent while the others were used.
        let before = places.with(|open| open.keys().copied().collect::<Vec<_>>());
        let silent = places.with(|open| {
            let soon = Instant::now() + Duration::from_secs(1);
            let mut silent = HashMap::new();
            for (id, place) in open.iter_mut() {
                // The first of each client stays as it was.
                if *silent.entry(place.client).or_insert(*id) != *id {
                    place.used = soon;
                }
            }
            silent
        });
        assert!(open(&places, "198.51.100.1"));
        let gone: Vec<Uuid> = places.with(|open| before.iter().filter(|id| !open.contains_key(id)).copied().collect());
        assert!(gone.len() == 1 && silent.values().any(|id| *id == gone[0]));
    }
}
