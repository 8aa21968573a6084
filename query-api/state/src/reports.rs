//! Reports of clients about addresses. Whether a report is paid is not stored: the chain says it.

use crate::{
    IndexUse, MAX_TEXT_CHARS, NewReport, PublishingBlock, Report, State, StateError,
    keys::to_stored,
    named::named,
    payments::{first_free, give_out, next_index},
    pool::sql,
    random::random,
    report::{StoredReport, Visibility, columns},
    votes::ClientHashes,
};

/// Maximum number of open reports. At the limit, new ones are refused until some are paid or expire.
pub const MAX_OPEN_REPORTS: u32 = 10_000;
/// Maximum number of open reports of one client.
pub const MAX_REPORTS_OF_CLIENT: u32 = 5;

/// Result of creating a report.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Creation {
    /// It is stored, with an address to pay to.
    Created(Box<Report>),
    /// The client has [`MAX_REPORTS_OF_CLIENT`] open reports.
    TooManyOfClient,
    /// [`MAX_OPEN_REPORTS`] are open.
    Full,
}

/// A position in the list of reports about an address, which is sorted by score, then by time, the greatest first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReportPosition {
    /// The score.
    pub score: i64,
    /// When it was received, in seconds since 1970.
    pub created_at: u64,
    /// Its id.
    pub id: String,
}

named! {
    /// An act of an operator about a report.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum ReportAct {
        /// Hides it.
        Hide = "hide",
        /// Shows it (again).
        Restore = "restore",
    }
}

impl ReportAct {
    /// The visibility of a report after it.
    #[must_use]
    pub fn leads_to(self) -> Visibility {
        match self {
            ReportAct::Hide => Visibility::Hidden,
            ReportAct::Restore => Visibility::Shown,
        }
    }
}

/// An act that was done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DoneAct {
    /// `hide`, `restore` or `erase`.
    pub act: String,
    /// The operator's reason.
    pub reason: String,
    /// When, in seconds since 1970.
    pub at: u64,
}

/// Result of an act.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Moderation {
    /// The report has another visibility now, or its texts are erased.
    Done,
    /// It had that visibility already, or its texts were erased before.
    Before,
    /// There is no such report.
    Unknown,
}

const OPEN: &str = "SELECT count(*) FROM reports WHERE published_height IS NULL AND visibility <> 'hidden' \
    AND expires_at > $1";
const OPEN_OF_CLIENT: &str = "SELECT count(*) FROM reports WHERE published_height IS NULL AND visibility <> 'hidden' \
    AND expires_at > $1 AND (client = $2 OR client = $3)";
const INSERT: &str = "INSERT INTO reports (id, address, script_hash, category, description, evidence_txids, evidence_url, \
    client, created_at, expires_at, amount_sats, payment_script, payment_address, visibility) \
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)";
const ONE: &str = columns!("WHERE id = $1");
const FIRST: &str = columns!(
    "WHERE script_hash = $1 AND visibility = 'shown' ORDER BY (up - down) DESC, created_at DESC, id DESC LIMIT $2"
);
const NEXT: &str = columns!(
    "WHERE script_hash = $1 AND visibility = 'shown' AND ((up - down) < $2 OR ((up - down) = $2 AND (created_at < $3 OR \
     (created_at = $3 AND id < $4)))) ORDER BY (up - down) DESC, created_at DESC, id DESC LIMIT $5"
);
const UNPAID: &str = columns!(
    "WHERE published_height IS NULL AND visibility <> 'hidden' AND expires_at > $1 ORDER BY created_at, id LIMIT $2"
);
const UNPAID_OF_CLIENT: &str = columns!(
    "WHERE published_height IS NULL AND visibility <> 'hidden' AND expires_at > $1 AND (client = $2 OR client = $3) \
     ORDER BY created_at, id LIMIT $4"
);
const NEWEST: &str = columns!("WHERE $1 IS NULL OR visibility = $1 ORDER BY created_at DESC, id DESC LIMIT $2");
const PUBLISHED: &str = "UPDATE reports SET published_height = $1, published_hash = $2 WHERE id = $3";
const MODERATE: &str = "UPDATE reports SET visibility = $1 WHERE id = $2 AND visibility <> $1";
pub(crate) const NOTE_ACT: &str =
    "INSERT INTO report_acts (id, report_id, act, reason, acted_at) VALUES ($1, $2, $3, $4, $5)";
