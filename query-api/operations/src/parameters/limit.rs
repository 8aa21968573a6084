//! Limits of lists.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// The requested length of a list: from `MIN` to `MAX`, and `DEFAULT` without one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Limit<const DEFAULT: u32, const MAX: u32, const MIN: u32 = 1>(u32);

impl<const DEFAULT: u32, const MAX: u32, const MIN: u32> Limit<DEFAULT, MAX, MIN> {
    pub(crate) fn get(self) -> u32 {
        self.0
    }
}

impl<const DEFAULT: u32, const MAX: u32, const MIN: u32> Default for Limit<DEFAULT, MAX, MIN> {
    fn default() -> Self {
        Limit(DEFAULT)
    }
}

impl<const DEFAULT: u32, const MAX: u32, const MIN: u32> JsonSchema for Limit<DEFAULT, MAX, MIN> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Limit{DEFAULT}Of{MIN}To{MAX}").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "integer",
            "format": "uint32",
            "minimum": MIN,
            "description": "Maximum number of rows.",
            "maximum": MAX,
            "default": DEFAULT,
        })
    }
}
