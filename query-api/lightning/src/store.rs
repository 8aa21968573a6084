//! Where simulated invoices are kept.

use std::{
    collections::{HashMap, HashSet},
    fmt,
};

use parking_lot::Mutex;

use crate::{PaymentHash, Preimage, StoreError};

/// Most invoices of a store in memory.
pub const MAX_STORED_INVOICES: usize = 10_000;

/// A simulated invoice. `Debug` does not show the preimage.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoredInvoice {
    /// Name of the request; unique.
    pub label: String,
    /// Its payment hash; unique.
    pub payment_hash: PaymentHash,
    /// Its preimage.
    pub preimage: Preimage,
    /// The invoice.
    pub bolt11: String,
    /// Its amount, in satoshis.
    pub amount_sats: u64,
    /// Until when it can be paid, in seconds since 1970.
    pub expires_at: u64,
    /// When it was paid, in seconds since 1970.
    pub paid_at: Option<u64>,
}

/// Keeps simulated invoices. They must survive a restart, and processes that share a database share them.
pub trait InvoiceStore: Send + Sync + fmt::Debug {
    /// Adds an invoice.
    ///
    /// # Errors
    /// Fails with [`StoreError::Duplicate`] if its label or its payment hash exists.
    fn insert(&self, invoice: StoredInvoice) -> Result<(), StoreError>;

    /// Returns the invoice with this payment hash.
    fn get(&self, payment_hash: &PaymentHash) -> Result<Option<StoredInvoice>, StoreError>;

    /// Marks an unpaid invoice as paid, in one atomic step. False if it is unknown or already paid.
    fn mark_paid(&self, payment_hash: &PaymentHash, paid_at: u64) -> Result<bool, StoreError>;
}

/// A store in memory, for tests: it does not survive a restart. It has room for 10,000 invoices.
#[derive(Debug, Default)]
pub struct MemoryStore(Mutex<Rows>);

#[derive(Debug, Default)]
struct Rows {
    by_hash: HashMap<PaymentHash, StoredInvoice>,
    labels: HashSet<String>,
}

impl InvoiceStore for MemoryStore {
    fn insert(&self, invoice: StoredInvoice) -> Result<(), StoreError> {
        let mut rows = self.0.lock();
        if rows.by_hash.contains_key(&invoice.payment_hash) || rows.labels.contains(&invoice.label) {
            return Err(StoreError::Duplicate);
        }
        if rows.by_hash.len() >= MAX_STORED_INVOICES {
            return Err(StoreError::Full(MAX_STORED_INVOICES));
        }
        rows.labels.insert(invoice.label.clone());
        rows.by_hash.insert(invoice.payment_hash, invoice);
        Ok(())
    }

    fn get(&self, payment_hash: &PaymentHash) -> Result<Option<StoredInvoice>, StoreError> {
        Ok(self.0.lock().by_hash.get(payment_hash).cloned())
    }

    fn mark_paid(&self, payment_hash: &PaymentHash, paid_at: u64) -> Result<bool, StoreError> {
        let mut rows = self.0.lock();
        match rows.by_hash.get_mut(payment_hash) {
            Some(row) if row.paid_at.is_none() => {
                row.paid_at = Some(paid_at);
                Ok(true)
            }
            _ => Ok(false),
        }
    }
}
