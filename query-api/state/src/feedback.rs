//! Feedback of clients: tickets that an operator reads and closes.

use sha2::{Digest, Sha256};

use crate::{MAX_MESSAGE_CHARS, MAX_TEXT_CHARS, State, StateError, pool::on};

/// Open tickets that are kept at most. Beyond it new ones are refused until some are closed.
pub const MAX_OPEN_TICKETS: u32 = 10_000;
/// Tickets that one client can submit within [`CLIENT_WINDOW`].
pub const MAX_TICKETS_OF_CLIENT: u32 = 20;
/// In seconds.
pub const CLIENT_WINDOW: u64 = 86_400;
/// Random bytes of an id.
const ID_BYTES: usize = 8;

/// Declares an enumeration whose values have names in the database.
macro_rules! named {
    ($(#[$meta:meta])* $name:ident { $($(#[$of:meta])* $variant:ident = $text:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum $name { $($(#[$of])* $variant,)+ }

        impl $name {
            /// All of them.
            pub const ALL: &[$name] = &[$($name::$variant,)+];

            /// Its name in snake case.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $($name::$variant => $text,)+ }
            }

            /// The one of that name.
            #[must_use]
            pub fn named(name: &str) -> Option<Self> {
                $name::ALL.iter().copied().find(|one| one.name() == name)
            }
        }
    };
}

named! {
    /// What feedback is about.
    TicketKind {
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
    /// What became of a ticket.
    TicketState {
        /// Nobody has decided yet.
        Open = "open",
        /// The operator has acted on it.
        Resolved = "resolved",
        /// The operator has decided not to act on it.
        Rejected = "rejected",
    }
}

/// Feedback that is to be kept.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewTicket {
    /// What it is about.
    pub kind: TicketKind,
    /// The address that it is about.
    pub address: Option<String>,
    /// What the client says; not empty.
    pub message: String,
    /// The label that the client thinks right.
    pub suggested_label: Option<String>,
    /// The category that the client thinks right.
    pub suggested_category: Option<String>,
    /// Where others can check it.
    pub source_url: Option<String>,
}

/// A ticket. All times are in seconds since 1970.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ticket {
    /// Its id: `fb_` and 16 hexadecimal digits.
    pub id: String,
    /// What the client sent.
    pub feedback: NewTicket,
    /// What became of it.
    pub state: TicketState,
    /// When it was received.
    pub created_at: u64,
    /// When it was closed; `None` while it is open.
    pub closed_at: Option<u64>,
    /// What the operator noted when closing it.
    pub note: Option<String>,
}

/// What came of submitting feedback.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Submission {
    /// It is kept.
    Received(Ticket),
    /// An open ticket says the same.
    Known(Ticket),
    /// This client has submitted [`MAX_TICKETS_OF_CLIENT`] within [`CLIENT_WINDOW`].
    TooManyOfClient,
    /// There are [`MAX_OPEN_TICKETS`].
    Full,
}

/// What came of closing a ticket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Closing {
    /// It was open until now.
    Done,
    /// It was closed before, in this state.
    Before(TicketState),
    /// There is no such ticket.
    Unknown,
}

// One statement, so that clients who submit at the same time cannot pass the limits together.
const INSERT: &str = "INSERT INTO feedback (id, kind, address, message, suggested_label, suggested_category, source_url, \
    content_sha256, client, state, created_at) \
    SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, 'open', $10 \
    WHERE (SELECT count(*) FROM feedback WHERE state = 'open') < $11 \
    AND (SELECT count(*) FROM feedback WHERE client = $9 AND created_at > $12) < $13 \
    ON CONFLICT DO NOTHING";
const SAME: &str = "SELECT id FROM feedback WHERE content_sha256 = $1 AND state = 'open'";
const COUNT_OPEN: &str = "SELECT count(*) FROM feedback WHERE state = 'open'";
const ONE: &str = "SELECT id, kind, address, message, suggested_label, suggested_category, source_url, state, created_at, \
    closed_at, note FROM feedback WHERE id = $1";
const LIST: &str = "SELECT id, kind, address, message, suggested_label, suggested_category, source_url, state, created_at, \
    closed_at, note FROM feedback WHERE $1 IS NULL OR state = $1 ORDER BY created_at, id LIMIT $2";
const CLOSE: &str = "UPDATE feedback SET state = $1, closed_at = $2, note = $3 WHERE id = $4 AND state = 'open'";

/// A row as it is stored.
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
);

fn ticket_of(row: StoredTicket) -> Result<Ticket, StateError> {
    let (id, kind, address, message, suggested_label, suggested_category, source_url, state, created, closed, note) =
        row;
    let bad = |what: String| StateError::Row(format!("ticket {id} {what}"));
    let time = |time: i64| u64::try_from(time).map_err(|_| bad(format!("has a time {time}")));
    let kind = TicketKind::named(&kind).ok_or_else(|| bad(format!("is of kind {kind:?}")))?;
    let state = TicketState::named(&state).ok_or_else(|| bad(format!("is in state {state:?}")))?;
    let (created_at, closed_at) = (time(created)?, closed.map(time).transpose()?);
    let feedback = NewTicket { kind, address, message, suggested_label, suggested_category, source_url };
    Ok(Ticket { id, feedback, state, created_at, closed_at, note })
}

impl NewTicket {
    /// The texts that are not the message.
    fn others(&self) -> [Option<&str>; 4] {
        [&self.address, &self.suggested_label, &self.suggested_category, &self.source_url].map(Option::as_deref)
    }

