//! The category of a report: a kind of entity, or a behaviour.

use std::borrow::Cow;

use cairn_events::{Behaviour, Category};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de::Error};

/// A word of either vocabulary of claims.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ReportCategory(pub(super) &'static str);

/// All words: behaviours first, since most reports are about one.
fn words() -> impl Iterator<Item = &'static str> {
    let categories = Category::ALL.iter().map(|word| word.as_str());
    Behaviour::ALL.iter().map(|word| word.as_str()).chain(categories)
}

impl<'de> Deserialize<'de> for ReportCategory {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let known = words().find(|word| *word == text).map(ReportCategory);
        known.ok_or_else(|| D::Error::custom("is not a category of reports"))
    }
}

impl JsonSchema for ReportCategory {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "ReportCategory".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "enum": words().collect::<Vec<_>>(), "examples": ["scam"]})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_is_there_once() {
        let all: std::collections::BTreeSet<_> = words().collect();
        assert_eq!(all.len(), words().count());
        assert!(all.contains("scam") && all.contains("exchange"));
    }
}
