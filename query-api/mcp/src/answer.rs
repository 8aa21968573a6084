//! Answers of tools: one form for success and error. The body of an operation is passed on as it is, never parsed.

use axum::body::Bytes;
use base64::Engine;
use cairn_http::{AnswerSchema, Reply};
use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Map, Value, json, value::RawValue};

use crate::{
    exchange::{Exchange, Form},
    payment::PaymentMessages,
    portable::portable,
};

pub(crate) struct Answer {
    status_code: u16,
    endpoint: String,
    /// The body of a success: JSON.
    data: Option<Bytes>,
    /// The body of an error.
    error: Option<Value>,
    /// Parts that a shortened success lacks, and how to get them.
    left_out: Option<Value>,
    image: Option<ContentBlock>,
    payment: PaymentMessages,
}

impl Answer {
    pub(crate) fn of(endpoint: &str, reply: &Reply) -> Self {
        let essence = reply.media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let answer = Answer {
            status_code: reply.status,
            endpoint: endpoint.to_owned(),
            data: None,
            error: None,
            left_out: None,
            image: None,
            payment: PaymentMessages::of(&reply.payment_headers),
        };
        if !(200..300).contains(&reply.status) {
            let error = serde_json::from_slice(&reply.body).ok().filter(Value::is_object);
            return Answer { error: Some(error.unwrap_or_else(|| bare(reply.status))), ..answer };
        }
        if essence.ends_with("json") {
            return Answer { data: Some(reply.body.clone()), ..answer };
        }
        // A picture is only in the content: once.
        if essence.starts_with("image/") {
            let data = json!({"content_type": essence, "bytes": reply.body.len()});
            let image = ContentBlock::image(base64(&reply.body), essence);
            return Answer { data: Some(data.to_string().into()), image: Some(image), ..answer };
        }
        let value = match std::str::from_utf8(&reply.body) {
            Ok(text) if essence.starts_with("text/") => json!({"content_type": essence, "text": text}),
            _ => json!({"content_type": essence, "base64": base64(&reply.body)}),
        };
        Answer { data: Some(value.to_string().into()), ..answer }
    }

    /// Limits a success to some fields, in this order.
    pub(crate) fn only(mut self, fields: &[&str]) -> Self {
        if let Some(data) = &self.data
            && let Ok(members) = serde_json::from_slice::<std::collections::HashMap<String, &RawValue>>(data)
        {
            let kept = fields.iter().filter_map(|name| members.get(*name).map(|raw| format!("\"{name}\":{raw}")));
            self.data = Some(format!("{{{}}}", kept.collect::<Vec<_>>().join(",")).into());
        }
        self
    }

    /// Length of a success in bytes, with its picture; 0 for an error.
    pub(crate) fn len(&self) -> usize {
        let image = self.image.as_ref().and_then(ContentBlock::as_image).map_or(0, |image| image.data.len());
        self.data.as_ref().map_or(0, |data| data.len() + image)
    }

    /// The answer of a tool that is not an operation.
    pub(crate) fn own(endpoint: &str, data: &Value) -> Self {
        Answer {
            status_code: 200,
            endpoint: endpoint.to_owned(),
            data: Some(data.to_string().into()),
            error: None,
            left_out: None,
            image: None,
            payment: PaymentMessages::default(),
        }
    }

    /// An error from this layer, not from an operation.
    pub(crate) fn failed(endpoint: &str, status_code: u16, error: Value) -> Self {
        Answer {
            status_code,
            endpoint: endpoint.to_owned(),
            data: None,
            error: Some(error),
            left_out: None,
            image: None,
            payment: PaymentMessages::default(),
        }
    }

    pub(crate) fn with_left_out(self, left_out: Value) -> Self {
        Answer { left_out: Some(left_out), ..self }
    }

    pub(crate) fn error_mut(&mut self) -> Option<&mut Value> {
        self.error.as_mut()
    }

