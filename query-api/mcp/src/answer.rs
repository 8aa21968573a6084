//! Answers of tools: one form for success and error.

use base64::Engine;
use cairn_http::{AnswerSchema, Reply};
use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Map, Value, json};

use crate::portable::portable;

/// The answer of a tool.
pub(crate) struct Answer {
    status_code: u16,
    endpoint: String,
    /// The body of a success, as text and as parsed JSON.
    data: Option<(String, Value)>,
    /// The body of an error.
    error: Option<Value>,
    image: Option<ContentBlock>,
}

impl Answer {
    /// The answer of an operation.
    pub(crate) fn of(endpoint: &str, reply: &Reply) -> Self {
        let essence = reply.media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let json: Option<Value> = serde_json::from_slice(&reply.body).ok();
        let answer =
            Answer { status_code: reply.status, endpoint: endpoint.to_owned(), data: None, error: None, image: None };
        if !(200..300).contains(&reply.status) {
            let error = json.filter(Value::is_object);
            return Answer { error: Some(error.unwrap_or_else(|| bare(reply.status))), ..answer };
        }
        if let Some(value) = json.filter(|_| essence.ends_with("json")) {
            let text = String::from_utf8_lossy(&reply.body).into_owned();
            return Answer { data: Some((text, value)), ..answer };
        }
        let value = match std::str::from_utf8(&reply.body) {
            Ok(text) if essence.starts_with("text/") => json!({"content_type": essence, "text": text}),
            _ => json!({"content_type": essence, "base64": base64(&reply.body)}),
        };
        let image = essence.starts_with("image/").then(|| ContentBlock::image(base64(&reply.body), essence.clone()));
        Answer { data: Some((value.to_string(), value)), image, ..answer }
    }

    /// Length of a success as text, in bytes; 0 for an error.
    pub(crate) fn len(&self) -> usize {
        self.data.as_ref().map_or(0, |(text, _)| text.len())
    }

    /// The answer of a tool that is not an operation.
    pub(crate) fn own(endpoint: &str, data: Value) -> Self {
        let data = Some((data.to_string(), data));
        Answer { status_code: 200, endpoint: endpoint.to_owned(), data, error: None, image: None }
    }

    /// An error from this layer, not from an operation.
    pub(crate) fn failed(endpoint: &str, status_code: u16, error: Value) -> Self {
        Answer { status_code, endpoint: endpoint.to_owned(), data: None, error: Some(error), image: None }
    }

    /// The result of the protocol: structured content, and the same as text. The text keeps the body unchanged, so that
    /// numbers are as the API printed them.
    pub(crate) fn into_result(self) -> CallToolResult {
        let ok = self.error.is_none();
        let (text, data) = self.data.unwrap_or_else(|| ("null".to_owned(), Value::Null));
        let error = self.error.unwrap_or_default();
        let (endpoint, status_code) = (Value::from(self.endpoint), self.status_code);
        let text = format!(
            "{{\"ok\":{ok},\"data\":{text},\"error\":{error},\"endpoint\":{endpoint},\"status_code\":{status_code}}}"
        );
        let structured =
            json!({"ok": ok, "data": data, "error": error, "endpoint": endpoint, "status_code": status_code});
        let content: Vec<ContentBlock> = [ContentBlock::text(text)].into_iter().chain(self.image).collect();
        let mut result = if ok { CallToolResult::success(content) } else { CallToolResult::error(content) };
        result.structured_content = Some(structured);
        result
    }
}

/// The error for an answer without a valid error body.
fn bare(status: u16) -> Value {
    json!({"status": status, "title": "Error", "error": "unreadable_answer", "retryable": status >= 500,
        "detail": "the server returned an error without a readable body"})
}

