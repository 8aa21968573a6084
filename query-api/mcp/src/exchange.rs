//! What passes between the front and the handler beside the protocol server: arguments on their way in and answers on
//! their way out. Both may be long, and the protocol server would parse, copy and write them once more.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::{
    body::{Body, Bytes},
    http::{HeaderMap, StatusCode, header, request::Parts},
    response::Response,
};
use futures_util::stream;
use serde_json::{Map, Value};
use uuid::Uuid;

/// The header with the protocol revision of a request.
pub(crate) const VERSION: &str = "mcp-protocol-version";

/// The first protocol revision with structured content.
const FIRST_WITH_STRUCTURE: &str = "2025-06-18";
/// Answers up to this size are sent in one piece.
const SMALL: usize = 16 << 10;

/// Where the answer of a tool is in its result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    /// As structured content; the text says only where it is.
    Structured,
    /// As text: the client's revision has no structured content, or it asked for text.
    Text,
}

impl Form {
    /// The form for a request. `?answers=text` in the URL is for hosts that show their models only the text.
    pub(crate) fn of(parts: &Parts) -> Self {
        let asked = parts.uri.query().into_iter().flat_map(|query| query.split('&')).any(|pair| pair == "answers=text");
        let version = parts.headers.get(VERSION).and_then(|version| version.to_str().ok());
        match version {
            Some(version) if version >= FIRST_WITH_STRUCTURE && !asked => Form::Structured,
            _ => Form::Text,
        }
    }
}

/// One message on its way through the protocol server.
pub(crate) struct Exchange {
    /// Size of the message in bytes.
    pub(crate) bytes: usize,
    /// Form of the answer.
    pub(crate) form: Form,
    /// A text that no client can know, which stands for the answer.
    token: String,
    arguments: Mutex<Map<String, Value>>,
    answer: Mutex<Option<(String, Vec<Bytes>)>>,
}

fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Exchange {
    pub(crate) fn new(bytes: usize, form: Form, arguments: Map<String, Value>) -> Arc<Self> {
        let (token, arguments) = (Uuid::new_v4().simple().to_string(), Mutex::new(arguments));
        Arc::new(Exchange { bytes, form, token, arguments, answer: Mutex::default() })
    }

    /// The arguments of the call. They can be taken once.
    pub(crate) fn arguments(&self) -> Map<String, Value> {
        std::mem::take(&mut *locked(&self.arguments))
    }

    /// Leaves a JSON value in pieces, and returns the text that stands for it.
    pub(crate) fn leave(&self, pieces: Vec<Bytes>) -> String {
        *locked(&self.answer) = Some((format!("\"{}\"", self.token), pieces));
        self.token.clone()
    }

    /// Leaves pieces for a part of the protocol server's answer. A text in it cannot contain the part, because quotes in
    /// texts are escaped.
    pub(crate) fn leave_for(&self, part: &str, pieces: Vec<Bytes>) {
        *locked(&self.answer) = Some((part.to_owned(), pieces));
    }

    /// The protocol server's answer with what was left in its place.
    pub(crate) fn complete(&self, body: Bytes) -> Vec<Bytes> {
        let Some((part, pieces)) = locked(&self.answer).take() else { return vec![body] };
        let Some(at) = body.windows(part.len()).position(|window| window == part.as_bytes()) else { return vec![body] };
        let mut all = vec![body.slice(..at)];
        all.extend(pieces);
        all.push(body.slice(at + part.len()..));
        all
    }
}

/// An answered message.
pub(crate) struct Answered {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    /// The body.
    pub(crate) pieces: Vec<Bytes>,
}

impl Answered {
    /// Length of the body.
    pub(crate) fn len(&self) -> usize {
        self.pieces.iter().map(Bytes::len).sum()
    }

    /// As an HTTP answer.
    pub(crate) fn into_response(self) -> Response {
        let length = self.len();
        let body = match self.pieces.as_slice() {
            [] => Body::empty(),
            [only] => Body::from(only.clone()),
            pieces if length <= SMALL => Body::from(pieces.concat()),
            _ => Body::from_stream(stream::iter(self.pieces.into_iter().map(Ok::<_, std::convert::Infallible>))),
        };
        let mut response = Response::new(body);
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers;
        if length > 0 {
            response.headers_mut().insert(header::CONTENT_LENGTH, length.into());
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_left_takes_its_place() {
        let exchange = Exchange::new(0, Form::Structured, Map::new());
        let token = exchange.leave(vec![Bytes::from_static(b"{\"a\":"), Bytes::from_static(b"1}")]);
        let body = format!("{{\"id\":\"x\",\"result\":\"{token}\"}}");
        assert_eq!(exchange.complete(body.clone().into()).concat(), b"{\"id\":\"x\",\"result\":{\"a\":1}}");
        // Once.
        assert_eq!(exchange.complete(body.clone().into()).concat(), body.as_bytes());
    }
}
