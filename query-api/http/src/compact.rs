//! `view=compact`: the same answer without some of its members. It works on the text of the answer, so that numbers stay
//! as they were printed.

use std::{collections::HashSet, fmt};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{MapAccess, Visitor},
    ser::SerializeMap,
};
use serde_json::value::RawValue;

/// Members of an object, in order.
struct Members(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Collect)
    }
}

impl Serialize for Members {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in &self.0 {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

/// Leaves out the members at `paths`: names joined by dots; a name leads through arrays into each of their objects.
///
/// # Errors
/// The text is no JSON.
pub(crate) fn drop_members(json: &str, paths: &[&str]) -> Result<String, serde_json::Error> {
    let here: HashSet<&str> = paths.iter().copied().filter(|p| !p.contains('.')).collect();
    let below = |name: &str| -> Vec<&str> {
        paths.iter().filter_map(|p| p.split_once('.')).filter(|(head, _)| *head == name).map(|(_, rest)| rest).collect()
    };
    match json.trim_start().as_bytes().first() {
        Some(b'[') => {
            let items: Vec<Box<RawValue>> = serde_json::from_str(json)?;
            let items: Result<Vec<_>, _> = items.iter().map(|item| drop_members(item.get(), paths)).collect();
            Ok(format!("[{}]", items?.join(",")))
        }
        Some(b'{') => {
            let mut members: Members = serde_json::from_str(json)?;
            members.0.retain(|(name, _)| !here.contains(name.as_str()));
            for (name, value) in &mut members.0 {
                let below = below(name);
                if !below.is_empty() {
                    *value = RawValue::from_string(drop_members(value.get(), &below)?)?;
                }
            }
            serde_json::to_string(&members)
        }
        _ => Ok(json.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn members_vanish_and_the_rest_stays_as_printed() {
        let json = r#"{"a":0.10000000,"b":{"c":1,"d":2},"e":[{"f":1,"g":2},{"g":3}],"h":null}"#;
        let compact = drop_members(json, &["b.c", "e.g", "h", "nothing", "a.x"]).unwrap();
        assert_eq!(compact, r#"{"a":0.10000000,"b":{"d":2},"e":[{"f":1},{}]}"#);
        assert_eq!(drop_members(json, &[]).unwrap(), json);
        assert!(drop_members("{", &["a"]).is_err());
    }
}
