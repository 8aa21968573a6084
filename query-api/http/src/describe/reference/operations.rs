//! The page of all operations.

use std::fmt::Write;

use serde_json::Value;

use super::{ROOT, shell};
use crate::{
    answers::error::Location,
    contract::{method::Method, offer::Tier, operation::Registered},
    describe::{about::About, openapi::example_of},
    pages::{escaping::escape, shell::prose},
};

/// Depth to which the fields of an answer are listed.
const DEPTH: usize = 3;

/// The page.
pub(super) fn page(operations: &[Registered], openapi: &Value, about: &About) -> String {
    let mut areas: Vec<&str> = Vec::new();
    for op in operations {
        if !areas.contains(&op.info.area) {
            areas.push(op.info.area);
        }
    }
    let mut html = format!(
        "<p>{}</p>\n<nav class=\"toc\" aria-label=\"Operations\">\n",
        prose(openapi["info"]["description"].as_str().unwrap_or_default())
    );
    for area in &areas {
        let _ = writeln!(html, "<h2>{}</h2><ul>", escape(area));
        for op in operations.iter().filter(|op| op.info.area == *area) {
            let (name, summary) = (op.info.name, escape(op.info.summary));
            let _ = writeln!(html, "<li><a href=\"#{name}\">{summary}</a></li>");
        }
        html.push_str("</ul>\n");
    }
    html.push_str("</nav>\n");
    for area in &areas {
        let _ = writeln!(html, "<h2>{}</h2>", escape(area));
        for op in operations.iter().filter(|op| op.info.area == *area) {
            operation(&mut html, op, openapi, about);
        }
    }
    let _ = writeln!(html, "<script src=\"{ROOT}try.js\" defer></script>");
    shell("Reference", &html)
}

fn operation(html: &mut String, op: &Registered, openapi: &Value, about: &About) {
    let (info, offer) = (&op.info, &op.offer);
    let described = &openapi["paths"][info.path][info.method.name().to_lowercase()];
    let _ = writeln!(
        html,
        "<section class=\"op\" id=\"{}\">\n<h3><span class=\"method\">{}</span> <code>{}</code></h3>\n\
         <p><strong>{}</strong></p>\n<p>{}</p>",
        info.name,
        info.method.name(),
        escape(info.path),
        escape(info.summary),
        prose(info.description)
    );
    let price = match (offer.tier, offer.price_sats) {
        (Tier::Premium, Some(sats)) => format!("free during the beta, {sats} sats per call later"),
        _ => "free".to_owned(),
    };
    let _ = writeln!(
        html,
        "<p class=\"muted\">{price} · cost: {} ({} units) · source: {}</p>",
        info.cost.name(),
        info.cost.units(),
        escape(info.source)
    );
    parameters(html, op);
    let _ = writeln!(
        html,
        "<h4>Example</h4>\n<pre class=\"command\"><code>{} {}</code></pre>",
        info.method.name(),
        escape(&example_of(op, about))
    );
    let body = &described["requestBody"]["content"]["application/json"]["example"];
    if !body.is_null() {
        let _ = writeln!(html, "<pre><code>{}</code></pre>", escape(&pretty(body)));
    }
    answer(html, described, openapi);
    errors(html, described);
    if info.method == Method::Get {
        try_form(html, op, about);
    }
    html.push_str("</section>\n");
}

fn parameters(html: &mut String, op: &Registered) {
    if op.input.fields.is_empty() {
        return;
    }
    html.push_str("<h4>Parameters</h4>\n<table><tr><th>name</th><th>in</th><th>description</th></tr>\n");
    for field in &op.input.fields {
        let place = field.location.name();
        let needed = if field.required { ", required" } else { "" };
        let about = field.schema["description"].as_str().unwrap_or_default();
        let _ = writeln!(
            html,
            "<tr><td><code>{}</code></td><td>{place}{needed}</td><td>{}{}</td></tr>",
            escape(&field.name),
            prose(about),
            escape(&bounds(&field.schema))
        );
    }
    html.push_str("</table>\n");
}

