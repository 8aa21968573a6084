//! Permits for connections: so many in all, and so many for a client.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use crate::limits::client::Client;

/// Which limit has been reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Full {
    /// That of the server.
    Server,
    /// That of the client.
    Client,
}

/// All permits. No more clients are remembered than there are permits.
pub(super) struct ConnectionPermits {
    all: usize,
    of_client: usize,
    taken: Mutex<Taken>,
}

#[derive(Default)]
struct Taken {
    all: usize,
    by_client: HashMap<Client, usize>,
}

/// The permit of one connection; dropping it gives it back.
pub(super) struct ConnectionPermit {
    permits: Arc<ConnectionPermits>,
    client: Option<Client>,
}

impl ConnectionPermits {
    pub(super) fn new(all: usize, of_client: usize) -> Arc<Self> {
        Arc::new(ConnectionPermits { all, of_client, taken: Mutex::default() })
    }

    fn with<T>(&self, work: impl FnOnce(&mut Taken) -> T) -> T {
        work(&mut self.taken.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes a permit, for a client if it counts for one.
    ///
    /// # Errors
    /// The limit that has been reached.
    pub(super) fn take(self: &Arc<Self>, client: Option<Client>) -> Result<ConnectionPermit, Full> {
        self.with(|taken| {
            if taken.all >= self.all {
                return Err(Full::Server);
            }
            if let Some(client) = client {
                let count = taken.by_client.entry(client).or_default();
                if *count >= self.of_client {
                    return Err(Full::Client);
                }
                *count += 1;
            }
            taken.all += 1;
            Ok(())
        })?;
        Ok(ConnectionPermit { permits: Arc::clone(self), client })
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        self.permits.with(|taken| {
            taken.all = taken.all.saturating_sub(1);
            let Some(client) = &self.client else { return };
            if let Some(count) = taken.by_client.get_mut(client) {
                *count = count.saturating_sub(1);
                if *count == 0 {
                    taken.by_client.remove(client);
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn client(text: &str) -> Option<Client> {
        Some(Client::at(text.parse().unwrap()))
    }

    #[test]
    fn places_are_given_back() {
        let permits = ConnectionPermits::new(3, 2);
        let held = [permits.take(client("192.0.2.1")).ok().unwrap(), permits.take(client("192.0.2.1")).ok().unwrap()];
        assert_eq!(permits.take(client("192.0.2.1")).err(), Some(Full::Client));
        let other = permits.take(client("192.0.2.2")).ok().unwrap();
        assert_eq!(permits.take(client("192.0.2.3")).err(), Some(Full::Server));
        assert_eq!(permits.take(None).err(), Some(Full::Server));
        drop(held);
        let proxy = permits.take(None).ok().unwrap();
        assert!(permits.take(client("192.0.2.1")).is_ok());
        drop((other, proxy));
        assert!(permits.with(|taken| taken.all == 0 && taken.by_client.is_empty()));
    }

    #[test]
    fn a_network_of_ipv6_is_one_client() {
        let permits = ConnectionPermits::new(9, 1);
        let _held = permits.take(client("2001:db8::1")).ok().unwrap();
        assert_eq!(permits.take(client("2001:db8::ffff:2")).err(), Some(Full::Client));
        assert!(permits.take(client("2001:db8:0:1::1")).is_ok());
        // Refused ones leave no trace.
        assert_eq!(permits.with(|taken| (taken.all, taken.by_client.len())), (1, 1));
    }
}
