//! The page of all operations.

use askama::{Template, filters::Safe};
use serde_json::Value;

use super::frame;
use crate::{
    answers::error::Location,
    config::HttpConfig,
    contract::{
        input::Field,
        method::Method,
        offer::Tier,
        operation::{Info, RegisteredOperation},
    },
    describe::{
        about::About,
        openapi::{alias_id, example, example_of},
        paying::price_now,
    },
    pages::escaping::prose,
};

/// Depth to which the fields of an answer are listed.
const DEPTH: usize = 3;

#[derive(Template)]
#[template(path = "reference/operations.html")]
struct Page {
    description: Safe<String>,
    areas: Vec<Area>,
}

struct Area {
    name: &'static str,
    operations: Vec<Operation>,
}

/// Parts of an operation that are shown.
struct Operation {
    info: Info,
    /// Further paths, each with the id of its entry.
    aliases: Vec<(&'static str, String)>,
    description: Safe<String>,
    price: String,
    parameters: Vec<Parameter>,
    example: String,
    body: Option<String>,
    answers: Vec<Answer>,
    /// Status and code.
    errors: Vec<(String, String)>,
    /// Fields of the form that tries it out.
    to_try: Option<Vec<TryField>>,
}

struct Parameter {
    name: String,
    place: &'static str,
    required: bool,
    about: Safe<String>,
    bounds: String,
}

/// An answer in one media type.
struct Answer {
    media_type: String,
    members: Vec<Member>,
    example: Option<String>,
}

struct Member {
    path: String,
    kind: String,
    about: Safe<String>,
}

struct TryField {
    name: String,
    place: &'static str,
    needed: bool,
    value: String,
}

pub(super) fn page(operations: &[RegisteredOperation], openapi: &Value, about: &About, config: &HttpConfig) -> String {
    let mut areas: Vec<Area> = Vec::new();
    for op in operations {
        let shown = Operation::of(op, openapi, about, config);
        match areas.iter_mut().find(|area| area.name == op.info.area) {
            Some(area) => area.operations.push(shown),
            None => areas.push(Area { name: op.info.area, operations: vec![shown] }),
        }
    }
    let description = prose(openapi["info"]["description"].as_str().unwrap_or_default());
    frame::page("Reference", frame::ROOT, &Page { description, areas })
}

impl Operation {
    fn of(op: &RegisteredOperation, openapi: &Value, about: &About, config: &HttpConfig) -> Self {
        let (info, offer) = (op.info, &op.offer);
        let described = &openapi["paths"][info.path][info.method.name().to_lowercase()];
        let body = &described["requestBody"]["content"]["application/json"]["example"];
        let answers = described["responses"][op.info.success().as_str()]["content"].as_object().into_iter().flatten();
        Operation {
            description: prose(info.description),
            price: price_now(op, config).unwrap_or_else(|| match (offer.tier, offer.price_sats) {
                (Tier::Premium, Some(sats)) => format!("free during the beta, {sats} sats per call later"),
                _ => "free".to_owned(),
            }),
            parameters: op.input.fields.iter().map(|field| Parameter::of(op, field)).collect(),
            example: example_of(op, about),
            body: (!body.is_null()).then(|| pretty(body)),
            answers: answers.map(|(media_type, content)| Answer::of(media_type, content, openapi)).collect(),
            errors: errors(described),
            to_try: (info.method == Method::Get && info.secret_header.is_none())
                .then(|| op.input.fields.iter().map(|field| TryField::of(field, about)).collect()),
            aliases: op.agreed_aliases.iter().enumerate().map(|(at, path)| (*path, alias_id(info.name, at))).collect(),
            info,
        }
    }
}

impl Parameter {
    fn of(op: &RegisteredOperation, field: &Field) -> Self {
        Parameter {
            name: op.name_of(field).to_owned(),
            place: field.location.name(),
            required: field.required,
            about: prose(field.schema["description"].as_str().unwrap_or_default()),
            bounds: bounds(&field.schema),
        }
    }
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

impl Answer {
    fn of(media_type: &str, content: &Value, openapi: &Value) -> Self {
        let schema = content["schema"]["allOf"].get(0).unwrap_or(&content["schema"]);
        let mut all = Vec::new();
        members(&mut all, schema, openapi, "", DEPTH);
        Answer { media_type: media_type.to_owned(), members: all, example: content.get("example").map(pretty) }
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

fn members(all: &mut Vec<Member>, schema: &Value, openapi: &Value, before: &str, depth: usize) {
    let schema = resolved(schema, openapi);
    if schema["type"] == "array" {
        return members(all, &schema["items"], openapi, before, depth);
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
        let deeper = format!("{path}.");
        all.push(Member { path, kind, about: prose(about) });
        members(all, inner, openapi, &deeper, depth - 1);
    }
}

/// The codes in the descriptions of the answers, each with its status.
fn errors(described: &Value) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for (status, response) in described["responses"].as_object().into_iter().flatten() {
        let codes = response["description"].as_str().and_then(|d| d.strip_prefix("Codes: ")).unwrap_or_default();
        let codes = codes.trim_end_matches('.').split(", ").filter(|code| !code.is_empty());
        all.extend(codes.map(|code| (status.clone(), code.to_owned())));
    }
    all
}

impl TryField {
    fn of(field: &Field, about: &About) -> Self {
        let needed = field.location == Location::Path || field.required;
        let known = example(field, about);
        let known = known.as_str().map_or_else(|| known.to_string(), str::to_owned);
        TryField {
            name: field.name.clone(),
            place: field.location.name(),
            needed,
            value: if needed { known } else { String::new() },
        }
    }
}
