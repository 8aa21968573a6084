//! Records when keys were last used. This is best effort and apart from requests: it neither delays a check nor decides
//! about it, even while another process holds the write lock of the database.

use std::{
    collections::BTreeMap,
    mem,
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::sync::watch;

use crate::{State, StateError, pool::on};

/// Minimum interval in seconds between two records of a key's use.
const INTERVAL: i64 = 60;
/// Maximum number of keys that wait for their record. The use of further ones is not recorded.
const WAITING: usize = 4096;

const USED: &str = "UPDATE access_keys SET last_used_at = $1 \
    WHERE id = $2 AND (last_used_at IS NULL OR last_used_at <= $3)";

/// Uses that are not recorded yet.
pub(crate) struct Uses {
    /// The latest use of each key, in seconds since 1970.
    waiting: Mutex<BTreeMap<String, i64>>,
    /// True while a task writes. It changes only under the lock of `waiting`.
    writing: watch::Sender<bool>,
}

impl Default for Uses {
    fn default() -> Self {
        Uses { waiting: Mutex::default(), writing: watch::Sender::new(false) }
    }
}

impl Uses {
    fn waiting(&self) -> MutexGuard<'_, BTreeMap<String, i64>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a use. Returns true if the caller must start a task that writes.
    fn add(&self, id: &str, now: i64) -> bool {
        let mut waiting = self.waiting();
        if let Some(at) = waiting.get_mut(id) {
            *at = now.max(*at);
        } else if waiting.len() < WAITING {
            waiting.insert(id.to_owned(), now);
        }
        self.writing.send_if_modified(|writing| !mem::replace(writing, true))
    }

    /// Takes what waits; `None` ends the task that writes.
    fn take(&self) -> Option<BTreeMap<String, i64>> {
        let mut waiting = self.waiting();
        if waiting.is_empty() {
            self.writing.send_replace(false);
            return None;
        }
        Some(mem::take(&mut *waiting))
    }
}

impl State {
    /// Records the use of a key at `now`, at most once a minute, some time after it returns. `last` is the recorded use.
    pub(crate) fn note_use(&self, id: &str, last: Option<i64>, now: i64) {
        if last.is_some_and(|last| last > now.saturating_sub(INTERVAL)) {
            return;
        }
        if self.uses.add(id, now) {
            let state = self.clone();
            tokio::spawn(async move {
                while let Some(uses) = state.uses.take() {
                    if let Err(error) = state.record(uses).await {
                        // The next check of these keys tries again.
                        tracing::warn!(%error, "the last use of some keys was not recorded");
                    }
                }
            });
        }
    }

    async fn record(&self, uses: BTreeMap<String, i64>) -> Result<(), StateError> {
        for (id, now) in uses {
            let before = now.saturating_sub(INTERVAL);
            on!(&self.pool, pool => {
                sqlx::query(USED).bind(now).bind(&id).bind(before).execute(pool).await.map(drop)
            })
            .map_err(StateError::database("cannot record the use of a key"))?;
        }
        Ok(())
    }

    /// Waits until the uses of keys that were checked before are recorded, or could not be.
    pub async fn uses_settled(&self) {
        // The sender is ours, so it is there.
        let _ = self.uses.writing.subscribe().wait_for(|writing| !writing).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uses_are_joined_and_bounded() {
        let uses = Uses::default();
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
