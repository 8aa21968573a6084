//! Removes what clients wrote: on request, and after a time if it was never paid.

use sqlx::Connection;

use crate::{
    Moderation, Report, State, StateError,
    keys::to_stored,
    pool::{SqlPool, sql},
    report::{StoredReport, columns},
    reports::{NOTE_ACT, is_reason, new_id},
};

/// Time in seconds after its expiry during which a report that is not paid is kept.
pub const UNPAID_KEPT: u64 = 90 * 86_400;

const ERASE: &str = "UPDATE reports SET description = '', evidence_url = NULL, reply = NULL, erased_at = $1 \
    WHERE id = $2 AND erased_at IS NULL";
const OVERDUE: &str = columns!("WHERE published_height IS NULL AND expires_at <= $1 ORDER BY expires_at, id LIMIT $2");
const PURGE: &str = "DELETE FROM reports WHERE id = $1 AND published_height IS NULL AND expires_at <= $2";
/// Time that PostgreSQL waits for other users of the table.
const PATIENCE: &str = "SET lock_timeout = '5s'";
/// Writes the table again without what was removed.
const REWRITE: &str = "VACUUM FULL reports";

impl State {
    /// Erases the texts of a report: description, URL and reply. The row stays, and the audit keeps the reason. `now`
    /// is in seconds since 1970. Afterwards, [`State::scrub_reports`] removes them from the files of the database.
    ///
    /// # Errors
    /// Fails if the reason is invalid, or if the time is out of range.
    pub async fn erase_report(&self, id: &str, reason: &str, now: u64) -> Result<Moderation, StateError> {
        if !is_reason(reason) {
            return Err(StateError::Report);
        }
        let (now, act_id) = (to_stored(now)?, new_id("")?);
        self.ready().await?;
        let what = "cannot erase the texts of a report";
        let mut tx = self.pool.serialized().await?;
        let erase = sql(ERASE).bind(now).bind(id);
        let changed = erase.run(&mut tx, what).await? > 0;
        if changed {
            let note = sql(NOTE_ACT).bind(&act_id).bind(id).bind("erase").bind(reason).bind(now);
            note.run(&mut tx, what).await?;
        }
        tx.end().await?;
        if changed {
            self.changed().await;
            return Ok(Moderation::Done);
        }
        Ok(if self.report(id).await?.is_some() { Moderation::Before } else { Moderation::Unknown })
    }

    /// Removes erased texts from the files of the database as well. SQLite overwrites what is removed, and this empties
    /// its write-ahead log. PostgreSQL writes the table again. Returns false if other users of the database prevent it
    /// now.
    pub async fn scrub_reports(&self) -> Result<bool, StateError> {
        self.ready().await?;
        let failed = || StateError::database("cannot remove erased texts from its files");
        match &self.pool {
            SqlPool::Sqlite(pool) => {
                let log: (i64, i64, i64) =
                    sqlx::query_as("PRAGMA wal_checkpoint(TRUNCATE)").fetch_one(pool).await.map_err(failed())?;
                Ok(log.0 == 0)
            }
            SqlPool::Postgres(pool) => {
                let connection = pool.acquire().await.map_err(failed())?;
                // Not back to the pool: the setting is for this statement.
                let mut connection = connection.detach();
                sqlx::raw_sql(PATIENCE).execute(&mut connection).await.map_err(failed())?;
                let done = sqlx::raw_sql(REWRITE).execute(&mut connection).await;
                // The next connection reports any error.
                let _ended = connection.close().await;
                match done {
                    Ok(_) => Ok(true),
                    // A lock was not available.
                    Err(error)
                        if error.as_database_error().is_some_and(|error| error.code().as_deref() == Some("55P03")) =>
                    {
                        Ok(false)
                    }
                    Err(error) => Err(failed()(error)),
                }
            }
        }
    }

    /// Reports that nobody was seen to pay until [`UNPAID_KEPT`] seconds after their expiry, the oldest first, at most
    /// `limit`. `now` is in seconds since 1970.
    pub async fn overdue_reports(&self, now: u64, limit: u32) -> Result<Vec<Report>, StateError> {
        let (before, limit) = (to_stored(now.saturating_sub(UNPAID_KEPT))?, i64::from(limit));
        self.ready().await?;
        let rows: Vec<StoredReport> =
            sql(OVERDUE).bind(before).bind(limit).all(&self.reads, "cannot list reports").await?;
        rows.into_iter().map(StoredReport::read).collect()
    }

    /// Deletes a report that [`State::overdue_reports`] listed, unless it was seen as paid meanwhile. Its payment
    /// address stays given out. Returns true if it is deleted.
    pub async fn purge_report(&self, id: &str, now: u64) -> Result<bool, StateError> {
        let before = to_stored(now.saturating_sub(UNPAID_KEPT))?;
        self.ready().await?;
        let purge = sql(PURGE).bind(id).bind(before);
        let done = purge.run(&self.pool, "cannot delete a report").await? > 0;
        if done {
            self.changed().await;
        }
        Ok(done)
    }
}
