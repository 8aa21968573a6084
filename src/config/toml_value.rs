//! Values of settings as TOML has them.

use std::ffi::OsStr;

use toml::Value;

/// A value as TOML. Numbers and booleans have no quotes if they print as the same text.
pub(super) fn value_of(value: &OsStr) -> Value {
    let text = value.to_string_lossy();
    match (text.parse::<i64>(), text.parse::<bool>()) {
        (Ok(number), _) if number.to_string() == text => Value::Integer(number),
        (_, Ok(answer)) => Value::Boolean(answer),
        _ => Value::String(text.into_owned()),
    }
}