/// Schema of a tool's answer.
pub(crate) fn schema(answer: Option<AnswerSchema>) -> Map<String, Value> {
    let (data, definitions) = match answer {
        Some(AnswerSchema { answer, definitions }) => (answer, definitions),
        None => (json!({"type": "object"}), Map::new()),
    };
    let failure = json!({
        "type": "object",
        "properties": {
            "status": {"type": "integer"},
            "title": {"type": "string"},
            "error": {"type": "string", "description": "Stable error code."},
            "detail": {"type": "string", "description": "Explanation of the error."},
            "retryable": {"type": "boolean", "description": "True if the same call may succeed later."},
            "errors": {"type": "array", "description": "All invalid arguments.", "items": {"type": "object"}},
            "narrow_with": {"type": "array", "items": {"type": "string"},
                "description": "For answer_too_large: arguments that make the answer smaller."},
            "url": {"type": "string", "description": "For answer_too_large: URL of the whole answer over HTTP."},
        },
        "required": ["status", "error", "detail", "retryable"],
    });
    let schema = json!({
        "type": "object",
        "properties": {
            "ok": {"type": "boolean", "description": "True if there is data."},
            "data": {"description": "The answer; null after an error.", "anyOf": [data, {"type": "null"}]},
            "error": {"description": "The error; null after a success.", "anyOf": [failure, {"type": "null"}]},
            "endpoint": {"type": "string", "description": "The endpoint that was called."},
            "status_code": {"type": "integer", "description": "HTTP status of the same request; 422 if the answer is too large for a tool."},
        },
        "required": ["ok", "data", "error", "endpoint", "status_code"],
        "$defs": definitions,
    });
    match portable(schema) {
        Value::Object(mut members) => {
            if definitions_are_empty(&members) {
                members.shift_remove("$defs");
            }
            members
        }
        _ => Map::new(),
    }
}

fn definitions_are_empty(members: &Map<String, Value>) -> bool {
    members.get("$defs").and_then(Value::as_object).is_none_or(Map::is_empty)
}

fn base64(bytes: &[u8]) -> String {
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use axum::body::Bytes;

    use super::*;

    fn reply(status: u16, kind: &str, body: &[u8]) -> Reply {
        let body = Bytes::copy_from_slice(body);
        Reply { status, media_type: kind.to_owned(), request_id: None, body, url: String::new() }
    }

    fn shown(reply: &Reply) -> (Value, Value, Option<bool>) {
        let result = Answer::of("/x", reply).into_result();
        let text: Value = serde_json::from_str(&result.content[0].as_text().unwrap().text).unwrap();
        (result.structured_content.unwrap(), text, result.is_error)
    }

    #[test]
    fn success_and_failure_have_one_shape() {
        let (structured, text, is_error) = shown(&reply(200, "application/json", br#"{"a_btc":0.10000000}"#));
        assert_eq!(structured, text);
        assert_eq!((is_error, &structured["ok"], &structured["error"]), (Some(false), &true.into(), &Value::Null));
        let (structured, text, is_error) = shown(&reply(404, "application/problem+json", br#"{"error":"x"}"#));
        assert_eq!(structured, text);
        assert_eq!(
            (is_error, &structured["data"], &structured["status_code"]),
            (Some(true), &Value::Null, &404.into())
        );
        let (structured, ..) = shown(&reply(502, "text/html", b"<p>"));
        assert_eq!(structured["error"]["status"], 502);
    }

    #[test]
    fn the_text_keeps_numbers_as_they_were_printed() {
        let result = Answer::of("/x", &reply(200, "application/json", br#"{"a_btc":0.10000000}"#)).into_result();
        assert!(result.content[0].as_text().unwrap().text.contains("0.10000000"));
    }

    #[test]
    fn bodies_that_are_no_json_are_wrapped() {
        let (structured, ..) = shown(&reply(200, "text/csv; charset=utf-8", b"a,b"));
        assert_eq!(structured["data"], json!({"content_type": "text/csv", "text": "a,b"}));
        let result = Answer::of("/x", &reply(200, "image/png", &[0x89, b'P'])).into_result();
        assert_eq!(result.content.len(), 2);
        assert_eq!(result.structured_content.unwrap()["data"]["base64"], "iVA=");
    }
}