/// The bounds of a value in words.
fn bounds(schema: &Value) -> String {
    let mut said = Vec::new();
    for (key, word) in [("minimum", "at least"), ("maximum", "at most"), ("default", "default")] {
        if let Some(value) = schema.get(key).filter(|value| !value.is_null()) {
            said.push(format!("{word} {value}"));
        }
    }
    for (key, word) in [("minLength", "at least"), ("maxLength", "at most")] {
        if let Some(value) = schema.get(key) {
            let characters = if *value == 1 { "character" } else { "characters" };
            said.push(format!("{word} {value} {characters}"));
        }
    }
    if said.is_empty() { String::new() } else { format!(" ({})", said.join(", ")) }
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

fn answer(html: &mut String, described: &Value, openapi: &Value) {
    let Some(content) = described["responses"]["200"]["content"].as_object() else { return };
    for (media_type, content) in content {
        let schema = content["schema"]["allOf"].get(0).unwrap_or(&content["schema"]);
        let _ = writeln!(html, "<details><summary>Answer: <code>{}</code></summary>", escape(media_type));
        let mut rows = String::new();
        members(&mut rows, schema, openapi, "", DEPTH);
        if !rows.is_empty() {
            let _ = writeln!(html, "<table><tr><th>field</th><th>type</th><th>description</th></tr>\n{rows}</table>");
        }
        if let Some(example) = content.get("example") {
            let _ = writeln!(html, "<pre><code>{}</code></pre>", escape(&pretty(example)));
        }
        html.push_str("</details>\n");
    }
}

/// The schema behind a reference, or behind the first non-null alternative.
fn resolved<'a>(schema: &'a Value, openapi: &'a Value) -> &'a Value {
    if let Some(target) = schema["$ref"].as_str() {
        return openapi.pointer(target.trim_start_matches('#')).map_or(schema, |found| resolved(found, openapi));
    }
    let one = ["anyOf", "oneOf", "allOf"].iter().find_map(|key| schema[key].as_array());
    match one.and_then(|all| all.iter().find(|s| s["type"] != "null")) {
        Some(inner) if schema.get("properties").is_none() => resolved(inner, openapi),
        _ => schema,
    }
}

fn members(rows: &mut String, schema: &Value, openapi: &Value, before: &str, depth: usize) {
    let schema = resolved(schema, openapi);
    if schema["type"] == "array" {
        return members(rows, &schema["items"], openapi, before, depth);
    }
    if depth == 0 {
        return;
    }
    for (name, member) in schema["properties"].as_object().into_iter().flatten() {
        let inner = resolved(member, openapi);
        let kind = match &inner["type"] {
            Value::String(kind) => kind.clone(),
            Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or "),
            _ => String::new(),
        };
        let about = member["description"].as_str().or(inner["description"].as_str()).unwrap_or_default();
        let array = if inner["type"] == "array" { "[]" } else { "" };
        let path = format!("{before}{name}{array}");
        let _ = writeln!(
            rows,
            "<tr><td><code>{}</code></td><td>{}</td><td>{}</td></tr>",
            escape(&path),
            escape(&kind),
            prose(about)
        );
        members(rows, inner, openapi, &format!("{path}."), depth - 1);
    }
}

fn errors(html: &mut String, described: &Value) {
    let mut links = Vec::new();
    for (status, response) in described["responses"].as_object().into_iter().flatten() {
        let codes = response["description"].as_str().and_then(|d| d.strip_prefix("Codes: ")).unwrap_or_default();
        for code in codes.trim_end_matches('.').split(", ").filter(|code| !code.is_empty()) {
            links.push(format!("<a href=\"{ROOT}errors/#{code}\">{status} <code>{code}</code></a>"));
        }
    }
    let _ = writeln!(html, "<details><summary>Errors</summary><p>{}</p></details>", links.join(" · "));
}

fn try_form(html: &mut String, op: &Registered, about: &About) {
    let _ = writeln!(html, "<form class=\"try\" data-path=\"{}\" hidden><h4>Try it</h4>", escape(op.info.path));
    for field in &op.input.fields {
        let place = if field.location == Location::Path { "path" } else { "query" };
        let needed = field.location == Location::Path || field.required;
        let example = crate::describe::openapi::example(field, about);
        let example = example.as_str().map_or_else(|| example.to_string(), str::to_owned);
        let value = if needed { example } else { String::new() };
        let _ = writeln!(
            html,
            "<label><span>{name}{}</span><input name=\"{name}\" data-in=\"{place}\" value=\"{}\" autocomplete=\"off\" \
             autocapitalize=\"off\" spellcheck=\"false\"{}></label>",
            if needed { " (required)" } else { "" },
            escape(&value),
            if needed { " required" } else { "" },
            name = escape(&field.name),
        );
    }
    html.push_str("<button>Send</button>\n<pre hidden tabindex=\"0\" role=\"status\"></pre></form>\n");
}
