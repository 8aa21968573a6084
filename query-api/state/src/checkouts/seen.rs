//! How the payments of checkouts are seen, and what follows for their passes.

use crate::{
    State, StateError,
    checkouts::checkout::{Checkout, CheckoutPayment, PaymentBlock, StoredCheckout, checkout_columns},
    keys::to_stored,
    pool::sql,
};

/// Time in seconds after its expiry during which a checkout that is not paid is watched on chain: a payment in this
/// time is honoured.
pub const CHECKOUT_WATCHED_SECS: u64 = 30 * 86_400;
/// Time in seconds after its expiry during which a Lightning node is asked for an unpaid invoice: a payment that began
/// in time may end a little later.
const INVOICE_WATCHED_SECS: u64 = 3_600;

/// A payment as it is seen now.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SeenPayment {
    /// Satoshis that have arrived: confirmed outputs, or a paid invoice.
    pub received_sats: u64,
    /// When it became complete, in seconds since 1970; `None` if it is not complete.
    pub completed_at: Option<u64>,
    /// The block that completes it.
    pub block: Option<PaymentBlock>,
    /// Height of the tip at which a payment on chain was looked up; `None` for an invoice.
    pub tip_height: Option<u32>,
    /// True if a complete payment has the confirmations that it needs to be accepted.
    pub is_accepted: bool,
    /// True if nothing about it can change any more.
    pub is_settled: bool,
}

impl SeenPayment {
    /// A paid invoice. Some nodes take their own fees from a payment: its payer paid the price nevertheless.
    #[must_use]
    pub fn of_invoice(price_sats: u64, paid_at: u64, received_sats: u64) -> Self {
        SeenPayment {
            received_sats: received_sats.max(price_sats),
            completed_at: Some(paid_at),
            block: None,
            tip_height: None,
            is_accepted: true,
            is_settled: true,
        }
    }
}

const ONE: &str = checkout_columns!("WHERE id = $1");
const UNSETTLED: &str = checkout_columns!(
    "WHERE settled = 0 AND method = 'onchain' AND id > $1 AND (first_paid_at IS NOT NULL OR expires_at > $2) \
     ORDER BY id LIMIT $3"
);
const INVOICES: &str = checkout_columns!(
    "WHERE settled = 0 AND method = 'lightning' AND first_paid_at IS NULL AND expires_at > $1 AND asked_at < $2 \
     ORDER BY asked_at, id LIMIT $3"
);
const UNPAID_INVOICES: &str = checkout_columns!(
    "WHERE settled = 0 AND method = 'lightning' AND first_paid_at IS NULL AND id > $1 ORDER BY id LIMIT $2"
);
const ASKED: &str = "UPDATE checkouts SET asked_at = $1 WHERE id = $2";
const SEEN: &str = "UPDATE checkouts SET received_sats = $1, paid_at = $2, paid_height = $3, paid_hash = $4, \
    first_paid_at = $5, reverted_at = $6, judged_height = $7, settled = $8 WHERE id = $9";
const FORGET_CLIENT: &str = "UPDATE checkouts SET client = NULL WHERE id = $1";
const SUSPEND: &str = "UPDATE access_keys SET suspended_at = $1 WHERE id = $2";

impl Checkout {
    /// The checkout after its payment was seen in this way at `now` (seconds since 1970). A payment that was accepted
    /// stays accepted in another block, whatever its confirmations there; one that was reverted needs them again.
    ///
    /// A chain takes a block away only for a longer branch. So once a payment was accepted, a tip that is not higher
    /// than those before changes nothing: it is of an index that is behind, or on a branch that lost.
    #[must_use]
    pub fn seen(&self, seen: &SeenPayment, now: u64) -> Checkout {
        if self.judged_height.is_some_and(|judged| seen.tip_height.is_none_or(|tip| tip <= judged)) {
            return self.clone();
        }
        let mut after = Checkout { received_sats: seen.received_sats, ..self.clone() };
        let stays = self.first_paid_at.is_some() && self.reverted_at.is_none();
        match seen.completed_at {
            Some(at) if seen.is_accepted || stays => {
                after.paid_at = Some(at);
                after.paid_in.clone_from(&seen.block);
                after.first_paid_at = self.first_paid_at.or(Some(now));
                after.reverted_at = None;
                after.is_settled = seen.is_settled;
            }
            None if stays => after.reverted_at = Some(now),
            _ => {}
        }
        if after.first_paid_at.is_some() {
            after.judged_height = seen.tip_height;
        }
        after
    }
}

