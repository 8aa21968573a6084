//! `/openapi.json`, derived from the operations.

use std::collections::BTreeMap;

use schemars::{SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};

use super::{about::About, header_refs::headers, paying::how_to_pay, problem, security, unions};
use crate::{
    answers::{
        code::ErrorCode,
        error::{Location, Problem},
        meta::Meta,
    },
    config::HttpConfig,
    contract::{
        format::TextFormat, input::Field, method::Method, offer::Tier, operation::RegisteredOperation, output::JSON,
    },
    pages::escaping::segment,
};

/// The description of these operations.
pub(crate) fn describe(
    operations: &[RegisteredOperation],
    about: &About,
    formats: &[TextFormat],
    config: &HttpConfig,
) -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize().with(|s| {
        s.definitions_path = "/components/schemas".into();
        s.meta_schema = None;
    });
    let mut generator = settings.into_generator();
    let mut paths: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
    for op in operations {
        let entry = operation(op, &mut generator, about, formats, config);
        let method = op.info.method.name().to_lowercase();
        for (number, alias) in op.agreed_aliases.iter().enumerate() {
            paths.entry(alias).or_default().insert(method.clone(), of_alias(op, &entry, number));
        }
        paths.entry(op.info.path).or_default().insert(method, entry);
    }
    let _ = generator.subschema_for::<Problem>();
    let mut schemas = generator.take_definitions(true);
    problem::describe_members(&mut schemas);
    for op in operations {
        relax(op, &mut schemas);
    }
    schemas.values_mut().for_each(unions::words);
    unions::variants(&mut schemas);
    let used = about.areas.iter().filter(|(area, _)| operations.iter().any(|op| op.info.area == *area));
    let tags: Vec<Value> = used.map(|(name, text)| json!({"name": name, "description": text})).collect();
    let description = [Some(about.conventions.to_owned()), how_to_pay(config)].into_iter().flatten();
    let mut document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": about.name,
            "version": env!("CARGO_PKG_VERSION"),
            "summary": about.summary,
            "description": description.collect::<Vec<_>>().join(" "),
            "contact": {"name": "The operator of this server", "url": format!("{}/", config.base_url)},
            "license": {"name": "MIT or Apache License 2.0", "identifier": "MIT OR Apache-2.0"},
        },
        "servers": [{"url": config.base_url}],
        "tags": tags,
        "paths": paths,
        "components": {
            "schemas": schemas,
            "responses": {"Problem": {
                "description": "An error.",
                "headers": headers(&["X-Request-Id", "RateLimit", "RateLimit-Policy", "Retry-After"]),
                "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
            }, "PaymentRequired": {
                "description": "The request needs a wallet session or a payment.",
                "headers": headers(&["X-Request-Id", "RateLimit", "RateLimit-Policy", "PAYMENT-REQUIRED"]),
                "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/PaymentRequired"}}},
            }},
            "securitySchemes": security::schemes(config),
            "headers": {
                "ETag": {"description": "Version of the answer, for If-None-Match.", "schema": {"type": "string"}},
                "RateLimit": {"description": "Remaining rate limit of the client: `r` units; the full limit is available \
                    again in `t` seconds. Absent if the server has no limit.", "schema": {"type": "string"}},
                "RateLimit-Policy": {"description": "Rate limit of a client: `q` units per `w` seconds.",
                    "schema": {"type": "string"}},
                "Retry-After": {"description": "Seconds to wait before a retry (429 and 503).",
                    "schema": {"type": "integer", "minimum": 0}},
                "PAYMENT-REQUIRED": {"description": "The requirements of a bridge pass, as compact JSON.",
                    "schema": {"type": "string"}},
                "X-Request-Id": {"description": "Id of the request.", "schema": {"type": "string"}},
                "X-Warning": {"description": "A warning about the request, in answers that are not JSON: its code and a \
                    sentence.", "schema": {"type": "string"}},
                "X-Rows-Read": {"description": "Rows of the index read for the answer.",
                    "schema": {"type": "integer", "minimum": 0}},
            },
        },
    });
    security::describe_sales(&mut document["components"], config);
    document
}

