//! One validation for all inputs: raw text is coerced and checked against the schema of the operation's input, and every
//! bad field is reported, not the first.

use cairn_model::Network;
use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Map, Number, Value};

use crate::{
    amounts::{AMOUNT, parse_btc},
    body::Members,
    dates::{self, DATE},
    error::{ApiError, FieldError, Location, VALIDATION},
    identifiers,
    meta::Warning,
    nearest::nearest,
    operation::Method,
};

/// One parameter of an operation.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) location: Location,
    pub(crate) required: bool,
    pub(crate) schema: Value,
}

/// The parameters of an operation.
#[derive(Clone, Debug)]
pub(crate) struct InputSpec {
    pub(crate) fields: Vec<Field>,
    /// Groups of fields of which exactly one has to be given (`x-exactly-one` of the input's schema): other names for
    /// the same.
    pub(crate) exactly_one: Vec<Vec<String>>,
    /// Groups of fields of which at most one may be given (`x-at-most-one`).
    pub(crate) at_most_one: Vec<Vec<String>>,
}

/// What a request says, before anything is checked.
#[derive(Clone, Debug, Default)]
pub(crate) struct Raw {
    /// Path parameters, decoded.
    pub(crate) path: Vec<(String, String)>,
    /// Query parameters, decoded.
    pub(crate) query: Vec<(String, String)>,
    /// Members of the body.
    pub(crate) body: Members,
}

impl InputSpec {
    /// The parameters of an input type: those that the path names stand in the path, the others in the query string or,
    /// for POST, in the body.
    pub(crate) fn of<T: JsonSchema>(path: &str, method: Method) -> Self {
        let settings = SchemaSettings::draft2020_12().with(|s| {
            s.inline_subschemas = true;
            s.meta_schema = None;
        });
        let schema = settings.into_generator().into_root_schema_for::<T>().to_value();
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let properties = schema["properties"].as_object().into_iter().flatten();
        let fields = properties.map(|(name, schema)| Field {
            name: name.clone(),
            location: match method {
                _ if path.contains(&format!("{{{name}}}")) => Location::Path,
                Method::Get => Location::Query,
                Method::Post => Location::Body,
            },
            required: required.contains(&name.as_str()),
            schema: schema.clone(),
        });
        let groups = |key: &str| serde_json::from_value(schema[key].clone()).unwrap_or_default();
        InputSpec {
            fields: fields.collect(),
            exactly_one: groups("x-exactly-one"),
            at_most_one: groups("x-at-most-one"),
        }
    }

    /// Checks a request: the input as one object, with warnings about parameters that are not known.
    pub(crate) fn bind(&self, raw: &Raw, network: Option<Network>) -> Result<(Value, Vec<Warning>), ApiError> {
        let mut check = Check { network, errors: Vec::new(), code: None };
        let mut input = Map::new();
        for field in &self.fields {
            let given: Vec<&str> = match field.location {
                Location::Path => raw.path.iter(),
                _ => raw.query.iter(),
            }
            .filter(|(name, _)| *name == field.name)
            .map(|(_, text)| text.as_str())
            .collect();
            let value = match (field.location, given.as_slice()) {
                (Location::Body, _) => raw.body.of(field),
                (_, []) => None,
                (_, [text]) => Some(coerce(&field.schema, text)),
                (location, _) => {
                    check.error(location, &field.name, "is given more than once", None);
                    continue;
                }
            };
            match value {
                Some(value) => {
                    check.value(field.location, &field.name, &field.schema, &value);
                    input.insert(field.name.clone(), value);
                }
                None if field.required => check.error(field.location, &field.name, "is required", Some(&field.schema)),
                None => {}
            }
        }
        self.groups(&input, &mut check);
        if check.errors.is_empty() {
            Ok((Value::Object(input), self.unknown(raw)))
        } else {
            Err(ApiError::of_fields(check.code.unwrap_or(VALIDATION), check.errors))
        }
    }

