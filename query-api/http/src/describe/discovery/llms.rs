//! `/llms.txt` and `/llms-full.txt`: the service for language models, as Markdown.

use std::fmt::Write;

use serde_json::Value;

use super::{
    authentication::gated,
    links::{MCP, links},
};
use crate::{
    config::HttpConfig,
    contract::{cost::Cost, input::Field, method::Method, offer::Tier, operation::RegisteredOperation},
    describe::{
        about::About,
        openapi::{example_of, failures_of_sales},
        paying::{how_to_pay, price_now},
    },
};

/// A link and a line for each operation, by tier.
pub(super) fn brief(operations: &[RegisteredOperation], about: &About, config: &HttpConfig) -> String {
    let mut text = opening(about, config);
    access(&mut text, operations, config);
    let paid = config.access_mode.word("Operations that are paid after the beta", "Operations that are paid per call");
    for (tier, title) in [(Tier::Free, "Free operations"), (Tier::Premium, paid)] {
        let _ = writeln!(text, "\n## {title}\n");
        for op in operations.iter().filter(|op| op.offer.tier == tier) {
            let at = format!("{}/api/reference/#{}", config.base_url, op.info.name);
            let _ = writeln!(
                text,
                "- [{} {}]({at}): {}{}{}",
                op.info.method.name(),
                op.info.path,
                op.info.summary,
                price(op, config),
                if config.gates_enabled && op.info.conditional { " (gated: see Access)" } else { "" },
            );
            for alias in &op.agreed_aliases {
                let _ = writeln!(
                    text,
                    "- [{} {alias}]({at}): the same operation as {}{}",
                    op.info.method.name(),
                    op.info.path,
                    price(op, config),
                );
            }
        }
    }
    closing(&mut text, config);
    text
}

/// Every operation with its description, parameters with types and bounds, an example request and answer.
pub(super) fn full(operations: &[RegisteredOperation], about: &About, openapi: &Value, config: &HttpConfig) -> String {
    let mut text = opening(about, config);
    access(&mut text, operations, config);
    let mut area = "";
    for op in operations {
        if op.info.area != area {
            area = op.info.area;
            let _ = writeln!(text, "\n## {area}");
        }
        let (method, path) = (op.info.method.name(), op.info.path);
        let _ = writeln!(
            text,
            "\n### {method} {path}\n\n{}{}. {}\n",
            op.info.summary,
            price(op, config),
            op.info.description
        );
        for field in &op.input.fields {
            let place = field.location.name();
            let needed = if field.required { ", required" } else { "" };
            let about = field.schema["description"].as_str().unwrap_or_default().replace('\n', " ");
            let _ = writeln!(text, "- `{}` ({place}, {}{needed}): {about}", op.name_of(field), kind(field));
        }
        for (names, rule) in op
            .input
            .exactly_one
            .iter()
            .map(|names| (names, "exactly"))
            .chain(op.input.at_most_one.iter().map(|names| (names, "at most")))
        {
            let _ = writeln!(text, "- Give {rule} one of {}.", names.join(", "));
        }
        let described = &openapi["paths"][path][method.to_lowercase()];
        let _ = writeln!(
            text,
            "\nExample: `{method} {}`. Cost: {} ({} units).",
            example_of(op, about),
            op.info.cost.name(),
            op.info.cost.units()
        );
        if op.info.method == Method::Post && op.input.has_body() {
            let body = &described["requestBody"]["content"]["application/json"]["example"];
            let _ = writeln!(text, "Body: `{body}`");
        }
        match (about.answer)(op.info.name) {
            Some(answer) => {
                let _ = writeln!(text, "Answer:\n```json\n{}\n```", shortened(answer));
            }
            None => {
                let _ = writeln!(text, "Answer: a file of type {}.", op.media.join(" or "));
            }
        }
        if config.gates_enabled && op.info.conditional {
            let _ = writeln!(text, "Gated: some requests need a wallet session or a key (see Access).");
        }
        for code in op.info.errors.iter().copied().chain(failures_of_sales(op, config)) {
            let _ = writeln!(text, "Error: {} `{}`.", code.status().as_u16(), code.name());
        }
        for alias in &op.agreed_aliases {
            let _ = writeln!(
                text,
                "\n### {method} {alias}\n\nThe same operation as `{method} {path}`, with the same input."
            );
        }
    }
    closing(&mut text, config);
    text
}

/// Longest example answer in bytes of JSON that is shown whole.
const LONG: usize = 1500;

