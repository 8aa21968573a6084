//! One validation for all inputs: values are checked against the schema of the operation's input, and all invalid
//! fields are reported.

use std::collections::BTreeMap;

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Map, Value, json};

use super::{
    check::{Check, canonical, coerce},
    format::{self, TextFormat},
    method::Method,
    nearest::nearest,
    secret_header::SecretHeader,
};
use crate::answers::{
    error::{ApiError, Location},
    meta::Warning,
    secrets::{REDACTED, looks_secret},
};

/// One parameter of an operation.
#[derive(Clone, Debug)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its location.
    pub location: Location,
    /// True if it is required.
    pub required: bool,
    /// Its schema.
    pub schema: Value,
}

/// The parameters of an operation.
#[derive(Clone, Debug)]
pub struct InputSpec {
    /// All parameters.
    pub fields: Vec<Field>,
    /// Groups of aliases of which exactly one is required (`x-exactly-one` of the input's schema).
    pub exactly_one: Vec<Vec<String>>,
    /// Groups of fields of which at most one may be given (`x-at-most-one`).
    pub at_most_one: Vec<Vec<String>>,
    /// True if names that strangers choose are not repeated.
    pub private: bool,
}

/// Lists the values of an enumeration without their descriptions. The description of the parameter explains them.
fn plain(mut schema: Value) -> Value {
    // One that may be left out: the words, or null.
    if let Some([words, Value::Object(null)]) = schema["anyOf"].as_array().map(Vec::as_slice)
        && null.get("type").is_some_and(|kind| kind == "null")
        && let Value::Object(mut members) = plain(words.clone())
        && let Some(Value::Array(allowed)) = members.get_mut("enum")
    {
        allowed.push(Value::Null);
        members.insert("type".to_owned(), json!(["string", "null"]));
        // The description of the field comes before that of its type.
        let own = schema.as_object().into_iter().flatten().filter(|(name, _)| *name != "anyOf");
        members.extend(own.map(|(name, value)| (name.clone(), value.clone())));
        return Value::Object(members);
    }
    let words: Option<Vec<Value>> = schema["oneOf"]
        .as_array()
        .map(|all| {
            all.iter().flat_map(|one| one["enum"].as_array().cloned().unwrap_or_else(|| vec![one["const"].clone()]))
        })
        .map(Iterator::collect);
    if let (Some(words), Some(members)) =
        (words.filter(|words| words.iter().all(Value::is_string)), schema.as_object_mut())
    {
        members.remove("oneOf");
        let description = members.remove("description");
        let default = members.remove("default");
        members.insert("type".to_owned(), "string".into());
        members.insert("enum".to_owned(), words.into());
        for (name, value) in [("description", description), ("default", default)] {
            members.extend(value.map(|value| (name.to_owned(), value)));
        }
    }
    schema
}

/// Fields of a body.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Members {
    /// The fields.
    pub values: Map<String, Value>,
    /// The text of numbers that are not 64-bit integers, because a float may round them.
    pub numbers: BTreeMap<String, String>,
}

/// The parameters of a request, unchecked.
#[derive(Clone, Debug, Default)]
pub struct Raw {
    /// Path parameters, decoded.
    pub path: Vec<(String, String)>,
    /// Query parameters, decoded.
    pub query: Vec<(String, String)>,
    /// Fields of the body.
    pub body: Members,
    /// Value of the header with a secret, if the operation takes one.
    pub secret: Option<String>,
}

/// Maximum number of unknown parameters that are looked at: the others are ignored without a warning. Looking for the
/// nearest name costs more than the name itself, and strangers choose how many there are.
const MAX_UNKNOWN: usize = 16;

