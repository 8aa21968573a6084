//! Where a transaction stands: in a block, in the mempool, or gone.

use serde::Deserialize;

/// Confirmations from which the interface calls a payment settled.
const FINAL: u64 = 6;

#[derive(Deserialize)]
pub(super) struct Standing {
    pub(super) txid: String,
    pub(super) state: String,
    pub(super) confirmations: u64,
    pub(super) block: Option<Block>,
    pub(super) block_index: Option<u64>,
    pub(super) mempool_first_seen: Option<String>,
    pub(super) eta: Option<Eta>,
    pub(super) departed: Option<Departure>,
    pub(super) reason: Option<String>,
}

impl Standing {
    /// Whether the payment is final, in sentences.
    pub(super) fn sentence(&self) -> String {
        let count = self.confirmations;
        let said = match self.state.as_str() {
            "confirmed" if count >= FINAL => {
                format!("Final: {count} confirmations. Only a deep reorganization of the chain could undo it.")
            }
            "confirmed" => {
                let word = if count == 1 { "confirmation" } else { "confirmations" };
                format!(
                    "Not final yet: {count} {word} of {FINAL}. A short reorganization of the chain can still undo it."
                )
            }
            "mempool" => "Not final: it waits in the mempool, and can still be replaced or dropped.".to_owned(),
            "conflicted" => "Not final: another transaction spends the same coins.".to_owned(),
            _ => "Not found.".to_owned(),
        };
        match self.reason.as_deref().map(|reason| reason.trim_end_matches('.')).filter(|reason| !reason.is_empty()) {
            Some(reason) => format!("{said} Reason: {reason}."),
            None => said,
        }
    }

    pub(super) fn is_confirmed(&self) -> bool {
        self.state == "confirmed"
    }

    pub(super) fn is_pending(&self) -> bool {
        self.state == "mempool"
    }

    /// True while its state can change without a deep reorganization.
    pub(super) fn is_open(&self) -> bool {
        !self.is_confirmed() || self.confirmations < FINAL
    }
}

#[derive(Deserialize)]
pub(super) struct Block {
    pub(super) height: u64,
    pub(super) hash: String,
    pub(super) time: String,
}

#[derive(Deserialize)]
pub(super) struct Eta {
    pub(super) blocks: Option<u64>,
    pub(super) at_least_blocks: Option<u64>,
    pub(super) seconds: Option<u64>,
    pub(super) reason: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Departure {
    reason: String,
    pub(super) replaced_by: Option<String>,
    pub(super) height: Option<u64>,
    pub(super) left_at: Option<String>,
}

impl Departure {
    /// How it left the mempool, in words.
    pub(super) fn words(&self) -> &str {
        match self.reason.as_str() {
            "confirmed" => "confirmed",
            "replaced" => "replaced",
            "evicted" => "evicted, since the mempool was full",
            "conflict" => "a block has a transaction that spends the same coins",
            "expired" => "expired after it had waited for too long",
            "unknown" => "the node gave no reason",
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(state: &str, confirmations: u64, reason: Option<&str>) -> Standing {
        let value = serde_json::json!({"txid": "ab", "state": state, "confirmations": confirmations, "reason": reason});
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn finality_is_said_in_words() {
        for (state, count, said, is_open) in [
            ("confirmed", 6, "Final: 6 confirmations.", false),
            ("confirmed", 1, "Not final yet: 1 confirmation of 6.", true),
            ("mempool", 0, "Not final: it waits", true),
            ("conflicted", 0, "Not final: another", true),
            ("unknown", 0, "Not found.", true),
        ] {
            let standing = standing(state, count, None);
            assert!(standing.sentence().starts_with(said), "{state}");
            assert_eq!(standing.is_open(), is_open, "{state}");
        }
        assert!(standing("unknown", 0, Some("in no block.")).sentence().ends_with(" Reason: in no block."));
    }
}
