//! The tools for all operations, including those without their own tool: one searches, one describes, one calls.

use axum::http::request::Parts;
use cairn_http::{Api, Effect, ErrorCode, OperationDescription};
use serde_json::{Map, Value, json};

use crate::{
    answer::Answer,
    bound::{self, Limits, Sizes},
    coerce::coerce,
    general::{CALL, DESCRIBE, FOUND, MAX_FOUND, SEARCH, own_schema},
    message,
    tools::Tools,
};

/// Number of suggestions for a name that does not exist.
const SUGGESTED: usize = 3;

/// An error in the arguments of one of these tools, in the form of every error.
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

/// An endpoint that does not exist, with those that may be meant.
fn unknown(tools: &Tools, tool: &str, endpoint: &str) -> Answer {
    let meant = suggestions(tools, endpoint);
    let hint = if meant.is_empty() { String::new() } else { format!("; did you mean {}?", meant.join(", ")) };
    let message =
        format!("is neither an operation nor a path{hint}; use search_endpoints with the question to find endpoints");
    let mut answer = refused(tool, "endpoint", &message);
    if let Some(error) = answer.error_mut() {
        error["did_you_mean"] = json!(meant);
    }
    answer
}

/// Names of tools and operations that may be meant by one that does not exist: the nearest, then the results of a
/// search for its words.
pub(crate) fn suggestions(tools: &Tools, name: &str) -> Vec<String> {
    let name: String = name.chars().take(100).collect();
    let mut meant: Vec<String> = Api::nearest(&name, tools.names()).map(str::to_owned).into_iter().collect();
    for at in tools.index.find(&name) {
        let Some(op) = tools.operations.get(at) else { continue };
        let found = op.tool.unwrap_or(op.name);
        if meant.len() < SUGGESTED && !meant.iter().any(|name| name == found) {
            meant.push(found.to_owned());
        }
    }
    meant
}

/// Lists the best matches.
pub(crate) fn search(tools: &Tools, arguments: &Map<String, Value>) -> Answer {
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
    let found = if query.trim().is_empty() { (0..tools.operations.len()).collect() } else { tools.index.find(query) };
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let endpoints: Vec<Value> = found.iter().take(limit).filter_map(|at| entry(tools, *at)).collect();
    Answer::own(SEARCH, &json!({"endpoints": endpoints, "total": found.len()}))
}

fn entry(tools: &Tools, at: usize) -> Option<Value> {
    let op = tools.operations.get(at)?;
    Some(json!({
        "endpoint": op.endpoint,
        "operation": op.name,
        "tool": op.tool,
        "summary": op.summary,
        "tier": if op.premium { "premium" } else { "free" },
        "arguments": in_short(op),
    }))
}

/// The arguments of an operation, each with its type in words.
fn in_short(op: &OperationDescription) -> Map<String, Value> {
    let required: Vec<&str> =
        op.input_schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let kind = |schema: &Value| match (&schema["type"], schema["enum"].as_array()) {
        (_, Some(words)) => words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" | "),
        (Value::String(kind), None) => kind.clone(),
        (Value::Array(kinds), None) => kinds.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or "),
        _ => "any".to_owned(),
    };
    let properties = op.input_schema["properties"].as_object().into_iter().flatten();
    properties
        .map(|(name, schema)| {
            let needed = if required.contains(&name.as_str()) { ", required" } else { "" };
            (name.clone(), Value::from(format!("{}{needed}", kind(schema))))
        })
        .collect()
}

/// The operation with this name, tool or endpoint.
fn named<'t>(tools: &'t Tools, endpoint: &str) -> Option<(usize, &'t OperationDescription)> {
    tools.operations.iter().enumerate().find(|(_, op)| {
        op.name == endpoint
            || op.tool == Some(endpoint)
            || op.endpoint == endpoint
            || endpoint.strip_prefix(op.method).is_some_and(|rest| rest.trim_start() == op.path)
    })
}

pub(crate) fn describe(tools: &Tools, arguments: &Map<String, Value>) -> Answer {
    let Some(endpoint) = arguments.get("endpoint").and_then(Value::as_str).map(str::trim) else {
        return refused(DESCRIBE, "endpoint", "expected a string");
    };
    if let Some((at, op)) = named(tools, endpoint) {
        let needs = match (&op.paid, op.conditional) {
            (Some(price), _) => format!("for every call, or a payment: {price}"),
            (None, true) => "for some requests".to_owned(),
            (None, false) => "never".to_owned(),
        };
        return Answer::own(
            DESCRIBE,
            &json!({
                "endpoint": op.endpoint,
                "operation": op.name,
                "tool": op.tool,
                "summary": op.summary,
                "description": op.description,
                "use_when": op.guidance.0,
                "not_for": op.guidance.1,
                "cost": {"class": op.cost.name(), "units": op.cost.units()},
                "needs_session": needs,
                "exactly_one_of": op.exactly_one,
                "at_most_one_of": op.at_most_one,
                "arguments": op.input_schema,
                "result": tools.results.get(at),
            }),
        );
    }
    match tools.find(endpoint) {
        Some((tool, _)) => Answer::own(
            DESCRIBE,
            &json!({
                "endpoint": null,
                "operation": null,
                "tool": tool.name,
                "description": tool.description,
                "arguments": *tool.input_schema,
                "result": own_schema(endpoint),
            }),
        ),
        None => unknown(tools, DESCRIBE, endpoint),
    }
}

