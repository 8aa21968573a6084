//! Uses of keys that wait for their record: joined and bounded.

use std::{collections::BTreeMap, mem};

use parking_lot::Mutex;
use tokio::sync::watch;

/// Maximum number of keys that wait for their record. The use of further ones is not recorded.
const WAITING: usize = 4096;

pub(crate) struct PendingUses {
    /// The latest use of each key, in seconds since 1970.
    waiting: Mutex<BTreeMap<String, i64>>,
    /// True while a task writes. It changes only under the lock of `waiting`.
    writing: watch::Sender<bool>,
}

impl Default for PendingUses {
    fn default() -> Self {
        PendingUses { waiting: Mutex::default(), writing: watch::Sender::new(false) }
    }
}

impl PendingUses {
    /// Adds a use. Returns true if the caller must start a task that writes.
    pub(crate) fn add(&self, id: &str, now: i64) -> bool {
        let mut waiting = self.waiting.lock();
        if let Some(at) = waiting.get_mut(id) {
            *at = now.max(*at);
        } else if waiting.len() < WAITING {
            waiting.insert(id.to_owned(), now);
        }
        self.writing.send_if_modified(|writing| !mem::replace(writing, true))
    }

    /// Waits until nobody writes.
    pub(crate) async fn settled(&self) {
        // The sender is ours, so it is there.
        let _ = self.writing.subscribe().wait_for(|writing| !writing).await;
    }

    /// Takes the waiting uses; `None` ends the task that writes.
    pub(crate) fn take(&self) -> Option<BTreeMap<String, i64>> {
        let mut waiting = self.waiting.lock();
        if waiting.is_empty() {
            self.writing.send_replace(false);
            return None;
        }
        Some(mem::take(&mut *waiting))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uses_are_joined_and_bounded() {
        let uses = PendingUses::default();
        assert!(uses.add("a", 5), "somebody must write");
        assert!(!uses.add("a", 4) && !uses.add("b", 1), "one writes already");
        let expected = [("a".to_owned(), 5), ("b".to_owned(), 1)];
        assert_eq!(uses.take(), Some(expected.into()));
        for number in 0..2 * WAITING {
            assert!(!uses.add(&number.to_string(), 1));
        }
        assert_eq!(uses.take().map(|taken| taken.len()), Some(WAITING));
        assert_eq!(uses.take(), None);
        assert!(uses.add("a", 6), "the one who wrote has ended");
    }
}
