//! Approvals of rows of lists of sanctions, and when such a list was last checked.
//!
//! An approval is for a script and a party of a list, as the approver has seen them in one document. It holds until it is
//! withdrawn. Whether the list still has the row is for the reader to look up.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use crate::{State, StateError, keys::to_stored, pool::on};

/// Maximum number of approvals that are not withdrawn. At the limit, no more are taken.
pub const MAX_APPROVALS: usize = 50_000;
/// Approvals that are read: two processes that approve at the same time may exceed the limit.
const MOST_READ: i64 = 2 * MAX_APPROVALS as i64;
/// Maximum length of an approver's name in characters.
pub const MAX_APPROVER_CHARS: usize = 64;

/// Name of an approver: in small letters, so that nobody is two persons.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Approver(String);

impl Approver {
    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::str::FromStr for Approver {
    type Err = StateError;

    fn from_str(text: &str) -> Result<Self, StateError> {
        // One space between words, so that names that look the same are the same.
        let name = text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
        let allowed = |c: char| c.is_ascii_alphanumeric() || " .-_@+".contains(c);
        if name.is_empty() || name.chars().count() > MAX_APPROVER_CHARS || !name.chars().all(allowed) {
            return Err(StateError::Approver);
        }
        Ok(Approver(name))
    }
}

/// A row of a list, as an approver has seen it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SeenRow {
    /// SHA-256 of the script.
    pub script: [u8; 32],
    /// The address.
    pub address: String,
    /// The publisher's number of the party; empty if the list tells none.
    pub party_uid: String,
    /// The party's name; empty if the list tells none.
    pub party_name: String,
}

/// An approval that is not withdrawn.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Approval {
    /// Who gave it.
    pub approver: String,
    /// When, in seconds since 1970.
    pub at: u64,
    /// SHA-256 of the document that the approver has seen, in hex.
    pub feed_sha256: String,
}

/// A row of a list with its approvals, each by another approver.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ApprovedRow {
    /// The row.
    pub row: SeenRow,
    /// At least one, the oldest first.
    pub approvals: Vec<Approval>,
}

/// The approvals that are not withdrawn.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Approvals(BTreeMap<String, BTreeMap<[u8; 32], Vec<ApprovedRow>>>);

impl Approvals {
    /// The rows of a list, by script.
    pub fn rows(&self, list: &str) -> impl Iterator<Item = &ApprovedRow> {
        self.0.get(list).into_iter().flat_map(BTreeMap::values).flatten()
    }

    /// The rows of a list with this script: one for each party under which it was approved.
    #[must_use]
    pub fn of_script(&self, list: &str, script: &[u8; 32]) -> &[ApprovedRow] {
        self.0.get(list).and_then(|scripts| scripts.get(script)).map_or(&[], Vec::as_slice)
    }

    /// The approvals of a script under a party; empty if there are none.
    #[must_use]
    pub fn of(&self, list: &str, script: &[u8; 32], party_uid: &str, party_name: &str) -> &[Approval] {
        let is_it =
            |of: &&ApprovedRow| (of.row.party_uid.as_str(), of.row.party_name.as_str()) == (party_uid, party_name);
        self.of_script(list, script).iter().find(is_it).map_or(&[], |of| of.approvals.as_slice())
    }

    /// Number of approvals.
    fn len(&self) -> usize {
        self.0.values().flat_map(BTreeMap::values).flatten().map(|of| of.approvals.len()).sum()
    }

    fn add(&mut self, stored: StoredApproval) -> Result<(), StateError> {
        let (list, script, party_uid, party_name, address, feed_sha256, approver, at) = stored;
        let bad = |what: &str| StateError::Row(format!("the approval of {address:?} has {what}"));
        let mut hash = [0; 32];
        hex::decode_to_slice(&script, &mut hash).map_err(|_| bad("a hash that is none"))?;
        let at = u64::try_from(at).map_err(|_| bad("an invalid time"))?;
        let rows = self.0.entry(list).or_default().entry(hash).or_default();
        let approval = Approval { approver, at, feed_sha256 };
        match rows.iter_mut().find(|of| of.row.party_uid == party_uid && of.row.party_name == party_name) {
            Some(of) => of.approvals.push(approval),
            None => {
                let row = SeenRow { script: hash, address, party_uid, party_name };
                rows.push(ApprovedRow { row, approvals: vec![approval] });
            }
        }
        Ok(())
    }
}

/// What an import found, and when it looked.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct FeedCheck {
    /// When the publisher's list was last known to be this document, in seconds since 1970.
    pub checked_at: u64,
    /// The date that the document bears; `None` if unknown.
    pub issued_at: Option<u64>,
    /// Rows that no address could be read of; `None` if unknown.
    pub invalid: Option<u64>,
    /// Rows that have an address of another asset than they say; `None` if unknown.
    pub listed_under_other_asset: Option<u64>,
}

/// The approvals as they were last read, with how many there were and how many of them were withdrawn. Either number grows
/// with every change.
#[derive(Default)]
pub(crate) struct Cached(Mutex<Option<((i64, i64), Arc<Approvals>)>>);

type StoredApproval = (String, String, String, String, String, String, String, i64);

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

/// Runs one statement for each row in a transaction: all take effect, or none. The result says of each if it changed
/// anything. A macro, because the types of the two databases have no common trait.
macro_rules! all_or_none {
    ($pool:expr, $rows:expr, $failed:expr, $row:ident => $query:expr) => {{
        let mut changed = Vec::with_capacity($rows.len());
        let mut tx = $pool.begin().await.map_err($failed())?;
        for $row in $rows {
            let done = $query.execute(&mut *tx).await.map_err($failed())?;
            changed.push(done.rows_affected());
        }
        tx.commit().await.map_err($failed())?;
        Ok(changed)
    }};
}