const ACTS: &str = "SELECT act, reason, acted_at FROM report_acts WHERE report_id = $1 ORDER BY acted_at, id LIMIT 100";

pub(crate) fn new_id(prefix: &str) -> Result<String, StateError> {
    Ok(format!("{prefix}{}", hex::encode(random::<16>()?)))
}

/// True for a reason that the audit can keep.
pub(crate) fn is_reason(reason: &str) -> bool {
    !reason.trim().is_empty() && reason.chars().count() <= MAX_TEXT_CHARS && !reason.contains(char::is_control)
}

fn amount(sats: u64) -> Result<i64, StateError> {
    i64::try_from(sats).map_err(|_| StateError::Report)
}

fn read_all(rows: Vec<StoredReport>) -> Result<Vec<Report>, StateError> {
    rows.into_iter().map(StoredReport::read).collect()
}

impl State {
    /// Stores a report, and gives out an address of the descriptor to pay to: both or none. The counter of the
    /// descriptor must have begun. `now` is in seconds since 1970. A report is open while it is not seen as published,
    /// and not expired.
    ///
    /// # Errors
    /// Fails if a text is invalid, if no index is free, or if a time is out of range.
    pub async fn create_report(
        &self,
        new: NewReport,
        client: &ClientHashes,
        descriptor: &str,
        now: u64,
        look: impl Fn(u32) -> Option<IndexUse>,
    ) -> Result<Creation, StateError> {
        new.check()?;
        let (at, expires_at, sats) = (to_stored(now)?, to_stored(new.expires_at)?, amount(new.amount_sats)?);
        self.ready().await?;
        let what = "cannot store a report";
        let id = new_id("rp_")?;
        let purpose = format!("report:{id}");
        let txids = new.evidence_txids.join(" ");
        let mut tx = self.pool.serialized().await?;
        let open: i64 = sql(OPEN).bind(at).value(&mut tx, what).await?;
        if open >= i64::from(MAX_OPEN_REPORTS) {
            return Ok(Creation::Full);
        }
        let of_client = sql(OPEN_OF_CLIENT).bind(at).bind(&client.current).bind(&client.previous);
        let of_client: i64 = of_client.value(&mut tx, what).await?;
        if of_client >= i64::from(MAX_REPORTS_OF_CLIENT) {
            return Ok(Creation::TooManyOfClient);
        }
        let given = first_free(next_index(&mut tx, descriptor).await?, look)?;
        give_out(&mut tx, descriptor, &purpose, at, &given).await?;
        let insert = sql(INSERT).bind(&id).bind(&new.address).bind(&new.script_hash).bind(&new.category);
        let insert = insert.bind(&new.description).bind(&txids).bind(&new.evidence_url).bind(&client.current);
        let insert = insert.bind(at).bind(expires_at).bind(sats).bind(hex::encode(&given.script));
        let insert = insert.bind(&given.address).bind(new.visibility.name());
        insert.run(&mut tx, what).await?;
        tx.end().await?;
        self.changed().await;
        Ok(Creation::Created(Box::new(Report {
            id,
            content: new,
            created_at: now,
            payment_script: given.script,
            payment_address: given.address,
            up: 0,
            down: 0,
            published_in: None,
            reply: None,
            erased_at: None,
        })))
    }

    /// The report with this id.
    pub async fn report(&self, id: &str) -> Result<Option<Report>, StateError> {
        self.ready().await?;
        let row: Option<StoredReport> = sql(ONE).bind(id).first(&self.reads, "cannot look up a report").await?;
        row.map(StoredReport::read).transpose()
    }

