//! The digested part of an evidence pack.

use bitcoin::hashes::{Hash, sha256};
use serde_json::{Map, Value};

use super::canonical::{MAX_SAFE, canonical};

/// The format that a pack names.
pub const FORMAT: &str = "cairn-evidence-pack/1";

/// Members of a pack that its digest does not cover. All others are covered, also those that no pack should have.
pub const OUTSIDE: [&str; 8] = [
    "_meta",
    "digest_sha256",
    "digest_reason",
    "signature",
    "signature_reason",
    "proofs",
    "proofs_reason",
    "proofs_omitted",
];

/// Why something is not a pack, or not one that a digest can cover: what, and the place as a JSON pointer.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{place}: {problem}")]
pub struct BadPack {
    /// The place, as a JSON pointer.
    pub place: String,
    /// The problem.
    pub problem: String,
}

impl BadPack {
    /// A problem at a place.
    pub fn at(place: impl Into<String>, problem: impl Into<String>) -> Self {
        BadPack { place: place.into(), problem: problem.into() }
    }
}

/// Returns what the digest of a pack covers: the pack without [`OUTSIDE`]. Sections that `digest_covers` does not name
/// have no data; their status is covered.
///
/// # Errors
/// Fails if it is not a pack, or if what is covered has a number that is not an integer of at most 2^53 − 1.
pub fn covered(pack: &Value) -> Result<Value, BadPack> {
    let members = pack.as_object().ok_or_else(|| BadPack::at("/", "is not an object"))?;
    if members.get("format").and_then(Value::as_str) != Some(FORMAT) {
        return Err(BadPack::at("/format", format!("is not {FORMAT}: this program does not know it")));
    }
    let names = names_of(members, "digest_covers")?;
    let sections = members.get("sections").and_then(Value::as_object);
    let sections = sections.ok_or_else(|| BadPack::at("/sections", "is not an object"))?;
    if let Some(name) = names.iter().find(|name| !sections.contains_key(**name)) {
        let problem = format!("names the section {name:?}, which the pack does not have");
        return Err(BadPack::at("/digest_covers", problem));
    }
    for (name, section) in sections {
        let has_data = section.get("data").is_some_and(|data| !data.is_null());
        if has_data != names.contains(&name.as_str()) {
            let problem = if has_data { "has data that the digest does not cover" } else { "lacks its data" };
            return Err(BadPack::at(format!("/sections/{name}"), problem));
        }
    }
    let inside = members.iter().filter(|(name, _)| !OUTSIDE.contains(&name.as_str()));
    let all = Value::Object(inside.map(|(name, value)| (name.clone(), value.clone())).collect());
    only_integers(&all, &mut String::new())?;
    Ok(all)
}

/// The texts of an array of a pack.
pub(super) fn names_of<'p>(members: &'p Map<String, Value>, name: &str) -> Result<Vec<&'p str>, BadPack> {
    let items = members.get(name).and_then(Value::as_array);
    let items = items.ok_or_else(|| BadPack::at(format!("/{name}"), "is not an array"))?;
    let texts: Option<Vec<&str>> = items.iter().map(Value::as_str).collect();
    texts.ok_or_else(|| BadPack::at(format!("/{name}"), "has an item that is not a text"))
}

/// Returns the canonical bytes of what the digest of a pack covers: these are hashed and signed.
pub fn signed_bytes(pack: &Value) -> Result<Vec<u8>, BadPack> {
    covered(pack).map(|covered| canonical(&covered))
}

/// The digest of a pack: SHA-256 of its canonical bytes, in hexadecimal.
#[must_use]
pub fn digest(bytes: &[u8]) -> String {
    sha256::Hash::hash(bytes).to_string()
}

/// Adds a segment to a JSON pointer, and returns the length to cut it to afterwards.
pub(super) fn step(place: &mut String, segment: &str) -> usize {
    let before = place.len();
    place.push('/');
    place.push_str(&segment.replace('~', "~0").replace('/', "~1"));
    before
}

fn only_integers(value: &Value, place: &mut String) -> Result<(), BadPack> {
    match value {
        Value::Number(number) => {
            let is_safe = number.as_i64().is_some_and(|whole| whole.unsigned_abs() <= MAX_SAFE);
            let problem = "is not an integer of at most 9007199254740991";
            if is_safe { Ok(()) } else { Err(BadPack::at(place.clone(), problem)) }
        }
        Value::Array(items) => items.iter().enumerate().try_for_each(|(at, item)| {
            let before = step(place, &at.to_string());
            only_integers(item, place)?;
            place.truncate(before);
            Ok(())
        }),
        Value::Object(members) => members.iter().try_for_each(|(name, value)| {
            let before = step(place, name);
            only_integers(value, place)?;
            place.truncate(before);
            Ok(())
        }),
        Value::Null | Value::Bool(_) | Value::String(_) => Ok(()),
    }
}