    /// Fields that stand for each other or exclude each other.
    fn groups(&self, input: &Map<String, Value>, check: &mut Check) {
        let groups = self.exactly_one.iter().map(|g| (g, true)).chain(self.at_most_one.iter().map(|g| (g, false)));
        for (names, needed) in groups {
            let fields: Vec<&Field> = self.fields.iter().filter(|f| names.contains(&f.name)).collect();
            let given: Vec<&&Field> =
                fields.iter().filter(|f| input.get(&f.name).is_some_and(|v| !v.is_null())).collect();
            match (given.as_slice(), fields.as_slice()) {
                ([], [first, rest @ ..]) if needed => {
                    let others: String = rest.iter().map(|f| format!(", or {} in its place", f.name)).collect();
                    check.error(first.location, &first.name, format!("is required{others}"), Some(&first.schema));
                }
                ([first, rest @ ..], _) => {
                    for field in rest {
                        let message = format!("excludes {}: give one of the two", first.name);
                        check.error(field.location, &field.name, message, None);
                    }
                }
                _ => {}
            }
        }
    }

    /// A typing error never breaks a client, nor does it pass in silence.
    fn unknown(&self, raw: &Raw) -> Vec<Warning> {
        let of =
            |location: Location| self.fields.iter().filter(move |f| f.location == location).map(|f| f.name.as_str());
        let in_query = raw.query.iter().map(|(name, _)| (name, Location::Query));
        let in_body = raw.body.values.keys().map(|name| (name, Location::Body));
        let mut warnings: Vec<Warning> = Vec::new();
        for (name, location) in in_query.chain(in_body) {
            if of(location).any(|known| known == name) {
                continue;
            }
            let shown: String = name.chars().take(64).collect();
            let hint = nearest(name, of(location)).map_or_else(String::new, |n| format!("; did you mean {n}?"));
            let warning = Warning::new("unknown_parameter", format!("the parameter {shown:?} was ignored{hint}"));
            if !warnings.contains(&warning) && warnings.len() < 16 {
                warnings.push(warning);
            }
        }
        warnings
    }
}

impl Members {
    /// The value of a field: amounts as they were written.
    fn of(&self, field: &Field) -> Option<Value> {
        let written = self.numbers.get(&field.name).filter(|_| field.schema["format"] == AMOUNT);
        written.map(|text| Value::String(text.clone())).or_else(|| self.values.get(&field.name).cloned())
    }
}

/// Whether a schema takes values of a type.
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

