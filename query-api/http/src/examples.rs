//! Answers as examples, taken from a generated chain. `tests/api/examples.rs` writes them and checks them.

use std::sync::LazyLock;

use serde_json::{Map, Value};

/// By name of operation.
static ANSWERS: LazyLock<Map<String, Value>> =
    LazyLock::new(|| serde_json::from_str(include_str!("../examples.json")).unwrap_or_default());

/// An answer of the operation of this name.
pub(crate) fn answer(operation: &str) -> Option<Value> {
    ANSWERS.get(operation).cloned()
}
