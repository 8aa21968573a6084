//! Invoices, their states, and the trait of all backends.

use std::{fmt, str::FromStr};

use bitcoin::hashes::{Hash, sha256};
use cairn_model::Network;
use subtle::ConstantTimeEq;
use thiserror::Error;

use crate::BackendError;

/// Largest amount of an invoice: 10 BTC.
pub const MAX_AMOUNT_SATS: u64 = 1_000_000_000;
/// Longest validity of an invoice: 31 days.
pub const MAX_EXPIRY_SECS: u32 = 31 * 86_400;
/// Longest memo, in characters. It is phoenixd's limit, the smallest one of the backends.
pub const MAX_MEMO_CHARS: usize = 128;
/// Longest label, in bytes.
pub const MAX_LABEL_BYTES: usize = 64;

/// Makes Lightning invoices and looks them up. Calls block for at most the time-out of the configuration, and stop
/// their work then.
pub trait Invoices: Send + Sync + fmt::Debug {
    /// Makes an invoice. The answer of the daemon is decoded and compared with the request.
    fn create(&self, new: &NewInvoice) -> Result<Invoice, BackendError>;

    /// Looks up the state of an invoice. The preimage of a paid invoice is compared with its hash.
    fn lookup(&self, payment_hash: &PaymentHash) -> Result<InvoiceState, BackendError>;

    /// Asks the node who it is.
    ///
    /// # Errors
    /// Fails with [`BackendError::WrongNetwork`] if the node is on another network than the configuration says.
    fn node(&self) -> Result<NodeInfo, BackendError>;
}

/// A request for an invoice, within the limits of every backend.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewInvoice {
    amount_sats: u64,
    memo: String,
    expiry_secs: u32,
    label: String,
}

/// A request for an invoice is outside the limits.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum RequestError {
    /// The amount is zero or too large.
    #[error("an invoice of {0} sats cannot be made; the amount must be from 1 to {MAX_AMOUNT_SATS} sats")]
    Amount(u64),
    /// The memo is too long, or has characters that a daemon or a wallet may reject.
    #[error("the memo must have at most {MAX_MEMO_CHARS} characters, without control characters; shorten it")]
    Memo,
    /// The validity is zero or too long.
    #[error("an invoice cannot be valid for {0} s; the validity must be from 1 to {MAX_EXPIRY_SECS} s")]
    Expiry(u32),
    /// The label is empty, too long, or has other characters.
    #[error("the label must have 1 to {MAX_LABEL_BYTES} characters: letters, digits, '-', '_', '.' and ':'")]
    Label,
}

impl NewInvoice {
    /// Checks a request. `label` identifies it among all requests ever made; it is not part of the invoice.
    pub fn new(amount_sats: u64, memo: &str, expiry_secs: u32, label: &str) -> Result<Self, RequestError> {
        if !(1..=MAX_AMOUNT_SATS).contains(&amount_sats) {
            return Err(RequestError::Amount(amount_sats));
        }
        if memo.chars().count() > MAX_MEMO_CHARS || memo.contains(char::is_control) {
            return Err(RequestError::Memo);
        }
        if !(1..=MAX_EXPIRY_SECS).contains(&expiry_secs) {
            return Err(RequestError::Expiry(expiry_secs));
        }
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
        if !(1..=MAX_LABEL_BYTES).contains(&label.len()) || !label.bytes().all(is_allowed) {
            return Err(RequestError::Label);
        }
        Ok(NewInvoice { amount_sats, memo: memo.to_owned(), expiry_secs, label: label.to_owned() })
    }

    /// The amount, in satoshis.
    #[must_use]
    pub fn amount_sats(&self) -> u64 {
        self.amount_sats
    }

    /// The description that the payer sees.
    #[must_use]
    pub fn memo(&self) -> &str {
        &self.memo
    }

    /// The validity, in seconds.
    #[must_use]
    pub fn expiry_secs(&self) -> u32 {
        self.expiry_secs
    }

    /// The name of the request. LND has no field for it.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.label
    }
}

/// An invoice that matches its request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Invoice {
    /// The invoice, as the payer gets it.
    pub bolt11: String,
    /// Its payment hash.
    pub payment_hash: PaymentHash,
    /// Time until which it can be paid, in seconds since 1970.
    pub expires_at: u64,
}