impl State {
    /// Notes how the payment of a checkout is seen, and returns the checkout with it. If that takes away an accepted
    /// payment or brings it back, the key of the checkout is suspended or works again, in the same transaction. `now`
    /// is in seconds since 1970. A settled payment stays as it is. `None` if there is no such checkout.
    pub async fn note_checkout_payment(
        &self,
        id: &str,
        seen: &SeenPayment,
        now: u64,
    ) -> Result<Option<Checkout>, StateError> {
        self.ready().await?;
        let what = "cannot note the payment of a checkout";
        let stored = |at: Option<u64>| at.map(to_stored).transpose();
        let mut tx = self.pool.serialized().await?;
        let row: Option<StoredCheckout> = sql(ONE).bind(id).first(&mut tx, what).await?;
        let Some(before) = row.map(StoredCheckout::read).transpose()? else { return Ok(None) };
        let after = if before.is_settled { before.clone() } else { before.seen(seen, now) };
        if after == before {
            return Ok(Some(before));
        }
        let (height, hash) = after.paid_in.as_ref().map(|block| (i64::from(block.height), &block.hash)).unzip();
        let update = sql(SEEN).bind(to_stored(after.received_sats)?).bind(stored(after.paid_at)?);
        let update = update.bind(height).bind(hash).bind(stored(after.first_paid_at)?);
        let update = update.bind(stored(after.reverted_at)?).bind(after.judged_height.map(i64::from));
        let update = update.bind(i64::from(after.is_settled)).bind(id);
        update.run(&mut tx, what).await?;
        if before.first_paid_at.is_none() && after.first_paid_at.is_some() {
            sql(FORGET_CLIENT).bind(id).run(&mut tx, what).await?;
        }
        if let Some((_, key_id)) = after.claimed.as_ref().filter(|_| before.reverted_at != after.reverted_at) {
            let suspend = sql(SUSPEND).bind(stored(after.reverted_at)?).bind(key_id);
            suspend.run(&mut tx, what).await?;
        }
        tx.end().await?;
        self.changed().await;
        Ok(Some(after))
    }

    /// Checkouts whose payment on chain may change: by id, at most `limit` of those after an id. `now` is in seconds
    /// since 1970.
    pub async fn unsettled_checkouts(&self, after: &str, now: u64, limit: u32) -> Result<Vec<Checkout>, StateError> {
        let since = to_stored(now.saturating_sub(CHECKOUT_WATCHED_SECS))?;
        self.ready().await?;
        let rows: Vec<StoredCheckout> = sql(UNSETTLED)
            .bind(after)
            .bind(since)
            .bind(i64::from(limit))
            .all(&self.reads, "cannot list checkouts")
            .await?;
        rows.into_iter().map(StoredCheckout::read).collect()
    }

    /// Checkouts with an unpaid invoice for which [`State::note_invoice_asked`] was not called in the last `pause`
    /// seconds, those first for which that is longest ago, at most `limit`. `now` is in seconds since 1970.
    pub async fn unpaid_invoices(&self, now: u64, pause: u64, limit: u32) -> Result<Vec<Checkout>, StateError> {
        let since = to_stored(now.saturating_sub(INVOICE_WATCHED_SECS))?;
        let asked = to_stored(now.saturating_sub(pause))?;
        self.ready().await?;
        let rows: Vec<StoredCheckout> = sql(INVOICES)
            .bind(since)
            .bind(asked)
            .bind(i64::from(limit))
            .all(&self.reads, "cannot list checkouts")
            .await?;
        rows.into_iter().map(StoredCheckout::read).collect()
    }

    /// All checkouts with an unpaid invoice, whatever their expiry: by id, at most `limit` of those after an id.
    pub async fn unpaid_lightning_checkouts(&self, after: &str, limit: u32) -> Result<Vec<Checkout>, StateError> {
        self.ready().await?;
        let rows: Vec<StoredCheckout> =
            sql(UNPAID_INVOICES).bind(after).bind(i64::from(limit)).all(&self.reads, "cannot list checkouts").await?;
        rows.into_iter().map(StoredCheckout::read).collect()
    }

    /// Notes that the Lightning node was asked for the invoice of a checkout at `now` (seconds since 1970).
    pub async fn note_invoice_asked(&self, id: &str, now: u64) -> Result<(), StateError> {
        let now = to_stored(now)?;
        self.ready().await?;
        sql(ASKED).bind(now).bind(id).run(&self.pool, "cannot note a question about an invoice").await.map(drop)
    }
}

impl Checkout {
    /// The script that is paid to, if it is paid on chain.
    #[must_use]
    pub fn script(&self) -> Option<&[u8]> {
        match &self.payment {
            CheckoutPayment::OnChain { script, .. } => Some(script),
            CheckoutPayment::Lightning { .. } => None,
        }
    }
}
