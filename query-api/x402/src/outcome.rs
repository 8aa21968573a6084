//! Answers of a facilitator, and the conclusions that they allow.

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use thiserror::Error;

use crate::{
    address::{Address, hex_bytes},
    error::FacilitatorError,
    payment::Payment,
    requirements::{Network, PaymentRequirements, VERSION},
};

/// The token has seen the nonce: the payment was settled, or the payer used the nonce for something else.
const NONCE_USED: &str = "invalid_exact_evm_nonce_already_used";
/// Codes that the reference facilitators also give when the transaction may have been sent: their node did not answer,
/// or no block had it in time. The same holds for reasons that are not codes but messages of errors.
const UNCERTAIN_CODES: [&str; 5] = [
    "settlement_pending",
    "transaction_failed",
    "invalid_exact_evm_transaction_failed",
    "unexpected_settle_error",
    "invalid_transaction_state",
];

/// Whether an earlier call for this payment may have carried it out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Attempt {
    /// No call was made, or none was sent.
    First,
    /// A call ended as [`SettleOutcome::Indeterminate`], or its end is unknown. A refusal proves nothing now: a payer
    /// whose money has moved lacks it for the second transfer, and the payment may have ended meanwhile.
    Again,
}

/// The result of settling.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SettleOutcome {
    /// The payment is on the chain.
    Settled {
        /// Hash of the transaction, `0x` and 64 hex digits.
        transaction: String,
        /// The chain.
        network: Network,
        /// The payer.
        payer: Address,
    },
    /// The payment was not carried out.
    Refused {
        /// The facilitator's reason.
        reason: String,
    },
    /// The payment may have been carried out: settle it again later.
    Indeterminate {
        /// Why this is unknown.
        why: Uncertainty,
    },
    /// No request was sent, so the payment is as it was.
    NotSent {
        /// Why.
        why: FacilitatorError,
    },
}

/// Why it is unknown whether a payment was carried out.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum Uncertainty {
    /// There was no usable answer.
    #[error(transparent)]
    NoAnswer(#[from] FacilitatorError),
    /// The facilitator does not know itself, or names a transaction that it does not call successful.
    #[error("the facilitator reports {reason:?}; the transaction may still be confirmed; try again")]
    Pending {
        /// Its reason.
        reason: String,
        /// The transaction, if it was sent.
        transaction: Option<String>,
    },
    /// The nonce is used, by this payment or by another.
    #[error("the token has seen the nonce; look for the payment on the chain (event AuthorizationUsed)")]
    NonceUsed,
    /// A retry was refused, after an attempt with an unknown end.
    #[error("an earlier attempt has an unknown end, and the facilitator refused this one: {reason}")]
    RefusedAgain {
        /// The reason.
        reason: String,
    },
}

/// The result of verifying with the chain.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum VerifyOutcome {
    /// It would be settled now.
    Valid,
    /// It would not be.
    Invalid {
        /// The facilitator's reason.
        reason: String,
    },
}

/// The content of `PAYMENT-RESPONSE`, and of a facilitator's answer to a call of `settle`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SettleResponse {
    success: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error_reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    payer: Option<String>,
    transaction: String,
    network: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    amount: Option<String>,
}

impl SettleResponse {
    /// Returns the answer for the client; `None` while the outcome is unknown, since the protocol has no word for that.
    #[must_use]
    pub fn from_outcome(outcome: &SettleOutcome, payment: &Payment) -> Option<Self> {
        let (error_reason, transaction) = match outcome {
            SettleOutcome::Settled { transaction, .. } => (None, transaction.clone()),
            SettleOutcome::Refused { reason } => (Some(reason.clone()), String::new()),
            SettleOutcome::Indeterminate { .. } | SettleOutcome::NotSent { .. } => return None,
        };
        Some(SettleResponse {
            success: error_reason.is_none(),
            error_reason,
            payer: Some(payment.transfer().from.to_string()),
            transaction,
            network: payment.offer().network.to_string(),
            amount: None,
        })
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct VerifyResponse {
    is_valid: bool,
    invalid_reason: Option<String>,
    payer: Option<String>,
}

/// Kinds of payment that a facilitator settles.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
pub struct Supported {
    /// The kinds.
    pub kinds: Vec<SupportedKind>,
}

/// A kind of payment.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SupportedKind {
    /// The protocol version.
    pub x402_version: u64,
    /// The scheme.
    pub scheme: String,
    /// The chain, in the form of CAIP-2.
    pub network: String,
}

impl Supported {
    /// Returns true if the facilitator settles payments of this offer.
    #[must_use]
    pub fn includes(&self, offer: &PaymentRequirements) -> bool {
        let network = offer.network.to_string();
        self.kinds.iter().any(|kind| kind.x402_version == VERSION && kind.scheme == "exact" && kind.network == network)
    }
}

/// An answer of HTTP.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    fn is_ok(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Reads the body. Errors of the facilitator have no such body, or are not to be believed.
    fn read<T: DeserializeOwned>(&self) -> Result<T, FacilitatorError> {
        let may_answer = self.is_ok() || (400..500).contains(&self.status);
        match serde_json::from_slice(&self.body) {
            _ if !may_answer => Err(FacilitatorError::Status(self.status)),
            Ok(read) => Ok(read),
            Err(_) if !self.is_ok() => Err(FacilitatorError::Status(self.status)),
            Err(error) => Err(FacilitatorError::Unreadable(short(&error.to_string()))),
        }
    }