/// Calls an endpoint by its operation name, its path template, or a complete path.
pub(crate) async fn call(
    api: &Api,
    tools: &Tools,
    mut arguments: Map<String, Value>,
    bytes: usize,
    from: &Parts,
    max: Sizes,
) -> Answer {
    let endpoint = match arguments.get("endpoint").and_then(Value::as_str).map(str::trim) {
        Some(endpoint) => endpoint.to_owned(),
        None => return refused(CALL, "endpoint", "expected a string"),
    };
    let endpoint = endpoint.as_str();
    let given = match arguments.shift_remove("arguments") {
        None | Some(Value::Null) => Map::new(),
        Some(given) => match message::object(&given) {
            Some(given) => given,
            None => return refused(CALL, "arguments", "expected an object"),
        },
    };
    if let Some((_, op)) = named(tools, endpoint) {
        return operation(api, op, given, bytes, from, max).await;
    }
    let (method, target) = match endpoint.split_once(char::is_whitespace) {
        Some((method, target)) => (method, target.trim_start()),
        None => ("GET", endpoint),
    };
    if !matches!(method, "GET" | "POST") || !target.starts_with('/') {
        // One that tools may not call says so.
        if let Some(reply) = api.call(endpoint, Map::new(), 0, from).await {
            return bound::answer(api, None, endpoint, &reply, max, None);
        }
        return unknown(tools, CALL, endpoint);
    }
    let body = match method {
        "GET" if !given.is_empty() => {
            return refused(CALL, "arguments", "must be empty for a complete path; put them into its query string");
        }
        "GET" => None,
        _ => Some(Value::Object(given)),
    };
    let reply = api.request(method, target, body, bytes, from).await;
    let path = target.split('?').next().unwrap_or_default();
    let op = tools.operations.iter().find(|op| op.method == method && fits(op.path, path));
    let has_limit = target.split_once('?').is_some_and(|(_, query)| query.contains("limit="));
    let max = if has_limit { max.with_limits() } else { max };
    bound::answer(api, op, &shown(method, target), &reply, max, None)
}

pub(crate) async fn operation(
    api: &Api,
    op: &OperationDescription,
    mut given: Map<String, Value>,
    bytes: usize,
    from: &Parts,
    max: Sizes,
) -> Answer {
    coerce(&op.input_schema, &mut given);
    let wrong = if op.private { UnknownArguments(Vec::new()) } else { UnknownArguments::of(op, &given) };
    let limits = Limits::of(op, &given);
    let Some(mut reply) = api.call(op.name, given.clone(), bytes, from).await else {
        return refused(CALL, "endpoint", "does not exist");
    };
    // An answer that is too long is asked for again with lower limits: pages and cursors then fit together.
    let mut lowered = None;
    for _ in 0..Limits::TRIES {
        let lower = limits.lower(&reply, max, lowered.as_ref()).filter(|_| op.effect == Effect::Reads);
        let Some(lower) = lower else { break };
        let mut again = given.clone();
        again.extend(lower.clone());
        match api.call(op.name, again, bytes, from).await {
            Some(shorter) if (200..300).contains(&shorter.status) => (reply, lowered) = (shorter, Some(lower)),
            _ => break,
        }
    }
    let max = if limits.are_given { max.with_limits() } else { max };
    let mut answer = bound::answer(api, Some(op), &op.endpoint, &reply, max, lowered);
    if matches!(reply.status, 400 | 422)
        && let Some(error) = answer.error_mut()
    {
        wrong.tell(op, error);
    }
    answer
}

/// Maximum number of wrong names that are listed.
const MAX_WRONG: usize = 8;

/// Arguments that an operation does not have. A successful answer warns about them. An error names them too, because a
/// required argument is often missing only because its name is wrong.
struct UnknownArguments(Vec<(String, Option<String>)>);

impl UnknownArguments {
    fn of(op: &OperationDescription, given: &Map<String, Value>) -> Self {
        let known: Vec<&str> = names(op).collect();
        let required = op.input_schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let missing: Vec<&str> = required.filter(|name| !given.contains_key(*name)).collect();
        let wrong: Vec<&String> = given.keys().filter(|name| !known.contains(&name.as_str())).take(MAX_WRONG).collect();
        let meant = |name: &str| match (missing.as_slice(), wrong.len()) {
            // One is missing and one is too many.
            ([only], 1) => Some((*only).to_owned()),
            _ => Api::nearest(name, known.iter().copied()).map(str::to_owned),
        };
        UnknownArguments(wrong.iter().map(|name| (name.chars().take(64).collect(), meant(name))).collect())
    }

    fn tell(&self, op: &OperationDescription, error: &mut Value) {
        for (name, meant) in &self.0 {
            let hint = meant.as_ref().map_or_else(String::new, |meant| format!("; did you mean {meant}?"));
            let message = format!("is not an argument of {}{hint}", op.tool.unwrap_or(op.name));
            if let Some(Value::String(detail)) = error.get_mut("detail") {
                detail.push_str(&format!("; {name:?} {message}"));
            }
            let told = json!({"in": "body", "name": name, "message": message, "allowed": {"enum": names(op).collect::<Vec<_>>()}});
            if let Some(Value::Array(errors)) = error.get_mut("errors") {
                errors.push(told);
            }
        }
    }
}

fn names(op: &OperationDescription) -> impl Iterator<Item = &str> {
    op.input_schema["properties"].as_object().into_iter().flatten().map(|(name, _)| name.as_str())
}

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
