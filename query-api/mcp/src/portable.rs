//! Schemas in a form that most model hosts understand. Some hosts support only one type per value; they reject a tool,
//! or drop its answer, if a schema lists several types.

use std::sync::Arc;

use rmcp::model::JsonObject;
use serde_json::{Map, Value, json};

/// Keywords that apply to one type.
const OF_TYPE: [(&str, &[&str]); 4] = [
    ("string", &["minLength", "maxLength", "pattern"]),
    ("number", &["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]),
    ("array", &["items", "minItems", "maxItems", "uniqueItems"]),
    ("object", &["properties", "required", "additionalProperties"]),
];
/// Annotation keywords: they stay where they are.
const EXPLAINS: [&str; 5] = ["title", "description", "default", "examples", "deprecated"];

/// The same schema with `anyOf` instead of each list of types.
pub(crate) fn portable(schema: Value) -> Value {
    match schema {
        Value::Object(members) => {
            let members: Map<String, Value> = members.into_iter().map(|(key, value)| (key, portable(value))).collect();
            split(members)
        }
        Value::Array(items) => items.into_iter().map(portable).collect(),
        other => other,
    }
}

/// A schema as the protocol's type.
pub(crate) fn object(schema: Value) -> Arc<JsonObject> {
    match portable(schema) {
        Value::Object(members) => Arc::new(members),
        _ => Arc::default(),
    }
}

fn split(mut members: Map<String, Value>) -> Value {
    // A property may be named `type`; its value is then a schema.
    let kinds = members.get("type").and_then(Value::as_array).filter(|kinds| kinds.iter().all(Value::is_string));
    let Some(kinds) = kinds.cloned() else { return Value::Object(members) };
    if members.contains_key("anyOf") {
        return Value::Object(members);
    }
    members.shift_remove("type");
    let (explains, checks): (Map<_, _>, Map<_, _>) =
        members.into_iter().partition(|(key, _)| EXPLAINS.contains(&key.as_str()));
    let branch = |kind: &Value| {
        let family = if kind == "integer" { "number" } else { kind.as_str().unwrap_or_default() };
        let of_others = |key: &str| OF_TYPE.iter().any(|(of, keys)| *of != family && keys.contains(&key));
        let mut branch = Map::from_iter([("type".to_owned(), kind.clone())]);
        if family != "null" {
            branch.extend(checks.iter().filter(|(key, _)| !of_others(key)).map(|(k, v)| (k.clone(), v.clone())));
        }
        Value::Object(branch)
    };
    let choice: Vec<Value> = kinds.iter().map(branch).collect();
    let mut whole = explains;
    whole.insert("anyOf".to_owned(), json!(choice));
    Value::Object(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_types_becomes_a_choice() {
        let schema = json!({"type": "object", "required": ["a"], "properties": {
            "a": {"type": ["number", "string", "null"], "description": "x", "pattern": "^1", "maximum": 5, "format": "f"},
            "type": {"type": ["array", "null"], "items": {"type": ["integer", "null"], "minimum": 0}},
            "b": {"type": "string", "enum": ["x"]},
        }});
        assert_eq!(
            portable(schema.clone()),
            json!({"type": "object", "required": ["a"], "properties": {
                "a": {"description": "x", "anyOf": [
                    {"type": "number", "maximum": 5, "format": "f"},
                    {"type": "string", "pattern": "^1", "format": "f"},
                    {"type": "null"},
                ]},
                "type": {"anyOf": [
                    {"type": "array", "items": {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "null"}]}},
                    {"type": "null"},
                ]},
                "b": {"type": "string", "enum": ["x"]},
            }})
        );
        // Both take the same.
        let (one, other) =
            (jsonschema::validator_for(&schema).unwrap(), jsonschema::validator_for(&portable(schema)).unwrap());
        for value in [
            json!({"a": 5}),
            json!({"a": 6}),
            json!({"a": "1"}),
            json!({"a": "2"}),
            json!({"a": null}),
            json!({}),
            json!({"a": true}),
            json!({"a": 1, "type": [1, null]}),
            json!({"a": 1, "type": [-1]}),
            json!({"a": 1, "type": 1}),
        ] {
            assert_eq!(one.is_valid(&value), other.is_valid(&value), "{value}");
        }
    }
}
