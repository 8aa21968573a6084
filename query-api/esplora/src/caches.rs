//! Answers that many requests share.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::Mutex;

use crate::overview::Overview;

/// Feerates in sat/vB by the number of blocks until confirmation.
pub(crate) type FeeEstimates = BTreeMap<u16, f64>;

/// Answers that many requests share.
#[derive(Debug, Default)]
pub(crate) struct Caches {
    /// Transactions that entered the mempool last, by its number of changes.
    pub(crate) recent: Newest<u64, Vec<Overview>>,
    /// The node's feerates.
    pub(crate) fees: Aging<FeeEstimates>,
}

/// The value of the last key.
#[derive(Debug)]
pub(crate) struct Newest<K, V>(Mutex<Option<(K, Arc<V>)>>);

impl<K, V> Default for Newest<K, V> {
    fn default() -> Self {
        Newest(Mutex::new(None))
    }
}

impl<K: PartialEq, V> Newest<K, V> {
    /// The value, if it is of this key.
    pub(crate) fn get(&self, key: &K) -> Option<Arc<V>> {
        self.0.lock().as_ref().filter(|(of, _)| of == key).map(|(_, value)| Arc::clone(value))
    }

    /// Keeps a value, and returns it.
    pub(crate) fn put(&self, key: K, value: V) -> Arc<V> {
        let value = Arc::new(value);
        *self.0.lock() = Some((key, Arc::clone(&value)));
        value
    }
}

/// A value that is good for some time. While one request renews it, others use the old one.
#[derive(Debug)]
pub(crate) struct Aging<V>(Mutex<Aged<V>>);

#[derive(Debug)]
struct Aged<V> {
    value: Option<Arc<V>>,
    /// From then on a request renews it.
    renew_at: Option<Instant>,
}

impl<V> Default for Aging<V> {
    fn default() -> Self {
        Aging(Mutex::new(Aged { value: None, renew_at: None }))
    }
}

impl<V> Aging<V> {
    /// The value, unless the caller has to renew it. For `patience` no other caller has to, if there is an old value.
    pub(crate) fn get(&self, patience: Duration) -> Option<Arc<V>> {
        let mut aged = self.0.lock();
        let now = Instant::now();
        if aged.renew_at.is_some_and(|at| now < at) {
            return aged.value.clone();
        }
        aged.renew_at = now.checked_add(patience);
        None
    }

    /// Keeps a new value for some time, and returns it.
    pub(crate) fn put(&self, value: V, good_for: Duration) -> Arc<V> {
        let value = Arc::new(value);
        *self.0.lock() = Aged { value: Some(Arc::clone(&value)), renew_at: Instant::now().checked_add(good_for) };
        value
    }

    /// The old value, if renewing has failed. Other callers try again.
    pub(crate) fn old(&self) -> Option<Arc<V>> {
        let mut aged = self.0.lock();
        aged.renew_at = None;
        aged.value.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_other_keys_are_not_used() {
        let cache = Newest::default();
        assert_eq!(cache.get(&1), None);
        assert_eq!(*cache.put(1, "one"), "one");
        assert_eq!((cache.get(&1).as_deref(), cache.get(&2)), (Some(&"one"), None));
    }

    #[test]
    fn one_caller_renews() {
        let cache = Aging::default();
        let (now, long) = (Duration::ZERO, Duration::from_secs(100));
        assert_eq!(cache.get(long), None);
        cache.put(1, now);
        // The first has to renew it, the second does not.
        assert_eq!(cache.get(long), None);
        assert_eq!(cache.get(long).as_deref(), Some(&1));
        assert_eq!(cache.old().as_deref(), Some(&1));
        assert_eq!(cache.get(long), None);
        cache.put(2, long);
        assert_eq!(cache.get(long).as_deref(), Some(&2));
    }
}
