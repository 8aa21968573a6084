//! Answers: JSON or a line of text, with how long they may be kept; and refusals as a line of text.

use axum::{
    body::Bytes,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use cairn_http::{ApiError, Work};
use serde::Serialize;

/// How long an answer may be kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Age {
    /// It never changes, unless the chain is reorganized deeper than it ever was: five years.
    Long,
    /// The next block may change it: ten seconds.
    Short,
    /// The next transaction may change it: five seconds.
    Recent,
    /// It is not kept.
    None,
}

/// Blocks below so many others count as final.
const FINAL: u32 = 10;

impl Age {
    /// The age of what a block at this height says.
    pub(crate) fn of_depth(height: u32, tip: u32) -> Self {
        if tip.saturating_sub(height) >= FINAL { Age::Long } else { Age::Short }
    }

    fn seconds(self) -> u32 {
        match self {
            Age::Long => 157_784_630,
            Age::Short => 10,
            Age::Recent => 5,
            Age::None => 0,
        }
    }
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    kind: &'static str,
    body: Bytes,
    age: Age,
    /// True if the bytes were counted while they were written.
    is_counted: bool,
}

impl Answer {
    /// A value as JSON.
    pub(crate) fn json(value: &impl Serialize, age: Age) -> Result<Self, Refusal> {
        let body = serde_json::to_vec(value).map_err(ApiError::from)?;
        Ok(Answer { kind: "application/json", body: body.into(), age, is_counted: false })
    }

    /// A line of text.
    pub(crate) fn text(text: impl Into<String>, age: Age) -> Self {
        Answer { kind: "text/plain", body: text.into().into(), age, is_counted: false }
    }

    /// Bytes.
    pub(crate) fn bytes(bytes: Vec<u8>, age: Age) -> Self {
        Answer { kind: "application/octet-stream", body: bytes.into(), age, is_counted: false }
    }

    /// Number of its bytes that were not counted yet.
    pub(crate) fn uncounted(&self) -> usize {
        if self.is_counted { 0 } else { self.body.len() }
    }
}

/// A JSON list that is written item by item, so that it stops at the limit of the answer before it takes more memory.
pub(crate) struct List<'w> {
    work: &'w Work,
    body: Vec<u8>,
}

impl<'w> List<'w> {
    /// An empty list.
    pub(crate) fn new(work: &'w Work) -> Self {
        List { work, body: b"[".to_vec() }
    }

    /// Adds an item.
    pub(crate) fn push(&mut self, item: &impl Serialize) -> Result<(), Refusal> {
        let before = self.body.len();
        if before > 1 {
            self.body.push(b',');
        }
        serde_json::to_writer(&mut self.body, item).map_err(ApiError::from)?;
        Ok(self.work.answered(self.body.len() - before)?)
    }

    /// The list as an answer.
    pub(crate) fn finish(mut self, age: Age) -> Answer {
        self.body.push(b']');
        Answer { kind: "application/json", body: self.body.into(), age, is_counted: true }
    }
}

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        let mut response = self.body.into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(self.kind));
        let age = format!("public, max-age={}", self.age.seconds());
        headers.extend(HeaderValue::from_str(&age).ok().map(|age| (header::CACHE_CONTROL, age)));
        response
    }
}

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// With a text of its own, on which clients may match.
    Said(StatusCode, String),
    /// By the limits or the index.
    Failed(ApiError),
    /// By the limits of the framework, which has written the response.
    Written(Box<Response>),
}

impl Refusal {
    /// 404.
    pub(crate) fn not_found(text: impl Into<String>) -> Self {
        Refusal::Said(StatusCode::NOT_FOUND, text.into())
    }

    /// 400.
    pub(crate) fn bad(text: impl Into<String>) -> Self {
        Refusal::Said(StatusCode::BAD_REQUEST, text.into())
    }
}

impl<E: Into<ApiError>> From<E> for Refusal {
    fn from(error: E) -> Self {
        Refusal::Failed(error.into())
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        match self {
            Refusal::Said(status, text) => said(status, text),
            Refusal::Failed(error) => error.into_response(),
            Refusal::Written(response) => *response,
        }
    }
}

fn said(status: StatusCode, text: String) -> Response {
    let headers = [(header::CONTENT_TYPE, "text/plain"), (header::CACHE_CONTROL, "no-store")];
    (status, headers, text).into_response()
}

/// An error of the API as a line of text.
pub(crate) fn of_api(error: &ApiError) -> Response {
    let mut response = said(error.status, error.detail.clone());
    let wait = error.retry_after.map(|seconds| (header::RETRY_AFTER, HeaderValue::from(seconds)));
    response.headers_mut().extend(wait);
    response
}
