//! Messages of JSON-RPC: requests, batches of them, answers and notifications.

use serde_json::{Map, Value, json};

use crate::{failure::Failure, params::Params};

/// Most requests of a batch that are answered; each further one gets an error. Clients send up to 500.
pub(crate) const MAX_BATCH: usize = 500;
/// Most entries of a batch that get an error each; longer ones get one for all.
const MAX_ENTRIES: usize = 10 * MAX_BATCH;

/// A request.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Request {
    /// `None`: a notification, which gets no answer.
    pub(crate) id: Option<Value>,
    pub(crate) method: String,
    pub(crate) params: Params,
}

/// A request that cannot be read, with the id of its answer.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct BadRequest {
    pub(crate) id: Value,
    pub(crate) failure: Failure,
}

/// A line from a client.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Message {
    One(Result<Request, BadRequest>),
    Batch(Vec<Result<Request, BadRequest>>),
}

/// Reads a line.
pub(crate) fn parse(line: &[u8]) -> Message {
    let invalid = |message: String| {
        Message::One(Err(BadRequest { id: Value::Null, failure: Failure::new(Failure::INVALID_REQUEST, message) }))
    };
    match serde_json::from_slice::<Value>(line) {
        Err(error) => {
            let failure = Failure::new(Failure::PARSE, format!("invalid JSON: {error}"));
            Message::One(Err(BadRequest { id: Value::Null, failure }))
        }
        Ok(Value::Array(all)) if all.is_empty() => invalid("the batch is empty".to_owned()),
        Ok(Value::Array(all)) if all.len() > MAX_ENTRIES => {
            invalid(format!("the batch has {} requests; at most {MAX_BATCH} are answered", all.len()))
        }
        Ok(Value::Array(all)) => {
            let count = all.len();
            let bounded = |(at, value)| if at < MAX_BATCH { request(value) } else { Err(beyond(value, count)) };
            Message::Batch(all.into_iter().enumerate().map(bounded).collect())
        }
        Ok(one) => Message::One(request(one)),
    }
}

/// The error for a request of a batch beyond [`MAX_BATCH`]. Clients match errors with requests by their ids.
fn beyond(value: Value, count: usize) -> BadRequest {
    let id = match value {
        Value::Object(mut members) => members.shift_remove("id").filter(|id| id.is_string() || id.is_number()),
        _ => None,
    };
    let message = format!("the batch has {count} requests; at most {MAX_BATCH} are answered");
    BadRequest { id: id.unwrap_or_default(), failure: Failure::new(Failure::INVALID_REQUEST, message) }
}

fn request(value: Value) -> Result<Request, BadRequest> {
    let bad = |id: &Option<Value>, message: &str| BadRequest {
        id: id.clone().unwrap_or_default(),
        failure: Failure::new(Failure::INVALID_REQUEST, message),
    };
    let Value::Object(mut members) = value else { return Err(bad(&None, "a request is an object")) };
    let id = members.shift_remove("id");
    if !matches!(id, None | Some(Value::Null | Value::String(_) | Value::Number(_))) {
        return Err(bad(&None, "an id is a string, a number or null"));
    }
    let Some(Value::String(method)) = members.shift_remove("method") else {
        return Err(bad(&id, "method is not a string"));
    };
    let params = match members.shift_remove("params") {
        None | Some(Value::Null) => Params::List(Vec::new()),
        Some(Value::Array(values)) => Params::List(values),
        Some(Value::Object(values)) => Params::Named(values),
        Some(_) => return Err(bad(&id, "params is neither a list nor an object")),
    };
    Ok(Request { id, method, params })
}

/// The answer to a request; `result` is JSON.
pub(crate) fn answer(id: &Value, result: Result<&str, &Failure>) -> String {
    match result {
        Ok(result) => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#),
        Err(failure) => format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{}}}"#, failure.object()),
    }
}

/// A notification.
pub(crate) fn notification(method: &str, params: &[Value]) -> String {
    let members: Map<String, Value> = [("jsonrpc", json!("2.0")), ("method", json!(method)), ("params", json!(params))]
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
    Value::Object(members).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(line: &str) -> Result<Request, BadRequest> {
        match parse(line.as_bytes()) {
            Message::One(one) => one,
            Message::Batch(_) => panic!("a batch: {line}"),
        }
    }

    fn code(line: &str) -> i32 {
        one(line).unwrap_err().failure.code
    }

    #[test]
    fn requests_are_read() {
        let request = one(r#"{"jsonrpc":"2.0","id":7,"method":"server.ping"}"#).unwrap();
        assert_eq!(request, Request { id: Some(json!(7)), method: "server.ping".into(), params: Params::List(vec![]) });
        assert_eq!(one(r#"{"method":"server.ping","params":[]}"#).unwrap().id, None);
        assert_eq!(one(r#"{"id":null,"method":"server.ping"}"#).unwrap().id, Some(Value::Null));
        let named = one(r#"{"id":"a","method":"m","params":{"height":1}}"#).unwrap();
        assert_eq!(named.params.get(0, "height"), Some(&json!(1)));
    }

    #[test]
    fn bad_messages_have_their_codes() {
        assert_eq!(code("{"), Failure::PARSE);
        assert_eq!(code("\u{16}\u{3}\u{1}"), Failure::PARSE);
        for line in ["1", "[]", r#"{"id":1}"#, r#"{"id":[],"method":"m"}"#, r#"{"id":1,"method":"m","params":1}"#] {
            assert_eq!(code(line), Failure::INVALID_REQUEST, "{line}");
        }
        assert_eq!(one(r#"{"id":1,"method":5}"#).unwrap_err().id, json!(1));
        // The parser refuses deep nesting instead of using up the stack.
        assert_eq!(code(&"[".repeat(100_000)), Failure::PARSE);
    }

    #[test]
    fn batches_are_bounded() {
        let batch = |n: usize| format!("[{}]", vec![r#"{"id":1,"method":"m"}"#; n].join(","));
        assert!(matches!(parse(batch(MAX_BATCH).as_bytes()), Message::Batch(all) if all.len() == MAX_BATCH));
        let Message::Batch(longer) = parse(batch(MAX_BATCH + 2).as_bytes()) else { panic!() };
        assert!(longer[..MAX_BATCH].iter().all(Result::is_ok) && longer.len() == MAX_BATCH + 2);
        let beyond = longer[MAX_BATCH].as_ref().unwrap_err();
        assert_eq!((&beyond.id, beyond.failure.code), (&json!(1), Failure::INVALID_REQUEST));
        assert_eq!(code(&batch(MAX_ENTRIES + 1)), Failure::INVALID_REQUEST);
        let Message::Batch(mixed) = parse(br#"[1,{"id":1,"method":"m"}]"#) else { panic!() };
        assert!(mixed[0].is_err() && mixed[1].is_ok());
    }

    #[test]
    fn answers_are_json() {
        assert_eq!(answer(&json!("a\""), Ok("[1]")), r#"{"jsonrpc":"2.0","id":"a\"","result":[1]}"#);
        let failure = Failure::bad("no");
        let expected = r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no"}}"#;
        assert_eq!(answer(&json!(1), Err(&failure)), expected);
        assert_eq!(notification("m", &[json!(1)]), r#"{"jsonrpc":"2.0","method":"m","params":[1]}"#);
    }
}
