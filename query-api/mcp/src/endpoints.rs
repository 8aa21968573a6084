//! The two tools for all operations, including those without their own tool: one searches, one calls.

use std::sync::Arc;

use axum::http::request::Parts;
use cairn_http::{Api, Described, ErrorCode};
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Map, Value, json};

use crate::{
    answer::{self, Answer},
    bound,
    portable::{object, portable},
};

pub(crate) const SEARCH: &str = "search_endpoints";
pub(crate) const CALL: &str = "call_endpoint";

/// Default and maximum number of endpoints in a search result.
const FOUND: u64 = 10;
const MAX_FOUND: u64 = 100;
/// Maximum number of words of a query.
const MAX_WORDS: usize = 16;
/// Words that are ignored.
const IDLE: [&str; 17] =
    ["a", "an", "and", "are", "do", "for", "how", "i", "in", "is", "me", "of", "on", "or", "the", "to", "what"];

pub(crate) fn search_tool() -> Tool {
    let input = json!({
        "type": "object",
        "properties": {
            "query": {"type": "string", "maxLength": 256, "examples": ["fee of a transaction"],
                "description": "Search words. Without them, all endpoints are listed in order."},
            "limit": {"type": "integer", "minimum": 1, "maximum": MAX_FOUND, "default": FOUND,
                "description": "Maximum number of results."},
        },
    });
    let description = "Finds endpoints of this server by words in their names, paths and descriptions. Each result has \
        the schema of its arguments. Use when no tool fits the question, or before call_endpoint. Not for data about \
        the chain itself.";
    Tool::new(SEARCH, description, object(input))
        .with_title("Find endpoints")
        .with_raw_output_schema(Arc::new(found_schema()))
        .with_annotations(
            ToolAnnotations::with_title("Find endpoints")
                .read_only(true)
                .destructive(false)
                .idempotent(true)
                .open_world(false),
        )
}

fn found_schema() -> JsonObject {
    let found = json!({
        "type": "object",
        "properties": {
            "endpoints": {"type": "array", "items": {
                "type": "object",
                "properties": {
                    "endpoint": {"type": "string", "description": "Value for call_endpoint."},
                    "operation": {"type": "string"},
                    "tool": {"type": ["string", "null"], "description": "Name of its tool; null if it has none."},
                    "summary": {"type": "string"},
                    "tier": {"enum": ["free", "premium"], "description": "Tier after the beta; everything is free until then."},
                    "arguments": {"type": "object", "description": "JSON schema of its arguments."},
                },
                "required": ["endpoint", "operation", "tool", "summary", "tier", "arguments"],
            }},
            "total": {"type": "integer", "description": "Number of matches, listed or not."},
        },
        "required": ["endpoints", "total"],
    });
    let mut schema = answer::schema(None);
    if let Some(data) = schema.get_mut("properties").and_then(|properties| properties.get_mut("data")) {
        data["anyOf"] = json!([portable(found), {"type": "null"}]);
    }
    schema
}

pub(crate) fn call_tool(annotations: ToolAnnotations) -> Tool {
    let input = json!({
        "type": "object",
        "properties": {
            "endpoint": {"type": "string", "examples": ["/v1/fees/recommended"],
                "description": "An `endpoint` or `operation` from search_endpoints, or a complete path with its query \
                    string, prefixed with POST if that is its method."},
            "arguments": {"type": "object",
                "description": "Arguments by name, for path, query string and body."},
        },
        "required": ["endpoint"],
    });
    let mut annotations = annotations;
    annotations.title = Some("Call an endpoint".to_owned());
    let description = "Calls any endpoint of this server with the same checks, limits and errors as over HTTP. Use when \
        an endpoint has no tool, or you have a complete path. Not for endpoints with a tool: the tool describes its \
        arguments and its answer.";
    Tool::new(CALL, description, object(input))
        .with_title("Call an endpoint")
        .with_raw_output_schema(Arc::new(answer::schema(None)))
        .with_annotations(annotations)
}

/// An error in the arguments of one of the two tools, in the form of every error.
fn refused(tool: &str, name: &str, message: &str) -> Answer {
    let error = json!({
        "type": "urn:cairn:problem:validation_error",
        "title": ErrorCode::ValidationError.title(),
        "status": 422,
        "detail": format!("{name}: {message}"),
        "error": "validation_error",
        "errors": [{"in": "body", "name": name, "message": message}],
        "retryable": false,
    });
    Answer::failed(tool, 422, error)
}