    /// Reports about a script (SHA-256 in hex) that no operator hides, paid or not: by score, then by time, the
    /// greatest first; at most `limit` of those after a position.
    pub async fn reports_about(
        &self,
        script_hash: &str,
        after: Option<&ReportPosition>,
        limit: u32,
    ) -> Result<Vec<Report>, StateError> {
        self.ready().await?;
        let page = match after {
            None => sql(FIRST).bind(script_hash),
            Some(ReportPosition { score, created_at, id }) => {
                sql(NEXT).bind(script_hash).bind(*score).bind(to_stored(*created_at)?).bind(id)
            }
        };
        read_all(page.bind(i64::from(limit)).all(&self.reads, "cannot list reports").await?)
    }

    /// The oldest open reports, of one client or of all, at most `limit`. `now` is in seconds since 1970.
    pub async fn open_reports(
        &self,
        client: Option<&ClientHashes>,
        now: u64,
        limit: u32,
    ) -> Result<Vec<Report>, StateError> {
        let now = to_stored(now)?;
        self.ready().await?;
        let open = match client {
            None => sql(UNPAID).bind(now),
            Some(client) => sql(UNPAID_OF_CLIENT).bind(now).bind(&client.current).bind(&client.previous),
        };
        read_all(open.bind(i64::from(limit)).all(&self.reads, "cannot list reports").await?)
    }

    /// The newest reports, of one visibility or of all, at most `limit`.
    pub async fn reports(&self, only: Option<Visibility>, limit: u32) -> Result<Vec<Report>, StateError> {
        self.ready().await?;
        let only = only.map(Visibility::name);
        let newest = sql(NEWEST).bind(only).bind(i64::from(limit));
        read_all(newest.all(&self.reads, "cannot list reports").await?)
    }

    /// Remembers the block that publishes a report.
    pub async fn note_publication(&self, id: &str, block: &PublishingBlock) -> Result<(), StateError> {
        self.ready().await?;
        let note = sql(PUBLISHED).bind(i64::from(block.height)).bind(&block.hash).bind(id);
        note.run(&self.pool, "cannot note that a report is published").await.map(drop)
    }

    /// Hides a report, or shows it again, with a reason that the audit keeps. `now` is in seconds since 1970.
    ///
    /// # Errors
    /// Fails if the reason is invalid, or if the time is out of range.
    pub async fn moderate_report(
        &self,
        id: &str,
        act: ReportAct,
        reason: &str,
        now: u64,
    ) -> Result<Moderation, StateError> {
        if !is_reason(reason) {
            return Err(StateError::Report);
        }
        let (now, act_id) = (to_stored(now)?, new_id("")?);
        self.ready().await?;
        let what = "cannot change a report";
        let mut tx = self.pool.serialized().await?;
        let moderate = sql(MODERATE).bind(act.leads_to().name()).bind(id);
        let changed = moderate.run(&mut tx, what).await? > 0;
        if changed {
            let note = sql(NOTE_ACT).bind(&act_id).bind(id).bind(act.name()).bind(reason).bind(now);
            note.run(&mut tx, what).await?;
        }
        tx.end().await?;
        if changed {
            self.changed().await;
            return Ok(Moderation::Done);
        }
        Ok(if self.report(id).await?.is_some() { Moderation::Before } else { Moderation::Unknown })
    }

    /// The acts of operators about a report, the oldest first, at most 100.
    pub async fn report_acts(&self, id: &str) -> Result<Vec<DoneAct>, StateError> {
        self.ready().await?;
        let rows: Vec<(String, String, i64)> =
            sql(ACTS).bind(id).all(&self.reads, "cannot list what was done with a report").await?;
        let act = |(act, reason, at): (String, String, i64)| {
            let at = u64::try_from(at).map_err(|_| StateError::Row("an act has an invalid time".to_owned()))?;
            Ok(DoneAct { act, reason, at })
        };
        rows.into_iter().map(act).collect()
    }
}
