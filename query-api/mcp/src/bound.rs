//! Size limit of a tool's answer. An HTTP client can read large answers, but a tool's answer goes to a model in one
//! message, and clients limit the length of messages.

use cairn_http::{Api, ErrorCode, OperationDescription, Reply};
use serde_json::{Map, Value, json};

use crate::{
    answer::Answer,
    cut::{CutList, cut, rows_of_longest},
};

/// The error for an answer above the limit.
const TOO_LARGE: ErrorCode = ErrorCode::AnswerTooLarge;

/// Bytes that the envelope of an answer takes, with its words about rows that were left out.
const ENVELOPE: usize = 1_200;

/// How long the answer of a tool may be, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Sizes {
    /// By default: longer lists are cut.
    pub(crate) short: usize,
    /// If the client names a limit for lists. A longer answer is an error.
    pub(crate) long: usize,
}

impl Sizes {
    /// The sizes for a request that names a limit.
    pub(crate) fn with_limits(self) -> Self {
        Sizes { short: usize::MAX, ..self }
    }

    fn of_data(self) -> usize {
        self.short.saturating_sub(ENVELOPE.min(self.short / 4))
    }

    fn is_too_long(self, reply: &Reply) -> bool {
        (200..300).contains(&reply.status) && reply.media_type.contains("json") && reply.body.len() > self.of_data()
    }
}

pub(crate) struct Limits {
    /// Each with its default.
    defaults: Vec<(String, u64)>,
    /// True if the client named one.
    pub(crate) are_given: bool,
}

impl Limits {
    /// How often limits are lowered for one answer.
    pub(crate) const TRIES: usize = 5;

    pub(crate) fn of(op: &OperationDescription, given: &Map<String, Value>) -> Self {
        let all = op.input_schema["properties"].as_object().into_iter().flatten();
        let limits = all.filter(|(name, _)| (*name == "limit" || name.ends_with("_limit")) && *name != "gap_limit");
        let defaults: Vec<(String, u64)> =
            limits.filter_map(|(name, schema)| Some((name.clone(), schema["default"].as_u64()?))).collect();
        let are_given = defaults.iter().any(|(name, _)| given.contains_key(name));
        Limits { defaults, are_given }
    }

    /// Lower limits for an answer that is too long; `None` if it is not, or they cannot be lowered.
    pub(crate) fn lower(
        &self,
        reply: &Reply,
        max: Sizes,
        before: Option<&Map<String, Value>>,
    ) -> Option<Map<String, Value>> {
        if self.are_given || self.defaults.is_empty() || reply.is_document || reply.is_paid || !max.is_too_long(reply) {
            return None;
        }
        // The last page of a list has fewer rows than its limit.
        let rows = std::str::from_utf8(&reply.body).ok().and_then(rows_of_longest)? as u64;
        let now = |name: &String, default: u64| {
            before.and_then(|before| before[name].as_u64()).unwrap_or(default).min(rows.max(1))
        };
        // Nine tenths: rows differ in length, and something stands around them.
        let lower = |limit: u64| (limit * max.of_data() as u64 * 9 / 10 / reply.body.len() as u64).max(1);
        let lowered = self.defaults.iter().map(|(name, default)| (name.clone(), lower(now(name, *default)).into()));
        let lowered: Map<String, Value> = lowered.collect();
        let is_lower = self.defaults.iter().any(|(name, default)| lowered[name].as_u64() < Some(now(name, *default)));
        is_lower.then_some(lowered)
    }
}

/// The answer of an operation, its lists cut if it is longer than a short answer. An answer that cannot be cut so far
/// becomes an error that says how to request less, with the URL of the whole. `lowered` has the limits that the request
/// was repeated with.
pub(crate) fn answer(
    api: &Api,
    op: Option<&OperationDescription>,
    endpoint: &str,
    reply: &Reply,
    max: Sizes,
    lowered: Option<Map<String, Value>>,
) -> Answer {
    if reply.is_document {
        let what =
            "a document: fetch it over HTTP; search_endpoints and describe_endpoint have its content for one endpoint";
        return Answer::own(endpoint, &json!({"url": reply.url, "content_type": reply.media_type, "note": what}));
    }
    // A paid answer is whole, since it cannot be asked for again.
    let max = if reply.is_paid { Sizes { short: usize::MAX, long: usize::MAX } } else { max };
    let is_success = (200..300).contains(&reply.status);
    let mut lists = Vec::new();
    let mut cut_reply = None;
    if max.is_too_long(reply)
        && let Ok(text) = std::str::from_utf8(&reply.body)
        && let Some((text, cut)) = cut(text, max.of_data())
    {
        lists = cut;
        cut_reply = Some(Reply { body: text.into(), ..reply.clone() });
    }
    let shown = cut_reply.as_ref().unwrap_or(reply);
    // Checked before it is wrapped, and again after, since wrapping makes it longer.
    let mut length = shown.body.len();
    if length <= max.long || !is_success {
        let answer = Answer::of(endpoint, shown);
        length = answer.len();
        if length <= max.long {
            return match lowered.is_none() && lists.is_empty() {
                true => answer,
                false => answer.with_left_out(left_out(op, reply, lowered.as_ref(), &lists)),
            };
        }
    }
    let error = too_large(op, endpoint, reply, (length, max.long), &TOO_LARGE.explained_at(&api.config().base_url));
    Answer::failed(endpoint, TOO_LARGE.status().as_u16(), error)
}

/// Parts that an answer lacks, and the arguments that return them.
fn left_out(
    op: Option<&OperationDescription>,
    reply: &Reply,
    lowered: Option<&Map<String, Value>>,
    lists: &[CutList],
) -> Value {
    let arguments = op.map(narrowing).unwrap_or_default();
    let mut notes = Vec::new();
    if let Some(limits) = lowered {
        let limits: Vec<String> = limits.iter().map(|(name, value)| format!("{name}={value}")).collect();
        notes.push(format!(
            "this answer was made with {}, to keep it short: give a higher limit for more at once, or continue from \
             its end",
            limits.join(", ")
        ));
    }
    for CutList { name, shown, of, newest } in lists.iter().take(MAX_LISTS) {
        let which = if *newest { "newest" } else { "first" };
        notes.push(format!("{name} has the {which} {shown} of {of} rows"));
    }
    let lists = lists.iter().take(MAX_LISTS).map(|list| json!({"list": list.name, "shown": list.shown, "of": list.of}));
    json!({
        "note": notes.join("; "),
        "limits": lowered,
        "lists": lists.collect::<Vec<_>>(),
        "arguments": arguments,
        "url": reply.url,
    })
}

const MAX_LISTS: usize = 4;

fn too_large(
    op: Option<&OperationDescription>,
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

/// The optional parameters: pages, bounds, periods, level of detail; and required lists, which may have fewer items. In
/// another currency no answer is shorter.
fn narrowing(op: &OperationDescription) -> Vec<&str> {
    let required: Vec<&str> =
        op.input_schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let other_name = |name: &String| op.exactly_one.iter().any(|group| group.contains(name));
    let all = op.input_schema["properties"].as_object().into_iter().flatten();
    all.filter(|(_, schema)| schema["format"] != "currency")
        .filter(|(name, schema)| !required.contains(&name.as_str()) || schema["type"] == "array")
        .map(|(name, _)| name)
        .filter(|name| !other_name(name))
        .map(String::as_str)
        .collect()
}
