//! Closed vocabularies of claims as parameters.

use std::borrow::Cow;

use cairn_events::{Behaviour, Category};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de::Error};

/// A parameter that takes the words of a vocabulary.
macro_rules! word_parameter {
    ($($(#[$doc:meta])* $name:ident($of:ident),)+) => {
        $($(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(super) struct $name(pub(super) $of);

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map($name).map_err(D::Error::custom)
            }
        }

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                let words: Vec<&str> = $of::ALL.iter().map(|word| word.as_str()).collect();
                json_schema!({"type": "string", "enum": words})
            }
        })+
    };
}

word_parameter! {
    /// Kind of entity.
    CategoryWord(Category),
    /// Behaviour that is claimed.
    BehaviourWord(Behaviour),
}
