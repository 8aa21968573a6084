//! What a service gets to see of a request, and what it gives back.

use std::{cell::RefCell, fmt, future::Future};

use cairn_state::{State, StateError};
use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio::{runtime::Handle, time::timeout};

use crate::{
    answers::{
        code::ErrorCode,
        compact::Selection,
        error::ApiError,
        meta::{Meta, Standing, Warning, append},
        validators::matches,
    },
    config::HttpConfig,
    contract::{
        method::Method,
        operation::{Freshness, Registered},
        output::{JSON, Parts, Written},
        work::Work,
    },
    describe::about::About,
    limits::gate::session_required,
};

/// What answers the operations of a service.
pub trait Backend: Send + Sync + 'static {
    /// The network that questions are about; `None` while it is not known.
    fn network(&self) -> Option<&'static str>;

    /// Answers a request that has been checked. It may block; it runs on a thread that may.
    ///
    /// # Errors
    /// There is no answer, and why.
    fn answer(&self, ask: &Ask<'_>) -> Result<Answer, ApiError>;

    /// Whether it can answer as it should; else what is missing, for its operator.
    ///
    /// # Errors
    /// It cannot.
    fn ready(&self) -> Result<(), String>;

    /// What its operator watches: names, what they mean, values.
    fn gauges(&self) -> Vec<(&'static str, &'static str, u64)>;

    /// The failure that an error of a layer below stands for. It is logged here, where it is known what it says.
    fn explain(&self, source: &(dyn std::error::Error + Send + Sync + 'static)) -> ApiError;
}

/// What operations may use of the request and of the server, whatever they are about.
pub struct Call<'a> {
    /// Configuration.
    pub config: &'a HttpConfig,
    /// What is said about the service.
    pub about: &'a About,
    /// All operations.
    pub operations: &'a [Registered],
    /// Operations that were agreed upon and are not built.
    pub planned: &'a [crate::Agreed],
    /// Time of the request in milliseconds since 1970.
    pub now_ms: u64,
    /// Whether the request shows a wallet session that is valid.
    pub has_session: bool,
    /// How long it may work.
    pub work: Work,
    /// What goes into `_meta.warnings`.
    pub(crate) warnings: RefCell<Vec<Warning>>,
    /// See [`Call::client`].
    pub(crate) client: Option<u64>,
    pub(crate) state: Option<&'a State>,
    pub(crate) runtime: Handle,
}

impl fmt::Debug for Call<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").field("now_ms", &self.now_ms).finish_non_exhaustive()
    }
}

impl<'a> Call<'a> {
    /// Adds a warning to the answer; one of each code is enough.
    pub fn warn(&self, code: &'static str, message: impl Into<String>) {
        let mut warnings = self.warnings.borrow_mut();
        if !warnings.iter().any(|warning| warning.code == code) {
            warnings.push(Warning::new(code, message));
        }
    }

    /// Runs something that leaves no warnings behind: a look ahead.
    pub fn silently<T>(&self, work: impl FnOnce() -> T) -> T {
        let before = self.warnings.borrow().len();
        let result = work();
        self.warnings.borrow_mut().truncate(before);
        result
    }

    /// Lets a request pass that shows a session or key, or any while the gates are switched off.
    ///
    /// # Errors
    /// 402 `wallet_session_required`. `capability` names what was asked for, `detail` says in a sentence what needs a
    /// session.
    pub fn need_session(&self, capability: &'static str, detail: &str) -> Result<(), ApiError> {
        if self.has_session || !self.config.gates_enabled {
            return Ok(());
        }
        Err(session_required(&self.config.base_url, capability, detail))
    }

    /// A pseudonym of the client, for limits: 16 hexadecimal digits that stand for its address or network as long as this
    /// process runs, and from which nobody can compute the address. `None` for calls that no client makes.
    #[must_use]
    pub fn client(&self) -> Option<String> {
        self.client.map(|hash| format!("{hash:016x}"))
    }

    /// Reads or writes the service state, and waits for it within the time of the request. Nothing that others wait for
    /// may be held meanwhile.
    ///
    /// # Errors
    /// 503 `state_unavailable`: there is no database, or it is away or too slow.
    pub fn with_state<T, F: Future<Output = Result<T, StateError>>>(
        &self,
        work: impl FnOnce(&'a State) -> F,
    ) -> Result<T, ApiError> {
        let state = self.state.ok_or_else(|| {
            ApiError::new(ErrorCode::StateUnavailable, "no database is configured for what users write")
        })?;
        let away = || {
            let detail = "the database of the service state does not answer; nothing was written as far as is known";
            ApiError::unavailable(ErrorCode::StateUnavailable, detail, 5)
        };
        match self.runtime.block_on(timeout(self.work.left(), work(state))) {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(error)) => {
                tracing::error!(%error, "the service state failed");
                Err(away())
            }
            Err(_) => Err(away()),
        }
    }
}

