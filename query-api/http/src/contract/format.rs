//! Texts that mean more than text: a service names their formats and says what is wrong with one.

use std::fmt;

use serde_json::Value;

use crate::answers::code::ErrorCode;

/// What is wrong with a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadText {
    /// Its own code; without one it counts among the bad values.
    pub code: Option<ErrorCode>,
    /// What is wrong, as a sentence about the value.
    pub message: String,
}

impl BadText {
    /// A bad value.
    pub fn new(message: impl Into<String>) -> Self {
        BadText { code: None, message: message.into() }
    }

    /// A bad value with a code of its own.
    pub fn with_code(code: ErrorCode, message: impl Into<String>) -> Self {
        BadText { code: Some(code), message: message.into() }
    }
}

/// Looks at a text: its schema, the text, and the network that the service answers for, if that is known.
pub type Look = fn(schema: &Value, text: &str, network: Option<&'static str>) -> Result<(), BadText>;

/// A format: the word in `format` of a schema.
#[derive(Clone, Copy)]
pub struct TextFormat {
    /// The word.
    pub name: &'static str,
    /// Codes that a bad text may have.
    pub codes: &'static [ErrorCode],
    /// Whether numbers are such texts too: taken as they are written, since a float might not hold them.
    pub takes_numbers: bool,
    /// Says what is wrong.
    pub look: Look,
}

impl fmt::Debug for TextFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// The format of a schema.
pub(crate) fn of<'f>(formats: &'f [TextFormat], schema: &Value) -> Option<&'f TextFormat> {
    let name = schema["format"].as_str()?;
    formats.iter().find(|format| format.name == name)
}
