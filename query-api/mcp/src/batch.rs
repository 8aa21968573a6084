//! Batches: their messages are charged, admitted and answered one after the other, and each answer is sent before the
//! next is made. A batch never holds more than one answer. It ends with its connection.

use std::{collections::VecDeque, convert::Infallible, future::Future};

use axum::{
    body::{Body, Bytes},
    http::{HeaderValue, StatusCode, header, request::Parts},
    response::Response,
};
use futures_util::{StreamExt, stream};

use crate::{
    Options,
    exchange::{AnsweredMessage, VERSION},
    handler::AUTHORIZATION,
    message::Message,
    payment::PAYMENT,
    rpc::{self, INVALID_REQUEST, RpcError, TOO_LARGE},
};

/// The newest protocol revision with batches. A request without the header counts as this revision.
const LAST_WITH_BATCHES: &str = "2025-03-26";

/// Charges and answers the messages of a batch.
pub(crate) trait BatchHandler: Clone + Send + 'static {
    fn options(&self) -> &Options;

    /// Charges the client.
    ///
    /// # Errors
    /// Fails if the client's rate limit is exceeded.
    fn charge(&self, units: u32, parts: &Parts) -> Result<(), RpcError>;

    fn answer(&self, parts: &Parts, message: Message) -> impl Future<Output = AnsweredMessage> + Send;
}

/// A batch that is being answered.
struct RunningBatch<E> {
    each: E,
    parts: Parts,
    messages: VecDeque<Message>,
    /// Pieces that are not yet sent.
    ready: VecDeque<Bytes>,
    bytes: usize,
    /// True until the first message has been taken: the request's own unit has paid for it.
    paid: bool,
    answered: bool,
    ended: bool,
}

pub(crate) async fn answer(each: &impl BatchHandler, parts: &Parts, messages: Vec<Message>) -> Response {
    let refused = |text: String| {
        RpcError::new(INVALID_REQUEST, format!("Invalid Request: {text}")).response(StatusCode::BAD_REQUEST, None)
    };
    let version = parts.headers.get(VERSION).map_or(Some(LAST_WITH_BATCHES), |v| v.to_str().ok());
    if version.is_none_or(|version| version > LAST_WITH_BATCHES) {
        return refused("this protocol revision does not support batches".to_owned());
    }
    let max = each.options().max_batch;
    if messages.is_empty() || messages.len() > max {
        return refused(format!("a batch must have 1 to {max} messages; this one has {}", messages.len()));
    }
    let mut running = RunningBatch {
        each: each.clone(),
        parts: parts.clone(),
        messages: messages.into(),
        ready: VecDeque::new(),
        bytes: 0,
        paid: true,
        answered: false,
        ended: false,
    };
    // The status depends on whether anything is answered at all.
    while !running.messages.is_empty() && !running.answered {
        running.step().await;
    }
    if !running.answered {
        return rpc::accepted();
    }
    let pieces = stream::unfold(running, |mut running| async move {
        let piece = running.next().await?;
        Some((Ok::<_, Infallible>(piece), running))
    });
    // Compression asks again after the end.
    let mut response = Response::new(Body::from_stream(pieces.fuse()));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

impl<E: BatchHandler> RunningBatch<E> {
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(piece) = self.ready.pop_front() {
                return Some(piece);
            }
            if self.ended {
                return None;
            }
            if self.messages.is_empty() {
                self.ended = true;
                return Some(Bytes::from_static(b"]"));
            }
            self.step().await;
        }
    }

    /// Answers the next message.
    async fn step(&mut self) {
        let Some(message) = self.messages.pop_front() else { return };
        let id = rpc::id_of(&message.value).cloned();
        let units = u32::from(!std::mem::take(&mut self.paid));
        let fault = match rpc::check(&message.value) {
            Err(error) => Some(error),
            Ok(()) if message.value["method"] == "initialize" => {
                Some(RpcError::new(INVALID_REQUEST, "Invalid Request: initialize must not be in a batch"))
            }
            // The answers of a batch share a limit, and a paid answer that exceeds it could not be sent again.
            Ok(()) => {
                let meta = &message.value["params"]["_meta"];
                let paid = [AUTHORIZATION, PAYMENT].into_iter().find(|name| !meta[*name].is_null());
                let text =
                    |name| format!("Invalid Request: a call with {name} must not be in a batch; send it on its own");
                paid.map(|name| RpcError::new(INVALID_REQUEST, text(name)))
            }
        };
        let charged = self.each.charge(units, &self.parts);
        if let Some(error) = charged.err().or(fault) {
            return self.push(vec![error.answer(id.as_ref()).to_string().into()]);
        }
        if !message.is_request() {
            // A notification. The protocol server ignores it, too.
            return;
        }
        let answered = self.each.answer(&self.parts, message).await;
        let (length, max) = (answered.len(), self.each.options().max_batch_bytes);
        if self.bytes.saturating_add(length) > max {
            let text = format!(
                "this answer has {length} bytes, and the answers of a batch at most {max} in all, of which {} are left: \
                 send this message again on its own",
                max.saturating_sub(self.bytes)
            );
            return self.push(vec![RpcError::new(TOO_LARGE, text).answer(id.as_ref()).to_string().into()]);
        }
        self.bytes += length;
        self.push(answered.pieces);
    }

    fn push(&mut self, pieces: Vec<Bytes>) {
        let before: &[u8] = if self.answered { b"," } else { b"[" };
        self.answered = true;
        self.ready.push_back(Bytes::from_static(before));
        self.ready.extend(pieces);
    }
}
