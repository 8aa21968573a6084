//! One at a time for each key: requests of one client for the same call make one invoice, not many.

use std::{collections::HashMap, sync::Arc, time::Duration};

use parking_lot::Mutex;

/// Runs work with the same key one after the other.
#[derive(Debug, Default)]
pub(crate) struct Flights(Mutex<HashMap<[u8; 32], Arc<Mutex<()>>>>);

impl Flights {
    /// Runs work while nothing else with this key runs; `None` if that takes longer than `patience`.
    pub(crate) fn alone<T>(&self, key: [u8; 32], patience: Duration, work: impl FnOnce() -> T) -> Option<T> {
        let lock = Arc::clone(self.0.lock().entry(key).or_default());
        let done = lock.try_lock_for(patience).map(|_alone| work());
        let mut all = self.0.lock();
        // The map and this request have it; others could only get it from the map.
        if Arc::strong_count(&lock) == 2 {
            all.remove(&key);
        }
        done
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicUsize, Ordering},
        thread,
    };

    use super::*;

    #[test]
    fn one_key_is_in_one_hand_and_nothing_stays() {
        let (flights, running) = (Flights::default(), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let done = flights.alone([1; 32], Duration::from_secs(10), || {
                        assert_eq!(running.fetch_add(1, Ordering::SeqCst), 0);
                        thread::sleep(Duration::from_millis(2));
                        running.fetch_sub(1, Ordering::SeqCst);
                    });
                    assert!(done.is_some());
                });
            }
        });
        assert!(flights.0.lock().is_empty());
    }

    #[test]
    fn other_keys_do_not_wait_and_patience_ends() {
        let flights = Flights::default();
        let inner = flights.alone([1; 32], Duration::ZERO, || {
            let other = flights.alone([2; 32], Duration::ZERO, || 2);
            let same = thread::scope(|scope| {
                scope.spawn(|| flights.alone([1; 32], Duration::from_millis(1), || 1)).join().unwrap()
            });
            (other, same)
        });
        assert_eq!(inner, Some((Some(2), None)));
        assert!(flights.0.lock().is_empty());
    }
}
