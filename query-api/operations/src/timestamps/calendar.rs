//! The protocol of OpenTimestamps calendars, for clients that were not made for this server: `POST /digest` and
//! `GET /timestamp/{commitment}`. Digests are hashes like those of the API: same table, same batches, same limits.
//!
//! Whole timestamps are given out from 6 confirmations on: clients never ask again once a proof is complete.

use std::{fmt, sync::Arc};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::{Path, Request, State as Shared},
    http::{HeaderValue, Method, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
    routing::any,
};
use cairn_http::{Api, ApiError, Cost, ErrorCode};
use cairn_link::IndexSource;
use cairn_state::{
    MAX_DIGEST_BYTES, NewTimestamp, State, StateError, TimestampRecord, TimestampSource, TimestampState,
};
use cairn_timestamps::{Attestation, Step, blinded};

use super::{
    anchoring::{AnchoringReason, accept},
    whole::whole_steps,
};
use crate::config::TimestampConfig;

/// Paths. Clients put the path behind an address that may end with a slash.
const DIGEST: [&str; 2] = ["/digest", "//digest"];
const TIMESTAMP: [&str; 2] = ["/timestamp/{commitment}", "//timestamp/{commitment}"];
/// Seconds after which a client may ask again for a database that does not answer.
const RETRY_AFTER_SECS: u32 = 5;
/// An answer that may change with the next block.
const FOR_A_MINUTE: HeaderValue = HeaderValue::from_static("public, max-age=60");
/// An answer that never changes.
const FOR_GOOD: HeaderValue = HeaderValue::from_static("public, max-age=31536000");

pub(crate) struct Calendar {
    state: State,
    index: Arc<dyn IndexSource>,
    /// The promise in pending timestamps.
    promise: Attestation,
}

impl fmt::Debug for Calendar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Calendar").field("promise", &self.promise).finish_non_exhaustive()
    }
}

/// A calendar with the interface that limits its clients.
struct Front {
    calendar: Calendar,
    api: Api,
}

impl Calendar {
    /// The calendar, if it is open and there is a database.
    pub(crate) fn new(config: &TimestampConfig, state: Option<&State>, index: &Arc<dyn IndexSource>) -> Option<Self> {
        let url = config.calendar_url.as_deref().filter(|_| config.is_calendar())?;
        let promise = Attestation::pending(url)?;
        Some(Calendar { state: state?.clone(), index: Arc::clone(index), promise })
    }

    pub(crate) fn routes(self, api: &Api) -> Router {
        let front = Arc::new(Front { calendar: self, api: api.clone() });
        let digests = DIGEST.into_iter().fold(Router::new(), |router, path| router.route(path, any(digest)));
        let router = TIMESTAMP.into_iter().fold(digests, |router, path| router.route(path, any(timestamp)));
        router.with_state(front)
    }

    fn network(&self) -> Result<&'static str, ApiError> {
        let reader = self.index.reader();
        let network = reader.map(|reader| reader.facts().chain_params().key());
        network.ok_or_else(|| ApiError::syncing("nothing has been indexed yet"))
    }
}

/// `POST /digest`: the raw bytes of a digest. The answer is a timestamp with the promise of this calendar.
async fn digest(Shared(front): Shared<Arc<Front>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    if parts.method != Method::POST {
        return Api::method_not_allowed(&parts.method, "POST, OPTIONS");
    }
    match front.accept(&parts, body).await {
        Ok(response) => response,
        Err(refused) => *refused,
    }
}

/// `GET /timestamp/{commitment}`: the timestamp of a commitment that a pending one has.
async fn timestamp(Shared(front): Shared<Arc<Front>>, Path(text): Path<String>, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    if !matches!(parts.method, Method::GET | Method::HEAD) {
        return Api::method_not_allowed(&parts.method, "GET, HEAD, OPTIONS");
    }
    match front.complete(&parts, &text).await {
        Ok(response) => response,
        Err(error) => error.into_response(),
    }
}

