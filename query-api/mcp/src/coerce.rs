//! Reads what models write in place of the type that a schema asks for: 3.0 for 3, and lists and objects as text.

use serde_json::{Map, Number, Value};

/// Brings arguments to the types of a schema, where their meaning is beyond doubt.
pub(crate) fn coerce(schema: &Value, arguments: &mut Map<String, Value>) {
    for (name, value) in arguments {
        if let Some(of) = schema["properties"].get(name) {
            coerce_value(schema, of, value);
        }
    }
}

fn coerce_value(root: &Value, schema: &Value, value: &mut Value) {
    let wants = |kind| wants(root, schema, kind);
    match value {
        Value::Number(number) if wants("integer") && !wants("number") => {
            if let Some(whole) = whole(number) {
                *number = whole;
            }
        }
        Value::String(text) if (wants("array") || wants("object")) && !wants("string") => {
            match serde_json::from_str(text) {
                Ok(parsed @ Value::Array(_)) if wants("array") => *value = parsed,
                Ok(parsed @ Value::Object(_)) if wants("object") => *value = parsed,
                _ => {}
            }
        }
        _ => {}
    }
    if let (Value::Array(rows), Some(items)) = (value, schema.get("items")) {
        rows.iter_mut().for_each(|row| coerce_value(root, items, row));
    }
}

/// The integer that a number with a fraction of zero is. Beyond 2^53, neighbours are the same number.
fn whole(number: &Number) -> Option<Number> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let float = number.as_f64().filter(|float| number.is_f64() && float.fract() == 0.0 && float.abs() <= EXACT)?;
    Some(Number::from(float as i64))
}

/// True if a schema allows a type.
fn wants(root: &Value, schema: &Value, kind: &str) -> bool {
    let target = schema["$ref"].as_str().and_then(|to| root.pointer(to.strip_prefix('#')?));
    if let Some(target) = target {
        return wants(root, target, kind);
    }
    match &schema["type"] {
        Value::String(name) => return name == kind,
        Value::Array(names) => return names.iter().any(|name| name == kind),
        _ => {}
    }
    let any = ["anyOf", "oneOf", "allOf"].iter().filter_map(|of| schema[of].as_array()).flatten();
    any.into_iter().any(|schema| wants(root, schema, kind))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_beyond_doubt_is_read() {
        let schema = json!({
            "properties": {
                "limit": {"type": ["integer", "null"]},
                "list": {"type": "array", "items": {"$ref": "#/$defs/n"}},
                "map": {"anyOf": [{"type": "object"}, {"type": "null"}]},
                "text": {"type": "string"},
                "min_btc": {"type": "number"},
            },
            "$defs": {"n": {"type": "integer"}},
        });
        let coerced = |value: Value| {
            let Value::Object(mut given) = value else { return Value::Null };
            coerce(&schema, &mut given);
            Value::Object(given)
        };
        for (given, expected) in [
            (json!({"limit": 3.0}), json!({"limit": 3})),
            (json!({"limit": -3.0}), json!({"limit": -3})),
            (json!({"list": "[\"a\", 2.0]"}), json!({"list": ["a", 2]})),
            (json!({"map": "{\"a\":1}"}), json!({"map": {"a": 1}})),
        ] {
            assert_eq!(coerced(given), expected);
        }
        for same in [
            json!({"limit": 3.5}),
            json!({"limit": 1e300}),
            json!({"limit": "3.0"}),
            json!({"list": "[1"}),
            json!({"list": "{}"}),
            json!({"map": "[]"}),
            json!({"text": "[1]"}),
            json!({"min_btc": 3.0}),
            json!({"other": 3.0}),
        ] {
            assert_eq!(coerced(same.clone()), same);
        }
    }
}
