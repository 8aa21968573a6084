//! A checkout, its state, and its row.

use crate::{StateError, pool::stored_row};

/// Time in seconds after its expiry during which an underpaid checkout can be topped up.
pub const TOP_UP_SECS: u64 = 86_400;

/// A checkout to open.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewCheckout {
    /// Name of the plan.
    pub plan: String,
    /// Its price.
    pub price_sats: u64,
    /// How long the pass lasts from the first payment on, in seconds.
    pub valid_secs: u64,
    /// Until when it should be paid, in seconds since 1970.
    pub expires_at: u64,
}

/// How a checkout is paid.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CheckoutPayment {
    /// By a Lightning invoice.
    Lightning {
        /// Kind of the node that made it.
        provider: String,
        /// Its payment hash.
        payment_hash: [u8; 32],
        /// The invoice (BOLT 11).
        invoice: String,
    },
    /// To an address that no other payment has.
    OnChain {
        /// Its script.
        script: Vec<u8>,
        /// The address.
        address: String,
    },
}

impl CheckoutPayment {
    /// Its method: `lightning` or `onchain`.
    #[must_use]
    pub fn method(&self) -> &'static str {
        match self {
            CheckoutPayment::Lightning { .. } => "lightning",
            CheckoutPayment::OnChain { .. } => "onchain",
        }
    }
}

/// The block with which a payment became complete.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PaymentBlock {
    /// Its height.
    pub height: u32,
    /// Its hash in hex.
    pub hash: String,
}

/// A checkout, without its secret. All times are in seconds since 1970.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Checkout {
    /// Its id.
    pub id: String,
    /// Plan, price and expiry.
    pub content: NewCheckout,
    /// When it was opened.
    pub created_at: u64,
    /// How it is paid.
    pub payment: CheckoutPayment,
    /// Satoshis that had arrived when the payment was last seen.
    pub received_sats: u64,
    /// When the accepted payment became complete; `None` if none was accepted.
    pub paid_at: Option<u64>,
    /// The block that completed it.
    pub paid_in: Option<PaymentBlock>,
    /// When a payment was accepted for the first time: the pass begins.
    pub first_paid_at: Option<u64>,
    /// Since when the chain lacks the accepted payment.
    pub reverted_at: Option<u64>,
    /// Height of the highest tip at which an accepted payment on chain was looked at.
    pub judged_height: Option<u32>,
    /// True once nothing about the payment can change any more.
    pub is_settled: bool,
    /// When it gave its key, and the id of that key.
    pub claimed: Option<(u64, String)>,
}

/// State of a checkout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CheckoutState {
    /// It waits for its payment, or for confirmations of it.
    Open,
    /// It is paid.
    Paid,
    /// It was paid after its expiry, and counts as paid.
    Late,
    /// Less than the price has arrived; it can be topped up.
    Underpaid,
    /// It was not paid in time.
    Expired,
    /// A reorganization of the chain took its payment away.
    Reverted,
}

impl Checkout {
    /// Its state at a time (seconds since 1970).
    #[must_use]
    pub fn state(&self, now: u64) -> CheckoutState {
        if self.reverted_at.is_some() {
            CheckoutState::Reverted
        } else if let Some(paid_at) = self.paid_at {
            if paid_at > self.content.expires_at { CheckoutState::Late } else { CheckoutState::Paid }
        } else if self.received_sats >= self.content.price_sats {
            CheckoutState::Open
        } else if self.received_sats > 0 && now <= self.top_up_until() {
            CheckoutState::Underpaid
        } else if self.received_sats == 0 && now <= self.content.expires_at {
            CheckoutState::Open
        } else {
            CheckoutState::Expired
        }
    }

    /// The last second in which an underpaid one can be topped up.
    #[must_use]
    pub fn top_up_until(&self) -> u64 {
        self.content.expires_at.saturating_add(TOP_UP_SECS)
    }

    /// The end of the pass; `None` before its first payment.
    #[must_use]
    pub fn pass_ends_at(&self) -> Option<u64> {
        self.first_paid_at.map(|from| from.saturating_add(self.content.valid_secs))
    }
}

/// Columns of a checkout, in a query that ends with `$rest`.
macro_rules! checkout_columns {
    ($rest:literal) => {
        concat!(
            "SELECT id, claim_sha256, plan, price_sats, valid_secs, created_at, expires_at, payment_script, ",
            "payment_address, payment_hash, invoice, provider, received_sats, paid_at, paid_height, paid_hash, ",
            "first_paid_at, reverted_at, judged_height, settled, key_id, claimed_at FROM checkouts ",
            $rest
        )
    };
}
pub(super) use checkout_columns;

