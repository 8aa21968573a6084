//! Places for connections: so many in all, and so many for a client.

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

/// All places. What is known of clients is no more than there are places.
pub(super) struct Places {
    all: usize,
    of_client: usize,
    taken: Mutex<Taken>,
}

#[derive(Default)]
struct Taken {
    all: usize,
    by_client: HashMap<Client, usize>,
}

/// A place that is taken; dropping it gives it back.
pub(super) struct Place {
    places: Arc<Places>,
    client: Option<Client>,
}

impl Places {
    pub(super) fn new(all: usize, of_client: usize) -> Arc<Self> {
        Arc::new(Places { all, of_client, taken: Mutex::default() })
    }

    fn with<T>(&self, work: impl FnOnce(&mut Taken) -> T) -> T {
        work(&mut self.taken.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes a place, for a client if it counts for one.
    ///
    /// # Errors
    /// The limit that has been reached.
    pub(super) fn take(self: &Arc<Self>, client: Option<Client>) -> Result<Place, Full> {
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
        Ok(Place { places: Arc::clone(self), client })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.places.with(|taken| {
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
        let places = Places::new(3, 2);
        let held = [places.take(client("192.0.2.1")).ok().unwrap(), places.take(client("192.0.2.1")).ok().unwrap()];
        assert_eq!(places.take(client("192.0.2.1")).err(), Some(Full::Client));
        let other = places.take(client("192.0.2.2")).ok().unwrap();
        assert_eq!(places.take(client("192.0.2.3")).err(), Some(Full::Server));
        assert_eq!(places.take(None).err(), Some(Full::Server));
        drop(held);
        let proxy = places.take(None).ok().unwrap();
        assert!(places.take(client("192.0.2.1")).is_ok());
        drop((other, proxy));
        assert!(places.with(|taken| taken.all == 0 && taken.by_client.is_empty()));
    }

    #[test]
    fn a_network_of_ipv6_is_one_client() {
        let places = Places::new(9, 1);
        let _held = places.take(client("2001:db8::1")).ok().unwrap();
        assert_eq!(places.take(client("2001:db8::ffff:2")).err(), Some(Full::Client));
        assert!(places.take(client("2001:db8:0:1::1")).is_ok());
        // Refused ones leave no trace.
        assert_eq!(places.with(|taken| (taken.all, taken.by_client.len())), (1, 1));
    }
}
