//! The operations, as the OpenAPI document describes them: the command line of each is made from nothing else.

use serde_json::{Map, Value};

use crate::{
    config::nearest,
    exit::{Exit, Failure},
};

/// An operation.
#[derive(Debug)]
pub(super) struct Operation {
    /// Its name, with hyphens.
    pub(super) name: String,
    /// `GET` or `POST`.
    pub(super) method: String,
    /// Template of its path.
    pub(super) path: String,
    pub(super) area: String,
    pub(super) summary: String,
    pub(super) description: String,
    pub(super) parameters: Vec<Parameter>,
}

/// A parameter of an operation.
#[derive(Debug)]
pub(super) struct Parameter {
    pub(super) name: String,
    pub(super) place: Place,
    pub(super) required: bool,
    pub(super) kind: Kind,
    /// All values that are allowed, where they are few.
    pub(super) words: Vec<String>,
    pub(super) description: String,
}

/// Part of a request that has a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    Path,
    Query,
    Header,
    Body,
}

/// Kind of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Boolean,
    Text,
    /// A list, of texts or of objects.
    List,
    /// Numbers, and everything else that JSON has.
    Json,
}

/// All operations of a document, in its order.
pub(super) fn operations(document: &Value) -> Result<Vec<Operation>, Failure> {
    let bad = || Failure::new(Exit::Other, "the OpenAPI document cannot be read; this is a bug");
    let paths = document["paths"].as_object().ok_or_else(bad)?;
    let of_path = |(path, methods): (&String, &Value)| -> Vec<Option<Operation>> {
        let methods = methods.as_object().into_iter().flatten();
        methods.map(|(method, op)| operation(document, path, method, op)).collect()
    };
    let found: Option<Vec<Operation>> = paths.iter().flat_map(of_path).collect();
    found.ok_or_else(bad)
}

fn text(of: &Value) -> Option<String> {
    of.as_str().map(str::to_owned)
}

fn operation(document: &Value, path: &str, method: &str, op: &Value) -> Option<Operation> {
    let mut parameters = Vec::new();
    for parameter in op["parameters"].as_array().into_iter().flatten() {
        let place = match parameter["in"].as_str()? {
            "path" => Place::Path,
            "query" => Place::Query,
            _ => Place::Header,
        };
        let required = parameter["required"].as_bool().unwrap_or(false);
        parameters.push(of_schema(
            parameter["name"].as_str()?,
            place,
            required,
            resolved(document, &parameter["schema"]),
            parameter["description"].as_str(),
        ));
    }
    let body = resolved(document, &op["requestBody"]["content"]["application/json"]["schema"]);
    for (name, schema) in body["properties"].as_object().into_iter().flatten() {
        let required = body["required"].as_array().is_some_and(|all| all.iter().any(|one| one == name.as_str()));
        parameters.push(of_schema(name, Place::Body, required, resolved(document, schema), None));
    }
    Some(Operation {
        name: op["operationId"].as_str()?.replace('_', "-"),
        method: method.to_ascii_uppercase(),
        path: path.to_owned(),
        area: text(&op["tags"][0]).unwrap_or_default(),
        summary: text(&op["summary"])?,
        description: text(&op["description"]).unwrap_or_default(),
        parameters,
    })
}

/// Follows a reference.
fn resolved<'d>(document: &'d Value, schema: &'d Value) -> &'d Value {
    let pointer = schema["$ref"].as_str().and_then(|reference| reference.strip_prefix('#'));
    pointer.and_then(|pointer| document.pointer(pointer)).unwrap_or(schema)
}

fn of_schema(name: &str, place: Place, required: bool, schema: &Value, description: Option<&str>) -> Parameter {
    // An optional field of a body: what it is, or null.
    let alternatives = schema["anyOf"].as_array().into_iter().flatten();
    let plain = alternatives.clone().find(|one| one["type"] != "null").unwrap_or(schema);
    let kinds: Vec<&str> = match &plain["type"] {
        Value::String(kind) => vec![kind],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let kind = [("string", Kind::Text), ("array", Kind::List), ("boolean", Kind::Boolean)];
    let kind = kind.iter().find(|(name, _)| kinds.contains(name)).map_or(Kind::Json, |(_, kind)| *kind);
    let words = plain["enum"].as_array().into_iter().flatten();
    let default = match &schema["default"] {
        Value::Null => String::new(),
        Value::String(word) => format!(" Default: {word}."),
        other => format!(" Default: {other}."),
    };
    let description = description.or_else(|| schema["description"].as_str()).unwrap_or_default();
    Parameter {
        name: name.to_owned(),
        place,
        required: required && schema["default"].is_null(),
        kind,
        words: words.filter_map(Value::as_str).map(str::to_owned).collect(),
        description: format!("{}{default}", description.replace('`', "")),
    }
}

/// The operation of a name: whole, with hyphens or underscores, or words of it that only one has.
pub(super) fn find<'o>(all: &'o [Operation], name: &str) -> Result<&'o Operation, Failure> {
    let wanted = name.to_ascii_lowercase().replace('_', "-");
    if let Some(found) = all.iter().find(|op| op.name == wanted) {
        return Ok(found);
    }
    let has_words = |op: &&Operation| wanted.split('-').all(|word| op.name.split('-').any(|own| own == word));
    let found: Vec<&Operation> = all.iter().filter(has_words).collect();
    if let [only] = found[..] {
        return Ok(only);
    }
    let failure = Failure::usage(match found.is_empty() {
        true => format!("{} is not the name of an operation", crate::out::harmless(name)),
        false => format!("{name} stands for several operations"),
    });
    let near: Vec<&str> = match found.is_empty() {
        true => nearest(all.iter().map(|op| op.name.as_str()), &wanted).into_iter().collect(),
        false => found.iter().map(|op| op.name.as_str()).collect(),
    };
    Err(failure.hint(match near.is_empty() {
        true => "`cairn ask` lists all".to_owned(),
        false => format!("did you mean {}? `cairn ask` lists all", near.join(", ")),
    }))
}

/// A value as the document wants it in a body.
pub(super) fn typed(kind: Kind, value: &str) -> Value {
    match kind {
        Kind::Text => value.into(),
        // A value that is not JSON is sent as text: the operation says what it wants.
        _ => serde_json::from_str(value).unwrap_or_else(|_| value.into()),
    }
}

/// Fields of a body.
pub(super) type Body = Map<String, Value>;