impl InputSpec {
    /// The parameters of an input type. Those in the path template are path parameters. The others are in the query
    /// string or, for POST, in the body.
    pub fn of<T: JsonSchema>(path: &str, method: Method) -> Self {
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
            schema: plain(schema.clone()),
        });
        let groups = |key: &str| serde_json::from_value(schema[key].clone()).unwrap_or_default();
        InputSpec {
            fields: fields.collect(),
            exactly_one: groups("x-exactly-one"),
            at_most_one: groups("x-at-most-one"),
            private: false,
        }
    }

    /// Takes a field from a header.
    pub(crate) fn with_secret(mut self, header: Option<SecretHeader>) -> Self {
        let is_secret = |field: &&mut Field| header.is_some_and(|header| header.field == field.name);
        if let Some(field) = self.fields.iter_mut().find(is_secret) {
            field.location = Location::Header;
        }
        self
    }

    /// True if a request has fields in its body.
    pub(crate) fn has_body(&self) -> bool {
        self.fields.iter().any(|field| field.location == Location::Body)
    }

    /// Checks a request. Returns the input as one object, and warnings about unknown parameters.
    ///
    /// # Errors
    /// Returns 400 or 422, with all invalid fields.
    pub fn bind(
        &self,
        raw: &Raw,
        formats: &[TextFormat],
        network: Option<&'static str>,
    ) -> Result<(Value, Vec<Warning>), ApiError> {
        let mut check = Check::new(formats, network);
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
                (Location::Body, _) => raw.body.value(field, formats),
                (Location::Header, _) => raw.secret.clone().map(Value::String),
                (_, []) => None,
                (_, [text]) => Some(coerce(&field.schema, text, formats)),
                (location, _) => {
                    check.error(location, &field.name, "is given more than once", None);
                    continue;
                }
            };
            match value.map(|value| canonical(&field.schema, value, formats)) {
                Some(value) => {
                    check.value(field.location, &field.name, &field.schema, &value);
                    input.insert(field.name.clone(), value);
                }
                None if field.required => check.error(field.location, &field.name, "is required", Some(&field.schema)),
                None => {}
            }
        }
        self.groups(&input, &mut check);
        let warnings = self.unknown(raw);
        match check.finish() {
            Ok(()) => Ok((Value::Object(input), warnings)),
            Err(error) => Err(error.hiding(&raw.path).warned(warnings)),
        }
    }

    /// Checks aliases and fields that exclude each other.
    fn groups(&self, input: &Map<String, Value>, check: &mut Check) {
        let groups = self.exactly_one.iter().map(|g| (g, true)).chain(self.at_most_one.iter().map(|g| (g, false)));
        for (names, needed) in groups {
            let fields: Vec<&Field> = self.fields.iter().filter(|f| names.contains(&f.name)).collect();
            let given: Vec<&&Field> =
                fields.iter().filter(|f| input.get(&f.name).is_some_and(|v| !v.is_null())).collect();
            match (given.as_slice(), fields.as_slice()) {
                ([], [first, rest @ ..]) if needed => {
                    let others: String = rest.iter().map(|f| format!(", or {} instead", f.name)).collect();
                    check.error(first.location, &first.name, format!("is required{others}"), Some(&first.schema));
                }
                ([first, rest @ ..], _) => {
                    for field in rest {
                        let message = format!("cannot be combined with {}: give one of the two", first.name);
                        check.error(field.location, &field.name, message, None);
                    }
                }
                _ => {}
            }
        }
    }

    /// Unknown parameters are ignored with a warning.
    fn unknown(&self, raw: &Raw) -> Vec<Warning> {
        let of =
            |location: Location| self.fields.iter().filter(move |f| f.location == location).map(|f| f.name.as_str());
        let in_query = raw.query.iter().map(|(name, _)| (name, Location::Query));
        let in_body = raw.body.values.keys().map(|name| (name, Location::Body));
        let (mut warnings, mut looked_at): (Vec<Warning>, usize) = (Vec::new(), 0);
        for (name, location) in in_query.chain(in_body) {
            if of(location).any(|known| known == name) {
                continue;
            }
            looked_at += 1;
            if looked_at > MAX_UNKNOWN {
                break;
            }
            let shown: String = match looks_secret(name) {
                true => REDACTED.to_owned(),
                false => name.chars().take(64).collect(),
            };
            let hint = nearest(name, of(location)).map_or_else(String::new, |n| format!("; did you mean {n}?"));
            let message = match self.private {
                true => format!("a parameter was ignored, since the operation has none of its name{hint}"),
                false => format!("the parameter {shown:?} was ignored{hint}"),
            };
            let warning = Warning::new("unknown_parameter", message);
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
        warnings
    }
}

impl Members {
    /// The value of a field: a number as written, if its format needs that.
    fn value(&self, field: &Field, formats: &[TextFormat]) -> Option<Value> {
        let is_text = || format::find(formats, &field.schema).is_some_and(|format| format.takes_numbers);
        let written = self.numbers.get(&field.name).filter(|_| is_text());
        written.map(|text| Value::String(text.clone())).or_else(|| self.values.get(&field.name).cloned())
    }
}
