//! `_meta`: what every answer says about itself.

use cairn_reader::Tip;
use schemars::JsonSchema;
use serde::Serialize;

use crate::values::rfc3339;

/// Something that a client should know about an answer.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
pub(crate) struct Warning {
    /// Stable code.
    pub(crate) code: &'static str,
    /// A sentence.
    pub(crate) message: String,
}

impl Warning {
    pub(crate) fn new(code: &'static str, message: impl Into<String>) -> Self {
        Warning { code, message: message.into() }
    }
}

/// The newest block that the answer knows.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
pub(crate) struct TipMeta {
    /// Its height.
    pub(crate) height: u32,
    /// Its hash.
    pub(crate) hash: String,
    /// How many blocks of the best known chain the index lacks; null while no better chain than the index is known of.
    pub(crate) lag_blocks: Option<u32>,
}

impl TipMeta {
    pub(crate) fn of(tip: &Tip, best_height: Option<u32>) -> Self {
        TipMeta {
            height: tip.height,
            hash: tip.hash.to_string(),
            lag_blocks: best_height.map(|best| best.saturating_sub(tip.height)),
        }
    }
}

/// What an answer says about itself.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Meta {
    /// The operation: its path, with the method before it if that is not GET.
    pub(crate) endpoint: String,
    /// When the data was current (RFC 3339); null before anything is indexed.
    pub(crate) freshness: Option<String>,
    /// Where the data comes from.
    pub(crate) source: &'static str,
    /// What this call cost.
    pub(crate) price_sats: u64,
    /// Where the interface is described.
    pub(crate) docs: String,
    /// What `freshness` means here.
    pub(crate) freshness_semantics: &'static str,
    /// What a client should know.
    pub(crate) warnings: Vec<Warning>,
    /// The newest block that the answer knows; null before anything is indexed.
    pub(crate) tip: Option<TipMeta>,
    /// The network: main, testnet3, testnet4, signet or regtest; null before anything is indexed.
    pub(crate) network: Option<&'static str>,
}

/// `freshness` of data that the index has: the monotone time of its newest block.
pub(crate) fn freshness(tip: &Tip) -> String {
    rfc3339(tip.mono_time)
}

/// Joins the members of an answer (a JSON object) with its `_meta`.
pub(crate) fn join(answer: &str, meta: &Meta) -> Result<String, serde_json::Error> {
    let meta = serde_json::to_string(meta)?;
    let head = answer.strip_suffix('}').unwrap_or(answer);
    let comma = if head.ends_with('{') { "" } else { "," };
    Ok(format!("{head}{comma}\"_meta\":{meta}}}"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn meta_joins_any_object() {
        let meta = Meta {
            endpoint: "/x".to_owned(),
            freshness: None,
            source: "index",
            price_sats: 0,
            docs: String::new(),
            freshness_semantics: "",
            warnings: vec![Warning::new("a", "b")],
            tip: None,
            network: None,
        };
        for answer in ["{}", "{\"a\":{\"b\":1}}"] {
            let body: serde_json::Value = serde_json::from_str(&join(answer, &meta).unwrap()).unwrap();
            assert_eq!(body["_meta"]["warnings"][0]["code"], "a");
        }
    }
}