/// Lists the best matches.
pub(crate) fn search(operations: &[Described], arguments: &Map<String, Value>) -> Answer {
    let query = match arguments.get("query") {
        None | Some(Value::Null) => "",
        Some(Value::String(text)) if text.chars().count() <= 256 => text,
        Some(_) => return refused(SEARCH, "query", "expected a string of at most 256 characters"),
    };
    let limit = match arguments.get("limit") {
        None | Some(Value::Null) => FOUND,
        Some(value) => match value.as_u64().filter(|n| (1..=MAX_FOUND).contains(n)) {
            Some(limit) => limit,
            None => return refused(SEARCH, "limit", "expected an integer from 1 to 100"),
        },
    };
    let words: Vec<String> = query
        .split(|c: char| !c.is_alphanumeric())
        .map(str::to_lowercase)
        .filter(|word| !word.is_empty() && !IDLE.contains(&word.as_str()))
        .take(MAX_WORDS)
        .collect();
    let scored =
        operations.iter().map(|op| (score(op, &words), op)).filter(|(score, _)| words.is_empty() || *score > 0);
    let mut found: Vec<(u32, &Described)> = scored.collect();
    // Stable sort: equal scores keep the order of the catalog.
    found.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let endpoints: Vec<Value> = found.iter().take(limit).map(|(_, op)| entry(op)).collect();
    Answer::own(SEARCH, json!({"endpoints": endpoints, "total": found.len()}))
}

fn entry(op: &Described) -> Value {
    json!({
        "endpoint": op.endpoint,
        "operation": op.name,
        "tool": op.tool,
        "summary": op.summary,
        "tier": if op.premium { "premium" } else { "free" },
        "arguments": op.input_schema,
    })
}

/// Score of an operation: a word in its name or path counts more than one in the summary, which counts more than one in
/// the description.
fn score(op: &Described, words: &[String]) -> u32 {
    let places = [
        (8, format!("{} {} {}", op.name, op.tool.unwrap_or_default(), op.path)),
        (4, format!("{} {}", op.summary, op.guidance.0)),
        (1, format!("{} {}", op.area, op.description)),
    ];
    let places = places.map(|(weight, text)| (weight, text.to_lowercase()));
    let of_word = |word: &String| -> u32 {
        // A plural also matches its singular.
        let stem = word.strip_suffix('s').filter(|stem| stem.len() > 2).unwrap_or(word);
        places.iter().filter(|(_, text)| text.contains(stem)).map(|(weight, _)| weight).sum()
    };
    words.iter().map(of_word).sum()
}

/// Calls an endpoint by its operation name, its path template, or a complete path.
pub(crate) async fn call(
    api: &Api,
    operations: &[Described],
    arguments: &Map<String, Value>,
    from: &Parts,
    max: usize,
) -> Answer {
    let Some(endpoint) = arguments.get("endpoint").and_then(Value::as_str).map(str::trim) else {
        return refused(CALL, "endpoint", "expected a string");
    };
    let nothing = Map::new();
    let given = match arguments.get("arguments") {
        None | Some(Value::Null) => &nothing,
        Some(Value::Object(given)) => given,
        Some(_) => return refused(CALL, "arguments", "expected an object"),
    };
    let named = |op: &&Described| {
        op.name == endpoint
            || op.tool == Some(endpoint)
            || op.endpoint == endpoint
            || endpoint.strip_prefix(op.method).is_some_and(|rest| rest.trim_start() == op.path)
    };
    if let Some(op) = operations.iter().find(named) {
        return match api.call(op.name, given, from).await {
            Some(reply) => bound::answer(api, Some(op), &op.endpoint, &reply, max),
            None => refused(CALL, "endpoint", "does not exist"),
        };
    }
    let (method, target) = match endpoint.split_once(char::is_whitespace) {
        Some((method, target)) => (method, target.trim_start()),
        None => ("GET", endpoint),
    };
    if !matches!(method, "GET" | "POST") || !target.starts_with('/') {
        return refused(
            CALL,
            "endpoint",
            "is neither an operation nor a path; use search_endpoints to list the endpoints",
        );
    }
    let body = Value::Object(given.clone());
    let (target, body) = match method {
        "GET" if !given.is_empty() => {
            return refused(CALL, "arguments", "must be empty for a complete path; put them into its query string");
        }
        "GET" => (target, None),
        _ => (target, Some(&body)),
    };
    let reply = api.request(method, target, body, from).await;
    let path = target.split('?').next().unwrap_or_default();
    let op = operations.iter().find(|op| op.method == method && fits(op.path, path));
    bound::answer(api, op, &shown(method, target), &reply, max)
}

/// True if a path matches a template.
fn fits(template: &str, path: &str) -> bool {
    let (template, path) = (template.split('/'), path.split('/'));
    template.clone().count() == path.clone().count()
        && template.zip(path).all(|(of_template, of_path)| of_template.starts_with('{') || of_template == of_path)
}

/// The endpoint of a complete path, for the answer.
fn shown(method: &str, target: &str) -> String {
    let path: String = target.split('?').next().unwrap_or_default().chars().take(256).collect();
    if method == "GET" { path } else { format!("{method} {path}") }
}
