//! JSON-RPC: checks of messages, and errors before the protocol server is called.

use axum::{
    body::Body,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use cairn_http::ApiError;
use serde_json::{Value, json};

use crate::exchange::AnsweredMessage;

/// The text is not JSON.
pub(crate) const PARSE_ERROR: i32 = -32700;
/// The JSON is not a valid message.
pub(crate) const INVALID_REQUEST: i32 = -32600;
/// The parameters do not match the method.
pub(crate) const INVALID_PARAMS: i32 = -32602;
pub(crate) const INTERNAL_ERROR: i32 = -32603;

/// The client has used up its rate limit, or the server is overloaded.
pub(crate) const BUSY: i32 = -32000;
/// The answer does not fit into the batch.
pub(crate) const TOO_LARGE: i32 = -32001;

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct RpcError {
    code: i32,
    message: String,
    data: Option<Value>,
}

impl RpcError {
    pub(crate) fn new(code: i32, message: impl Into<String>) -> Self {
        RpcError { code, message: message.into(), data: None }
    }

    /// A refusal by the limits of the API.
    pub(crate) fn of(error: &ApiError) -> Self {
        let data = json!({"status": error.status.as_u16(), "error": error.code.name(), "retryable": error.retryable,
            "retry_after": error.retry_after});
        RpcError { code: BUSY, message: error.detail.clone(), data: Some(data) }
    }

    /// The error message. The id is null if the failed message had no readable id.
    pub(crate) fn answer(&self, id: Option<&Value>) -> Value {
        let mut error = json!({"code": self.code, "message": self.message});
        if let Some(data) = &self.data {
            error["data"] = data.clone();
        }
        json!({"jsonrpc": "2.0", "id": id, "error": error})
    }

    /// The same as the answer of a message.
    pub(crate) fn answered(&self, status: StatusCode, id: Option<&Value>) -> AnsweredMessage {
        let (parts, _) = self.response(status, id).into_parts();
        AnsweredMessage { status, headers: parts.headers, pieces: vec![self.answer(id).to_string().into()] }
    }

    /// The same as an HTTP answer.
    pub(crate) fn response(&self, status: StatusCode, id: Option<&Value>) -> Response {
        json_response(status, self.answer(id).to_string())
    }
}

pub(crate) fn json_response(status: StatusCode, text: String) -> Response {
    (status, [("content-type", "application/json"), ("cache-control", "no-store")], text).into_response()
}

/// The id of a message, if it has one of the protocol's types.
pub(crate) fn id_of(message: &Value) -> Option<&Value> {
    message.get("id").filter(|id| id.is_string() || id.is_i64() || id.is_u64())
}

/// True for a request, which needs an answer.
pub(crate) fn is_request(message: &Value) -> bool {
    message.get("method").is_some() && message.get("id").is_some()
}

/// Checks the form of a message: the common fields, and the parameters of the supported methods.
pub(crate) fn check(message: &Value) -> Result<(), RpcError> {
    let invalid = |what: &str| Err(RpcError::new(INVALID_REQUEST, format!("Invalid Request: {what}")));
    let Value::Object(members) = message else { return invalid("a message must be an object") };
    if members.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return invalid("jsonrpc must be \"2.0\"");
    }
    if members.contains_key("id") && id_of(message).is_none() {
        return invalid("id must be a string or an integer");
    }
    let method = match members.get("method") {
        Some(Value::String(method)) => method,
        Some(_) => return invalid("method must be a string"),
        None => return invalid("method is missing; this server sends no requests, so it accepts no answers"),
    };
    let nothing = Value::Null;
    let params = members.get("params").unwrap_or(&nothing);
    if !params.is_object() && !params.is_null() {
        return Err(RpcError::new(INVALID_PARAMS, "Invalid params: params must be an object"));
    }
    let wrong = |what: &str| Err(RpcError::new(INVALID_PARAMS, format!("Invalid params: {what}")));
    match method.as_str() {
        "tools/call" if !params["name"].is_string() => wrong("name must be the name of a tool"),
        "tools/call" if !(params["arguments"].is_object() || params["arguments"].is_null()) => {
            wrong("arguments must be an object, or a text that holds one as JSON")
        }
        "tools/list" if !(params["cursor"].is_string() || params["cursor"].is_null()) => {
            wrong("cursor must be a string")
        }
        "initialize" if !params["protocolVersion"].is_string() => wrong("protocolVersion must be a string"),
        "initialize" if !params["capabilities"].is_object() => wrong("capabilities must be an object"),
        "initialize" if !params["clientInfo"].is_object() => wrong("clientInfo must be an object"),
        _ => Ok(()),
    }
}

/// 202 without a body: nothing is answered.
pub(crate) fn accepted() -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::ACCEPTED;
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_checked() {
        let code = |message: Value| check(&message).err().map(|error| error.code);
        assert_eq!(code(json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})), None);
        assert_eq!(code(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})), None);
        for bad in [
            json!(1),
            json!([]),
            json!({"id": 1, "method": "ping"}),
            json!({"jsonrpc": "1.0", "id": 1, "method": "ping"}),
            json!({"jsonrpc": "2.0", "id": null, "method": "ping"}),
            json!({"jsonrpc": "2.0", "id": 1.5, "method": "ping"}),
            json!({"jsonrpc": "2.0", "id": {}, "method": "ping"}),
            json!({"jsonrpc": "2.0", "id": 1, "method": 1}),
            json!({"jsonrpc": "2.0", "id": 1, "result": {}}),
        ] {
            assert_eq!(code(bad.clone()), Some(INVALID_REQUEST), "{bad}");
        }
        for (method, params) in [
            ("ping", json!([1])),
            ("tools/call", json!({})),
            ("tools/call", json!({"name": 1})),
            ("tools/call", json!({"name": "x", "arguments": []})),
            ("tools/list", json!({"cursor": 1})),
            ("initialize", json!({})),
            ("initialize", json!({"protocolVersion": "2025-03-26", "capabilities": []})),
            ("initialize", json!({"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": "x"})),
        ] {
            let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
            assert_eq!(code(message), Some(INVALID_PARAMS), "{method} {params}");
        }
    }
}
