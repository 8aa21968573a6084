//! Checks values against schemas.

use serde_json::{Map, Number, Value};

use super::format::{self, TextFormat};
use crate::answers::{
    code::ErrorCode,
    error::{ApiError, FieldError, Location},
};

/// True if a schema accepts values of a type.
fn takes(schema: &Value, kind: &str) -> bool {
    match &schema["type"] {
        Value::String(only) => only == kind,
        Value::Array(several) => several.iter().any(|t| t == kind),
        _ => alternatives(schema).any(|s| takes(s, kind)),
    }
}

fn alternatives(schema: &Value) -> impl Iterator<Item = &Value> {
    ["anyOf", "oneOf"].into_iter().flat_map(|key| schema[key].as_array().into_iter().flatten())
}

/// Converts text to the type of the schema. Text that cannot be converted stays text and fails the check.
pub(super) fn coerce(schema: &Value, text: &str, formats: &[TextFormat]) -> Value {
    let as_text = || Value::String(text.to_owned());
    if format::find(formats, schema).is_some_and(|format| format.takes_numbers) {
        return as_text();
    }
    let plain = |text: &str| text.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'-' | b'.'));
    if takes(schema, "integer") {
        let signed = text.parse::<i64>().ok().map(Number::from);
        let number = text.parse::<u64>().ok().map(Number::from).or(signed).filter(|_| plain(text));
        return number.map_or_else(as_text, Value::Number);
    }
    if takes(schema, "number") {
        let number = text.parse::<f64>().ok().and_then(Number::from_f64).filter(|_| plain(text));
        return number.map_or_else(as_text, Value::Number);
    }
    match text {
        "true" | "1" if takes(schema, "boolean") => Value::Bool(true),
        "false" | "0" if takes(schema, "boolean") => Value::Bool(false),
        _ => as_text(),
    }
}

/// A value with its texts in their canonical form.
pub(super) fn canonical(schema: &Value, value: Value, formats: &[TextFormat]) -> Value {
    match value {
        Value::String(text) => {
            let with_null = || alternatives(schema).find_map(|schema| format::find(formats, schema));
            match format::find(formats, schema).or_else(with_null) {
                Some(format) => Value::String((format.canonical)(&text).into_owned()),
                None => Value::String(text),
            }
        }
        Value::Array(items) => {
            let items = items.into_iter().map(|item| canonical(&schema["items"], item, formats));
            Value::Array(items.collect())
        }
        other => other,
    }
}

/// A check in progress.
pub(super) struct Check<'f> {
    formats: &'f [TextFormat],
    network: Option<&'static str>,
    errors: Vec<FieldError>,
    /// Error code of the first invalid text with its own code.
    code: Option<ErrorCode>,
}

/// Maximum number of reported errors.
const MAX_ERRORS: usize = 100;

impl<'f> Check<'f> {
    pub(super) fn new(formats: &'f [TextFormat], network: Option<&'static str>) -> Self {
        Check { formats, network, errors: Vec::new(), code: None }
    }

    pub(super) fn finish(self) -> Result<(), ApiError> {
        if self.errors.is_empty() {
            return Ok(());
        }
        Err(ApiError::of_fields(self.code.unwrap_or(ErrorCode::ValidationError), self.errors))
    }

    pub(super) fn error(&mut self, location: Location, name: &str, message: impl Into<String>, schema: Option<&Value>) {
        if self.errors.len() < MAX_ERRORS {
            let example = schema.and_then(|schema| self.example(schema)).filter(|example| !example.is_null());
            let allowed = schema.and_then(allowed);
            self.errors.push(FieldError { location, name: name.to_owned(), message: message.into(), allowed, example });
        }
    }

    /// A valid value.
    fn example(&self, schema: &Value) -> Option<Value> {
        match format::find(self.formats, schema).and_then(|format| format.example) {
            Some(of_network) => Some(of_network(self.network)),
            None => schema["examples"].get(0).or_else(|| schema.get("default")).cloned(),
        }
    }

