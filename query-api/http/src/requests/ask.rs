//! The request and the answer of a service.

use std::{
    cell::{Cell, RefCell},
    fmt,
    future::Future,
    net::IpAddr,
    rc::Rc,
    sync::Arc,
    time::Duration,
};

use axum::http::{HeaderName, HeaderValue};
use cairn_state::{ServiceSecret, State, StateError};
use cairn_work::Work;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use tokio::{runtime::Handle, time::timeout};

use super::{fingerprint::Fingerprint, snapshot::Snapshot};
use crate::{
    access::{bridge::session_required, delivery::Delivery},
    answers::{
        code::ErrorCode,
        compact::Selection,
        error::ApiError,
        meta::{DataState, Meta, Warning, append},
        validators::{matches, matches_any},
    },
    config::HttpConfig,
    contract::{
        operation::{Freshness, RegisteredOperation},
        output::{JSON, Parts, SerializedAnswer},
    },
    describe::about::About,
    limits::admitted::Admitted,
};

/// Implementation of the operations of a service.
pub trait Backend: Send + Sync + 'static {
    /// The network of the service; `None` while it is unknown.
    fn network(&self) -> Option<&'static str>;

    /// Answers a checked request. It may block: it runs on a blocking thread.
    fn answer(&self, ask: &Ask<'_>) -> Result<Answer, ApiError>;

    /// Checks that it is ready. Returns lines for the operator about parts that do not work although it is; mostly
    /// none.
    ///
    /// # Errors
    /// Returns the missing parts, for the operator, if it is not ready.
    fn ready(&self) -> Result<String, String>;

    /// Figures about the data for operators. It may block: it runs on a blocking thread.
    fn readings(&self) -> Vec<Metric>;

    /// A number that changes when the streamed events do. It does not block: each stream asks for it four times a
    /// second.
    fn mark(&self) -> u64 {
        0
    }

    /// Takes the next step of its work that no request waits for. It may block for a moment: it runs on a blocking
    /// thread.
    fn aside(&self) -> Aside {
        Aside::Nothing
    }

    /// Takes the answer that the last step asked for: its body, or the error.
    fn hear(&self, _answer: Result<Vec<u8>, ApiError>) {}

    /// Maps an error of a lower layer to an API error, and logs it.
    fn explain(&self, source: &(dyn std::error::Error + Send + Sync + 'static)) -> ApiError;
}

/// The next step of a backend.
#[derive(Debug)]
pub enum Aside {
    /// Nothing is to be done.
    Nothing,
    /// A part is done, and more is left.
    More,
    /// The backend wants to hear the answer of an operation.
    Ask(&'static str, Map<String, Value>),
}

/// A figure for operators, shown on `/metrics`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Metric {
    /// Its name.
    pub name: &'static str,
    /// Its help text.
    pub help: &'static str,
    /// True if it only grows: a counter. Otherwise a gauge.
    pub grows: bool,
    /// Name of its label, if it has one.
    pub label: Option<&'static str>,
    /// Its values; with a label, each with the value of that.
    pub values: Vec<(&'static str, u64)>,
}

impl Metric {
    /// A gauge.
    #[must_use]
    pub fn gauge(name: &'static str, help: &'static str, value: u64) -> Self {
        Metric { name, help, grows: false, label: None, values: vec![("", value)] }
    }

    /// A counter.
    #[must_use]
    pub fn counter(name: &'static str, help: &'static str, value: u64) -> Self {
        Metric { grows: true, ..Metric::gauge(name, help, value) }
    }

    /// A counter for each value of a label.
    #[must_use]
    pub fn counters(
        name: &'static str,
        help: &'static str,
        label: &'static str,
        values: Vec<(&'static str, u64)>,
    ) -> Self {
        Metric { name, help, grows: true, label: Some(label), values }
    }
}

/// The parts of request and server that operations may use.
pub struct Call<'a> {
    /// Configuration.
    pub config: &'a HttpConfig,
    /// Description of the service.
    pub about: &'a About,
    /// All operations.
    pub operations: &'a [RegisteredOperation],
    /// Operations of the interface that are not implemented.
    pub planned: &'a [crate::AgreedOperation],
    /// Time of the request in milliseconds since 1970.
    pub now_ms: u64,
    /// True if the request has a valid wallet session.
    pub has_session: bool,
    /// True if only the headers of the answer are sent: what is shown once must not be given out.
    pub is_head: bool,
    /// Its budget, and the use so far.
    pub work: Rc<Work>,
    pub(crate) admitted: Rc<Admitted<'a>>,
    /// Answers that were made before anyone asked; `None` before the first.
    pub snapshot: Option<Arc<Snapshot>>,
    /// Warnings for `_meta.warnings`.
    pub(crate) warnings: RefCell<Vec<Warning>>,
    /// Parts of the answer besides its body.
    pub(crate) notes: RefCell<AnswerNotes>,
    /// Price of the request in satoshis.
    pub(crate) price_sats: Cell<u64>,
    /// See [`Call::client`].
    pub(crate) client: Option<u64>,
    /// See [`Call::client_under`].
    pub(crate) network: Option<IpAddr>,
    pub(crate) state: Option<&'a State>,
    pub(crate) runtime: Handle,
    pub(crate) delivery: Arc<Delivery>,
}

impl fmt::Debug for Call<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").field("now_ms", &self.now_ms).finish_non_exhaustive()
    }
}

impl<'a> Call<'a> {
    /// Adds a warning to the answer, at most one of each code.
    pub fn warn(&self, code: &'static str, message: impl Into<String>) {
        let mut warnings = self.warnings.borrow_mut();
        if !warnings.iter().any(|warning| warning.code == code) {
            warnings.push(Warning::new(code, message));
        }
    }

    /// Answers with 202: something was accepted that goes on after the answer.
    pub fn accepted(&self) {
        self.notes.borrow_mut().is_accepted = true;
    }

    /// Names the file that the answer is. The name has letters, digits and the characters `-._`; others are left out.
    pub fn name_file(&self, name: &str) {
        let is_plain = |c: &char| c.is_ascii_alphanumeric() || "-._".contains(*c);
        self.notes.borrow_mut().file_name = Some(name.chars().filter(is_plain).collect());
    }

    /// Runs `work` and discards its warnings.
    pub fn silently<T>(&self, work: impl FnOnce() -> T) -> T {
        let before = self.warnings.borrow().len();
        let result = work();
        self.warnings.borrow_mut().truncate(before);
        result
    }

    /// Accepts a request with a session or key, or any request while the gates are disabled.
    ///
    /// # Errors
    /// Returns 402 `wallet_session_required`. `capability` names what was requested, `detail` explains what needs a
    /// session.
    pub fn need_session(&self, capability: &'static str, detail: &str) -> Result<(), ApiError> {
        if self.has_session || !self.config.gates_enabled {
            return Ok(());
        }
        Err(session_required(self.config, capability, detail))
    }

    /// The same request for another operation, without warnings.
    pub(crate) fn for_another(&self) -> Call<'a> {
        Call {
            work: Rc::clone(&self.work),
            admitted: Rc::clone(&self.admitted),
            snapshot: self.snapshot.clone(),
            warnings: RefCell::default(),
            notes: RefCell::default(),
            price_sats: Cell::default(),
            runtime: self.runtime.clone(),
            delivery: Arc::clone(&self.delivery),
            ..*self
        }
    }

    /// A pseudonym of the client, for limits: 16 hexadecimal digits that identify its address or network until this
    /// process ends. The address cannot be computed from it. `None` for calls without a client.
    #[must_use]
    pub fn client(&self) -> Option<String> {
        self.client.map(|hash| format!("{hash:016x}"))
    }

    /// A keyed hash of the client's address, or of the /64 of an IPv6 address, for limits that outlast this process.
    /// Without the key, the address cannot be found out. All calls without a client have the same one.
    #[must_use]
    pub fn client_under(&self, key: &ServiceSecret, scope: &str) -> String {
        let network = self.network.map_or_else(|| "no client".to_owned(), |network| network.to_string());
        key.mac(&[scope, &network])
    }

    /// Gives the request's place among the running ones to others, before a wait for another program. The rest of the
    /// request must be short, since it runs without a place. Only a till that takes a payment may be followed by more:
    /// the operation runs once the request has a place again.
    pub fn give_place_back(&self) {
        self.work.give_turn_back();
        self.admitted.give_back();
    }

    /// Waits for a place, if it has none.
    ///
    /// # Errors
    /// Returns 503 `overloaded` if no place becomes free in time. Fails if nobody waits for the answer any more.
    pub(crate) fn take_place_again(&self) -> Result<(), ApiError> {
        self.work.poll()?;
        self.admitted.enter_again(&self.runtime, self.work.left())
    }

    /// True unless the client has left while its payment was redeemed: it will not get this answer.
    #[must_use]
    pub fn is_awaited(&self) -> bool {
        self.delivery.is_awaited()
    }

    /// True if there is a database for the service state.
    #[must_use]
    pub fn has_state(&self) -> bool {
        self.state.is_some()
    }

    /// The service state and the runtime, for what must be ended even if the request panics. `None` if there is no
    /// database.
    #[must_use]
    pub fn state_and_runtime(&self) -> Option<(State, Handle)> {
        self.state.map(|state| (state.clone(), self.runtime.clone()))
    }

    /// Reads or writes the service state, and waits for it within the time limit of the request. The caller must not
    /// hold a lock.
    ///
    /// # Errors
    /// Returns 503 `state_unavailable` if there is no database, or if it is unreachable or too slow.
    pub fn with_state<T, F: Future<Output = Result<T, StateError>>>(
        &self,
        work: impl FnOnce(&'a State) -> F,
    ) -> Result<T, ApiError> {
        self.with_state_within(self.work.left(), work)
    }

    /// Like [`Call::with_state`], with a time limit of its own: for what must be done even if the request is late.
    ///
    /// # Errors
    /// Returns 503 `state_unavailable`.
    pub fn with_state_within<T, F: Future<Output = Result<T, StateError>>>(
        &self,
        limit: Duration,
        work: impl FnOnce(&'a State) -> F,
    ) -> Result<T, ApiError> {
        let state = self.state.ok_or_else(|| {
            ApiError::new(
                ErrorCode::StateUnavailable,
                "no database is configured for the service state; the operator can configure one (--state-url)",
            )
        })?;
        let away = |why: &str| {
            let detail = format!("the database of the service state: {why}; as far as known, nothing was written");
            ApiError::unavailable(ErrorCode::StateUnavailable, detail, 5)
        };
        match self.runtime.block_on(timeout(limit, work(state))) {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(error)) => {
                tracing::error!(%error, "the service state failed");
                Err(away(error.brief()))
            }
            Err(_) => Err(away("it does not answer in time")),
        }
    }
}

/// Parts of an answer besides its body.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AnswerNotes {
    /// True if the status is 202.
    pub(crate) is_accepted: bool,
    /// True if a payment for this call opened it: it must reach its client whole.
    pub(crate) is_paid: bool,
    /// Headers of a receipt.
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    /// Name under which clients save the body.
    pub(crate) file_name: Option<String>,
}