    /// SHA-256 over what it says, each part with its length, in hex.
    fn content_sha256(&self) -> String {
        let mut hash = Sha256::new();
        for part in [Some(self.kind.name()), Some(self.message.as_str())].into_iter().chain(self.others()) {
            // A text that is not there differs from an empty one.
            hash.update(part.map_or(u64::MAX, |part| part.len() as u64).to_be_bytes());
            hash.update(part.unwrap_or_default());
        }
        hex::encode(hash.finalize())
    }

    /// Whether it can be kept: operators read it in terminals, and no text is endless.
    fn check(&self) -> Result<(), StateError> {
        // Of the control characters, only these two have a place in a message.
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
    let mut random = [0u8; ID_BYTES];
    getrandom::fill(&mut random).map_err(|error| StateError::Random(error.to_string()))?;
    Ok(format!("fb_{}", hex::encode(random)))
}

fn to_stored(time: u64) -> Result<i64, StateError> {
    i64::try_from(time).map_err(|_| StateError::Time)
}

impl State {
    /// Keeps feedback of a client, of which `client` is a pseudonym; without one it counts towards no client's limit. The
    /// same words make one ticket while that is open. `now` in seconds since 1970.
    ///
    /// # Errors
    /// A text or the time cannot be kept, or the database fails.
    pub async fn submit(&self, new: NewTicket, client: Option<&str>, now: u64) -> Result<Submission, StateError> {
        new.check()?;
        let (created_at, since) = (to_stored(now)?, to_stored(now.saturating_sub(CLIENT_WINDOW))?);
        self.ready().await?;
        let (id, hash) = (new_id()?, new.content_sha256());
        let failed = || StateError::database("cannot keep feedback");
        // What repeats an open ticket costs a client nothing, so this comes before the limits.
        if let Some(same) = self.same(&hash).await? {
            return Ok(Submission::Known(same));
        }
        let inserted = on!(&self.pool, pool => {
            let insert = sqlx::query(INSERT).bind(&id).bind(new.kind.name()).bind(&new.address).bind(&new.message);
            let insert = insert.bind(&new.suggested_label).bind(&new.suggested_category).bind(&new.source_url);
            let insert = insert.bind(&hash).bind(client).bind(created_at).bind(i64::from(MAX_OPEN_TICKETS));
            let insert = insert.bind(since).bind(i64::from(MAX_TICKETS_OF_CLIENT));
            insert.execute(pool).await.map(|done| done.rows_affected())
        })
        .map_err(failed())?;
        if inserted > 0 {
            let ticket =
                Ticket { id, feedback: new, state: TicketState::Open, created_at: now, closed_at: None, note: None };
            return Ok(Submission::Received(ticket));
        }
        // Somebody else may have said the same at the same time.
        if let Some(same) = self.same(&hash).await? {
            return Ok(Submission::Known(same));
        }
        let open: i64 =
            on!(&self.pool, pool => sqlx::query_scalar(COUNT_OPEN).fetch_one(pool).await).map_err(failed())?;
        let full = open >= i64::from(MAX_OPEN_TICKETS);
        Ok(if full { Submission::Full } else { Submission::TooManyOfClient })
    }

    /// The open ticket with this content.
    async fn same(&self, hash: &str) -> Result<Option<Ticket>, StateError> {
        let id: Option<String> =
            on!(&self.pool, pool => sqlx::query_scalar(SAME).bind(hash).fetch_optional(pool).await)
                .map_err(StateError::database("cannot look up feedback"))?;
        match id {
            Some(id) => self.ticket(&id).await,
            None => Ok(None),
        }
    }

    /// The ticket of an id.
    ///
    /// # Errors
    /// The database fails.
    pub async fn ticket(&self, id: &str) -> Result<Option<Ticket>, StateError> {
        self.ready().await?;
        let row: Option<StoredTicket> =
            on!(&self.pool, pool => sqlx::query_as(ONE).bind(id).fetch_optional(pool).await)
                .map_err(StateError::database("cannot look up feedback"))?;
        row.map(ticket_of).transpose()
    }

    /// The oldest tickets, in one state or in any, at most `limit`.
    ///
    /// # Errors
    /// The database fails.
    pub async fn tickets(&self, state: Option<TicketState>, limit: u32) -> Result<Vec<Ticket>, StateError> {
        self.ready().await?;
        let state = state.map(TicketState::name);
        let rows: Vec<StoredTicket> =
            on!(&self.pool, pool => sqlx::query_as(LIST).bind(state).bind(i64::from(limit)).fetch_all(pool).await)
                .map_err(StateError::database("cannot list feedback"))?;
        rows.into_iter().map(ticket_of).collect()
    }

    /// Closes a ticket: `resolved`, or else rejected. `now` in seconds since 1970.
    ///
    /// # Errors
    /// The note or the time cannot be kept, or the database fails.
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
        let changed = on!(&self.pool, pool => {
            let close = sqlx::query(CLOSE).bind(to.name()).bind(now).bind(note).bind(id);
            close.execute(pool).await.map(|done| done.rows_affected())
        })
        .map_err(StateError::database("cannot close a ticket"))?;
        if changed > 0 {
            return Ok(Closing::Done);
        }
        Ok(self.ticket(id).await?.map_or(Closing::Unknown, |ticket| Closing::Before(ticket.state)))
    }
}
