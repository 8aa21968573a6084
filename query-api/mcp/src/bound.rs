//! How much a tool says at once. Over HTTP a client reads what it likes; what a tool says goes through a model, and in one
//! message, of which clients bound the length.

use cairn_http::{Api, Described, ErrorCode, Reply};
use serde_json::{Value, json};

use crate::answer::Answer;

/// The failure that stands for an answer beyond the bound.
const TOO_LARGE: ErrorCode = ErrorCode::AnswerTooLarge;

/// What an operation said, if it has at most `max` bytes; else how to ask for less, and where all of it is.
pub(crate) fn answer(api: &Api, op: Option<&Described>, endpoint: &str, reply: &Reply, max: usize) -> Answer {
    // Before anything is made of it, and again for what is wrapped and grows by that.
    let mut length = reply.body.len();
    if length <= max || !(200..300).contains(&reply.status) {
        let answer = Answer::of(endpoint, reply);
        length = answer.len();
        if length <= max {
            return answer;
        }
    }
    let error = too_large(op, endpoint, reply, (length, max), &TOO_LARGE.explained_at(&api.config().base_url));
    Answer::failed(endpoint, TOO_LARGE.status().as_u16(), error)
}

fn too_large(
    op: Option<&Described>,
    endpoint: &str,
    reply: &Reply,
    (length, max): (usize, usize),
    docs_url: &str,
) -> Value {
    let narrow_with = op.map(narrowing).unwrap_or_default();
    let how = match narrow_with.as_slice() {
        [] => "it takes no parameters that would make it smaller".to_owned(),
        names => format!("narrow the question with {}", names.join(", ")),
    };
    let whole = match op {
        Some(op) if op.method != "GET" => format!("the same {} to {}", op.method, reply.url),
        _ => reply.url.clone(),
    };
    json!({
        "type": format!("urn:cairn:problem:{}", TOO_LARGE.name()),
        "title": TOO_LARGE.title(),
        "status": TOO_LARGE.status().as_u16(),
        "detail": format!(
            "the answer has {length} bytes, and a tool answers with at most {max}: {how}; it is whole over HTTP: {whole}"
        ),
        "instance": endpoint,
        "error": TOO_LARGE.name(),
        "request_id": reply.request_id,
        "errors": [],
        "retryable": false,
        "docs_url": docs_url,
        "narrow_with": narrow_with,
        "url": reply.url,
    })
}

/// The parameters that may be given or left out: pages, bounds, periods, how much of each row.
fn narrowing(op: &Described) -> Vec<&str> {
    let required: Vec<&str> =
        op.input_schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let other_name = |name: &String| op.exactly_one.iter().any(|group| group.contains(name));
    let all = op.input_schema["properties"].as_object().into_iter().flatten();
    all.map(|(name, _)| name)
        .filter(|name| !required.contains(&name.as_str()) && !other_name(name))
        .map(String::as_str)
        .collect()
}