/// A request that has been checked.
pub struct Ask<'a> {
    /// Index of its operation in the list.
    pub at: usize,
    /// Its operation.
    pub op: &'a RegisteredOperation,
    /// Its parameters, in the form of the operation's schema.
    pub input: Value,
    /// The rest of it.
    pub call: Call<'a>,
    /// Version of the configuration and state that affect answers.
    pub(crate) state_version: &'a [u8],
    /// URL of the OpenAPI document.
    pub(crate) docs: &'a str,
    pub(crate) if_none_match: Option<&'a str>,
}

impl fmt::Debug for Ask<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Ask");
        shown.field("operation", &self.op.info.name);
        if !self.op.info.private {
            shown.field("input", &self.input);
        }
        shown.finish_non_exhaustive()
    }
}

/// Hash of the versions of the inputs that an answer depends on.
pub struct Versions(Sha256);

impl Versions {
    /// Adds a version, or a part of it.
    pub fn add(&mut self, bytes: &[u8]) {
        self.0.update((bytes.len() as u64).to_be_bytes());
        self.0.update(bytes);
    }
}

impl fmt::Debug for Versions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Versions")
    }
}

/// Answer of an operation.
pub enum Answer {
    /// A body. Without an ETag it must not be cached.
    Body {
        /// Its media type.
        media_type: &'static str,
        /// Its content.
        content: Content,
        /// Its ETag.
        etag: Option<String>,
        /// Number of rows read.
        rows_read: u64,
        /// Warnings about the request, for the headers of an answer that has no room for them.
        warnings: Vec<Warning>,
        /// Status and file name.
        notes: AnswerNotes,
    },
    /// The client's version is still current.
    NotModified {
        /// The ETag.
        etag: String,
    },
}