/// Returns the id of an operation's alias, of which several are numbered.
pub(crate) fn alias_id(operation: &str, number: usize) -> String {
    match number {
        0 => format!("{operation}_alias"),
        more => format!("{operation}_alias_{}", more + 1),
    }
}

/// The entry of an alias: that of the operation, with an id of its own, since ids must be unique.
fn of_alias(op: &RegisteredOperation, entry: &Value, number: usize) -> Value {
    let mut entry = entry.clone();
    entry["operationId"] = alias_id(op.info.name, number).into();
    entry["x-alias-of"] = op.info.path.into();
    if let Some(members) = entry.as_object_mut() {
        members.remove("x-aliases");
    }
    entry
}

fn operation(
    op: &RegisteredOperation,
    generator: &mut SchemaGenerator,
    about: &About,
    formats: &[TextFormat],
    config: &HttpConfig,
) -> Value {
    let output = op.output_schema(generator).to_value();
    let meta = generator.subschema_for::<Meta<'_>>().to_value();
    let body = json!({"allOf": [
        output,
        {"type": "object", "required": ["_meta"], "properties": {"_meta": meta}},
    ]});
    let mut responses = Map::new();
    let content = op.media.iter().map(|media| {
        let mut content = json!({});
        if *media == JSON {
            content["schema"] = body.clone();
            if let Some(example) = (about.answer)(op.info.name) {
                content["example"] = example;
            }
        }
        ((*media).to_owned(), content)
    });
    let content: Map<String, Value> = content.collect();
    let mut answer = json!({
        "description": "The answer.",
        "headers": headers(&["ETag", "X-Request-Id", "X-Rows-Read", "RateLimit", "RateLimit-Policy"]),
        "content": content,
    });
    if op.media.iter().any(|media| *media != JSON) {
        answer["headers"]["X-Warning"] = json!({"$ref": "#/components/headers/X-Warning"});
    }
    match op.info.has_etag() {
        true => {
            let unchanged = json!({
                "description": "The answer has not changed (If-None-Match).",
                "headers": headers(&["ETag", "X-Request-Id", "RateLimit", "RateLimit-Policy"]),
            });
            responses.insert("304".to_owned(), unchanged);
        }
        false => {
            answer["headers"].as_object_mut().map(|headers| headers.shift_remove("ETag"));
        }
    }
    security::add_receipt(&mut answer, op, config);
    if op.info.accepts_new {
        let mut accepted = answer.clone();
        accepted["description"] = "Accepted: it is new.".into();
        responses.insert("202".to_owned(), accepted);
    }
    responses.insert(op.info.success().as_u16().to_string(), answer);
    let mut by_status: BTreeMap<u16, Vec<&str>> = BTreeMap::new();
    for code in failures(op, formats, config) {
        by_status.entry(code.status().as_u16()).or_default().push(code.name());
    }
    for (status, codes) in by_status {
        let kind = security::response_of(status, op, config);
        responses.insert(
            status.to_string(),
            json!({"$ref": format!("#/components/responses/{kind}"),
            "description": format!("Codes: {}.", codes.join(", "))}),
        );
    }
    let mut entry = json!({
        "operationId": op.info.name,
        "tags": [op.info.area],
        "summary": op.info.summary,
        "description": op.info.description,
        "parameters": parameters(op, about),
        "responses": responses,
        "x-cost": {"class": op.info.cost.name(), "units": op.info.cost.units()},
        "x-tier": if op.offer.tier == Tier::Free { "free" } else { "premium" },
    });
    if op.info.method == Method::Post && op.input.has_body() {
        let mut content = json!({"application/json": {"schema": body_schema(op)}});
        if let Some(field) = op.info.text_body.and_then(|name| op.input.fields.iter().find(|f| f.name == name)) {
            content["text/plain"] = json!({"schema": field.schema});
        }
        if let Some(file) = op.info.file_body {
            content[file.media] = json!({"schema": {"type": "string", "format": "binary"}});
        }
        content["application/json"]["example"] = example_body(op, about);
        entry["requestBody"] = json!({"required": true, "content": content});
    }
    if let Some(requirement) = security::requirement(op, config) {
        entry["security"] = requirement;
    }
    if !op.info.aliases.is_empty() {
        entry["x-aliases"] = json!(op.info.aliases);
    }
    if let Some(price) = op.offer.price_sats {
        entry["x-price-sats"] = price.into();
    }
    entry
}