    pub(super) fn value(&mut self, location: Location, name: &str, schema: &Value, value: &Value) {
        if let Some(fitting) = alternatives(schema).find(|s| takes(s, kind_of(value)) || s.get("const") == Some(value))
        {
            return self.value(location, name, fitting, value);
        }
        let kind = kind_of(value);
        let wanted = expected(schema);
        let fits = takes(schema, kind) || kind == "integer" && takes(schema, "number") || wanted.is_empty();
        if !fits {
            return self.error(location, name, format!("expected {wanted}"), Some(schema));
        }
        match value {
            Value::String(text) => self.text(location, name, schema, text),
            Value::Number(number) => self.number(location, name, schema, number),
            Value::Array(items) => {
                let bound = |key| schema[key].as_u64().and_then(|n| usize::try_from(n).ok());
                let (min, max) = (bound("minItems").unwrap_or(0), bound("maxItems").unwrap_or(usize::MAX));
                if items.len() < min {
                    let message = format!("has too few items: {}; at least {min} must be given", items.len());
                    return self.error(location, name, message, Some(schema));
                }
                if items.len() > max {
                    let message = format!("has too many items: {}; at most {max} are allowed", items.len());
                    return self.error(location, name, message, Some(schema));
                }
                for (at, item) in items.iter().enumerate() {
                    self.value(location, &format!("{name}[{at}]"), &schema["items"], item);
                }
            }
            Value::Object(members) => {
                for required in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
                    if !members.contains_key(required) {
                        self.error(location, &format!("{name}.{required}"), "is required", None);
                    }
                }
                for (key, member) in members {
                    if let Some(schema) = schema["properties"].get(key) {
                        self.value(location, &format!("{name}.{key}"), schema, member);
                    }
                }
            }
            Value::Bool(_) | Value::Null => {}
        }
        let one_of = schema["enum"].as_array().is_some_and(|all| !all.contains(value));
        if one_of || schema.get("const").is_some_and(|only| only != value) {
            self.error(location, name, "is not one of the allowed values", Some(schema));
        }
    }

    fn text(&mut self, location: Location, name: &str, schema: &Value, text: &str) {
        if let Some(format) = format::find(self.formats, schema) {
            return self.formatted(location, name, schema, (format, text));
        }
        let length = text.chars().count() as u64;
        let (min, max) = (schema["minLength"].as_u64().unwrap_or(0), schema["maxLength"].as_u64().unwrap_or(u64::MAX));
        let message = match length {
            _ if length < min => format!("is too short: it has {length} characters; at least {min} are needed"),
            _ if length > max => format!("is too long: it has {length} characters; at most {max} are allowed"),
            _ => return,
        };
        self.error(location, name, message, Some(schema));
    }

    fn formatted(&mut self, location: Location, name: &str, schema: &Value, (format, text): (&TextFormat, &str)) {
        if let Err(bad) = (format.look)(schema, text, self.network) {
            self.code = self.code.or(bad.code);
            self.error(location, name, bad.message, Some(schema));
        }
    }

    fn number(&mut self, location: Location, name: &str, schema: &Value, number: &Number) {
        if let Some(format) = format::find(self.formats, schema).filter(|format| format.takes_numbers) {
            return self.formatted(location, name, schema, (format, &number.to_string()));
        }
        let Some(value) = number.as_f64() else { return };
        let wide = schema["format"] == "uint32" && number.as_u64().is_none_or(|n| u32::try_from(n).is_err());
        let low = schema["minimum"].as_f64().is_some_and(|min| value < min);
        let high = schema["maximum"].as_f64().is_some_and(|max| value > max);
        if low || high || wide {
            self.error(location, name, "is out of bounds", Some(schema));
        }
    }
}

/// The type of a value, as schemas name it.
pub(crate) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(n) if n.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn expected(schema: &Value) -> String {
    let kinds = ["integer", "number", "boolean", "string", "array", "object"];
    let taken: Vec<_> = kinds.into_iter().filter(|kind| takes(schema, kind)).collect();
    taken.join(" or ")
}

/// The allowed values or bounds of a schema.
fn allowed(schema: &Value) -> Option<Value> {
    let mut found = Map::new();
    for key in [
        "enum",
        "const",
        "minimum",
        "exclusiveMinimum",
        "maximum",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "pattern",
    ] {
        if let Some(value) = schema.get(key) {
            found.insert(key.to_owned(), value.clone());
        }
    }
    (!found.is_empty()).then_some(Value::Object(found))
}
