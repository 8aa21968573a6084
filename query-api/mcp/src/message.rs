//! Messages in a body.

use serde_json::{Map, Value};

use crate::rpc::{INVALID_REQUEST, PARSE_ERROR, RpcError, is_request};

/// Maximum number of values in a body. Each takes far more memory than the two bytes that it may be written with.
const MAX_VALUES: usize = 20_000;

/// Maximum size of a message without the arguments of a tool, in bytes.
pub(crate) const MAX_FRAME: usize = 64 << 10;

pub(crate) enum Incoming {
    One(Message),
    Batch(Vec<Message>),
}

pub(crate) struct Message {
    /// The message without the arguments of a tool.
    pub(crate) value: Value,
    /// The same as text; `None` if it is too long.
    pub(crate) frame: Option<String>,
    pub(crate) arguments: Map<String, Value>,
    /// Its share of the body in bytes: all of it, since the rest of a batch may be small.
    pub(crate) bytes: usize,
}

impl Message {
    fn of(mut value: Value, bytes: usize) -> Self {
        let mut arguments = Map::new();
        if is_call(&value)
            && let Some(params) = value.get_mut("params").and_then(Value::as_object_mut)
            && let Some(given) = params.get("arguments").and_then(object)
        {
            params.shift_remove("arguments");
            arguments = given;
        }
        let frame = Some(value.to_string()).filter(|frame| frame.len() <= MAX_FRAME);
        Message { value, frame, arguments, bytes }
    }

    pub(crate) fn is_call(&self) -> bool {
        is_call(&self.value)
    }

    /// True for a request, which needs an answer.
    pub(crate) fn is_request(&self) -> bool {
        is_request(&self.value)
    }
}

/// An object, also as a text that holds one, as some models write it.
pub(crate) fn object(value: &Value) -> Option<Map<String, Value>> {
    match value {
        Value::Object(members) => Some(members.clone()),
        Value::String(text) if values(text.as_bytes()) <= MAX_VALUES => serde_json::from_str(text).ok(),
        _ => None,
    }
}

fn is_call(value: &Value) -> bool {
    value.get("method").is_some_and(|method| method == "tools/call")
}

/// Parses a body.
///
/// # Errors
/// Fails if the body is not JSON, or has too many values.
pub(crate) fn parse(body: &[u8]) -> Result<Incoming, RpcError> {
    if values(body) > MAX_VALUES {
        let text = format!("Invalid Request: a body must have at most {MAX_VALUES} values; send less at once");
        return Err(RpcError::new(INVALID_REQUEST, text));
    }
    let value: Value = serde_json::from_slice(body).map_err(|error| {
        RpcError::new(PARSE_ERROR, format!("Parse error: line {}, column {}", error.line(), error.column()))
    })?;
    Ok(match value {
        Value::Array(all) => Incoming::Batch(all.into_iter().map(|value| Message::of(value, body.len())).collect()),
        value => Incoming::One(Message::of(value, body.len())),
    })
}

/// About the number of values in a JSON text: its commas and brackets outside of texts.
fn values(body: &[u8]) -> usize {
    let (mut found, mut in_text, mut escaped) = (0, false, false);
    for byte in body {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b',' | b'[' | b'{' if !in_text => found += 1,
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_outside_of_texts() {
        assert_eq!(values(br#"{"a":[1,2,{"b":"x,[{\",,\\"}],"c":","}"#), 6);
        assert_eq!(values(b""), 0);
    }

    #[test]
    fn bodies_with_too_many_values_are_not_parsed() {
        let many = format!("[{}]", vec!["0"; MAX_VALUES + 2].join(","));
        assert!(parse(many.as_bytes()).is_err());
        let text = format!("{{\"a\":\"{}\"}}", ",".repeat(MAX_VALUES * 2));
        assert!(matches!(parse(text.as_bytes()), Ok(Incoming::One(_))));
    }

    #[test]
    fn arguments_are_taken_out_of_calls() {
        let call = br#"{"method":"tools/call","params":{"name":"x","arguments":{"a":1}}}"#;
        let Ok(Incoming::One(message)) = parse(call) else { panic!("no message") };
        assert_eq!((message.arguments.len(), message.value["params"].as_object().map(Map::len)), (1, Some(1)));
        let text = br#"{"method":"tools/call","params":{"name":"x","arguments":"{\"a\":1}"}}"#;
        let Ok(Incoming::One(message)) = parse(text) else { panic!("no message") };
        assert_eq!((&message.arguments["a"], message.value["params"].as_object().map(Map::len)), (&1.into(), Some(1)));
        let other = br#"{"method":"x","params":{"arguments":{"a":1}}}"#;
        let Ok(Incoming::One(message)) = parse(other) else { panic!("no message") };
        assert!(message.arguments.is_empty() && message.value["params"]["arguments"].is_object());
    }
}