impl Front {
    async fn accept(&self, parts: &Parts, body: Body) -> Result<Response, Box<Response>> {
        let refuse = |error: ApiError| Box::new(error.into_response());
        // A unit was charged for coming in.
        self.api.charge(Cost::Standard.units() - Cost::Light.units(), parts).map_err(refuse)?;
        let _place = self.api.admit(parts).await.map_err(refuse)?;
        let digest: Bytes = self.api.body(body, parts).await?;
        match digest.len() {
            0 => return Ok(text(StatusCode::BAD_REQUEST, "digest is empty", FOR_GOOD)),
            1..=MAX_DIGEST_BYTES => {}
            _ => return Ok(text(StatusCode::BAD_REQUEST, "digest too long", FOR_GOOD)),
        }
        let record = self.submit(&digest).await.map_err(refuse)?;
        let step = Step::attested_by(self.calendar.promise.clone()).after(blinded(&record.nonce));
        Ok(bytes(&step, HeaderValue::from_static("no-store")))
    }

    /// Stores a digest, unless it is known.
    async fn submit(&self, digest: &[u8]) -> Result<TimestampRecord, ApiError> {
        let network = self.calendar.network()?;
        let state = &self.calendar.state;
        let now = cairn_clock::now_ms() / 1_000;
        let new = NewTimestamp { network, hash: digest.to_vec(), source: TimestampSource::Calendar };
        let submitted = accept(state, new, now).await.map_err(away)?.map_err(AnchoringReason::error)?;
        Ok(submitted.record)
    }

    async fn complete(&self, parts: &Parts, text_of: &str) -> Result<Response, ApiError> {
        let _place = self.api.admit(parts).await?;
        let Ok(commitment) = hex::decode(text_of) else {
            return Ok(text(StatusCode::BAD_REQUEST, "commitment must be hex-encoded bytes", FOR_GOOD));
        };
        let network = self.calendar.network()?;
        let state = &self.calendar.state;
        let record = match <[u8; 32]>::try_from(commitment) {
            Ok(commitment) => state.timestamp_of_commitment(network, &commitment).await.map_err(away)?,
            Err(_) => None,
        };
        let Some(record) = record else { return Ok(text(StatusCode::NOT_FOUND, "Not found", FOR_A_MINUTE)) };
        if record.state() != TimestampState::Final {
            return Ok(text(StatusCode::NOT_FOUND, &pending(&record), FOR_A_MINUTE));
        }
        let step = whole_steps(state, &record).await.map_err(away)?.ok_or_else(ApiError::internal)?;
        Ok(bytes(&step, FOR_GOOD))
    }
}

/// The text that clients show for a timestamp that is not complete. They show letters, digits and `#-.,; ` only, and
/// 160 of them.
fn pending(record: &TimestampRecord) -> String {
    let batch = record.batch.as_ref().map(|(batch, _)| batch);
    match (record.state(), batch.and_then(|batch| batch.txid)) {
        (TimestampState::Failed, _) => "Not anchored; submit the digest again".to_owned(),
        (_, Some(txid)) => {
            format!("Timestamped by transaction {}; waiting for 6 confirmations", cairn_model::Txid(txid))
        }
        _ => "Pending confirmation in Bitcoin blockchain".to_owned(),
    }
}

/// 503: the database does not answer.
fn away(error: StateError) -> ApiError {
    tracing::error!(%error, "the service state failed");
    let detail = format!("the database of the service state: {}", error.brief());
    ApiError::unavailable(ErrorCode::StateUnavailable, detail, RETRY_AFTER_SECS)
}

fn text(status: StatusCode, text: &str, cache: HeaderValue) -> Response {
    let headers = [(header::CONTENT_TYPE, HeaderValue::from_static("text/plain")), (header::CACHE_CONTROL, cache)];
    (status, headers, text.to_owned()).into_response()
}

fn bytes(step: &Step, cache: HeaderValue) -> Response {
    let media = HeaderValue::from_static("application/octet-stream");
    ([(header::CONTENT_TYPE, media), (header::CACHE_CONTROL, cache)], step.write()).into_response()
}
