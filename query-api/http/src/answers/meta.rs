//! `_meta`: metadata of every answer.

use schemars::JsonSchema;
use serde::Serialize;

/// A warning about an answer.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
pub struct Warning {
    /// Stable code.
    pub code: &'static str,
    /// A sentence; absent from compact views.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
}

impl Warning {
    /// The same without the sentence.
    pub(crate) fn brief(&self) -> Self {
        Warning { code: self.code, message: String::new() }
    }

    /// A warning of this code.
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        Warning { code, message: message.into() }
    }
}

/// The tip of the index at the time of the answer.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
pub struct TipMeta {
    /// Height of the tip.
    pub height: u32,
    /// Hash of the tip.
    pub hash: String,
    /// Lag of the index behind the best known chain, in blocks; null if no better chain is known.
    pub lag_blocks: Option<u32>,
}

/// The state of the data that an answer is based on.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DataState {
    /// Time of the data (RFC 3339); `None` while there is none.
    pub freshness: Option<String>,
    /// The tip; `None` while there is none.
    pub tip: Option<TipMeta>,
    /// The network; `None` while it is not known.
    pub network: Option<&'static str>,
}

/// Metadata of an answer.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Meta<'m> {
    /// The operation: its path, prefixed with the method unless it is GET.
    pub(crate) endpoint: &'m str,
    /// Time of the data (RFC 3339); null before anything is indexed.
    pub(crate) freshness: Option<&'m str>,
    /// Source of the data.
    pub(crate) source: &'static str,
    /// Price of this request in satoshis.
    pub(crate) price_sats: u64,
    /// URL of the OpenAPI document; absent from compact views.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) docs: Option<&'m str>,
    /// Meaning of `freshness` for this operation; absent from compact views.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) freshness_semantics: Option<&'static str>,
    /// Warnings about the answer.
    pub(crate) warnings: &'m [Warning],
    /// The tip of the index; null before anything is indexed.
    pub(crate) tip: Option<&'m TipMeta>,
    /// The network: main, testnet3, testnet4, signet or regtest; null before anything is indexed.
    pub(crate) network: Option<&'static str>,
}

/// Appends `_meta` to the fields of an answer (a JSON object), in the same buffer.
pub(crate) fn append(answer: &mut Vec<u8>, meta: &Meta<'_>) -> Result<(), serde_json::Error> {
    if answer.last() == Some(&b'}') {
        answer.pop();
    }
    let comma: &[u8] = if answer.last() == Some(&b'{') { b"" } else { b"," };
    answer.extend_from_slice(comma);
    answer.extend_from_slice(b"\"_meta\":");
    serde_json::to_writer(&mut *answer, meta)?;
    answer.push(b'}');
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meta_joins_any_object() {
        let warnings = [Warning::new("a", "b")];
        let meta = Meta {
            endpoint: "/x",
            freshness: None,
            source: "index",
            price_sats: 0,
            docs: None,
            freshness_semantics: None,
            warnings: &warnings,
            tip: None,
            network: None,
        };
        for answer in ["{}", "{\"a\":{\"b\":1}}"] {
            let mut bytes = answer.as_bytes().to_vec();
            append(&mut bytes, &meta).unwrap();
            let body: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
            assert_eq!(body["_meta"]["warnings"][0]["code"], "a");
        }
    }
}
