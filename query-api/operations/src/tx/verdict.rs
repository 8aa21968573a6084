//! The meaning of a node's rejection of a transaction. Bitcoin Core gives it as a short reason before the first comma
//! or bracket; the list covers versions 25 to 31.

use cairn_http::{ApiError, ErrorCode};
use serde_json::json;

use crate::node::BroadcastLimits;

/// Meaning of a node's rejection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    Waiting,
    /// The mempool has it with another witness.
    OtherWitness,
    Confirmed,
    Refused(Refusal),
    /// The node could not check it.
    NodeFailed,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Refusal {
    pub(super) code: ErrorCode,
    /// A clause of the error's detail.
    pub(super) detail: &'static str,
    /// True if the same transaction may be accepted later.
    pub(super) retryable: bool,
}

impl Refusal {
    /// 400, with the node's reason; and the limit that was exceeded, if it was one that the request can set.
    pub(super) fn into_error(self, reason: &str, limits: BroadcastLimits) -> ApiError {
        let limit = match self.code {
            ErrorCode::MaxFeeExceeded => Some(("max_fee_rate_sat_vb", limits.max_fee_rate_sat_vb.map(u64::from))),
            ErrorCode::MaxBurnExceeded => Some(("max_burn_sats", limits.max_burn_sats)),
            _ => None,
        };
        let what = match limit {
            Some((name, Some(value))) => format!("{}: {name} of the request is {value}", self.detail),
            Some((name, None)) => format!("{}: the node's own; {name} in the request sets another", self.detail),
            None => self.detail.to_owned(),
        };
        let error = ApiError::new(self.code, format!("the node rejected the transaction: {what}"));
        let error = if self.retryable { error.retryable(None) } else { error };
        let error = match limit {
            Some((name, value)) => {
                let set_by = if value.is_some() { "request" } else { "node" };
                error.with("limit", json!({"name": name, "set_by": set_by, "value": value}))
            }
            None => error,
        };
        error.with("reject_reason", printable(reason))
    }
}

const INSUFFICIENT_FEE: Refusal = Refusal {
    code: ErrorCode::InsufficientFee,
    detail: "its fee is below the relay minimum, or too low to replace the conflicting transactions",
    retryable: false,
};
const MEMPOOL_FULL: Refusal = Refusal {
    code: ErrorCode::InsufficientFee,
    detail: "the mempool is full and its feerate is below the current minimum",
    retryable: true,
};
const MISSING_INPUTS: Refusal = Refusal {
    code: ErrorCode::MissingInputs,
    detail: "it spends coins that are unknown or already spent",
    retryable: true,
};
const CONFLICT: Refusal = Refusal {
    code: ErrorCode::Conflict,
    detail: "another transaction in the mempool spends one of its coins and cannot be replaced by it",
    retryable: false,
};
const NON_STANDARD: Refusal = Refusal {
    code: ErrorCode::NonStandard,
    detail: "nodes do not relay this kind of transaction, although it may be valid in a block",
    retryable: false,
};
const SCRIPT_FAILED: Refusal =
    Refusal { code: ErrorCode::ScriptFailed, detail: "a script or signature is invalid", retryable: false };
const NON_FINAL: Refusal = Refusal {
    code: ErrorCode::NonFinal,
    detail: "its locktime, a relative locktime or a coinbase maturity is not reached",
    retryable: true,
};
const TOO_LONG_CHAIN: Refusal =
    Refusal { code: ErrorCode::TooLongMempoolChain, detail: "it has too many unconfirmed relatives", retryable: true };
const MAX_FEE: Refusal =
    Refusal { code: ErrorCode::MaxFeeExceeded, detail: "its feerate exceeds the limit", retryable: false };
pub(super) const MAX_BURN: Refusal = Refusal {
    code: ErrorCode::MaxBurnExceeded,
    detail: "an unspendable output burns more than the limit",
    retryable: false,
};
const INVALID: Refusal = Refusal { code: ErrorCode::InvalidTransaction, detail: "it is invalid", retryable: false };

