//! Payments of x402.

use crate::{
    StateError,
    pool::stored_row,
    sales::limits::{MAX_LONG_BYTES, MAX_NAME_BYTES, bytes32, is_bounded},
};

/// Length of an address of a token or of a payer: 0x and 40 digits.
const ADDRESS_CHARS: usize = 42;

/// Identifies an authorization of a payment (EIP-3009): the chain accepts it once.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct X402PaymentKey {
    /// Number of the chain (EIP-155).
    pub chain_id: u64,
    /// Address of the token: 0x and 40 hexadecimal digits in small letters.
    pub asset: String,
    /// Address of the payer, in the same form.
    pub payer: String,
    /// The nonce that the payer has signed.
    pub nonce: [u8; 32],
}

/// A payment to take.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewX402Payment {
    /// Identifies it.
    pub key: X402PaymentKey,
    /// SHA-256 of method, path, query and body of the request that it pays.
    pub fingerprint: [u8; 32],
    /// Name of the capability that is sold.
    pub capability: String,
    /// The amount, in the smallest unit of the token.
    pub amount: u64,
    /// The signed payload, with which the outcome of a settlement is found out.
    pub payload: String,
    /// When the authorization ends, in seconds since 1970.
    pub valid_before: u64,
}

/// State of a payment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum X402PaymentState {
    /// A request has it, and has not begun to settle it.
    Taken,
    /// A request settles it.
    Settling,
    /// The chain has it.
    Settled {
        /// The transaction.
        transaction: String,
        /// When that was known, in seconds since 1970.
        at: u64,
        /// When its answer was given out; `None` if it was not yet.
        delivered_at: Option<u64>,
    },
    /// It was not settled, and never will be.
    Refused {
        /// The reason that the facilitator gave.
        reason: String,
    },
    /// Nobody knows yet if the chain has it.
    Unknown {
        /// Why not.
        reason: String,
    },
}

/// A stored payment. All times are in seconds since 1970.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct X402Payment {
    /// The payment as it was taken.
    pub content: NewX402Payment,
    /// Its state.
    pub state: X402PaymentState,
    /// When it was taken.
    pub taken_at: u64,
    /// When its state changed last.
    pub changed_at: u64,
    /// Until when a request has it in use.
    pub leased_until: u64,
}

/// Outcome of a settlement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SettlementOutcome {
    /// The chain has it.
    Settled {
        /// The transaction.
        transaction: String,
    },
    /// It was not settled, for certain. Its authorization is used up here: the client signs another one.
    Refused {
        /// The reason that the facilitator gave; a long one is cut.
        reason: String,
    },
    /// Nobody knows: no answer, or an unclear one.
    Unknown {
        /// Why not; a long one is cut.
        reason: String,
    },
}

/// True for an address in the form that [`X402PaymentKey`] has.
fn is_address(text: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    text.len() == ADDRESS_CHARS && text.strip_prefix("0x").is_some_and(|digits| digits.bytes().all(is_digit))
}

impl X402PaymentKey {
    /// Checks that it has one form only.
    pub(super) fn check(&self) -> Result<(), StateError> {
        let is_number = (1..=i64::MAX.unsigned_abs()).contains(&self.chain_id);
        if is_number && is_address(&self.asset) && is_address(&self.payer) { Ok(()) } else { Err(StateError::Sale) }
    }
}

impl NewX402Payment {
    pub(super) fn check(&self) -> Result<(), StateError> {
        self.key.check()?;
        let fits = is_bounded(&self.capability, MAX_NAME_BYTES)
            && is_bounded(&self.payload, MAX_LONG_BYTES)
            && (1..=i64::MAX.unsigned_abs()).contains(&self.amount);
        if fits { Ok(()) } else { Err(StateError::Sale) }
    }
}

impl SettlementOutcome {
    /// Name of the state, transaction and reason, as the table has them.
    pub(super) fn stored(&self) -> Result<(&'static str, Option<String>, Option<String>), StateError> {
        let cut = |reason: &str| reason.chars().filter(|c| !c.is_control()).take(crate::MAX_TEXT_CHARS).collect();
        match self {
            SettlementOutcome::Settled { transaction } if is_bounded(transaction, MAX_NAME_BYTES) => {
                Ok(("settled", Some(transaction.clone()), None))
            }
            SettlementOutcome::Settled { .. } => Err(StateError::Sale),
            SettlementOutcome::Refused { reason } => Ok(("refused", None, Some(cut(reason)))),
            SettlementOutcome::Unknown { reason } => Ok(("unknown", None, Some(cut(reason)))),
        }
    }
}

/// Columns of a payment, in a query that ends with `$rest`.
macro_rules! payment_columns {
    ($rest:literal) => {
        concat!(
            "SELECT chain_id, asset, payer, nonce, fingerprint, capability, amount, payload, valid_before, state, ",
            "fence, leased_until, taken_at, changed_at, settled_at, transaction_id, reason, delivered_at ",
            "FROM x402_payments ",
            $rest
        )
    };
}
pub(super) use payment_columns;

stored_row! {
    pub(super) struct StoredX402Payment {
        chain_id: i64,
        asset: String,
        payer: String,
        nonce: Vec<u8>,
        fingerprint: Vec<u8>,
        capability: String,
        amount: i64,
        payload: String,
        valid_before: i64,
        state: String,
        fence: i64,
        leased_until: i64,
        taken_at: i64,
        changed_at: i64,
        settled_at: Option<i64>,
        transaction_id: Option<String>,
        reason: Option<String>,
        delivered_at: Option<i64>,
    }
}

impl StoredX402Payment {
    pub(super) fn read(self) -> Result<X402Payment, StateError> {
        let StoredX402Payment { asset, payer, .. } = self;
        let name = format!("payment by {payer} of token {asset}");
        let bad = |what: &str| StateError::Row(format!("{name} has an invalid {what}"));
        let number = |number: i64| u64::try_from(number).map_err(|_| bad("time or number"));
        let hash = |bytes: Vec<u8>| bytes32(bytes).ok_or_else(|| bad("hash"));
        number(self.fence)?;
        let delivered_at = self.delivered_at.map(number).transpose()?;
        let state = match (self.state.as_str(), self.settled_at, self.transaction_id, self.reason) {
            ("taken", None, None, None) => X402PaymentState::Taken,
            ("settling", None, None, None) => X402PaymentState::Settling,
            ("settled", Some(at), Some(transaction), None) => {
                X402PaymentState::Settled { transaction, at: number(at)?, delivered_at }
            }
            ("refused", None, None, Some(reason)) => X402PaymentState::Refused { reason },
            ("unknown", None, None, Some(reason)) => X402PaymentState::Unknown { reason },
            _ => return Err(bad("state")),
        };
        let key = X402PaymentKey { chain_id: number(self.chain_id)?, asset, payer, nonce: hash(self.nonce)? };
        let content = NewX402Payment {
            fingerprint: hash(self.fingerprint)?,
            amount: number(self.amount)?,
            valid_before: number(self.valid_before)?,
            key,
            capability: self.capability,
            payload: self.payload,
        };
        Ok(X402Payment {
            content,
            state,
            taken_at: number(self.taken_at)?,
            changed_at: number(self.changed_at)?,
            leased_until: number(self.leased_until)?,
        })
    }
}