/// Errors about the payment of a call.
pub(super) fn failures_of_sales(op: &RegisteredOperation, config: &HttpConfig) -> impl Iterator<Item = ErrorCode> {
    let of_sales = config.is_billable(op).then_some(ErrorCode::PaymentRequired);
    let of_x402 = config.sells_by_x402(op).then_some([
        ErrorCode::InvalidPayment,
        ErrorCode::PaymentInUse,
        ErrorCode::FacilitatorUnavailable,
        ErrorCode::PaymentPending,
    ]);
    of_sales.into_iter().chain(of_x402.into_iter().flatten())
}

/// Errors that an operation may return.
pub(crate) fn failures(
    op: &RegisteredOperation,
    formats: &[TextFormat],
    config: &HttpConfig,
) -> impl Iterator<Item = ErrorCode> {
    op.info.errors.iter().copied().chain(failures_of_sales(op, config)).chain(common(op, formats))
}

/// Errors that any operation may return.
fn common(op: &RegisteredOperation, formats: &[TextFormat]) -> impl Iterator<Item = ErrorCode> {
    let mut codes = vec![
        ErrorCode::RateLimited,
        ErrorCode::InternalError,
        ErrorCode::IndexSyncing,
        ErrorCode::Overloaded,
        ErrorCode::Timeout,
    ];
    if !op.input.fields.is_empty() {
        codes.push(ErrorCode::ValidationError);
    }
    for format in formats {
        if op.input.fields.iter().any(|field| field.schema["format"] == format.name) {
            codes.extend(format.codes);
        }
    }
    if op.info.method == Method::Post && op.input.has_body() {
        codes.extend([ErrorCode::MalformedJson, ErrorCode::UnsupportedMediaType]);
    }
    if op.info.method == Method::Post {
        codes.extend([ErrorCode::RequestTimeout, ErrorCode::PayloadTooLarge]);
    }
    codes.into_iter()
}

/// An example value of a parameter: for an address, one of this server; null if there is none.
pub(crate) fn example(field: &Field, about: &About) -> Value {
    if let Some(known) = about.example(&field.schema) {
        return known;
    }
    field.schema["examples"].get(0).or_else(|| field.schema.get("default")).cloned().unwrap_or_default()
}

/// A valid body: the required fields, and the first of each group of aliases.
fn example_body(op: &RegisteredOperation, about: &About) -> Value {
    let first = |field: &Field| op.input.exactly_one.iter().any(|group| group.first() == Some(&field.name));
    let needed = op.input.fields.iter().filter(|f| f.location == Location::Body && (f.required || first(f)));
    Value::Object(needed.map(|field| (field.name.clone(), example(field, about))).collect())
}

/// Path and query of a valid request.
pub(crate) fn example_of(op: &RegisteredOperation, about: &About) -> String {
    let text = |value: Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let mut target = op.info.path.to_owned();
    let mut query = String::new();
    for field in &op.input.fields {
        let encoded = || segment(&text(example(field, about)));
        match field.location {
            Location::Path => target = target.replace(&format!("{{{}}}", field.name), &encoded()),
            Location::Query if field.required => {
                query += &format!("{}{}={}", if query.is_empty() { "?" } else { "&" }, field.name, encoded());
            }
            Location::Query | Location::Body | Location::Header => {}
        }
    }
    target + &query
}

fn parameters(op: &RegisteredOperation, about: &About) -> Vec<Value> {
    let listed = op.input.fields.iter().filter(|f| f.location != Location::Body);
    listed.map(|field| parameter(op, field, about)).collect()
}

