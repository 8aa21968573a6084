//! Reads the node's JSON-RPC answers: single ones and batches.

use cairn_model::one_line;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, value::RawValue};

use crate::{error::NodeError, http::HttpAnswer};

/// Error code of a node that is still starting.
const WARMING_UP: i64 = -28;
/// Maximum length in characters of the text that an error repeats from an answer. A server that answers instead of a
/// node may send any text, and errors go to the log and to clients.
const MAX_WORDS: usize = 200;

/// An answer or a part of a batch's answer.
#[derive(Deserialize)]
struct Reply<'a> {
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(default)]
    error: Option<RpcFault>,
    #[serde(default)]
    id: Value,
}

#[derive(Deserialize)]
struct RpcFault {
    code: i64,
    #[serde(default)]
    message: String,
}

/// The answer to one request: the result as JSON text, or the error.
pub(crate) type Outcome = Result<Box<RawValue>, NodeError>;

/// Reads the answer to request `id`. `url` is for errors.
pub(crate) fn single(url: &str, method: &str, id: u64, answer: &HttpAnswer) -> Outcome {
    match serde_json::from_slice::<Reply<'_>>(&answer.body) {
        Ok(reply) if reply.id == id || reply.error.is_some() => outcome(method, reply),
        Ok(reply) if answer.status == 200 => {
            Err(bad_answer(method, format!("it answers request {} instead of {id}", reply.id)))
        }
        Ok(_) | Err(_) => Err(no_json(url, method, answer)),
    }
}

/// Reads the answer to a batch: requests `first` and the `count - 1` after it. Each has its own outcome; a transient
/// error fails all.
pub(crate) fn batch(
    url: &str,
    method: &str,
    first: u64,
    count: usize,
    answer: &HttpAnswer,
) -> Result<Vec<Outcome>, NodeError> {
    let replies: Vec<Reply<'_>> = match serde_json::from_slice(&answer.body) {
        Ok(replies) => replies,
        // A batch that is refused as a whole gets a single answer.
        Err(_) => {
            return Err(match serde_json::from_slice::<Reply<'_>>(&answer.body).map(|reply| outcome(method, reply)) {
                Ok(Err(error)) => error,
                Ok(Ok(_)) | Err(_) => no_json(url, method, answer),
            });
        }
    };
    let mut outcomes: Vec<Option<Outcome>> = Vec::new();
    outcomes.resize_with(count, || None);
    for reply in replies {
        let place = reply.id.as_u64().and_then(|id| id.checked_sub(first)).and_then(|at| usize::try_from(at).ok());
        let Some(slot) = place.and_then(|at| outcomes.get_mut(at)) else {
            return Err(bad_answer(method, "it contains an answer to an unknown request".to_owned()));
        };
        match outcome(method, reply) {
            Err(error) if error.is_transient() => return Err(error),
            outcome => *slot = Some(outcome),
        }
    }
    let whole: Option<Vec<Outcome>> = outcomes.into_iter().collect();
    whole.ok_or_else(|| bad_answer(method, "answers of the batch are missing".to_owned()))
}

/// The error for an answer that is not JSON-RPC.
fn no_json(url: &str, method: &str, answer: &HttpAnswer) -> NodeError {
    let url = url.to_owned();
    match answer.status {
        200 if answer.body.starts_with(b"{") || answer.body.starts_with(b"[") => {
            bad_answer(method, "it is not JSON of the documented form".to_owned())
        }
        429 | 500 | 502 | 504 => NodeError::Busy { url, message: answer.words_or_status() },
        status => NodeError::NotANode { url, reason: format!("HTTP status {status}, {:?}", answer.words()) },
    }
}

fn outcome(method: &str, reply: Reply<'_>) -> Outcome {
    match reply.error {
        Some(RpcFault { code: WARMING_UP, message }) => {
            Err(NodeError::WarmingUp { message: one_line(&message, MAX_WORDS) })
        }
        Some(RpcFault { code, message }) => {
            Err(NodeError::Rpc { method: method.to_owned(), code, message: one_line(&message, MAX_WORDS) })
        }
        // A method without a result answers null.
        None => Ok(reply.result.map_or_else(|| RawValue::NULL.to_owned(), ToOwned::to_owned)),
    }
}

pub(crate) fn read<T: DeserializeOwned>(method: &str, raw: &RawValue) -> Result<T, NodeError> {
    serde_json::from_str(raw.get()).map_err(|error| bad_answer(method, error.to_string()))
}

/// The error for an answer without the documented form.
pub(crate) fn bad_answer(method: &str, reason: String) -> NodeError {
    NodeError::BadAnswer { method: method.to_owned(), reason: one_line(&reason, MAX_WORDS) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(body: String) -> HttpAnswer {
        HttpAnswer { status: 200, body: body.into_bytes() }
    }

    /// Errors repeat a part of what they are about, however long it is.
    #[test]
    fn errors_are_short() {
        let long = "é\\n".repeat(1 << 20);
        let shortest = |error: NodeError| {
            let text = error.to_string();
            assert!(text.chars().count() < 400 && !text.contains('\n'), "{}: {text:.800}", text.len());
        };
        for code in [WARMING_UP, -8] {
            let body = format!(r#"{{"error":{{"code":{code},"message":"{long}"}},"id":7}}"#);
            shortest(single("url", "method", 7, &answer(body)).unwrap_err());
        }
        shortest(single("url", "method", 7, &answer(format!(r#"{{"id":"{long}"}}"#))).unwrap_err());
        let text = single("url", "method", 7, &answer(format!(r#"{{"id":7,"result":"{long}"}}"#))).unwrap();
        shortest(read::<crate::amount::Hash<cairn_model::Txid>>("method", &text).map(|_| ()).unwrap_err());
        shortest(read::<crate::answers::ChainInfo>("method", &text).unwrap_err());
        let digits = "1".repeat(1 << 20);
        let text = format!(r#"{{"id":7,"result":{{"version":1,"relayfee":{digits}}}}}"#);
        let text = single("url", "method", 7, &answer(text)).unwrap();
        shortest(read::<crate::answers::NetworkInfo>("method", &text).unwrap_err());
    }
}
