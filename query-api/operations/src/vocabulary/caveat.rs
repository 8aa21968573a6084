//! What a reader of an answer should keep in mind: a sentence for people, a code with parameters for programs.

use schemars::JsonSchema;
use serde::Serialize;

/// Something to keep in mind.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(tag = "code", content = "params", rename_all = "snake_case")]
pub(crate) enum Caveat {
    /// No price source is loaded.
    NoPriceSource {},
    /// Fewer confirmations than settle a transaction.
    ProvisionalConfirmations {
        confirmations: u32,
        /// From how many on it counts as settled.
        settled_at: u32,
    },
}

impl Caveat {
    /// The sentence.
    pub(crate) fn sentence(&self) -> String {
        match self {
            Caveat::NoPriceSource {} => "No price source is loaded: price and value are unknown.".to_owned(),
            Caveat::ProvisionalConfirmations { confirmations: 0, .. } => {
                "The transaction is unconfirmed: it may be replaced, whatever it signals.".to_owned()
            }
            Caveat::ProvisionalConfirmations { confirmations, settled_at } => {
                format!("{confirmations} of {settled_at} confirmations: a reorg may still undo it.")
            }
        }
    }

    /// The sentences of several.
    pub(crate) fn sentences(caveats: &[Caveat]) -> Vec<String> {
        caveats.iter().map(Caveat::sentence).collect()
    }
}
