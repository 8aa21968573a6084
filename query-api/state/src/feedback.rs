//! Feedback from clients: tickets that the operator reads and closes.

use sha2::{Digest, Sha256};

use crate::{
    MAX_MESSAGE_CHARS, MAX_TEXT_CHARS, State, StateError, keys::to_stored, named::named, pool::sql, random::random,
};

/// Maximum number of open tickets. At the limit, new ones are refused until some are closed.
pub const MAX_OPEN_TICKETS: u32 = 10_000;
/// Maximum number of tickets of one client in [`CLIENT_WINDOW`].
pub const MAX_TICKETS_OF_CLIENT: u32 = 20;
/// Window of the limit per client, in seconds.
pub const CLIENT_WINDOW: u64 = 86_400;
const ID_BYTES: usize = 8;

named! {
    /// Type of feedback.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
    pub enum TicketKind {
        /// A label is wrong.
        LabelCorrection = "label_correction",
        /// A label is missing.
        MissingLabel = "missing_label",
        /// Other data is wrong or missing.
        DataQuality = "data_quality",
        /// Anything else.
        General = "general",
    }
}

named! {
    /// State of a ticket.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
    pub enum TicketState {
        /// The operator has not closed it.
        Open = "open",
        /// Closed: the operator acted on it.
        Resolved = "resolved",
        /// Closed: the operator decided not to act on it.
        Rejected = "rejected",
    }
}

/// Feedback to store.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewTicket {
    /// Its type.
    pub kind: TicketKind,
    /// The address that it is about.
    pub address: Option<String>,
    /// The client's message; not empty.
    pub message: String,
    /// The label that the client suggests.
    pub suggested_label: Option<String>,
    /// The category that the client suggests.
    pub suggested_category: Option<String>,
    /// URL of public evidence.
    pub source_url: Option<String>,
    /// The claim that it is about.
    pub claim_id: Option<String>,
    /// True if the holder of the address's key has signed that it contests the claim.
    pub is_signed: bool,
}

/// A ticket. All times are in seconds since 1970.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ticket {
    /// Its id: `fb_` and 16 hexadecimal digits.
    pub id: String,
    /// Content of the client.
    pub feedback: NewTicket,
    /// Its state.
    pub state: TicketState,
    /// Time at which it was received.
    pub created_at: u64,
    /// Time at which it was closed; `None` while it is open.
    pub closed_at: Option<u64>,
    /// The operator's note from closing it.
    pub note: Option<String>,
}

/// Result of submitting feedback.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Submission {
    /// It is stored.
    Received(Ticket),
    /// An open ticket has the same content.
    Known(Ticket),
    /// The client has reached [`MAX_TICKETS_OF_CLIENT`] in [`CLIENT_WINDOW`].
    TooManyOfClient,
    /// [`MAX_OPEN_TICKETS`] are open.
    Full,
}

/// Result of closing a ticket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Closing {
    /// It was open and is now closed.
    Done,
    /// It was already closed, in this state.
    Before(TicketState),
    /// There is no such ticket.
    Unknown,
}

// One statement, so that concurrent requests cannot exceed the limits.
const INSERT: &str = "INSERT INTO feedback (id, kind, address, message, suggested_label, suggested_category, source_url, \
    content_sha256, client, state, created_at, claim_id, is_signed) \
    SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, 'open', $10, $14, $15 \
    WHERE (SELECT count(*) FROM feedback WHERE state = 'open') < $11 \
    AND (SELECT count(*) FROM feedback WHERE client = $9 AND created_at > $12) < $13 \
    ON CONFLICT DO NOTHING";
const SAME: &str = "SELECT id FROM feedback WHERE content_sha256 = $1 AND state = 'open'";
const COUNT_OPEN: &str = "SELECT count(*) FROM feedback WHERE state = 'open'";
const ONE: &str = "SELECT id, kind, address, message, suggested_label, suggested_category, source_url, state, created_at, \
    closed_at, note, claim_id, is_signed FROM feedback WHERE id = $1";
