//! Permits for connections: a limit in all, and one for each client. A client or network may also have no more than are
//! free: however many clients want all of them, each leaves as many free as it has itself.

use std::{collections::HashMap, net::IpAddr, sync::Arc};

use parking_lot::Mutex;

use crate::limits::client::{Client, Lineage};

/// Which limit has been reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ReachedLimit {
    /// That of the server.
    Server,
    /// That of the client, or of one of its networks.
    Client,
}

/// All permits. No more networks are remembered than three for each permit.
pub(crate) struct ConnectionPermits {
    all: usize,
    of_client: usize,
    taken: Mutex<ConnectionCounts>,
}

#[derive(Default)]
struct ConnectionCounts {
    all: usize,
    /// By level and network.
    by_network: HashMap<(usize, IpAddr), usize>,
}

impl ConnectionCounts {
    fn count(&self, level: usize, network: Option<IpAddr>) -> usize {
        network.and_then(|network| self.by_network.get(&(level, network))).copied().unwrap_or_default()
    }
}

/// The permit of one connection; dropping it gives it back.
pub(crate) struct ConnectionPermit {
    permits: Arc<ConnectionPermits>,
    who: Lineage,
}

impl ConnectionPermits {
    pub(crate) fn new(all: usize, of_client: usize) -> Arc<Self> {
        Arc::new(ConnectionPermits { all, of_client, taken: Mutex::default() })
    }

    fn with<T>(&self, work: impl FnOnce(&mut ConnectionCounts) -> T) -> T {
        work(&mut self.taken.lock())
    }

    /// Takes a permit, for a client if it counts for one.
    ///
    /// # Errors
    /// Returns the limit that has been reached.
    pub(crate) fn take(self: &Arc<Self>, client: Option<Client>) -> Result<ConnectionPermit, ReachedLimit> {
        let who = client.map_or([None; 3], |client| client.lineage());
        self.with(|taken| {
            let free = self.all.saturating_sub(taken.all);
            if free == 0 {
                return Err(ReachedLimit::Server);
            }
            let [.., itself] = who;
            let has_too_many = who.into_iter().enumerate().any(|(level, network)| taken.count(level, network) >= free);
            if has_too_many || taken.count(who.len() - 1, itself) >= self.of_client && itself.is_some() {
                return Err(ReachedLimit::Client);
            }
            for (level, network) in who.into_iter().enumerate() {
                if let Some(network) = network {
                    *taken.by_network.entry((level, network)).or_default() += 1;
                }
            }
            taken.all += 1;
            Ok(())
        })?;
        Ok(ConnectionPermit { permits: Arc::clone(self), who })
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        self.permits.with(|taken| {
            taken.all = taken.all.saturating_sub(1);
            for (level, network) in self.who.into_iter().enumerate() {
                let Some(key) = network.map(|network| (level, network)) else { continue };
                if let Some(count) = taken.by_network.get_mut(&key) {
                    *count = count.saturating_sub(1);
                    if *count == 0 {
                        taken.by_network.remove(&key);
                    }
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(text: &str) -> Option<Client> {
        Some(Client::at(text.parse().unwrap()))
    }

    #[test]
    fn places_are_given_back() {
        let permits = ConnectionPermits::new(3, 2);
        let held = [permits.take(client("192.0.2.1")).ok().unwrap(), permits.take(client("192.0.2.1")).ok().unwrap()];
        assert_eq!(permits.take(client("192.0.2.1")).err(), Some(ReachedLimit::Client));
        let other = permits.take(client("192.0.2.2")).ok().unwrap();
        assert_eq!(permits.take(client("192.0.2.3")).err(), Some(ReachedLimit::Server));
        assert_eq!(permits.take(None).err(), Some(ReachedLimit::Server));
        drop(held);
        let proxy = permits.take(None).ok().unwrap();
        assert!(permits.take(client("192.0.2.1")).is_ok());
        drop((other, proxy));
        assert!(permits.with(|taken| taken.all == 0 && taken.by_network.is_empty()));
    }

    #[test]
    fn a_network_of_ipv6_is_one_client() {
        let permits = ConnectionPermits::new(9, 1);
        let _held = permits.take(client("2001:db8::1")).ok().unwrap();
        assert_eq!(permits.take(client("2001:db8::ffff:2")).err(), Some(ReachedLimit::Client));
        assert!(permits.take(client("2001:db8:0:1::1")).is_ok());
        // Refused ones leave no trace.
        assert_eq!(permits.with(|taken| (taken.all, taken.by_network.len())), (1, 3));
    }

    #[test]
    fn few_clients_leave_room_for_others() {
        let permits = ConnectionPermits::new(4096, 512);
        let take = |ip: String, held: &mut Vec<ConnectionPermit>| {
            let before = held.len();
            held.extend((0..600).map_while(|_| permits.take(client(&ip)).ok()));
            held.len() - before
        };
        let mut held = Vec::new();
        for greedy in 1..=10 {
            take(format!("192.0.2.{greedy}"), &mut held);
        }
        assert!(held.len() <= 4096 - 32, "{} taken", held.len());
        assert!(take("198.51.100.1".to_owned(), &mut held) >= 16);
        drop(held);
        // However many networks a provider's customer has, they share what the largest may have.
        let mut held = Vec::new();
        for network in 0..200 {
            take(format!("2001:db8:1:{network:x}::1"), &mut held);
        }
        assert!(held.len() <= 2048, "{} taken", held.len());
        assert!(take("2001:db9::1".to_owned(), &mut held) >= 500);
    }
}