/// Text as the type that the schema takes; stays text where it does not read as that type, for the check to refuse.
fn coerce(schema: &Value, text: &str) -> Value {
    let as_text = || Value::String(text.to_owned());
    if schema["format"] == AMOUNT {
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

/// A check in progress.
struct Check {
    network: Option<Network>,
    errors: Vec<FieldError>,
    /// Code of the first malformed identifier.
    code: Option<&'static str>,
}

/// More errors than this help nobody.
const MAX_ERRORS: usize = 100;

impl Check {
    fn error(&mut self, location: Location, name: &str, message: impl Into<String>, schema: Option<&Value>) {
        if self.errors.len() < MAX_ERRORS {
            let example = schema.and_then(|s| s["examples"].get(0).or_else(|| s.get("default")));
            let allowed = schema.and_then(allowed);
            let example = example.filter(|e| !e.is_null()).cloned();
            self.errors.push(FieldError { location, name: name.to_owned(), message: message.into(), allowed, example });
        }
    }

    fn value(&mut self, location: Location, name: &str, schema: &Value, value: &Value) {
        if let Some(fitting) = alternatives(schema).find(|s| takes(s, kind_of(value)) || s.get("const") == Some(value))
        {
            return self.value(location, name, fitting, value);
        }
        let kind = kind_of(value);
        if !(takes(schema, kind) || kind == "integer" && takes(schema, "number")) && schema.get("type").is_some() {
            return self.error(location, name, format!("expected {}", expected(schema)), Some(schema));
        }
        match value {
            Value::String(text) => self.text(location, name, schema, text),
            Value::Number(number) => self.number(location, name, schema, number),
            Value::Array(items) => {
                let bound = |key| schema[key].as_u64().and_then(|n| usize::try_from(n).ok());
                if bound("minItems").is_some_and(|min| items.len() < min)
                    || bound("maxItems").is_some_and(|max| items.len() > max)
                {
                    return self.error(location, name, "has too few or too many items", Some(schema));
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
            self.error(location, name, "is none of the allowed values", Some(schema));
        }
    }

    fn text(&mut self, location: Location, name: &str, schema: &Value, text: &str) {
        let format = schema["format"].as_str().unwrap_or_default();
        if identifiers::is_identifier(format) {
            if let Some((code, message)) = identifiers::check(format, text, self.network) {
                self.code = self.code.or(Some(code));
                self.error(location, name, message, Some(schema));
            }
            return;
        }
        if format == AMOUNT {
            return self.amount(location, name, schema, text);
        }
        if format == DATE {
            if let Err(why) = dates::parse(text) {
                self.error(location, name, why, Some(schema));
            }
            return;
        }
        let length = text.chars().count() as u64;
        if schema["minLength"].as_u64().is_some_and(|min| length < min)
            || schema["maxLength"].as_u64().is_some_and(|max| length > max)
        {
            self.error(location, name, "is too short or too long", Some(schema));
        }
    }

    fn amount(&mut self, location: Location, name: &str, schema: &Value, text: &str) {
        match parse_btc(text) {
            Err(why) => self.error(location, name, why, Some(schema)),
            Ok(0) if schema["exclusiveMinimum"] == 0 => self.error(location, name, "is out of bounds", Some(schema)),
            Ok(_) => {}
        }
    }

    fn number(&mut self, location: Location, name: &str, schema: &Value, number: &Number) {
        if schema["format"] == AMOUNT {
            return self.amount(location, name, schema, &number.to_string());
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

fn kind_of(value: &Value) -> &'static str {
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

/// What would be right, as far as the schema says so in short.
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, dead_code)]
    use serde::Deserialize;
    use serde_json::json;

    use super::*;
    use crate::{
        identifiers::{AddressParam, TxidParam},
        operation::Detail,
    };

    #[derive(Debug, Deserialize, JsonSchema)]
    struct Example {
        address: AddressParam,
        #[serde(default = "ten")]
        #[schemars(range(min = 1, max = 100))]
        limit: u32,
        #[serde(default)]
        view: Detail,
        min_btc: Option<f64>,
        deep: Option<bool>,
        #[schemars(length(min = 2, max = 3))]
        word: Option<String>,
        tx: Option<TxidParam>,
        kind: Option<Detail>,
    }

    fn ten() -> u32 {
        10
    }

    fn bind(address: &str, query: &[(&str, &str)]) -> Result<(Example, Vec<Warning>), ApiError> {
        let spec = InputSpec::of::<Example>("/x/{address}", Method::Get);
        let own = |(a, b): &(&str, &str)| ((*a).to_owned(), (*b).to_owned());
        let raw = Raw {
            path: vec![("address".to_owned(), address.to_owned())],
            query: query.iter().map(own).collect(),
            body: Members::default(),
        };
        let (value, warnings) = spec.bind(&raw, Some(Network::Main))?;
        Ok((serde_json::from_value(value).unwrap(), warnings))
    }

    const GENESIS: &str = "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa";

    #[test]
    fn good_requests_bind() {
        let (input, warnings) = bind(GENESIS, &[]).unwrap();
        assert_eq!((input.limit, input.view, input.address.text.as_str()), (10, Detail::Full, GENESIS));
        assert!(warnings.is_empty());
        let query = [
            ("limit", "100"),
            ("view", "compact"),
            ("min_btc", "0.1"),
            ("deep", "true"),
            ("kind", "full"),
            ("word", "12"),
        ];
        let (input, _) = bind(GENESIS, &query).unwrap();
        assert_eq!((input.limit, input.view, input.min_btc, input.deep), (100, Detail::Compact, Some(0.1), Some(true)));
        assert_eq!((input.word.as_deref(), input.kind), (Some("12"), Some(Detail::Full)));
        assert_eq!(bind(GENESIS, &[("min_btc", "3")]).unwrap().0.min_btc, Some(3.0));
    }

    #[test]
    fn every_bad_field_is_reported() {
        let query = [
            ("limit", "101"),
            ("view", "tiny"),
            ("min_btc", "inf"),
            ("deep", "maybe"),
            ("word", "x"),
            ("kind", "none"),
        ];
        let error = bind(GENESIS, &query).unwrap_err();
        assert_eq!((error.status.as_u16(), error.code), (422, VALIDATION));
        let names: Vec<_> = error.errors.iter().map(|e| e.name.as_str()).collect();
        assert_eq!(names, ["limit", "view", "min_btc", "deep", "word", "kind"]);
        assert_eq!(error.errors[0].allowed, Some(json!({"minimum": 1, "maximum": 100})));
        for bad in ["", "1.5", "-1", "0x10", "1e3", "+5", "99999999999999999999999"] {
            assert_eq!(bind(GENESIS, &[("limit", bad)]).unwrap_err().errors.len(), 1, "{bad:?}");
        }
        assert_eq!(bind(GENESIS, &[("limit", "1"), ("limit", "2")]).unwrap_err().code, VALIDATION);
    }

    #[test]
    fn malformed_identifiers_have_their_own_codes() {
        let error = bind("1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNb", &[("limit", "0"), ("tx", "zz")]).unwrap_err();
        assert_eq!((error.status.as_u16(), error.code, error.errors.len()), (400, "invalid_address", 3));
        assert_eq!(bind("mipcBbFg9gMiCh81Kj8tqqdgoZub1ZJRfn", &[]).unwrap_err().code, "wrong_network");
        assert_eq!(bind(GENESIS, &[("tx", "zz")]).unwrap_err().code, "invalid_txid");
    }

    #[test]
    fn unknown_parameters_are_ignored_aloud() {
        let (_, warnings) = bind(GENESIS, &[("limt", "5"), ("limt", "5"), ("zzzzzzzz", "")]).unwrap();
        assert_eq!(warnings.len(), 2);
        assert!(warnings[0].message.contains("did you mean limit?"));
        assert!(!warnings[1].message.contains("did you mean"));
    }

    #[derive(Debug, Deserialize, JsonSchema)]
    struct Batch {
        #[schemars(length(min = 1, max = 2))]
        addresses: Vec<AddressParam>,
        note: Option<String>,
    }

    #[test]
    fn bodies_are_checked_too() {
        let spec = InputSpec::of::<Batch>("/x", Method::Post);
        let bind = |body: Value| {
            let body = body.as_object().cloned().unwrap();
            let body = Members { values: body, ..Members::default() };
            spec.bind(&Raw { body, ..Raw::default() }, Some(Network::Main))
        };
        assert!(bind(json!({"addresses": [GENESIS]})).is_ok());
        assert_eq!(bind(json!({})).unwrap_err().errors[0].message, "is required");
        assert_eq!(bind(json!({"addresses": []})).unwrap_err().code, VALIDATION);
        let error = bind(json!({"addresses": ["x", 1], "note": 1})).unwrap_err();
        let names: Vec<_> = error.errors.iter().map(|e| e.name.as_str()).collect();
        assert_eq!(names, ["addresses[0]", "addresses[1]", "note"]);
        assert_eq!(error.code, "invalid_address");
        assert_eq!(bind(json!({"addresses": [GENESIS], "nota": 1})).unwrap().1.len(), 1);
    }
}
