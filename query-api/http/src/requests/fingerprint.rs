//! The fingerprint of a request: it identifies the list that the request asks for, without the page and the format.
//! Cursors are bound to it.

use std::{collections::BTreeMap, fmt};

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::contract::input::Field;

/// Parameters that choose a page of a list, or its format. So do those whose names end with `_limit` or `_offset`.
const PAGE_AND_FORMAT: [&str; 5] = ["cursor", "format", "limit", "offset", "view"];

/// The name of an operation with the validated parameters that choose its list.
///
/// A parameter counts in its canonical form ([`crate::TextFormat::canonical`]), not as the value that it stands for:
/// `30d` stays `30d` when a block is added, and `2024-01-01` is not `2024-01-01T00:00:00Z`. A parameter that is left
/// out counts as the default in its schema, or not at all. If several names of a thing must lead to one list, the
/// operation puts the thing in place of its name: see [`Fingerprint::resolved`].
#[derive(Clone)]
pub struct Fingerprint {
    operation: &'static str,
    parameters: BTreeMap<String, Vec<u8>>,
    parts: Vec<Vec<u8>>,
}

impl fmt::Debug for Fingerprint {
    // Inputs may be private.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fingerprint").field("operation", &self.operation).finish_non_exhaustive()
    }
}

impl Fingerprint {
    /// Fingerprint of an operation's input, which has been checked.
    pub(crate) fn new(operation: &'static str, fields: &[Field], input: &Value) -> Self {
        let chooses_list =
            |name: &str| !PAGE_AND_FORMAT.contains(&name) && !name.ends_with("_limit") && !name.ends_with("_offset");
        let fields = fields.iter().filter(|field| chooses_list(&field.name));
        let values = fields.filter_map(|field| {
            let given = input.get(&field.name).filter(|value| !value.is_null());
            let value = given.or_else(|| field.schema.get("default")).filter(|value| !value.is_null())?;
            let mut text = String::new();
            write_sorted(value, &mut text);
            Some((field.name.clone(), text.into_bytes()))
        });
        Fingerprint { operation, parameters: values.collect(), parts: Vec::new() }
    }

    /// Puts the thing that a parameter names in place of the parameter: requests that give another name of the same
    /// thing have the same fingerprint.
    #[must_use]
    pub fn resolved(mut self, parameter: &str, thing: &[u8]) -> Self {
        self.parameters.insert(parameter.to_owned(), thing.to_vec());
        self
    }

    /// Like [`Fingerprint::resolved`], without all other parameters: they do not choose the list.
    #[must_use]
    pub fn only(mut self, parameter: &str, thing: &[u8]) -> Self {
        self.parameters.clear();
        self.resolved(parameter, thing)
    }

    /// Adds what the list depends on besides its parameters, for example the version of a document.
    #[must_use]
    pub fn with(mut self, part: &[u8]) -> Self {
        self.parts.push(part.to_vec());
        self
    }

    /// The first bytes of a SHA-256 hash.
    #[must_use]
    pub fn hash(&self) -> [u8; 8] {
        let mut hash = Sha256::new();
        let mut add = |bytes: &[u8]| {
            hash.update((bytes.len() as u64).to_be_bytes());
            hash.update(bytes);
        };
        add(self.operation.as_bytes());
        add(&(self.parameters.len() as u64).to_be_bytes());
        for (name, value) in &self.parameters {
            add(name.as_bytes());
            add(value);
        }
        self.parts.iter().for_each(|part| add(part));
        let mut first = [0; 8];
        first.copy_from_slice(&hash.finalize()[..8]);
        first
    }
}

