//! Size limit of a tool's answer. An HTTP client can read large answers, but a tool's answer goes to a model in one
//! message, and clients limit the length of messages.

use cairn_http::{Api, Described, ErrorCode, Reply};
use serde_json::{Value, json};

use crate::answer::Answer;

/// The error for an answer above the limit.
const TOO_LARGE: ErrorCode = ErrorCode::AnswerTooLarge;

/// The answer of an operation if it has at most `max` bytes; otherwise how to request less, and the URL of the whole.
pub(crate) fn answer(api: &Api, op: Option<&Described>, endpoint: &str, reply: &Reply, max: usize) -> Answer {
    if reply.is_document {
        let what =
            "a document: fetch it over HTTP; search_endpoints and describe_endpoint tell what it says of one endpoint";
        return Answer::own(endpoint, &json!({"url": reply.url, "content_type": reply.media_type, "note": what}));
    }
    // Checked before it is wrapped, and again after, since wrapping makes it longer.
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
        [] => "the endpoint has no parameters that make it smaller".to_owned(),
        names => format!("narrow the request with {}", names.join(", ")),
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
            "the answer has {length} bytes; the limit of a tool is {max}: {how}; the whole answer over HTTP: {whole}"
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

/// The optional parameters: pages, bounds, periods, level of detail. In another currency no answer is shorter.
fn narrowing(op: &Described) -> Vec<&str> {
    let required: Vec<&str> =
        op.input_schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let other_name = |name: &String| op.exactly_one.iter().any(|group| group.contains(name));
    let all = op.input_schema["properties"].as_object().into_iter().flatten();
    all.filter(|(_, schema)| schema["format"] != "currency")
        .map(|(name, _)| name)
        .filter(|name| !required.contains(&name.as_str()) && !other_name(name))
        .map(String::as_str)
        .collect()
}