impl State {
    /// The approvals that are not withdrawn, of all lists. They are read again only if there was a change.
    ///
    /// # Errors
    /// A row is damaged, or the database fails.
    pub async fn approvals(&self) -> Result<Arc<Approvals>, StateError> {
        self.ready().await?;
        let failed = || StateError::database("cannot list approvals");
        // The version is read first: a change in between is read again next time.
        let version: (i64, i64) =
            on!(&self.reads, pool => sqlx::query_as(VERSION).fetch_one(pool).await).map_err(failed())?;
        let kept = self.approvals.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((_, approvals)) = kept.filter(|(of, _)| *of == version) {
            return Ok(approvals);
        }
        let rows: Vec<StoredApproval> =
            on!(&self.reads, pool => sqlx::query_as(STANDING).bind(MOST_READ).fetch_all(pool).await)
                .map_err(failed())?;
        let mut approvals = Approvals::default();
        rows.into_iter().try_for_each(|row| approvals.add(row))?;
        let approvals = Arc::new(approvals);
        *self.approvals.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((version, Arc::clone(&approvals)));
        Ok(approvals)
    }

    /// Approves rows of a list, all or none. `feed_sha256` is the document in which the approver has seen them, `now` in
    /// seconds since 1970. The result says of each if it is new: what this approver has approved before stays as it is.
    ///
    /// # Errors
    /// There would be more than [`MAX_APPROVALS`], the time is invalid, or the database fails.
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
        let failed = || StateError::database("cannot store approvals");
        let known = self.approvals().await?;
        let is_new = |row: &&SeenRow| {
            let given = known.of(list, &row.script, &row.party_uid, &row.party_name);
            !given.iter().any(|of| of.approver == approver.0)
        };
        if known.len().saturating_add(rows.iter().filter(is_new).count()) > MAX_APPROVALS {
            return Err(StateError::TooManyApprovals);
        }
        let changed: Result<Vec<u64>, StateError> = on!(&self.pool, pool => all_or_none!(pool, rows, failed, row => {
            let insert = sqlx::query(APPROVE).bind(list).bind(hex::encode(row.script)).bind(row.party_uid.clone());
            let insert = insert.bind(row.party_name.clone()).bind(row.address.clone()).bind(feed.clone());
            insert.bind(approver.0.clone()).bind(now)
        }));
        Ok(changed?.into_iter().map(|count| count > 0).collect())
    }

    /// Withdraws all approvals of these scripts, whoever gave them, all or none. The result has how many each had.
    ///
    /// # Errors
    /// The time is invalid, or the database fails.
    pub async fn withdraw_approvals(
        &self,
        list: &str,
        scripts: &[[u8; 32]],
        by: &Approver,
        now: u64,
    ) -> Result<Vec<u64>, StateError> {
        let now = to_stored(now)?;
        self.ready().await?;
        let failed = || StateError::database("cannot withdraw approvals");
        on!(&self.pool, pool => all_or_none!(pool, scripts, failed, script => {
            sqlx::query(WITHDRAW).bind(now).bind(by.0.clone()).bind(list).bind(hex::encode(script))
        }))
    }

    /// Notes that the publisher's list was this document. An earlier time than is known changes nothing, and what is not
    /// known keeps its value.
    ///
    /// # Errors
    /// A number is out of range, or the database fails.
    pub async fn feed_was_checked(&self, list: &str, sha256: &[u8; 32], check: FeedCheck) -> Result<(), StateError> {
        let checked_at = to_stored(check.checked_at)?;
        let [issued_at, invalid, other] = [check.issued_at, check.invalid, check.listed_under_other_asset]
            .map(|number| number.map(to_stored).transpose());
        let (issued_at, invalid, other) = (issued_at?, invalid?, other?);
        self.ready().await?;
        on!(&self.pool, pool => {
            let insert = sqlx::query(CHECKED).bind(list).bind(hex::encode(sha256)).bind(checked_at);
            insert.bind(issued_at).bind(invalid).bind(other).execute(pool).await.map(drop)
        })
        .map_err(StateError::database("cannot store when a list was checked"))
    }

    /// What was noted of a document of a list; `None` if nothing was.
    ///
    /// # Errors
    /// The row is damaged, or the database fails.
    pub async fn feed_check(&self, list: &str, sha256: &[u8; 32]) -> Result<Option<FeedCheck>, StateError> {
        self.ready().await?;
        let row: Option<(i64, Option<i64>, Option<i64>, Option<i64>)> = on!(&self.reads, pool => {
            sqlx::query_as(CHECK_OF).bind(list).bind(hex::encode(sha256)).fetch_optional(pool).await
        })
        .map_err(StateError::database("cannot look up when a list was checked"))?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_two_persons() {
        let name = |text: &str| text.parse::<Approver>().map(|name| name.0).unwrap_or_default();
        assert_eq!(name("  Ann \t LEE "), "ann lee");
        assert_eq!(name("ann.lee+1@Example.org"), "ann.lee+1@example.org");
        // Letters that only look like others are refused.
        for text in ["", " ", "\u{430}nn", "a\u{200b}nn", "a\u{1b}[31m", &"x".repeat(65)] {
            assert_eq!(name(text), "", "{text:?}");
        }
    }
}
