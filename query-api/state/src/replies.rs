//! The answers of owners of reported addresses.

use crate::{MAX_REPLY_CHARS, State, StateError, keys::to_stored, pool::sql, report::is_text};

/// Result of a reply to a report.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Replying {
    /// It is stored, in place of an earlier one.
    Stored,
    /// A reply to a newer message is stored: this one changes nothing.
    Superseded,
    /// An operator has erased the texts of the report, and it takes no new ones.
    Erased,
    /// There is no such report.
    Unknown,
}

// The same message again changes nothing, not even the time.
const REPLY: &str = "UPDATE reports SET reply = $1, replied_at = CASE WHEN reply = $1 AND reply_until = $2 THEN replied_at \
    ELSE $3 END, reply_until = $2 WHERE id = $4 AND erased_at IS NULL AND (reply_until IS NULL OR reply_until <= $2)";

impl State {
    /// Stores the reply of whoever holds the key of a reported address. `until` is the last second of the message that
    /// was signed: an older message never replaces the reply to a newer one. Times are in seconds since 1970.
    ///
    /// # Errors
    /// Fails if the text is invalid, or if a time is out of range.
    pub async fn reply_to_report(&self, id: &str, text: &str, until: u64, now: u64) -> Result<Replying, StateError> {
        if !is_text(text, MAX_REPLY_CHARS) {
            return Err(StateError::Report);
        }
        let (until, now) = (to_stored(until)?, to_stored(now)?);
        self.ready().await?;
        let reply = sql(REPLY).bind(text).bind(until).bind(now).bind(id);
        let changed = reply.run(&self.pool, "cannot store a reply to a report").await? > 0;
        if changed {
            self.changed().await;
            return Ok(Replying::Stored);
        }
        Ok(match self.report(id).await? {
            None => Replying::Unknown,
            Some(report) if report.erased_at.is_some() => Replying::Erased,
            Some(_) => Replying::Superseded,
        })
    }
}
