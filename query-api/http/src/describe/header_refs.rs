//! References of the OpenAPI document to its headers.

use serde_json::{Value, json};

/// References to headers.
pub(super) fn headers(names: &[&str]) -> Value {
    let all = names.iter().map(|name| ((*name).to_owned(), json!({"$ref": format!("#/components/headers/{name}")})));
    Value::Object(all.collect())
}
