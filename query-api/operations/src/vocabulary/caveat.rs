//! Caveats of answers: a sentence for people, a code with parameters for programs.

use schemars::JsonSchema;
use serde::Serialize;

/// A caveat of an answer.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(tag = "code", content = "params", rename_all = "snake_case")]
pub(crate) enum Caveat {
    /// No price source is loaded.
    NoPriceSource {},
    /// Prices are loaded, but none for this time in this currency.
    PriceMissing {
        /// Code of the currency.
        currency: String,
        /// Reason why there is none.
        reason: &'static str,
    },
    /// The newest price is old.
    SourceStale {
        /// The source; null if the price is the mean of two.
        source: Option<String>,
        /// Time at which the price was known.
        as_of: String,
    },
    /// Blocks are attributed to a pool only by a tag in their coinbase, which any miner can write.
    PoolTagUnauthenticated {
        /// Number of these blocks.
        blocks: u32,
    },
    /// An output may be change.
    ChangeGuess {
        /// Value of the output.
        sats: u64,
    },
    /// The transaction has fewer confirmations than needed to count as settled.
    ProvisionalConfirmations {
        confirmations: u32,
        /// Number of confirmations at which the transaction counts as settled.
        settled_at: u32,
    },
    /// Nobody has verified the reports of the answer.
    CommunityUnverified {},
    /// The answer is about blocks of another network than main.
    NotMainnet {
        /// The network.
        network: &'static str,
        /// Hash of its first block.
        genesis: String,
    },
}

impl Caveat {
    pub(crate) fn sentence(&self) -> String {
        match self {
            Caveat::NoPriceSource {} => "No price source is loaded: price and value are unknown.".to_owned(),
            Caveat::PriceMissing { currency, reason } => {
                format!("Price and value in {currency} are unknown: {reason}.")
            }
            Caveat::SourceStale { as_of, .. } => {
                format!("The newest price is from {as_of}: price and value are out of date.")
            }
            Caveat::PoolTagUnauthenticated { blocks } => {
                format!(
                    "Only a tag in the coinbase attributes {blocks} blocks to a pool. Any miner can write any pool's \
                     tag."
                )
            }
            Caveat::ChangeGuess { sats } => {
                format!("An output of {sats} satoshis goes to a script that no earlier block has: it may be change.")
            }
            Caveat::CommunityUnverified {} => "Nobody has verified these reports: each is the statement of an unknown \
                 person, who may be wrong or lie."
                .to_owned(),
            Caveat::NotMainnet { network, .. } => {
                format!(
                    "The blocks are those of {network}, not of the main network: they show nothing about time to \
                     anyone else."
                )
            }
            Caveat::ProvisionalConfirmations { confirmations: 0, .. } => {
                "The transaction is unconfirmed. It may be replaced, even if it does not signal replaceability."
                    .to_owned()
            }
            Caveat::ProvisionalConfirmations { confirmations, settled_at } => {
                format!("The transaction has {confirmations} of {settled_at} confirmations. A reorg may still undo it.")
            }
        }
    }

    pub(crate) fn sentences(caveats: &[Caveat]) -> Vec<String> {
        caveats.iter().map(Caveat::sentence).collect()
    }
}
