//! How the payment of a checkout is seen on chain.

use cairn_domain::mempool::Mempool;
use cairn_model::Sats;
use cairn_reader::{ReadError, View};
use cairn_state::{Checkout, PaymentBlock, SeenPayment};

use crate::payment::Payment;

/// Price from which a payment needs more confirmations: 0.01 BTC.
const LARGE_SATS: Sats = 1_000_000;
/// Confirmations that a small payment needs, and a large one.
const CONFIRMATIONS: [u32; 2] = [1, 3];
/// Confirmations from which a payment is not looked at again.
pub const SETTLED_CONFIRMATIONS: u32 = 100;

/// Returns the confirmations that a payment of this price needs.
#[must_use]
pub fn needed_confirmations(price_sats: Sats) -> u32 {
    let [small, large] = CONFIRMATIONS;
    if price_sats < LARGE_SATS { small } else { large }
}

/// The payment of a checkout on chain.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CheckoutSight {
    /// The payment.
    pub payment: Payment,
    /// The same, as the checkout notes it.
    pub seen: SeenPayment,
}

impl CheckoutSight {
    /// Looks up what was paid for a checkout. `None` if it is not paid on chain, or if the index cannot say whether an
    /// accepted payment stands: it is behind, or it is on a branch that lost and contradicts what is known.
    pub fn look(view: &View<'_>, pool: Option<&Mempool>, checkout: &Checkout) -> Result<Option<Self>, ReadError> {
        let Some(script) = checkout.script() else { return Ok(None) };
        let tip = view.tip().height;
        if checkout.judged_height.is_some_and(|judged| judged > tip) {
            return Ok(None);
        }
        let price = checkout.content.price_sats;
        let payment = Payment::look(view, pool, script, price)?;
        let seen = seen(&payment, price, tip);
        let contradicts = match checkout.reverted_at {
            None => seen.completed_at.is_none(),
            Some(_) => seen.is_accepted,
        };
        let is_of_lost_branch = contradicts && checkout.judged_height == Some(tip);
        Ok((!is_of_lost_branch).then_some(CheckoutSight { payment, seen }))
    }

    /// Confirmations of the payment, counted from the block that completes it; 0 before.
    #[must_use]
    pub fn confirmations(&self) -> u32 {
        self.payment.completed.as_ref().map_or(0, |done| done.confirmations)
    }
}

fn seen(payment: &Payment, price: Sats, tip: u32) -> SeenPayment {
    let part = SeenPayment { received_sats: payment.confirmed, tip_height: Some(tip), ..SeenPayment::default() };
    let Some(done) = &payment.completed else { return part };
    SeenPayment {
        completed_at: Some(done.time),
        block: Some(PaymentBlock { height: done.height, hash: done.hash.clone() }),
        is_accepted: done.confirmations >= needed_confirmations(price),
        is_settled: done.confirmations >= SETTLED_CONFIRMATIONS,
        ..part
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::payment::Completion;

    #[test]
    fn large_payments_need_more_confirmations() {
        for (price, confirmations, is_accepted, is_settled) in [
            (1, 1, true, false),
            (999_999, 1, true, false),
            (1_000_000, 1, false, false),
            (1_000_000, 2, false, false),
            (1_000_000, 3, true, false),
            (1, 99, true, false),
            (1, 100, true, true),
        ] {
            let done = Completion { height: 7, hash: "ab".to_owned(), time: 5, confirmations };
            let payment = Payment { amount: price, confirmed: price, unconfirmed: 0, completed: Some(done) };
            let seen = seen(&payment, price, 9);
            assert_eq!((seen.is_accepted, seen.is_settled), (is_accepted, is_settled), "{price} {confirmations}");
            assert_eq!((seen.completed_at, seen.block.map(|block| block.height)), (Some(5), Some(7)));
        }
        let part = Payment { amount: 9, confirmed: 4, unconfirmed: 5, completed: None };
        let expected = SeenPayment { received_sats: 4, tip_height: Some(9), ..SeenPayment::default() };
        assert_eq!(seen(&part, 9, 9), expected);
    }
}
