//! Follows the payments of checkouts while a server runs: it notices those that nobody asks about, and suspends the keys
//! of those that a reorganization took away.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use cairn_clock::now_secs;
use cairn_link::IndexSource;
use cairn_model::BlockHash;
use cairn_operations::{InvoiceAccess, InvoiceStatus};
use cairn_payments::CheckoutSight;
use cairn_reader::{ReadError, Reader};
use cairn_state::{Checkout, CheckoutPayment, SeenPayment, State};
use tokio::{task::spawn_blocking, time::sleep};

use crate::exit::{Exit, Failure};

/// Interval of looks. With the cache of valid keys, a suspension takes effect within a minute.
const PAUSE: Duration = Duration::from_secs(15);
/// Checkouts that are judged with one view of the index.
const PAGE: u32 = 200;
/// Time after which the Lightning node is asked again for the same invoice, in seconds.
const ASK_AGAIN_SECS: u64 = 30;
/// Invoices that one look asks for at most, and how long it may take.
const MAX_INVOICES: u32 = 100;
const MAX_ASKING: Duration = Duration::from_secs(10);

/// The thread of a look panicked.
fn panicked<E>(_: E) -> Failure {
    Failure::new(Exit::Other, "a look at the payments of checkouts panicked; this is a bug")
}

/// Follows the payments of checkouts.
pub(crate) struct CheckoutWatch {
    state: State,
    index: Arc<dyn IndexSource>,
    invoices: Option<Arc<dyn InvoiceAccess>>,
    /// The tip at which all payments on chain were judged: only another one changes them.
    judged_at: Option<BlockHash>,
}

impl CheckoutWatch {
    pub(crate) fn new(
        state: State,
        index: Arc<dyn IndexSource>,
        invoices: Option<Arc<dyn InvoiceAccess>>,
    ) -> Self {
        CheckoutWatch { state, index, invoices, judged_at: None }
    }

    /// Looks again and again. Never ends by itself. Any number of processes may do so on one database.
    pub(crate) async fn follow(mut self) {
        loop {
            sleep(PAUSE).await;
            if let Err(error) = self.look(now_secs()).await {
                tracing::warn!(%error, "payments of checkouts are not followed at present");
            }
        }
    }

    /// Looks at all payments that may have changed.
    async fn look(&mut self, now: u64) -> Result<(), Failure> {
        // Both, even if the first one fails.
        let on_chain = self.look_on_chain(now).await;
        self.ask_for_invoices(now).await?;
        on_chain
    }

    async fn look_on_chain(&mut self, now: u64) -> Result<(), Failure> {
        let Some(reader) = self.index.reader() else { return Ok(()) };
        let Some(tip) = tip_of(&reader)? else { return Ok(()) };
        if self.judged_at == Some(tip) {
            return Ok(());
        }
        let mut after = String::new();
        loop {
            let page = self.state.unsettled_checkouts(&after, now, PAGE).await?;
            let Some(last) = page.last() else { break };
            after.clone_from(&last.id);
            let of_page = Arc::clone(&reader);
            let judged = spawn_blocking(move || judge(&of_page, page)).await.map_err(panicked)??;
            for (checkout, seen) in judged {
                self.note(&checkout, &seen, now).await?;
            }
        }
        self.judged_at = Some(tip);
        Ok(())
    }

    async fn ask_for_invoices(&self, now: u64) -> Result<(), Failure> {
        let Some(invoices) = &self.invoices else { return Ok(()) };
        let began = Instant::now();
        for checkout in self.state.unpaid_invoices(now, ASK_AGAIN_SECS, MAX_INVOICES).await? {
            let CheckoutPayment::Lightning { payment_hash, .. } = checkout.payment else { continue };
            let node = Arc::clone(invoices);
            let asked = spawn_blocking(move || node.look_up(&payment_hash)).await.map_err(panicked)?;
            // The log has the failure. The node is left alone until the next look.
            let Ok(status) = asked else { break };
            if let InvoiceStatus::Paid { at, received_sats } = status {
                let seen = SeenPayment::of_invoice(checkout.content.price_sats, at, received_sats);
                self.note(&checkout, &seen, now).await?;
            }
            self.state.note_invoice_asked(&checkout.id, now).await?;
            if began.elapsed() > MAX_ASKING {
                break;
            }
        }
        Ok(())
    }

    /// Notes how a payment is seen, if that changes something.
    async fn note(&self, before: &Checkout, seen: &SeenPayment, now: u64) -> Result<(), Failure> {
        if before.seen(seen, now) == *before {
            return Ok(());
        }
        let Some(after) = self.state.note_checkout_payment(&before.id, seen, now).await? else { return Ok(()) };
        let (checkout, had_key) = (before.id.as_str(), after.claimed.is_some());
        match (before.reverted_at, after.reverted_at) {
            (None, Some(_)) => {
                tracing::warn!(checkout, had_key, "a reorganization took the payment of a pass away: it is suspended");
            }
            (Some(_), None) => tracing::info!(checkout, had_key, "the payment of a pass is back: it works again"),
            _ => {}
        }
        Ok(())
    }
}

fn tip_of(reader: &Reader) -> Result<Option<BlockHash>, ReadError> {
    match reader.view() {
        Ok(view) => Ok(Some(view.tip().hash)),
        Err(ReadError::Empty) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Judges payments with one view of the index. Left out are those about which the index cannot say anything.
fn judge(reader: &Reader, checkouts: Vec<Checkout>) -> Result<Vec<(Checkout, SeenPayment)>, ReadError> {
    let view = reader.view()?;
    let mut judged = Vec::new();
    for checkout in checkouts {
        if let Some(sight) = CheckoutSight::look(&view, None, &checkout)? {
            judged.push((checkout, sight.seen));
        }
    }
    Ok(judged)
}