/// A request that has been checked.
pub struct Ask<'a> {
    /// The place of its operation in the list.
    pub at: usize,
    /// Its operation.
    pub op: &'a Registered,
    /// Its parameters, as the operation's schema has them.
    pub input: Value,
    /// The rest of it.
    pub call: Call<'a>,
    /// Version of configuration and state, as far as answers show them.
    pub(crate) state_version: &'a [u8],
    /// Where the interface is described.
    pub(crate) docs: &'a str,
    pub(crate) if_none_match: Option<&'a str>,
}

impl fmt::Debug for Ask<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ask").field("operation", &self.op.info.name).field("input", &self.input).finish_non_exhaustive()
    }
}

/// Where the versions of what an answer depends on come together.
pub struct Versions(Sha256);

impl Versions {
    /// Takes in a version, or a part of it.
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

/// What an operation gives back.
pub enum Answer {
    /// A body. Without an ETag it is not to be kept.
    Body {
        /// Its media type.
        media_type: &'static str,
        /// What it says.
        content: Content,
        /// Its version.
        etag: Option<String>,
        /// Rows that it took.
        rows_read: u64,
    },
    /// What the client has is still true.
    NotModified {
        /// The version of both.
        etag: String,
    },
}

/// A body.
pub enum Content {
    /// Whole.
    Whole(Vec<u8>),
    /// In parts, which are made while it is sent.
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
    /// The version of the answer: a hash of the request and of the versions of all that the answer depends on, which
    /// `add` takes in for what only the service knows. `None` where no answer lasts: what a POST does or says is for this
    /// moment.
    pub fn etag(&self, mut add: impl FnMut(Freshness, &mut Versions)) -> Option<String> {
        let info = &self.op.info;
        if info.method != Method::Get {
            return None;
        }
        let mut versions = Versions(Sha256::new());
        versions.add(env!("CARGO_PKG_VERSION").as_bytes());
        versions.add(info.name.as_bytes());
        versions.add(self.input.to_string().as_bytes());
        // Who has the answer by a session must not have it confirmed without.
        versions.add(&[u8::from(info.conditional && self.call.has_session)]);
        for warning in self.call.warnings.borrow().iter() {
            versions.add(warning.message.as_bytes());
        }
        for what in info.freshness {
            match *what {
                Freshness::STATE => versions.add(self.state_version),
                Freshness::NOW => versions.add(&self.call.now_ms.to_be_bytes()),
                other => add(other, &mut versions),
            }
        }
        Some(format!("\"{}\"", hex::encode(&versions.0.finalize()[..16])))
    }

    /// Whether the client has this version already.
    #[must_use]
    pub fn is_known(&self, etag: &str) -> bool {
        self.if_none_match.is_some_and(|tags| matches(tags, etag))
    }

    /// Which members of the answer are wanted.
    #[must_use]
    pub fn selection(&self) -> Selection<'static> {
        match self.input.get("view").and_then(Value::as_str) {
            Some("compact") => Selection::Without(self.op.info.compact),
            _ => Selection::All,
        }
    }

    /// The answer: with `_meta`, if it is JSON.
    ///
    /// # Errors
    /// `_meta` cannot be written.
    pub fn body(
        &self,
        written: Written,
        standing: &Standing,
        etag: Option<String>,
        rows_read: u64,
    ) -> Result<Answer, ApiError> {
        let (media_type, content) = match written {
            Written::File { media_type, bytes } => (media_type, Content::Whole(bytes)),
            Written::Stream { media_type, parts } => (media_type, Content::Parts(parts)),
            Written::Json(mut json) => {
                let info = &self.op.info;
                let meta = Meta {
                    endpoint: &info.endpoint(),
                    freshness: standing.freshness.as_deref(),
                    source: info.source,
                    price_sats: 0,
                    docs: self.docs,
                    freshness_semantics: info.freshness_semantics,
                    warnings: &self.call.warnings.borrow(),
                    tip: standing.tip.as_ref(),
                    network: standing.network,
                };
                append(&mut json, &meta)?;
                (JSON, Content::Whole(json))
            }
        };
        Ok(Answer::Body { media_type, content, etag, rows_read })
    }
}
