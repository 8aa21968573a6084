//! The document of public keys that a server publishes, and that readers of packs check signatures with.

use serde_json::{Value, json};

use super::signature::{ALGORITHM, PublicKey};

/// A public key, and when it was in use.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeyRecord {
    /// The key.
    pub key: PublicKey,
    /// First time of its use (RFC 3339); `None` if the operator does not say.
    pub valid_from: Option<String>,
    /// Last time of its use; `None` while it is in use.
    pub valid_to: Option<String>,
}

/// Writes keys as the document of `/.well-known/cairn-evidence-keys.json`.
#[must_use]
pub fn keys_document(keys: &[KeyRecord]) -> Value {
    let keys: Vec<Value> = keys
        .iter()
        .map(|KeyRecord { key, valid_from, valid_to }| {
            json!({
                "id": key.id(), "alg": ALGORITHM, "key": key.to_pem(), "valid_from": valid_from, "valid_to": valid_to,
            })
        })
        .collect();
    json!({"keys": keys})
}

/// Reads such a document.
///
/// # Errors
/// Returns the problem and its place: a key that cannot be read, a key twice, or an id that is not the key's.
pub fn read_keys(document: &Value) -> Result<Vec<KeyRecord>, String> {
    let keys = document.get("keys").and_then(Value::as_array).ok_or("it has no list `keys`")?;
    let mut all: Vec<KeyRecord> = Vec::new();
    for (at, member) in keys.iter().enumerate() {
        let text = |name: &str| member.get(name).and_then(Value::as_str).map(str::to_owned);
        let key = text("key").ok_or_else(|| format!("keys[{at}] has no text `key`"))?;
        let key = PublicKey::from_pem(&key).map_err(|error| format!("keys[{at}].key: {error}"))?;
        if text("id").is_some_and(|id| id != key.id()) {
            return Err(format!("keys[{at}].id is not that of its key, which is {}", key.id()));
        }
        if all.iter().any(|known| known.key == key) {
            return Err(format!("keys[{at}] is a key that an earlier item has"));
        }
        all.push(KeyRecord { key, valid_from: text("valid_from"), valid_to: text("valid_to") });
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_is_read_as_it_is_written() {
        let key = PublicKey::from_bytes([7; 32]);
        let record = KeyRecord { key, valid_from: Some("2026-01-01T00:00:00Z".to_owned()), valid_to: None };
        let other = KeyRecord { key: PublicKey::from_bytes([8; 32]), valid_from: None, valid_to: None };
        let document = keys_document(&[record.clone(), other.clone()]);
        assert_eq!(read_keys(&document), Ok(vec![record, other]));
        let mut wrong = document.clone();
        wrong["keys"][1]["id"] = json!("0");
        assert!(read_keys(&wrong).is_err_and(|why| why.starts_with("keys[1].id")));
        wrong["keys"][1] = document["keys"][0].clone();
        assert!(read_keys(&wrong).is_err() && read_keys(&json!({})).is_err());
    }
}
