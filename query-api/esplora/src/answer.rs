//! Answers: JSON or a line of text, with how long they may be kept; and refusals as a line of text.

use std::io;

use axum::{
    body::Bytes,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use cairn_http::{ApiError, ErrorCode, Stopped, Work};
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

/// A block with this many blocks above it counts as final.
const FINAL: u32 = 10;

impl Age {
    /// The age of an answer about a block at this height.
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

    /// A large value as JSON, which is counted while it is written.
    pub(crate) fn large(value: &impl Serialize, age: Age, work: &Work) -> Result<Self, Refusal> {
        let mut body = Body::new(work);
        body.value(value)?;
        body.finish(age)
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

/// JSON that is counted while it is written, so that it stops at the limit of the answer before it takes more memory.
struct Body<'w> {
    work: &'w Work,
    bytes: Vec<u8>,
    counted: usize,
    stopped: Option<Stopped>,
}

/// Bytes that are counted together.
const STEP: usize = 16 << 10;

impl<'w> Body<'w> {
    fn new(work: &'w Work) -> Self {
        Body { work, bytes: Vec::new(), counted: 0, stopped: None }
    }

    fn count(&mut self) -> Result<(), Stopped> {
        let more = self.bytes.len() - self.counted;
        self.counted = self.bytes.len();
        self.work.answered(more).inspect_err(|stopped| self.stopped = Some(*stopped))
    }

    fn value(&mut self, value: &impl Serialize) -> Result<(), Refusal> {
        let written = serde_json::to_writer(&mut *self, value);
        match self.stopped {
            Some(stopped) => Err(stopped.into()),
            None => Ok(written.map_err(ApiError::from)?),
        }
    }

    fn finish(mut self, age: Age) -> Result<Answer, Refusal> {
        self.count()?;
        Ok(Answer { kind: "application/json", body: self.bytes.into(), age, is_counted: true })
    }
}

impl io::Write for Body<'_> {
    fn write(&mut self, some: &[u8]) -> io::Result<usize> {
        self.bytes.extend_from_slice(some);
        if self.bytes.len() - self.counted >= STEP {
            self.count().map_err(io::Error::other)?;
        }
        Ok(some.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A JSON list that is written item by item.
pub(crate) struct List<'w> {
    body: Body<'w>,
    is_empty: bool,
}

impl<'w> List<'w> {
    /// An empty list.
    pub(crate) fn new(work: &'w Work) -> Self {
        let mut body = Body::new(work);
        body.bytes.push(b'[');
        List { body, is_empty: true }
    }

    /// Adds an item.
    pub(crate) fn push(&mut self, item: &impl Serialize) -> Result<(), Refusal> {
        if !self.is_empty {
            self.body.bytes.push(b',');
        }
        self.is_empty = false;
        self.body.value(item)
    }

    /// Its length in bytes so far.
    pub(crate) fn len(&self) -> usize {
        self.body.bytes.len()
    }

    /// The list as an answer.
    pub(crate) fn finish(mut self, age: Age) -> Result<Answer, Refusal> {
        self.body.bytes.push(b']');
        self.body.finish(age)
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
    // Clients repeat a request after 503, but this one fails again.
    let is_final = error.code == ErrorCode::WorkLimitExceeded;
    let status = if is_final { StatusCode::UNPROCESSABLE_ENTITY } else { error.status };
    let mut response = said(status, error.detail.clone());
    let wait = error.retry_after.map(|seconds| (header::RETRY_AFTER, HeaderValue::from(seconds)));
    response.headers_mut().extend(wait);
    response
}

#[cfg(test)]
mod tests {
    use cairn_http::Limits;

    use super::*;

    fn work(answer: u64) -> Work {
        Work::within(Limits { answer, ..Limits::NONE })
    }

    #[test]
    fn lists_are_counted_once() {
        let free = work(u64::MAX);
        let mut list = List::new(&free);
        for item in ["a", "b", "c"] {
            list.push(&item).unwrap();
        }
        let answer = list.finish(Age::Short).unwrap();
        assert_eq!((&*answer.body, answer.uncounted()), (&br#"["a","b","c"]"#[..], 0));
        assert_eq!(free.used().answer, answer.body.len() as u64);
        assert_eq!(&*List::new(&free).finish(Age::Short).unwrap().body, b"[]");
        let answer = Answer::large(&"x".repeat(50_000), Age::Long, &free).unwrap();
        assert_eq!((answer.body.len(), answer.uncounted()), (50_002, 0));
        assert_eq!(Answer::json(&1, Age::None).unwrap().uncounted(), 1);
    }

    #[test]
    fn lists_end_at_the_limit() {
        let limited = work(100_000);
        let mut list = List::new(&limited);
        let item = "x".repeat(1_000);
        let pushed = (0..1_000).take_while(|_| list.push(&item).is_ok()).count();
        // Bytes are counted in steps.
        assert!((80..=120).contains(&pushed), "{pushed}");
        let refused = Answer::large(&"x".repeat(200_000), Age::Short, &work(100_000));
        assert!(matches!(refused, Err(Refusal::Failed(error)) if of_api(&error).status().as_u16() == 422));
    }

    #[test]
    fn ages_follow_the_depth() {
        assert_eq!(
            (Age::of_depth(90, 100), Age::of_depth(91, 100), Age::of_depth(100, 90)),
            (Age::Long, Age::Short, Age::Short)
        );
    }
}