/// The node's error codes: RPC_DESERIALIZATION_ERROR, RPC_VERIFY_ERROR, RPC_VERIFY_REJECTED and
/// RPC_VERIFY_ALREADY_IN_UTXO_SET (formerly _IN_CHAIN).
const UNDECODABLE: i64 = -22;
const FAILED: i64 = -25;
const REJECTED: i64 = -26;
const IN_CHAIN: i64 = -27;

/// Prefixes of reasons and their meaning. Whole words only: a prefix before a letter, digit or hyphen does not match.
const WORDS: &[(&str, Verdict)] = &[
    ("txn-already-in-mempool", Verdict::Waiting),
    ("txn-same-nonwitness-data-in-mempool", Verdict::OtherWitness),
    // Core finds outputs of the transaction in its UTXO set.
    ("txn-already-known", Verdict::Confirmed),
    ("Transaction already in block chain", Verdict::Confirmed),
    ("Transaction outputs already in utxo set", Verdict::Confirmed),
    ("min relay fee not met", Verdict::Refused(INSUFFICIENT_FEE)),
    ("min-fee-not-met", Verdict::Refused(INSUFFICIENT_FEE)),
    ("insufficient fee", Verdict::Refused(INSUFFICIENT_FEE)),
    // The replacement does not improve the mempool's feerate diagram.
    ("replacement-failed", Verdict::Refused(INSUFFICIENT_FEE)),
    ("mempool min fee not met", Verdict::Refused(MEMPOOL_FULL)),
    ("mempool full", Verdict::Refused(MEMPOOL_FULL)),
    ("bad-txns-inputs-missingorspent", Verdict::Refused(MISSING_INPUTS)),
    ("bad-txns-inputs-spent", Verdict::Refused(MISSING_INPUTS)),
    ("missing-inputs", Verdict::Refused(MISSING_INPUTS)),
    ("Missing inputs", Verdict::Refused(MISSING_INPUTS)),
    ("Inputs missing or spent", Verdict::Refused(MISSING_INPUTS)),
    ("txn-mempool-conflict", Verdict::Refused(CONFLICT)),
    ("bad-txns-spends-conflicting-tx", Verdict::Refused(CONFLICT)),
    ("bip125-replacement-disallowed", Verdict::Refused(CONFLICT)),
    ("too many potential replacements", Verdict::Refused(CONFLICT)),
    ("replacement-adds-unconfirmed", Verdict::Refused(CONFLICT)),
    ("mandatory-script-verify-flag-failed", Verdict::Refused(SCRIPT_FAILED)),
    ("mempool-script-verify-flag-failed", Verdict::Refused(SCRIPT_FAILED)),
    ("block-script-verify-flag-failed", Verdict::Refused(SCRIPT_FAILED)),
    ("non-mandatory-script-verify-flag", Verdict::Refused(SCRIPT_FAILED)),
    ("non-final", Verdict::Refused(NON_FINAL)),
    ("bad-txns-nonfinal", Verdict::Refused(NON_FINAL)),
    ("non-BIP68-final", Verdict::Refused(NON_FINAL)),
    ("bad-txns-premature-spend-of-coinbase", Verdict::Refused(NON_FINAL)),
    ("too-long-mempool-chain", Verdict::Refused(TOO_LONG_CHAIN)),
    ("too-large-cluster", Verdict::Refused(TOO_LONG_CHAIN)),
    ("Fee exceeds maximum configured by user", Verdict::Refused(MAX_FEE)),
    ("max-fee-exceeded", Verdict::Refused(MAX_FEE)),
    ("max feerate exceeded", Verdict::Refused(MAX_FEE)),
    ("absurdly-high-fee", Verdict::Refused(MAX_FEE)),
    ("Unspendable output exceeds maximum configured by user", Verdict::Refused(MAX_BURN)),
    ("max-burn-exceeded", Verdict::Refused(MAX_BURN)),
    ("version", Verdict::Refused(NON_STANDARD)),
    ("tx-size", Verdict::Refused(NON_STANDARD)),
    ("tx-size-small", Verdict::Refused(NON_STANDARD)),
    ("scriptsig-size", Verdict::Refused(NON_STANDARD)),
    ("scriptsig-not-pushonly", Verdict::Refused(NON_STANDARD)),
    ("scriptpubkey", Verdict::Refused(NON_STANDARD)),
    ("bare-multisig", Verdict::Refused(NON_STANDARD)),
    ("datacarrier", Verdict::Refused(NON_STANDARD)),
    ("multi-op-return", Verdict::Refused(NON_STANDARD)),
    ("dust", Verdict::Refused(NON_STANDARD)),
    ("missing-ephemeral-spends", Verdict::Refused(NON_STANDARD)),
    ("TRUC-violation", Verdict::Refused(NON_STANDARD)),
    ("bad-txns-nonstandard-inputs", Verdict::Refused(NON_STANDARD)),
    ("bad-txns-too-many-sigops", Verdict::Refused(NON_STANDARD)),
    ("bad-witness-nonstandard", Verdict::Refused(NON_STANDARD)),
    ("Mempool internal error", Verdict::NodeFailed),
    ("no-mempool", Verdict::NodeFailed),
];