/// State of an invoice.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum InvoiceState {
    /// It can be paid; or a payment is under way.
    Open,
    /// It is paid.
    Paid {
        /// The proof of the payment.
        preimage: Preimage,
        /// When, in seconds since 1970.
        paid_at: u64,
        /// Satoshis that arrived. A payer may pay more than the amount; and phoenixd takes its own fees from a
        /// payment, so less than the amount may arrive although the payer paid all of it.
        received_sats: u64,
    },
    /// It expired unpaid.
    Expired,
    /// The operator cancelled it before it expired.
    Cancelled,
    /// The daemon does not know it.
    Unknown,
}

/// The node behind a backend.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeInfo {
    /// Its network, which is the one of the configuration.
    pub network: Network,
    /// Its alias, if it has one.
    pub alias: Option<String>,
}

/// The SHA-256 of a preimage. It identifies an invoice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PaymentHash(pub [u8; 32]);

impl fmt::Display for PaymentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for PaymentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PaymentHash({self})")
    }
}

/// A text is not a payment hash.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("a payment hash has 64 hexadecimal digits")]
pub struct NotAPaymentHash;

impl FromStr for PaymentHash {
    type Err = NotAPaymentHash;

    fn from_str(text: &str) -> Result<Self, NotAPaymentHash> {
        let mut bytes = [0; 32];
        hex::decode_to_slice(text, &mut bytes).map_err(|_| NotAPaymentHash)?;
        Ok(PaymentHash(bytes))
    }
}

/// The secret whose hash an invoice has. The payer learns it by paying. Comparisons take constant time; `Debug` does
/// not show it.
#[derive(Clone, Copy)]
pub struct Preimage([u8; 32]);

impl Preimage {
    /// Wraps its bytes.
    #[must_use]
    pub fn new(bytes: [u8; 32]) -> Self {
        Preimage(bytes)
    }

    /// Its bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Computes its payment hash.
    #[must_use]
    pub fn payment_hash(&self) -> PaymentHash {
        PaymentHash(sha256::Hash::hash(&self.0).to_byte_array())
    }

    /// True if it is the preimage of a payment hash.
    #[must_use]
    pub fn opens(&self, payment_hash: &PaymentHash) -> bool {
        self.payment_hash().0.ct_eq(&payment_hash.0).into()
    }
}

impl PartialEq for Preimage {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Eq for Preimage {}

impl fmt::Debug for Preimage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Preimage(***)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_have_limits() {
        let new = |sats, memo: &str, expiry, label: &str| NewInvoice::new(sats, memo, expiry, label).map(|_| ());
        assert_eq!(new(1, "", 1, "a"), Ok(()));
        assert_eq!(new(MAX_AMOUNT_SATS, &"ü".repeat(128), MAX_EXPIRY_SECS, &"a".repeat(64)), Ok(()));
        assert_eq!(new(0, "", 1, "a"), Err(RequestError::Amount(0)));
        assert_eq!(new(MAX_AMOUNT_SATS + 1, "", 1, "a"), Err(RequestError::Amount(MAX_AMOUNT_SATS + 1)));
        assert_eq!(new(1, &"a".repeat(129), 1, "a"), Err(RequestError::Memo));
        assert_eq!(new(1, "a\nb", 1, "a"), Err(RequestError::Memo));
        assert_eq!(new(1, "", 0, "a"), Err(RequestError::Expiry(0)));
        assert_eq!(new(1, "", MAX_EXPIRY_SECS + 1, "a"), Err(RequestError::Expiry(MAX_EXPIRY_SECS + 1)));
        for label in ["", "a b", "ä", "a\"", &"a".repeat(65)] {
            assert_eq!(new(1, "", 1, label), Err(RequestError::Label), "{label}");
        }
    }

    #[test]
    fn a_preimage_opens_its_hash_only_and_is_not_shown() {
        // SHA-256 of 32 zero bytes, from sha256sum: head -c 32 /dev/zero | sha256sum
        let hash: PaymentHash = "66687aadf862bd776c8fc18b8e9f8e20089714856ee233b3902a591d0d5f2925".parse().unwrap();
        let preimage = Preimage::new([0; 32]);
        assert!(preimage.opens(&hash) && !Preimage::new([1; 32]).opens(&hash));
        assert_eq!(format!("{preimage:?}"), "Preimage(***)");
        assert_eq!("66".parse::<PaymentHash>(), Err(NotAPaymentHash));
        assert_eq!("z".repeat(64).parse::<PaymentHash>(), Err(NotAPaymentHash));
    }
}