/// The type of a parameter, its bounds, allowed values and default.
fn kind(field: &Field) -> String {
    let schema = &field.schema;
    let kinds = |schema: &Value| match &schema["type"] {
        Value::String(kind) => vec![kind.clone()],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    };
    let choices = ["anyOf", "oneOf"].iter().filter_map(|key| schema[*key].as_array()).flatten();
    let mut all: Vec<String> = kinds(schema).into_iter().chain(choices.flat_map(kinds)).collect();
    all.retain(|kind| kind != "null");
    all.dedup();
    let mut said = if all.is_empty() { "any".to_owned() } else { all.join(" or ") };
    if let Some(format) = schema["format"].as_str().filter(|format| !format.contains("int") && *format != "double") {
        let _ = write!(said, " ({format})");
    }
    if let Some(words) = schema["enum"].as_array() {
        let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
        let _ = write!(said, ", one of {}", words.join(" | "));
    }
    for (key, word) in [
        ("minimum", "at least"),
        ("maximum", "at most"),
        ("minLength", "shortest"),
        ("maxLength", "longest"),
        ("minItems", "items at least"),
        ("maxItems", "items at most"),
        ("default", "default"),
    ] {
        if let Some(value) = schema.get(key).filter(|value| !value.is_null()) {
            let _ = write!(said, ", {word} {value}");
        }
    }
    said
}

/// An example answer; if it is long, with one item of each list.
fn shortened(answer: Value) -> String {
    let whole = answer.to_string();
    if whole.len() <= LONG { whole } else { first_items(answer).to_string() }
}

fn first_items(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().take(1).map(first_items).collect(),
        Value::Object(members) => members.into_iter().map(|(name, value)| (name, first_items(value))).collect(),
        other => other,
    }
}

/// Operations that need a payment, a session or a key.
fn access(text: &mut String, operations: &[RegisteredOperation], config: &HttpConfig) {
    text.push_str("\n## Access\n\n");
    let gated = gated(operations, config);
    match how_to_pay(config) {
        Some(paying) if gated.is_empty() => _ = writeln!(text, "{paying}"),
        Some(paying) => _ = writeln!(text, "{paying}\n"),
        None if gated.is_empty() => {
            text.push_str("Every operation of this server is open: none needs an account, a session or a key.\n");
        }
        None => {}
    }
    if gated.is_empty() {
        return;
    }
    let others = config.access_mode.word("All others are open.", "All other free operations are open.");
    let _ = writeln!(
        text,
        "These operations are gated: some of their requests need a wallet session (`Authorization: Bearer <token>`) or \
         the key of a bridge pass (`X-WR-API-Key: <key>`), and answer 402 without. {others}\n",
    );
    for op in gated {
        let what = op.info.description.split_inclusive(". ").find(|sentence| sentence.contains("session"));
        let _ = writeln!(
            text,
            "- {} {}: {}",
            op.info.method.name(),
            op.info.path,
            what.unwrap_or("some requests need a session or a key.").trim()
        );
    }
}

fn price(op: &RegisteredOperation, config: &HttpConfig) -> String {
    match (price_now(op, config), op.offer.price_sats) {
        (Some(price), _) => format!(" ({price})"),
        (None, Some(sats)) if op.offer.tier == Tier::Premium => {
            format!(" (free during the beta, {sats} sats later)")
        }
        _ => String::new(),
    }
}

fn opening(about: &About, config: &HttpConfig) -> String {
    let limit = match config.rate_limit {
        0 => "This server has no rate limit.".to_owned(),
        limit => format!(
            "Rate limit per client: {limit} units per minute; {}. The response header `RateLimit` gives the remaining \
             units; 429 has `Retry-After`.",
            Cost::ALL.map(|cost| format!("a {} request costs {}", cost.name(), cost.units())).join(", ")
        ),
    };
    let mcp = if config.speaks_mcp() {
        format!(
            " The same operations are available as tools of the Model Context Protocol at {}{MCP}.",
            config.base_url
        )
    } else {
        String::new()
    };
    let mode = config.access_mode.word(
        "No account is needed during the public beta.",
        "The public beta is over: premium operations are paid per call (see Access).",
    );
    format!(
        "# {}\n\n> {}.\n\nBase URL: {}. {mode}{mcp} {} {limit}\n",
        about.name, about.sentence, config.base_url, about.conventions_for_models
    )
}

fn closing(text: &mut String, config: &HttpConfig) {
    text.push_str("\n## More\n\n");
    for (path, _, what) in links(config) {
        let _ = writeln!(text, "- [{path}]({}{path}): {what}", config.base_url);
    }
}
