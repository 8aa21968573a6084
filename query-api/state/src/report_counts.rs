//! Numbers of reports, for operators.

use crate::{State, StateError, keys::to_stored, pool::sql};

/// Numbers of reports.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReportCounts {
    /// Those that wait for their payment: not seen as paid, not expired, and not hidden.
    pub unpaid: u64,
    /// Those that wait for the operator's decision and are paid, or not expired.
    pub held: u64,
    /// Payment addresses that were given out, for anything.
    pub addresses: u64,
}

const COUNTS: &str = "SELECT (SELECT count(*) FROM reports WHERE published_height IS NULL AND visibility <> 'hidden' \
    AND expires_at > $1), (SELECT count(*) FROM reports WHERE visibility = 'held' AND (published_height IS NOT NULL \
    OR expires_at > $1)), (SELECT count(*) FROM payment_addresses)";

impl State {
    /// Counts reports and payment addresses. `now` is in seconds since 1970.
    pub async fn report_counts(&self, now: u64) -> Result<ReportCounts, StateError> {
        let now = to_stored(now)?;
        self.ready().await?;
        let counts: (i64, i64, i64) = sql(COUNTS).bind(now).row(&self.reads, "cannot count reports").await?;
        let number = |count: i64| u64::try_from(count).unwrap_or_default();
        Ok(ReportCounts { unpaid: number(counts.0), held: number(counts.1), addresses: number(counts.2) })
    }
}
