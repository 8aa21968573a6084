//! Data that passes between front and handler around the protocol server: arguments on their way in and answers on
//! their way out. Both may be long, and the protocol server would parse, copy and write them once more.

use std::sync::Arc;

use axum::{
    body::{Body, Bytes},
    http::{HeaderMap, StatusCode, header, request::Parts},
    response::Response,
};
use futures_util::stream;
use parking_lot::Mutex;
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
    /// As text and as structured content: hosts give their models one of the two, and which one differs.
    Both,
    /// As structured content; the text says only where it is. Asked for by hosts that show both.
    Structured,
    /// As text: the client's revision has no structured content, or it asked for text.
    Text,
}

impl Form {
    /// The form for a request. `?answers=text` and `?answers=structured` in the URL are for hosts that show both.
    pub(crate) fn of(parts: &Parts) -> Self {
        let asked = |form: &str| {
            let mut pairs = parts.uri.query().into_iter().flat_map(|query| query.split('&'));
            pairs.any(|pair| pair.strip_prefix("answers=") == Some(form))
        };
        let version = parts.headers.get(VERSION).and_then(|version| version.to_str().ok());
        match version {
            Some(version) if version >= FIRST_WITH_STRUCTURE && !asked("text") => match asked("structured") {
                true => Form::Structured,
                false => Form::Both,
            },
            _ => Form::Text,
        }
    }
}

/// One message on its way through the protocol server.
pub(crate) struct Exchange {
    pub(crate) bytes: usize,
    pub(crate) form: Form,
    /// A text that no client can know; it is the placeholder of the answer.
    token: String,
    arguments: Mutex<Map<String, Value>>,
    /// Placeholder of a part of the answer, in the order of the answer, and the part in pieces.
    answer: Mutex<Vec<(String, Vec<Bytes>)>>,
}

impl Exchange {
    pub(crate) fn new(bytes: usize, form: Form, arguments: Map<String, Value>) -> Arc<Self> {
        let (token, arguments) = (Uuid::new_v4().simple().to_string(), Mutex::new(arguments));
        Arc::new(Exchange { bytes, form, token, arguments, answer: Mutex::default() })
    }

    /// The arguments of the call. They can be taken once.
    pub(crate) fn arguments(&self) -> Map<String, Value> {
        std::mem::take(&mut *self.arguments.lock())
    }

    /// Leaves a JSON value in pieces, and returns the text that stands for it. Values are left in the order in which
    /// the answer has them.
    pub(crate) fn leave(&self, pieces: Vec<Bytes>) -> String {
        let mut left = self.answer.lock();
        let token = format!("{}-{}", self.token, left.len());
        left.push((format!("\"{token}\""), pieces));
        token
    }

    /// Leaves pieces for a part of the protocol server's answer. A text in it cannot contain the part, because quotes
    /// in texts are escaped.
    pub(crate) fn leave_for(&self, part: &str, pieces: Vec<Bytes>) {
        self.answer.lock().push((part.to_owned(), pieces));
    }

    /// Puts the parts that were left into the protocol server's answer.
    pub(crate) fn complete(&self, body: Bytes) -> Vec<Bytes> {
        let (mut all, mut rest) = (Vec::new(), body);
        for (part, pieces) in std::mem::take(&mut *self.answer.lock()) {
            let Some(at) = rest.windows(part.len()).position(|window| window == part.as_bytes()) else { continue };
            all.push(rest.slice(..at));
            all.extend(pieces);
            rest = rest.slice(at + part.len()..);
        }
        all.push(rest);
        all
    }
}

pub(crate) struct AnsweredMessage {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) pieces: Vec<Bytes>,
}

impl AnsweredMessage {
    pub(crate) fn len(&self) -> usize {
        self.pieces.iter().map(Bytes::len).sum()
    }

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
