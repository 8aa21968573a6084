//! The parts of messages that the bridge reads, and the errors that it answers itself.

use serde::Deserialize;
use serde_json::{Value, json};

/// JSON-RPC's code for an invalid message.
const INVALID_REQUEST: i32 = -32600;
/// The server cannot be reached, or refuses.
const REFUSED: i32 = -32000;

/// The parts of a message that matter here. Everything else is the endpoint's business.
#[derive(Deserialize, Default, Debug)]
pub(super) struct Head {
    pub(super) id: Option<Value>,
    method: Option<String>,
    params: Option<Value>,
}

impl Head {
    /// The head of a message; empty for a batch, and for bytes that are not a message.
    pub(super) fn of(message: &[u8]) -> Self {
        serde_json::from_slice(message).unwrap_or_default()
    }

    /// True for the request that agrees on a revision of the protocol.
    pub(super) fn is_initialize(&self) -> bool {
        self.method.as_deref() == Some("initialize")
    }

    /// The id of the request that the client no longer waits for.
    pub(super) fn cancelled(&self) -> Option<&Value> {
        let is_word = self.method.as_deref() == Some("notifications/cancelled");
        self.params.as_ref().filter(|_| is_word)?.get("requestId")
    }
}

/// The revision of the protocol that an answer agrees on.
pub(super) fn agreed_version(answer: &[u8]) -> Option<String> {
    let answer: Value = serde_json::from_slice(answer).ok()?;
    answer["result"]["protocolVersion"].as_str().map(str::to_owned)
}

/// The answer on one line. An endpoint's error that is not a message of the protocol becomes one, if the client waits
/// for an answer.
pub(super) fn line_of(head: &Head, status: u16, body: Vec<u8>) -> Option<Vec<u8>> {
    if body.trim_ascii().is_empty() && (200..300).contains(&status) {
        return None;
    }
    match serde_json::from_slice::<Value>(&body) {
        Ok(answer) if answer.is_array() || answer.get("jsonrpc").is_some() => match body.contains(&b'\n') {
            true => Some(answer.to_string().into_bytes()),
            false => Some(body),
        },
        other => {
            let detail = other.ok().and_then(|problem| problem["detail"].as_str().map(str::to_owned));
            let detail = detail
                .unwrap_or_else(|| "the answer is not a message of the protocol; is the URL that of /mcp?".to_owned());
            refused(head, &format!("HTTP status {status}: {detail}"))
        }
    }
}

/// An error for a request that was not answered.
pub(super) fn refused(head: &Head, why: &str) -> Option<Vec<u8>> {
    let id = head.id.as_ref()?;
    Some(error(id, REFUSED, why))
}

/// The error for a line that is too long to be read.
pub(super) fn too_long(most: usize) -> Vec<u8> {
    error(&Value::Null, INVALID_REQUEST, &format!("Invalid Request: a message must have at most {most} bytes"))
}

fn error(id: &Value, code: i32, message: &str) -> Vec<u8> {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}).to_string().into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_become_lines() {
        let head = Head::of(br#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#);
        let line =
            |status, body: &str| line_of(&head, status, body.into()).map(|line| String::from_utf8(line).unwrap());
        assert_eq!(line(202, " "), None);
        assert_eq!(
            line(200, r#"{"jsonrpc":"2.0","id":7,"result":{}}"#).unwrap(),
            r#"{"jsonrpc":"2.0","id":7,"result":{}}"#
        );
        assert_eq!(line(200, "{\"jsonrpc\":\"2.0\",\n\"id\":7}").unwrap(), r#"{"jsonrpc":"2.0","id":7}"#);
        let problem = line(429, r#"{"title":"x","detail":"slow down"}"#).unwrap();
        assert!(problem.contains("\"id\":7") && problem.contains("429: slow down"), "{problem}");
        assert!(line(502, "<html>").unwrap().contains("not a message of the protocol"));
        let notice = Head::of(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        assert_eq!(line_of(&notice, 502, b"<html>".to_vec()), None);
    }

    #[test]
    fn heads_are_read() {
        let cancelled = Head::of(br#"{"method":"notifications/cancelled","params":{"requestId":"a"}}"#);
        assert_eq!(cancelled.cancelled(), Some(&json!("a")));
        assert!(Head::of(b"[1]").id.is_none() && Head::of(b"no").id.is_none());
        let answer = br#"{"result":{"protocolVersion":"2025-06-18"}}"#;
        assert_eq!(agreed_version(answer).as_deref(), Some("2025-06-18"));
    }
}
