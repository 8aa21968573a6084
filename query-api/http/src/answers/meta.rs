//! `_meta`: what every answer says about itself.

use schemars::JsonSchema;
use serde::Serialize;

/// Something that a client should know about an answer.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
pub struct Warning {
    /// Stable code.
    pub code: &'static str,
    /// A sentence.
    pub message: String,
}

impl Warning {
    /// A warning of this code.
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        Warning { code, message: message.into() }
    }
}

/// The newest block that the answer knows.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
pub struct TipMeta {
    /// Its height.
    pub height: u32,
    /// Its hash.
    pub hash: String,
    /// How many blocks of the best known chain the index lacks; null while no better chain than the index is known of.
    pub lag_blocks: Option<u32>,
}

/// What a service says about the state that an answer was made from.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Standing {
    /// When the data was current (RFC 3339); `None` while there is none.
    pub freshness: Option<String>,
    /// The newest block; `None` while there is none.
    pub tip: Option<TipMeta>,
    /// The network; `None` while it is not known.
    pub network: Option<&'static str>,
}

/// What an answer says about itself.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Meta<'m> {
    /// The operation: its path, with the method before it if that is not GET.
    pub(crate) endpoint: &'m str,
    /// When the data was current (RFC 3339); null before anything is indexed.
    pub(crate) freshness: Option<&'m str>,
    /// Where the data comes from.
    pub(crate) source: &'static str,
    /// What this call cost.
    pub(crate) price_sats: u64,
    /// Where the interface is described.
    pub(crate) docs: &'m str,
    /// What `freshness` means here.
    pub(crate) freshness_semantics: &'static str,
    /// What a client should know.
    pub(crate) warnings: &'m [Warning],
    /// The newest block that the answer knows; null before anything is indexed.
    pub(crate) tip: Option<&'m TipMeta>,
    /// The network: main, testnet3, testnet4, signet or regtest; null before anything is indexed.
    pub(crate) network: Option<&'static str>,
}

/// Adds `_meta` to the members of an answer (a JSON object), behind them and in the same place of memory.
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
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn meta_joins_any_object() {
        let warnings = [Warning::new("a", "b")];
        let meta = Meta {
            endpoint: "/x",
            freshness: None,
            source: "index",
            price_sats: 0,
            docs: "",
            freshness_semantics: "",
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