fn parameter(op: &RegisteredOperation, field: &Field, about: &About) -> Value {
    let mut schema = field.schema.clone();
    let mut description = Value::Null;
    if let Some(members) = schema.as_object_mut() {
        description = members.remove("description").unwrap_or_default();
        members.remove("examples");
    }
    leave_out_null(&mut schema);
    let mut out = json!({
        "name": op.name_of(field),
        "in": field.location.name(),
        // Without its secret, an operation finds nothing.
        "required": field.required || matches!(field.location, Location::Path | Location::Header),
        "schema": schema,
    });
    for (key, value) in [("description", description), ("example", example(field, about))] {
        if !value.is_null() {
            out[key] = value;
        }
    }
    out
}

/// Removes null from optional parameters: a URL has no null, and a tool does not need it.
pub(crate) fn leave_out_null(schema: &mut Value) {
    let Some(kinds) = schema.get_mut("type").filter(|kinds| kinds.is_array()) else { return };
    if let Some(several) = kinds.as_array_mut() {
        several.retain(|kind| kind != "null");
    }
    if let [only] = kinds.as_array().map_or(&[][..], Vec::as_slice) {
        *kinds = only.clone();
    }
    if let Some(words) = schema.get_mut("enum").and_then(Value::as_array_mut) {
        words.retain(|word| !word.is_null());
    }
}

fn body_schema(op: &RegisteredOperation) -> Value {
    let fields = || op.input.fields.iter().filter(|f| f.location == Location::Body);
    let properties: Map<String, Value> = fields().map(|f| (f.name.clone(), f.schema.clone())).collect();
    let required: Vec<&str> = fields().filter(|f| f.required).map(|f| f.name.as_str()).collect();
    let mut schema = json!({"type": "object", "properties": properties, "required": required});
    // Null counts as not given.
    let given = |name: &String| json!({"required": [name], "properties": {name: {"not": {"type": "null"}}}});
    let one = op.input.exactly_one.iter().map(|group| json!({"oneOf": group.iter().map(given).collect::<Vec<_>>()}));
    // At most one: exactly one, or not any.
    let most = op.input.at_most_one.iter().map(|group| {
        let any: Vec<Value> = group.iter().map(given).collect();
        let none = json!({"not": {"anyOf": any.clone()}});
        json!({"oneOf": any.into_iter().chain([none]).collect::<Vec<_>>()})
    });
    let rules: Vec<Value> = one.chain(most).collect();
    if !rules.is_empty() {
        schema["allOf"] = rules.into();
    }
    schema
}

/// Fields that `view=compact` omits are not required.
pub(crate) fn relax(op: &RegisteredOperation, schemas: &mut Map<String, Value>) {
    let mut generator = SchemaSettings::draft2020_12()
        .for_serialize()
        .with(|s| s.definitions_path = "/components/schemas".into())
        .into_generator();
    let root = op.output_schema(&mut generator).to_value();
    for path in op.info.compact {
        let names: Vec<&str> = path.split('.').collect();
        drop_required(&root, &names, schemas);
    }
}

fn drop_required(schema: &Value, names: &[&str], schemas: &mut Map<String, Value>) {
    let [name, rest @ ..] = names else { return };
    if let Some(inner) = schema.get("items") {
        return drop_required(&inner.clone(), names, schemas);
    }
    for key in ["anyOf", "oneOf", "allOf"] {
        for inner in schema[key].as_array().cloned().unwrap_or_default() {
            drop_required(&inner, names, schemas);
        }
    }
    let Some(target) = schema["$ref"].as_str().and_then(|r| r.rsplit('/').next()).map(str::to_owned) else { return };
    let Some(found) = schemas.get_mut(&target) else { return };
    if rest.is_empty() {
        if let Some(required) = found.get_mut("required").and_then(Value::as_array_mut) {
            required.retain(|r| r != name);
        }
    } else {
        let inner = found["properties"][*name].clone();
        drop_required(&inner, rest, schemas);
    }
}