/// Makes an answer fit for the digest: drops members whose names `drops` picks and numbers that are not integers, and
/// writes integers above 2^53 − 1 as texts. A number in an array becomes null, so that the others keep their places.
pub fn digestible(value: Value, drops: &impl Fn(&str) -> bool) -> Value {
    kept(value, drops).unwrap_or(Value::Null)
}

fn kept(value: Value, drops: &impl Fn(&str) -> bool) -> Option<Value> {
    Some(match value {
        Value::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(whole), _) if whole > MAX_SAFE => Value::String(whole.to_string()),
            (None, Some(whole)) if whole.unsigned_abs() > MAX_SAFE => Value::String(whole.to_string()),
            (None, None) => return None,
            _ => Value::Number(number),
        },
        Value::Array(items) => {
            Value::Array(items.into_iter().map(|item| kept(item, drops).unwrap_or(Value::Null)).collect())
        }
        Value::Object(members) => {
            let members = members.into_iter().filter(|(name, _)| !drops(name));
            Value::Object(members.filter_map(|(name, value)| Some((name, kept(value, drops)?))).collect())
        }
        other => other,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pack() -> Value {
        json!({
            "format": FORMAT, "address": "a", "tip": {"height": 5}, "digest_covers": ["labels"],
            "sections": {
                "labels": {"status": "ok", "reason": null, "data": {"n": 1}},
                "flow_graph": {"status": "unavailable", "reason": "time_budget", "data": null},
            },
            "digest_sha256": "x", "signature": null, "_meta": {"freshness": 1.5},
        })
    }

    #[test]
    fn the_digest_covers_what_it_names() {
        let pack = pack();
        let before = signed_bytes(&pack).unwrap();
        assert_eq!(
            String::from_utf8(before.clone()).unwrap(),
            r#"{"address":"a","digest_covers":["labels"],"format":"cairn-evidence-pack/1","sections":{"flow_graph":{"data":null,"reason":"time_budget","status":"unavailable"},"labels":{"data":{"n":1},"reason":null,"status":"ok"}},"tip":{"height":5}}"#
        );
        assert_eq!(digest(b""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        let changed = |place: &str, to: Value| {
            let mut pack = pack.clone();
            *pack.pointer_mut(place).unwrap() = to;
            signed_bytes(&pack)
        };
        assert_ne!(changed("/sections/flow_graph/reason", json!("other")), Ok(before.clone()));
        assert_eq!(changed("/_meta", json!(1)), Ok(before.clone()));
        assert_ne!(changed("/sections/labels/data/n", json!(2)), Ok(before.clone()));
        assert_ne!(changed("/tip/height", json!(6)), Ok(before));
        let place = |place: &str, to: Value| changed(place, to).unwrap_err().place;
        assert_eq!(place("/sections/labels/data/n", json!(1.5)), "/sections/labels/data/n");
        assert_eq!(place("/sections/labels/data/n", json!([1, MAX_SAFE + 1])), "/sections/labels/data/n/1");
        assert_eq!(place("/sections/flow_graph/data", json!({})), "/sections/flow_graph");
        assert_eq!(place("/sections/labels/data", Value::Null), "/sections/labels");
        assert_eq!(place("/digest_covers", json!(["labels", "prices"])), "/digest_covers");
        assert_eq!(place("/format", json!("x")), "/format");
        assert_eq!(signed_bytes(&json!([])).unwrap_err().place, "/");
    }

    #[test]
    fn a_member_that_no_pack_has_is_covered() {
        let mut more = pack();
        more["_Meta"] = json!(1);
        assert_ne!(signed_bytes(&more), signed_bytes(&pack()));
    }

    #[test]
    fn answers_are_made_fit() {
        let answer =
            json!({"a_btc": 1, "b": 1.5, "c": [1.5, 2], "d": u64::MAX, "e": -3, "f": {"g": MAX_SAFE}, "h": i64::MIN});
        let made = digestible(answer, &|name| name.ends_with("_btc"));
        assert_eq!(
            made,
            json!({"c": [null, 2], "d": "18446744073709551615", "e": -3, "f": {"g": MAX_SAFE}, "h": "-9223372036854775808"})
        );
        only_integers(&made, &mut String::new()).unwrap();
    }
}