/// Writes a value with the keys of objects sorted.
pub(crate) fn write_sorted(value: &Value, text: &mut String) {
    match value {
        Value::Object(members) => {
            let sorted: BTreeMap<&String, &Value> = members.iter().collect();
            for (at, (name, value)) in sorted.into_iter().enumerate() {
                text.push(if at == 0 { '{' } else { ',' });
                text.push_str(&Value::from(name.as_str()).to_string());
                text.push(':');
                write_sorted(value, text);
            }
            text.push_str(if members.is_empty() { "{}" } else { "}" });
        }
        Value::Array(items) => {
            text.push('[');
            for (at, item) in items.iter().enumerate() {
                text.push_str(if at == 0 { "" } else { "," });
                write_sorted(item, text);
            }
            text.push(']');
        }
        other => text.push_str(&other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::answers::error::Location;

    fn of_operation(operation: &'static str, input: &Value) -> Fingerprint {
        let names =
            ["since", "min_btc", "wallet", "sort", "limit", "tx_limit", "tx_offset", "cursor", "format", "view"];
        let field = |name: &str| Field {
            name: name.to_owned(),
            location: Location::Query,
            required: false,
            schema: if name == "sort" { json!({"type": "string", "default": "balance"}) } else { json!({}) },
        };
        Fingerprint::new(operation, &names.map(field), input)
    }

    fn hash(input: Value) -> [u8; 8] {
        of_operation("whale_wakeups", &input).hash()
    }

    #[test]
    fn the_order_of_keys_does_not_count() {
        let one = json!({"since": "30d", "wallet": [{"a": 1, "b": {"c": null, "d": [true]}}], "min_btc": "5"});
        let other = json!({"min_btc": "5", "wallet": [{"b": {"d": [true], "c": null}, "a": 1}], "since": "30d"});
        assert_eq!(hash(one), hash(other));
    }

    #[test]
    fn the_page_and_the_format_do_not_count() {
        let list = hash(json!({"since": "30d"}));
        for (name, value) in [
            ("limit", json!(7)),
            ("tx_limit", json!(7)),
            ("tx_offset", json!(7)),
            ("cursor", json!("01")),
            ("format", json!("csv")),
            ("view", json!("compact")),
        ] {
            assert_eq!(hash(json!({"since": "30d", name: value})), list, "{name}");
        }
    }

    #[test]
    fn the_operation_and_each_filter_count() {
        let inputs = [
            json!({}),
            json!({"since": "30d"}),
            json!({"since": "31d"}),
            json!({"since": "30d", "min_btc": "5"}),
            json!({"since": "30d5"}),
            json!({"min_btc": "30d"}),
            json!({"min_btc": 5}),
            json!({"min_btc": "5"}),
            json!({"wallet": ["a", "b"]}),
            json!({"wallet": ["b", "a"]}),
            json!({"wallet": ["ab"]}),
            json!({"wallet": {}}),
            json!({"wallet": []}),
        ];
        let mut hashes: Vec<[u8; 8]> = inputs.into_iter().map(hash).collect();
        hashes.push(of_operation("dormancy_flushes", &json!({})).hash());
        let count = hashes.len();
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), count);
    }

    #[test]
    fn what_is_left_out_counts_as_its_default() {
        assert_eq!(hash(json!({"sort": "balance"})), hash(json!({})));
        assert_eq!(hash(json!({"sort": null, "since": null})), hash(json!({})));
        assert_ne!(hash(json!({"sort": "name"})), hash(json!({})));
    }

    #[test]
    fn operations_bind_to_things_and_to_further_parts() {
        let by = |since: &str| of_operation("block_detail", &json!({"since": since, "min_btc": "5"}));
        assert_ne!(by("1").hash(), by("01").hash());
        assert_eq!(by("1").resolved("since", b"hash").hash(), by("01").resolved("since", b"hash").hash());
        assert_ne!(by("1").resolved("since", b"hash").hash(), by("1").resolved("since", b"other").hash());
        let alone = of_operation("block_detail", &json!({"sort": "name"})).only("since", b"hash");
        assert_eq!(by("1").only("since", b"hash").hash(), alone.hash());
        let parts = [by("1"), by("1").with(b""), by("1").with(b"ab"), by("1").with(b"a").with(b"b")];
        for (at, one) in parts.iter().enumerate() {
            assert!(parts[..at].iter().all(|other| other.hash() != one.hash()), "{at}");
        }
    }

    /// Clients hold cursors while a server is replaced: a new version must have the same fingerprints.
    #[test]
    fn fingerprints_stay_what_they_are() {
        let input = json!({"wallet": [{"b": 1, "a": "\u{e9}\"\n"}], "limit": 5, "since": "30d", "min_btc": "1000.5"});
        let full = of_operation("whale_wakeups", &input).with(b"part");
        assert_eq!(hex::encode(full.hash()), "4f250132ca8cc564");
        assert_eq!(hex::encode(hash(json!({}))), "d1e9aa6ff8b79b73");
    }
}
