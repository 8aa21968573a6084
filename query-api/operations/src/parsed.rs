//! Schemas of values that are written by hand, and parameters that are texts.

/// Implements `JsonSchema` for a type with a name and a schema. `inline`: where a field has the type, the schema stands
/// in that of the field.
macro_rules! schema {
    (inline $type:ty, $name:expr, $($schema:tt)+) => {
        $crate::parsed::schema!(@ $type, true, $name, $($schema)+);
    };
    (@ $type:ty, $inline:literal, $name:expr, {$($schema:tt)*}) => {
        $crate::parsed::schema!(@ $type, $inline, $name, schemars::json_schema!({$($schema)*}));
    };
    (@ $type:ty, $inline:literal, $name:expr, $schema:expr) => {
        impl schemars::JsonSchema for $type {
            fn inline_schema() -> bool {
                $inline
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                $name.into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                $schema
            }
        }
    };
    ($type:ty, $name:expr, $($schema:tt)+) => {
        $crate::parsed::schema!(@ $type, false, $name, $($schema)+);
    };
}
pub(crate) use schema;

/// Implements `Deserialize` for a type that a function parses from a text.
macro_rules! parsed {
    ($type:ty, $parse:expr) => {
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <String as serde::Deserialize>::deserialize(deserializer)?;
                ($parse)(text.as_str()).map_err(serde::de::Error::custom)
            }
        }
    };
}
pub(crate) use parsed;