const LIST: &str = "SELECT id, kind, address, message, suggested_label, suggested_category, source_url, state, created_at, \
    closed_at, note, claim_id, is_signed FROM feedback WHERE $1 IS NULL OR state = $1 ORDER BY created_at, id LIMIT $2";
const CLOSE: &str = "UPDATE feedback SET state = $1, closed_at = $2, note = $3 WHERE id = $4 AND state = 'open'";

type StoredTicket = (
    String,
    String,
    Option<String>,
    String,
    Option<String>,
    Option<String>,
    Option<String>,
    String,
    i64,
    Option<i64>,
    Option<String>,
    Option<String>,
    i64,
);

fn ticket_of(row: StoredTicket) -> Result<Ticket, StateError> {
    let (note, claim_id, is_signed) = (row.10.clone(), row.11.clone(), row.12 != 0);
    let (id, kind, address, message, suggested_label, suggested_category, source_url, state, created, closed, ..) = row;
    let bad = |what: String| StateError::Row(format!("ticket {id} {what}"));
    let time = |time: i64| u64::try_from(time).map_err(|_| bad(format!("has an invalid time: {time}")));
    let kind = TicketKind::named(&kind).ok_or_else(|| bad(format!("has an unknown kind: {kind:?}")))?;
    let state = TicketState::named(&state).ok_or_else(|| bad(format!("has an unknown state: {state:?}")))?;
    let (created_at, closed_at) = (time(created)?, closed.map(time).transpose()?);
    let feedback =
        NewTicket { kind, address, message, suggested_label, suggested_category, source_url, claim_id, is_signed };
    Ok(Ticket { id, feedback, state, created_at, closed_at, note })
}

impl NewTicket {
    /// All texts except the message.
    fn others(&self) -> [Option<&str>; 5] {
        [&self.address, &self.suggested_label, &self.suggested_category, &self.source_url, &self.claim_id]
            .map(Option::as_deref)
    }

    /// SHA-256 of the content in hex. Each part is prefixed with its length.
    fn content_sha256(&self) -> String {
        let mut hash = Sha256::new();
        let [others @ .., claim_id] = self.others();
        let signed = self.is_signed.then_some("signed");
        // Tickets of before these two have the hash that they would have now.
        let later = [claim_id, signed].into_iter().filter(Option::is_some);
        let first = [Some(self.kind.name()), Some(self.message.as_str())];
        for part in first.into_iter().chain(others).chain(later) {
            // An absent text has another hash than an empty one.
            hash.update(part.map_or(u64::MAX, |part| part.len() as u64).to_be_bytes());
            hash.update(part.unwrap_or_default());
        }
        hex::encode(hash.finalize())
    }

    /// Checks that it can be stored: texts are bounded, and safe to show in a terminal.
    fn check(&self) -> Result<(), StateError> {
        // These are the only control characters that a message may contain.
        let strange = |c: char| c.is_control() && c != '\n' && c != '\t';
        if self.message.trim().is_empty()
            || self.message.chars().count() > MAX_MESSAGE_CHARS
            || self.message.contains(strange)
            || self
                .others()
                .iter()
                .flatten()
                .any(|t| t.chars().count() > MAX_TEXT_CHARS || t.contains(char::is_control))
        {
            return Err(StateError::Feedback);
        }
        Ok(())
    }
}

fn new_id() -> Result<String, StateError> {
    Ok(format!("fb_{}", hex::encode(random::<ID_BYTES>()?)))
}