/// The meaning of a rejection with this error code and reason.
pub(super) fn verdict(code: i64, reason: &str) -> Verdict {
    match code {
        IN_CHAIN => Verdict::Confirmed,
        UNDECODABLE => Verdict::Refused(INVALID),
        FAILED | REJECTED => {
            let found = WORDS.iter().find(|(words, _)| is_word(reason.trim_start(), words));
            found.map_or(Verdict::Refused(INVALID), |(_, verdict)| *verdict)
        }
        // The node did not check the transaction.
        _ => Verdict::NodeFailed,
    }
}

fn is_word(reason: &str, words: &str) -> bool {
    reason.strip_prefix(words).is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '-'))
}

/// Maximum number of characters of the node's reason to pass on.
const MAX_REASON: usize = 300;

/// The node's text, made safe for display.
fn printable(reason: &str) -> String {
    let safe = |c: char| if c == ' ' || c.is_ascii_graphic() { c } else { '?' };
    reason.chars().take(MAX_REASON).map(safe).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(verdict: Verdict) -> &'static str {
        match verdict {
            Verdict::Refused(refusal) => refusal.code.name(),
            Verdict::Waiting => "waiting",
            Verdict::OtherWitness => "other witness",
            Verdict::Confirmed => "confirmed",
            Verdict::NodeFailed => "node failed",
        }
    }

    #[test]
    fn first_words_decide() {
        for (reason, expected) in [
            ("min relay fee not met, 0 < 110", "insufficient_fee"),
            ("insufficient fee (including sibling eviction), rejecting replacement ab; dust", "insufficient_fee"),
            ("tx-size-small", "non_standard"),
            ("tx-size", "non_standard"),
            ("dust, tx with dust output must be 0-fee", "non_standard"),
            ("version", "non_standard"),
            ("versions", "invalid_transaction"),
            ("non-mandatory-script-verify-flag (No error)", "script_failed"),
            ("non-final", "non_final"),
            ("bad-txns-inputs-duplicate", "invalid_transaction"),
            ("bad-txns-in-belowout, value in (0.1) < value out (0.2)", "invalid_transaction"),
            ("bad-txns-inputvalues-outofrange", "invalid_transaction"),
            ("coinbase", "invalid_transaction"),
            ("", "invalid_transaction"),
            ("é dust", "invalid_transaction"),
        ] {
            assert_eq!(code(verdict(REJECTED, reason)), expected, "{reason}");
            assert_eq!(code(verdict(FAILED, reason)), expected, "{reason}");
        }
    }

    #[test]
    fn error_codes_decide_too() {
        assert_eq!(code(verdict(IN_CHAIN, "anything")), "confirmed");
        assert_eq!(code(verdict(UNDECODABLE, "dust")), "invalid_transaction");
        for other in [-28, -32_603, -1, 0, 401, i64::MIN] {
            assert_eq!(code(verdict(other, "dust")), "node failed");
        }
    }

    #[test]
    fn no_words_hide_others() {
        for (words, expected) in WORDS {
            assert_eq!(verdict(REJECTED, words), *expected, "{words}");
        }
    }

    #[test]
    fn reasons_are_safe_to_show() {
        let hostile = format!("a\u{202e}b\n\u{1b}[31m{}", "x".repeat(10_000));
        let shown = printable(&hostile);
        assert!(shown.starts_with("a?b??[31mxxx") && shown.len() == MAX_REASON);
    }
}