    pub(crate) fn supported(&self) -> Result<Supported, FacilitatorError> {
        if self.is_ok() { self.read() } else { Err(FacilitatorError::Status(self.status)) }
    }

    pub(crate) fn verified(&self, payment: &Payment) -> Result<VerifyOutcome, FacilitatorError> {
        let response: VerifyResponse = self.read()?;
        if !response.is_valid {
            return Ok(VerifyOutcome::Invalid { reason: reason(response.invalid_reason) });
        }
        if !self.is_ok() {
            return Err(FacilitatorError::Status(self.status));
        }
        check_payer(response.payer.as_deref(), payment).map(|()| VerifyOutcome::Valid)
    }

    pub(crate) fn settled(&self, payment: &Payment, attempt: Attempt) -> Result<SettleOutcome, Uncertainty> {
        let response: SettleResponse = self.read()?;
        if response.success {
            return Ok(self.success(response, payment)?);
        }
        let reason = reason(response.error_reason);
        let transaction = Some(short(&response.transaction)).filter(|hash| !hash.is_empty());
        if transaction.is_some() || !is_code(&reason) || UNCERTAIN_CODES.contains(&reason.as_str()) {
            return Err(Uncertainty::Pending { reason, transaction });
        }
        if reason == NONCE_USED {
            return Err(Uncertainty::NonceUsed);
        }
        match attempt {
            Attempt::First => Ok(SettleOutcome::Refused { reason }),
            Attempt::Again => Err(Uncertainty::RefusedAgain { reason }),
        }
    }

    /// Believes a success only if it is about this payment.
    fn success(&self, response: SettleResponse, payment: &Payment) -> Result<SettleOutcome, FacilitatorError> {
        if !self.is_ok() {
            return Err(FacilitatorError::Status(self.status));
        }
        let unreadable = |text: &str| Err(FacilitatorError::Unreadable(text.to_owned()));
        let network = payment.offer().network;
        if response.network != network.to_string() {
            return unreadable("it names another network than the payment");
        }
        if hex_bytes::<32>(&response.transaction).is_none() {
            return unreadable("it reports success without the hash of a transaction");
        }
        if response.amount.is_some_and(|amount| amount != payment.offer().amount.to_string()) {
            return unreadable("it names another amount than the payment");
        }
        check_payer(response.payer.as_deref(), payment)?;
        Ok(SettleOutcome::Settled { transaction: response.transaction, network, payer: payment.transfer().from })
    }
}

/// The payer may be missing, but must not be another one.
fn check_payer(payer: Option<&str>, payment: &Payment) -> Result<(), FacilitatorError> {
    let is_other = |payer: &str| payer.parse() != Ok(payment.transfer().from);
    if payer.is_some_and(is_other) {
        return Err(FacilitatorError::Unreadable("it names another payer than the payment".to_owned()));
    }
    Ok(())
}

fn reason(given: Option<String>) -> String {
    given.map(|text| short(&text)).filter(|text| !text.is_empty()).unwrap_or_else(|| "no reason given".to_owned())
}

/// Returns true if the facilitator chose the reason from a list.
fn is_code(reason: &str) -> bool {
    reason.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
}

/// Returns the beginning of a text that others wrote, in printable ASCII.
fn short(text: &str) -> String {
    text.chars().take(100).map(|c| if c == ' ' || c.is_ascii_graphic() { c } else { '?' }).collect()
}
