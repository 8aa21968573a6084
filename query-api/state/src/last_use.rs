//! Records when keys were last used. This is best effort and apart from requests: it neither delays a check nor decides
//! about it, even while another process holds the write lock of the database.

use std::collections::BTreeMap;

use crate::{State, StateError, pool::sql};

/// Minimum interval in seconds between two records of a key's use.
const INTERVAL: i64 = 60;

const USED: &str = "UPDATE access_keys SET last_used_at = $1 \
    WHERE id = $2 AND (last_used_at IS NULL OR last_used_at <= $3)";

impl State {
    /// Records the use of a key at `now`, at most once a minute, some time after it returns. `last` is the recorded
    /// use.
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
            sql(USED).bind(now).bind(&id).bind(before).run(&self.pool, "cannot record the use of a key").await?;
        }
        Ok(())
    }

    /// Waits until the uses of keys that were checked before are recorded, or could not be.
    pub async fn uses_settled(&self) {
        self.uses.settled().await;
    }
}