stored_row! {
    pub(super) struct StoredCheckout {
        id: String,
        /// SHA-256 of the claim secret, in hex.
        pub(super) claim_sha256: String,
        plan: String,
        price_sats: i64,
        valid_secs: i64,
        created_at: i64,
        expires_at: i64,
        payment_script: Option<String>,
        payment_address: Option<String>,
        payment_hash: Option<Vec<u8>>,
        invoice: Option<String>,
        provider: Option<String>,
        received_sats: i64,
        paid_at: Option<i64>,
        paid_height: Option<i64>,
        paid_hash: Option<String>,
        first_paid_at: Option<i64>,
        reverted_at: Option<i64>,
        judged_height: Option<i64>,
        settled: i64,
        key_id: Option<String>,
        claimed_at: Option<i64>,
    }
}

impl StoredCheckout {
    pub(super) fn read(self) -> Result<Checkout, StateError> {
        let id = self.id.clone();
        let bad = |what: &str| StateError::Row(format!("checkout {id} has an invalid {what}"));
        let number = |number: i64| u64::try_from(number).map_err(|_| bad("time or number"));
        let mark = |at: Option<i64>| at.map(number).transpose();
        let address = self.payment_script.zip(self.payment_address);
        let payment = match (address, self.payment_hash, self.invoice.zip(self.provider)) {
            (Some((script, address)), None, None) => {
                CheckoutPayment::OnChain { script: hex::decode(script).map_err(|_| bad("script"))?, address }
            }
            (None, Some(hash), Some((invoice, provider))) => CheckoutPayment::Lightning {
                payment_hash: hash.try_into().map_err(|_| bad("payment hash"))?,
                invoice,
                provider,
            },
            _ => return Err(bad("payment")),
        };
        let height_of = |number: i64| u32::try_from(number).map_err(|_| bad("height"));
        let block = |(height, hash)| Ok::<_, StateError>(PaymentBlock { height: height_of(height)?, hash });
        Ok(Checkout {
            content: NewCheckout {
                plan: self.plan,
                price_sats: number(self.price_sats)?,
                valid_secs: number(self.valid_secs)?,
                expires_at: number(self.expires_at)?,
            },
            created_at: number(self.created_at)?,
            payment,
            received_sats: number(self.received_sats)?,
            paid_at: mark(self.paid_at)?,
            paid_in: self.paid_height.zip(self.paid_hash).map(block).transpose()?,
            first_paid_at: mark(self.first_paid_at)?,
            reverted_at: mark(self.reverted_at)?,
            judged_height: self.judged_height.map(height_of).transpose()?,
            is_settled: self.settled != 0,
            claimed: mark(self.claimed_at)?.zip(self.key_id),
            id: self.id,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checkout(received_sats: u64, paid_at: Option<u64>, reverted_at: Option<u64>) -> Checkout {
        Checkout {
            id: "co_0".to_owned(),
            content: NewCheckout { plan: "p".to_owned(), price_sats: 1_000, valid_secs: 60, expires_at: 5_000 },
            created_at: 0,
            payment: CheckoutPayment::OnChain { script: vec![0], address: "a".to_owned() },
            received_sats,
            paid_at,
            paid_in: None,
            first_paid_at: paid_at.map(|at| at + 1),
            reverted_at,
            judged_height: None,
            is_settled: false,
            claimed: None,
        }
    }

    #[test]
    fn the_state_follows_from_payment_and_time() {
        let late = 5_000 + TOP_UP_SECS;
        for (received, paid_at, reverted_at, now, expected) in [
            (0, None, None, 5_000, CheckoutState::Open),
            (0, None, None, 5_001, CheckoutState::Expired),
            (999, None, None, 1, CheckoutState::Underpaid),
            (999, None, None, late, CheckoutState::Underpaid),
            (999, None, None, late + 1, CheckoutState::Expired),
            // Complete, and not confirmed often enough.
            (1_000, None, None, late + 1, CheckoutState::Open),
            (1_000, Some(5_000), None, late, CheckoutState::Paid),
            (1_000, Some(5_001), None, late, CheckoutState::Late),
            (0, Some(5_000), Some(6_000), 6_001, CheckoutState::Reverted),
        ] {
            let checkout = checkout(received, paid_at, reverted_at);
            assert_eq!(checkout.state(now), expected, "{received} {paid_at:?} {reverted_at:?} {now}");
        }
        assert_eq!(checkout(1_000, Some(9), None).pass_ends_at(), Some(10 + 60));
        assert_eq!(checkout(0, None, None).pass_ends_at(), None);
    }
}