/// A body.
pub enum Content {
    /// Whole.
    Whole(Vec<u8>),
    /// In parts, produced while it is sent.
    Parts(Parts),
}

impl Content {
    /// All of it.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        match self {
            Content::Whole(bytes) => bytes,
            Content::Parts(parts) => parts.flatten().collect(),
        }
    }
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Answer::Body { media_type, .. } => {
                f.debug_struct("Body").field("media_type", media_type).finish_non_exhaustive()
            }
            Answer::NotModified { etag } => f.debug_struct("NotModified").field("etag", etag).finish(),
        }
    }
}

impl Ask<'_> {
    /// The ETag of the answer: a hash of the request and of the versions of all inputs that the answer depends on.
    /// `add` adds the versions of the service's own inputs. `None` if the answer must not be cached, as for POST, and
    /// if it depends on the time: then [`Ask::body`] takes the hash of the answer itself.
    pub fn etag(&self, mut add: impl FnMut(Freshness, &mut Versions)) -> Option<String> {
        let info = &self.op.info;
        if !info.has_etag() || info.depends_on(Freshness::NOW) {
            return None;
        }
        let mut versions = Versions(Sha256::new());
        versions.add(env!("CARGO_PKG_VERSION").as_bytes());
        versions.add(info.name.as_bytes());
        versions.add(self.input.to_string().as_bytes());
        // An answer for a session must not be confirmed without the session.
        versions.add(&[u8::from(info.conditional && self.call.has_session)]);
        for warning in self.call.warnings.borrow().iter() {
            versions.add(warning.message.as_bytes());
        }
        for what in info.freshness {
            match *what {
                Freshness::STATE => versions.add(self.state_version),
                other => add(other, &mut versions),
            }
        }
        Some(format!("\"{}\"", hex::encode(&versions.0.finalize()[..16])))
    }

    /// The fingerprint of the request, which the cursors of a list are bound to.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::new(self.op.info.name, &self.op.input.fields, &self.input)
    }

    /// True if the client already has this version, so that the answer need not be made.
    #[must_use]
    pub fn is_known(&self, etag: &str) -> bool {
        self.if_none_match.is_some_and(|tags| matches(tags, etag))
    }

    /// The requested fields of the answer.
    #[must_use]
    pub fn selection(&self) -> Selection<'static> {
        match self.input.get("view").and_then(Value::as_str) {
            Some("compact") => Selection::Without(self.op.info.compact),
            _ => Selection::All,
        }
    }

    /// The answer: with `_meta`, if it is JSON. Not modified, if only that shows now.
    pub fn body(
        &self,
        written: SerializedAnswer,
        data_state: &DataState,
        etag: Option<String>,
        rows_read: u64,
    ) -> Result<Answer, ApiError> {
        let info = &self.op.info;
        let is_full = self.selection() == Selection::All;
        let mut warnings = Vec::new();
        let (media_type, content) = match written {
            SerializedAnswer::File { media_type, bytes } => {
                warnings = self.call.warnings.borrow().clone();
                (media_type, Content::Whole(bytes))
            }
            SerializedAnswer::Stream { media_type, parts } => {
                warnings = self.call.warnings.borrow().clone();
                (media_type, Content::Parts(parts))
            }
            SerializedAnswer::Json(mut json) => {
                let told = self.call.warnings.borrow();
                let brief: Vec<Warning>;
                let told = if is_full {
                    told.as_slice()
                } else {
                    brief = told.iter().map(Warning::brief).collect();
                    brief.as_slice()
                };
                let meta = Meta {
                    endpoint: &info.endpoint(),
                    freshness: data_state.freshness.as_deref(),
                    source: info.source,
                    price_sats: self.call.price_sats.get(),
                    // They explain, and are the same in every answer of the operation.
                    docs: is_full.then_some(self.docs),
                    freshness_semantics: is_full.then_some(info.freshness_semantics),
                    warnings: told,
                    tip: data_state.tip.as_ref(),
                    network: data_state.network,
                };
                append(&mut json, &meta)?;
                (JSON, Content::Whole(json))
            }
        };
        let etag = match &content {
            Content::Whole(bytes) if info.has_etag() && info.depends_on(Freshness::NOW) => {
                Some(format!("\"{}\"", hex::encode(&Sha256::digest(bytes)[..16])))
            }
            _ => etag,
        };
        match etag {
            Some(etag) if self.is_known(&etag) || self.if_none_match.is_some_and(matches_any) => {
                Ok(Answer::NotModified { etag })
            }
            etag => {
                let notes = self.call.notes.borrow().clone();
                Ok(Answer::Body { media_type, content, etag, rows_read, warnings, notes })
            }
        }
    }
}
