//! Invoices that pay passes, made by the Lightning node that sells calls.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use cairn_lightning::{BackendError, BackendKind, InvoiceState, Invoices, NewInvoice, PaymentHash};
use cairn_operations::{InvoiceAccess, InvoiceStatus, LightningInvoice, LightningUnavailable};

use crate::holder::holder;

/// Makes and looks up invoices of a Lightning node.
pub(crate) struct PassInvoices {
    kind: BackendKind,
    node: Arc<dyn Invoices>,
    /// Name of this process, and a number: together they name one request among all that are ever made.
    holder: String,
    next: AtomicU64,
}

impl fmt::Debug for PassInvoices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PassInvoices").field("kind", &self.kind).finish_non_exhaustive()
    }
}

impl PassInvoices {
    pub(crate) fn new(kind: BackendKind, node: Arc<dyn Invoices>) -> Self {
        PassInvoices { kind, node, holder: holder(), next: AtomicU64::new(0) }
    }
}

fn unavailable(error: &BackendError) -> LightningUnavailable {
    tracing::warn!(%error, "the Lightning node makes or finds no invoice of a pass");
    LightningUnavailable { kind: error.code() }
}

impl InvoiceAccess for PassInvoices {
    fn create(&self, amount_sats: u64, memo: &str, expiry_secs: u32) -> Result<LightningInvoice, LightningUnavailable> {
        let label = format!("cairn-pass-{}-{}", self.holder, self.next.fetch_add(1, Ordering::Relaxed));
        let new = NewInvoice::new(amount_sats, memo, expiry_secs, &label).map_err(|error| {
            tracing::error!(%error, "an invoice of a pass cannot be asked for");
            LightningUnavailable { kind: "invalid_request" }
        })?;
        let made = self.node.create(&new).map_err(|error| unavailable(&error))?;
        Ok(LightningInvoice { provider: self.kind.name(), bolt11: made.bolt11, payment_hash: made.payment_hash.0 })
    }

    fn look_up(&self, payment_hash: &[u8; 32]) -> Result<InvoiceStatus, LightningUnavailable> {
        match self.node.lookup(&PaymentHash(*payment_hash)).map_err(|error| unavailable(&error))? {
            InvoiceState::Paid { paid_at, received_sats, .. } => Ok(InvoiceStatus::Paid { at: paid_at, received_sats }),
            InvoiceState::Open | InvoiceState::Expired | InvoiceState::Cancelled | InvoiceState::Unknown => {
                Ok(InvoiceStatus::Unpaid)
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use cairn_lightning::{MemoryStore, Secret, Simulated};
    use cairn_model::Network;

    use super::*;

    #[test]
    fn a_paid_invoice_is_seen_as_paid() {
        let key = Secret::new("e126f68f7eafcc8b74f54d269fe206be715000f94dac067d1c04a8ca3b2db734");
        let node = Arc::new(Simulated::new(Network::Regtest, &key, Arc::new(MemoryStore::default())).unwrap());
        let invoices = PassInvoices::new(BackendKind::Simulated, Arc::<Simulated>::clone(&node));
        let made = invoices.create(5, "m", 60).unwrap();
        // Each request has a name of its own.
        let other = invoices.create(5, "m", 60).unwrap();
        assert_ne!(made.payment_hash, other.payment_hash);
        assert_eq!(invoices.look_up(&made.payment_hash), Ok(InvoiceStatus::Unpaid));
        node.pay(&made.bolt11).unwrap();
        let status = invoices.look_up(&made.payment_hash);
        assert!(matches!(status, Ok(InvoiceStatus::Paid { received_sats: 5, .. })), "{status:?}");
        assert_eq!(invoices.look_up(&[0; 32]), Ok(InvoiceStatus::Unpaid));
        assert!(invoices.create(0, "m", 60).is_err());
    }
}
