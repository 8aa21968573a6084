//! Approvals of rows of lists of sanctions, and when such a list was last checked.

use std::sync::Arc;

use crate::{
    Approvals, Approver, FeedCheck, MAX_APPROVALS, SeenRow, StateError, approval::StoredApproval, keys::to_stored,
    pool::sql, store::State,
};

/// Approvals that are read: two processes that approve at the same time may exceed the limit.
const MAX_READ: i64 = 2 * MAX_APPROVALS as i64;

const VERSION: &str = "SELECT count(*), count(withdrawn_at) FROM sanction_approvals";
const STANDING: &str = "SELECT list, script_sha256, party_uid, party_name, address, feed_sha256, approver, approved_at \
    FROM sanction_approvals WHERE withdrawn_at IS NULL ORDER BY approved_at, approver, script_sha256, party_uid LIMIT $1";
const APPROVE: &str = "INSERT INTO sanction_approvals (list, script_sha256, party_uid, party_name, address, feed_sha256, \
    approver, approved_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING";
const WITHDRAW: &str = "UPDATE sanction_approvals SET withdrawn_at = $1, withdrawn_by = $2 \
    WHERE list = $3 AND script_sha256 = $4 AND withdrawn_at IS NULL";
const CHECKED: &str = "INSERT INTO sanction_feeds (list, sha256, checked_at, issued_at, invalid, listed_under_other_asset) \
    VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (list, sha256) DO UPDATE SET \
    checked_at = CASE WHEN excluded.checked_at > sanction_feeds.checked_at THEN excluded.checked_at \
    ELSE sanction_feeds.checked_at END, \
    issued_at = COALESCE(excluded.issued_at, sanction_feeds.issued_at), \
    invalid = COALESCE(excluded.invalid, sanction_feeds.invalid), \
    listed_under_other_asset = COALESCE(excluded.listed_under_other_asset, sanction_feeds.listed_under_other_asset)";
const CHECK_OF: &str = "SELECT checked_at, issued_at, invalid, listed_under_other_asset FROM sanction_feeds \
    WHERE list = $1 AND sha256 = $2";

impl State {
    /// The approvals that are not withdrawn, of all lists. They are read again only if there was a change.
    pub async fn approvals(&self) -> Result<Arc<Approvals>, StateError> {
        self.ready().await?;
        let what = "cannot list approvals";
        // The version is read first: a change in between is read again next time.
        let version: (i64, i64) = sql(VERSION).row(&self.reads, what).await?;
        let kept = self.approvals.0.lock().clone();
        if let Some((_, approvals)) = kept.filter(|(of, _)| *of == version) {
            return Ok(approvals);
        }
        let rows: Vec<StoredApproval> = sql(STANDING).bind(MAX_READ).all(&self.reads, what).await?;
        let mut approvals = Approvals::default();
        rows.into_iter().try_for_each(|row| approvals.add(row))?;
        let approvals = Arc::new(approvals);
        *self.approvals.0.lock() = Some((version, Arc::clone(&approvals)));
        Ok(approvals)
    }

    /// Approves rows of a list, all or none. `feed_sha256` is the document in which the approver has seen them, `now`
    /// in seconds since 1970. The result says of each row whether it is new: an earlier approval by this approver stays
    /// as it is.
    ///
    /// # Errors
    /// Fails if there would be more than [`MAX_APPROVALS`], or if the time is out of range.
    pub async fn approve(
        &self,
        list: &str,
        rows: &[SeenRow],
        feed_sha256: &[u8; 32],
        approver: &Approver,
        now: u64,
    ) -> Result<Vec<bool>, StateError> {
        let (now, feed) = (to_stored(now)?, hex::encode(feed_sha256));
        self.ready().await?;
        let known = self.approvals().await?;
        let is_new = |row: &&SeenRow| {
            let given = known.of_party(list, &row.script, &row.party_uid, &row.party_name);
            !given.iter().any(|of| of.approver == approver.as_str())
        };
        if known.len().saturating_add(rows.iter().filter(is_new).count()) > MAX_APPROVALS {
            return Err(StateError::TooManyApprovals);
        }
        let approvals = rows.iter().map(|row| {
            let insert = sql(APPROVE).bind(list).bind(hex::encode(row.script)).bind(&row.party_uid);
            insert.bind(&row.party_name).bind(&row.address).bind(&feed).bind(approver.as_str()).bind(now)
        });
        let changed = self.pool.all_or_none(approvals, "cannot store approvals").await?;
        self.changed().await;
        Ok(changed.into_iter().map(|count| count > 0).collect())
    }

    /// Withdraws all approvals of these scripts, whoever gave them, all or none. The result has how many each had.
    pub async fn withdraw_approvals(
        &self,
        list: &str,
        scripts: &[[u8; 32]],
        by: &Approver,
        now: u64,
    ) -> Result<Vec<u64>, StateError> {
        let now = to_stored(now)?;
        self.ready().await?;
        let withdraw = |script| sql(WITHDRAW).bind(now).bind(by.as_str()).bind(list).bind(hex::encode(script));
        let withdrawn = self.pool.all_or_none(scripts.iter().map(withdraw), "cannot withdraw approvals").await?;
        self.changed().await;
        Ok(withdrawn)
    }

    /// Notes that the publisher's list was this document. A time before the known one changes nothing, and a figure
    /// that is `None` keeps its value.
    pub async fn feed_was_checked(&self, list: &str, sha256: &[u8; 32], check: FeedCheck) -> Result<(), StateError> {
        let checked_at = to_stored(check.checked_at)?;
        let [issued_at, invalid, other] = [check.issued_at, check.invalid, check.listed_under_other_asset]
            .map(|number| number.map(to_stored).transpose());
        let (issued_at, invalid, other) = (issued_at?, invalid?, other?);
        self.ready().await?;
        let insert = sql(CHECKED).bind(list).bind(hex::encode(sha256)).bind(checked_at);
        insert
            .bind(issued_at)
            .bind(invalid)
            .bind(other)
            .run(&self.pool, "cannot store when a list was checked")
            .await?;
        self.changed().await;
        Ok(())
    }

    /// Notes about a document of a list; `None` if there are none.
    pub async fn feed_check(&self, list: &str, sha256: &[u8; 32]) -> Result<Option<FeedCheck>, StateError> {
        self.ready().await?;
        let row: Option<(i64, Option<i64>, Option<i64>, Option<i64>)> = sql(CHECK_OF)
            .bind(list)
            .bind(hex::encode(sha256))
            .first(&self.reads, "cannot look up when a list was checked")
            .await?;
        let Some((checked_at, issued_at, invalid, other)) = row else { return Ok(None) };
        let number = |number: i64| {
            u64::try_from(number).map_err(|_| StateError::Row(format!("the check of {list:?} has a number below zero")))
        };
        Ok(Some(FeedCheck {
            checked_at: number(checked_at)?,
            issued_at: issued_at.map(number).transpose()?,
            invalid: invalid.map(number).transpose()?,
            listed_under_other_asset: other.map(number).transpose()?,
        }))
    }
}