    /// The result of the protocol. Text and structured content have the same data: neither is a summary of the other.
    pub(crate) fn into_result(self, exchange: &Exchange) -> CallToolResult {
        let ok = self.error.is_none();
        let text = self.in_short();
        let data = self.data.unwrap_or_else(|| Bytes::from_static(b"null"));
        let error = self.error.unwrap_or_default();
        let (endpoint, status_code) = (Value::from(self.endpoint), self.status_code);
        let left_out = self.left_out.map_or_else(String::new, |left_out| format!("\"left_out\":{left_out},"));
        let before = format!("{{\"ok\":{ok},{left_out}\"data\":");
        let required = self.payment.required_members();
        let after = format!(",\"error\":{error},\"endpoint\":{endpoint},\"status_code\":{status_code}{required}}}");
        let whole = vec![before.into(), data, after.into()];
        let (text, structured) = match exchange.form {
            Form::Structured => (text, Some(exchange.leave(whole))),
            Form::Both => {
                // The protocol server writes the content before the structured content.
                let text = exchange.leave(vec![as_text(&whole)]);
                (text, Some(exchange.leave(whole)))
            }
            Form::Text => (exchange.leave(vec![as_text(&whole)]), None),
        };
        // Clients of x402 that find another `error` than theirs in the structured content read the first text.
        let required = self.payment.required.as_ref().map(|required| ContentBlock::text(required.to_string()));
        let content = required.into_iter().chain([ContentBlock::text(text)]).chain(self.image).collect();
        let mut result = if ok { CallToolResult::success(content) } else { CallToolResult::error(content) };
        result.structured_content = structured.map(Value::from);
        result.meta = self.payment.into_meta();
        result
    }

    /// A line for people who follow what an agent does.
    fn in_short(&self) -> String {
        let (endpoint, status) = (&self.endpoint, self.status_code);
        match (&self.error, &self.data) {
            (Some(error), _) => {
                let detail: String = error["detail"].as_str().unwrap_or_default().chars().take(500).collect();
                format!("{endpoint}: {status} {}: {detail}", error["error"].as_str().unwrap_or("error"))
            }
            (None, data) => {
                let bytes = data.as_ref().map_or(0, Bytes::len);
                format!("{endpoint}: {status}; the answer, {bytes} bytes of JSON, is the structured content")
            }
        }
    }
}

/// JSON in pieces as a JSON text.
fn as_text(pieces: &[Bytes]) -> Bytes {
    Value::from(String::from_utf8_lossy(&pieces.concat())).to_string().into()
}

/// The error for an answer without a valid error body.
fn bare(status: u16) -> Value {
    json!({"status": status, "title": "Error", "error": "unreadable_answer", "retryable": status >= 500,
        "detail": "the server returned an error without a readable body"})
}

