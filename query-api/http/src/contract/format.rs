//! Formats of text parameters. A service defines them with their checks.

use std::{borrow::Cow, fmt};

use serde_json::Value;

use crate::answers::code::ErrorCode;

/// The error of an invalid text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadText {
    /// Its own error code; without one it is a `validation_error`.
    pub code: Option<ErrorCode>,
    /// The problem, as the end of a sentence about the value.
    pub message: String,
}

impl BadText {
    /// An invalid value.
    pub fn new(message: impl Into<String>) -> Self {
        BadText { code: None, message: message.into() }
    }

    /// An invalid value with its own error code.
    pub fn with_code(code: ErrorCode, message: impl Into<String>) -> Self {
        BadText { code: Some(code), message: message.into() }
    }
}

/// Checks a text. Arguments: its schema, the text, and the network of the service, if known.
pub type Look = fn(schema: &Value, text: &str, network: Option<&'static str>) -> Result<(), BadText>;

/// The text without spaces around it: the canonical form of most formats.
#[must_use]
pub fn trimmed(text: &str) -> Cow<'_, str> {
    text.trim().into()
}

/// A format: the word in `format` of a schema.
#[derive(Clone, Copy)]
pub struct TextFormat {
    /// The name in `format`.
    pub name: &'static str,
    /// Error codes of invalid texts.
    pub codes: &'static [ErrorCode],
    /// True if numbers are accepted too. They are used as written, without rounding to a float.
    pub takes_numbers: bool,
    /// The one form that stands for all forms of a value. It is checked and used, so that each form gets the same
    /// answer with the same ETag. A text that is invalid may stay as it is.
    pub canonical: fn(text: &str) -> Cow<'_, str>,
    /// A valid value on the network of the service, if it depends on the network.
    pub example: Option<fn(network: Option<&'static str>) -> Value>,
    /// The check.
    pub look: Look,
}

impl TextFormat {
    /// A format of texts with spaces around them, without error codes and examples of its own.
    #[must_use]
    pub const fn trimmed(name: &'static str, look: Look) -> Self {
        TextFormat { name, codes: &[], takes_numbers: false, canonical: trimmed, example: None, look }
    }
}

impl fmt::Debug for TextFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

pub(crate) fn find<'f>(formats: &'f [TextFormat], schema: &Value) -> Option<&'f TextFormat> {
    let name = schema["format"].as_str()?;
    formats.iter().find(|format| format.name == name)
}