impl State {
    /// Stores feedback. `client` is a pseudonym of the client; without one, no limit per client applies. Feedback with
    /// the content of an open ticket does not create another one. `now` is in seconds since 1970.
    ///
    /// # Errors
    /// Fails if a text is invalid, or if the time is out of range.
    pub async fn submit(&self, new: NewTicket, client: Option<&str>, now: u64) -> Result<Submission, StateError> {
        new.check()?;
        let (created_at, since) = (to_stored(now)?, to_stored(now.saturating_sub(CLIENT_WINDOW))?);
        self.ready().await?;
        let (id, hash) = (new_id()?, new.content_sha256());
        let what = "cannot store feedback";
        // A repeated ticket does not count towards the limits, so it is looked up first.
        if let Some(same) = self.same(&hash).await? {
            return Ok(Submission::Known(same));
        }
        let insert = sql(INSERT).bind(&id).bind(new.kind.name()).bind(&new.address).bind(&new.message);
        let insert = insert.bind(&new.suggested_label).bind(&new.suggested_category).bind(&new.source_url);
        let insert = insert.bind(&hash).bind(client).bind(created_at).bind(i64::from(MAX_OPEN_TICKETS));
        let insert = insert.bind(since).bind(i64::from(MAX_TICKETS_OF_CLIENT));
        let insert = insert.bind(&new.claim_id).bind(i64::from(new.is_signed));
        let inserted = insert.run(&self.pool, what).await?;
        if inserted > 0 {
            self.changed().await;
            let ticket =
                Ticket { id, feedback: new, state: TicketState::Open, created_at: now, closed_at: None, note: None };
            return Ok(Submission::Received(ticket));
        }
        // A concurrent request may have stored the same content.
        if let Some(same) = self.same(&hash).await? {
            return Ok(Submission::Known(same));
        }
        let open: i64 = sql(COUNT_OPEN).value(&self.pool, what).await?;
        let full = open >= i64::from(MAX_OPEN_TICKETS);
        Ok(if full { Submission::Full } else { Submission::TooManyOfClient })
    }

    /// The open ticket with this content.
    async fn same(&self, hash: &str) -> Result<Option<Ticket>, StateError> {
        let id: Option<String> = sql(SAME).bind(hash).first_value(&self.pool, "cannot look up feedback").await?;
        match id {
            Some(id) => self.ticket(&id).await,
            None => Ok(None),
        }
    }

    /// The ticket with this id.
    pub async fn ticket(&self, id: &str) -> Result<Option<Ticket>, StateError> {
        self.ready().await?;
        let row: Option<StoredTicket> = sql(ONE).bind(id).first(&self.pool, "cannot look up feedback").await?;
        row.map(ticket_of).transpose()
    }

    /// The oldest tickets, in this state or in any, at most `limit`.
    pub async fn tickets(&self, state: Option<TicketState>, limit: u32) -> Result<Vec<Ticket>, StateError> {
        self.ready().await?;
        let state = state.map(TicketState::name);
        let rows: Vec<StoredTicket> =
            sql(LIST).bind(state).bind(i64::from(limit)).all(&self.pool, "cannot list feedback").await?;
        rows.into_iter().map(ticket_of).collect()
    }

    /// Closes a ticket as resolved, or as rejected. `now` is in seconds since 1970.
    ///
    /// # Errors
    /// Fails if the note is invalid, or if the time is out of range.
    pub async fn close_ticket(
        &self,
        id: &str,
        resolved: bool,
        note: Option<&str>,
        now: u64,
    ) -> Result<Closing, StateError> {
        if note.is_some_and(|note| note.chars().count() > MAX_TEXT_CHARS || note.contains(char::is_control)) {
            return Err(StateError::Feedback);
        }
        let now = to_stored(now)?;
        self.ready().await?;
        let to = if resolved { TicketState::Resolved } else { TicketState::Rejected };
        let close = sql(CLOSE).bind(to.name()).bind(now).bind(note).bind(id);
        let changed = close.run(&self.pool, "cannot close a ticket").await?;
        if changed > 0 {
            self.changed().await;
            return Ok(Closing::Done);
        }
        Ok(self.ticket(id).await?.map_or(Closing::Unknown, |ticket| Closing::Before(ticket.state)))
    }
}