/// Schema of a tool's answer. If it gives only some fields, these.
pub(crate) fn schema(answer: Option<AnswerSchema>, fields: &[&str]) -> Map<String, Value> {
    let (data, definitions) = match answer {
        Some(_) if !fields.is_empty() => (json!({"type": "object", "required": fields}), Map::new()),
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
            "left_out": {"type": "object", "description": "Only if rows were left out so that the answer is short: how many, \
                and the arguments that bring them."},
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
    use axum::http::{HeaderMap, HeaderValue};

    use super::*;

    fn reply(status: u16, kind: &str, body: &[u8]) -> Reply {
        let body = Bytes::copy_from_slice(body);
        Reply {
            status,
            media_type: kind.to_owned(),
            request_id: None,
            body,
            url: String::new(),
            is_document: false,
            is_paid: false,
            payment_headers: HeaderMap::new(),
        }
    }

    /// The result as a client gets it.
    fn sent(answer: Answer, form: Form) -> (String, Value) {
        let exchange = Exchange::new(0, form, Map::new());
        let result = serde_json::to_vec(&answer.into_result(&exchange)).unwrap();
        let text = String::from_utf8(exchange.complete(result.into()).concat()).unwrap();
        (text.clone(), serde_json::from_str(&text).unwrap())
    }

    #[test]
    fn success_and_failure_have_one_shape() {
        for (status, kind, body, code) in [
            (200, "application/json", &br#"{"a_btc":0.10000000}"#[..], Value::Null),
            (404, "application/problem+json", br#"{"error":"x","status":404}"#, "x".into()),
            (502, "text/html", b"<p>", "unreadable_answer".into()),
        ] {
            let (_, structured) = sent(Answer::of("/x", &reply(status, kind, body)), Form::Structured);
            let (_, texts) = sent(Answer::of("/x", &reply(status, kind, body)), Form::Text);
            let text: Value = serde_json::from_str(texts["content"][0]["text"].as_str().unwrap()).unwrap();
            let said = &structured["structuredContent"];
            assert_eq!(&text, said);
            assert!(texts.get("structuredContent").is_none());
            assert!(structured["content"][0]["text"].as_str().unwrap().len() < 200);
            let (_, both) = sent(Answer::of("/x", &reply(status, kind, body)), Form::Both);
            assert_eq!((&both["content"], &both["structuredContent"]), (&texts["content"], said));
            assert_eq!((&said["ok"], &said["status_code"]), (&(status == 200).into(), &status.into()));
            assert_eq!((&said["error"]["error"], &structured["isError"]), (&code, &(status != 200).into()));
            assert_eq!(said["data"].is_null(), status != 200);
        }
    }

    /// Clients of x402 find their messages, and others theirs.
    #[test]
    fn messages_about_payments_are_in_the_result() {
        let required = json!({"x402Version": 2, "error": "payment_required", "resource": {"url": "u"}, "accepts": [{}],
            "extensions": {}});
        let receipt = json!({"success": false, "transaction": "", "network": "eip155:8453"});
        let header = |message: &Value| HeaderValue::from_str(&base64(message.to_string().as_bytes())).unwrap();
        let mut refused = reply(402, "application/problem+json", br#"{"error":"payment_required","status":402}"#);
        refused.payment_headers.insert("payment-required", header(&required));
        refused.payment_headers.insert("payment-response", header(&receipt));
        for form in [Form::Structured, Form::Both] {
            let (_, result) = sent(Answer::of("/x", &refused), form);
            let structured = &result["structuredContent"];
            assert_eq!((&result["isError"], &structured["ok"]), (&true.into(), &false.into()));
            assert_eq!(structured["error"]["error"], "payment_required");
            for member in ["x402Version", "resource", "accepts", "extensions"] {
                assert_eq!(structured[member], required[member], "{member}");
            }
            let first: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
            assert_eq!((first, &result["_meta"]["x402/payment-response"]), (required.clone(), &receipt));
        }
        // The requirements of a pass have the same header, and another form.
        refused.payment_headers.insert("payment-required", HeaderValue::from_static("{\"scheme\":\"api_key_bridge\"}"));
        refused.payment_headers.remove("payment-response");
        let (_, result) = sent(Answer::of("/x", &refused), Form::Structured);
        assert!(result["structuredContent"].get("accepts").is_none() && result.get("_meta").is_none(), "{result}");
        assert_eq!(result["content"].as_array().unwrap().len(), 1);
    }

    #[test]
    fn numbers_stay_as_they_were_printed() {
        for (form, times) in [(Form::Structured, 1), (Form::Text, 1), (Form::Both, 2)] {
            let (text, _) = sent(Answer::of("/x", &reply(200, "application/json", br#"{"a_btc":0.10000000}"#)), form);
            assert_eq!(text.matches("0.10000000").count(), times, "{text}");
        }
    }

    #[test]
    fn bodies_that_are_no_json_are_wrapped() {
        let (_, result) = sent(Answer::of("/x", &reply(200, "text/csv; charset=utf-8", b"a,b")), Form::Structured);
        assert_eq!(result["structuredContent"]["data"], json!({"content_type": "text/csv", "text": "a,b"}));
        let (text, result) = sent(Answer::of("/x", &reply(200, "image/png", &[0x89, b'P'])), Form::Structured);
        assert_eq!((text.matches("iVA=").count(), &result["content"][1]["data"]), (1, &"iVA=".into()));
        assert_eq!(result["structuredContent"]["data"], json!({"content_type": "image/png", "bytes": 2}));
    }

    #[test]
    fn answers_can_be_limited_to_fields() {
        let whole = reply(200, "application/json", br#"{"a":1,"b":{"c":[1.50]},"d":3}"#);
        let (_, result) = sent(Answer::of("/x", &whole).only(&["b", "a", "z"]), Form::Structured);
        assert_eq!(result["structuredContent"]["data"].to_string(), r#"{"b":{"c":[1.5]},"a":1}"#);
    }
}
