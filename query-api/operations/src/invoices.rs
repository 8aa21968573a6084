//! Access to a Lightning node, which makes the invoices of passes. The till of the framework takes payments for single
//! calls.

use std::fmt;

/// An invoice.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LightningInvoice {
    /// Kind of the node that made it; `simulated` if nothing is paid in truth.
    pub provider: &'static str,
    /// The invoice (BOLT 11).
    pub bolt11: String,
    /// Its payment hash.
    pub payment_hash: [u8; 32],
}

/// State of an invoice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InvoiceStatus {
    /// It is not paid.
    Unpaid,
    /// It is paid: the node has its preimage.
    Paid {
        /// When, in seconds since 1970.
        at: u64,
        /// Satoshis that arrived.
        received_sats: u64,
    },
}

/// The Lightning node does not do it at present. The details are in the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LightningUnavailable {
    /// The kind of failure, in a word that clients may see.
    pub kind: &'static str,
}

/// A Lightning node. Calls may block, but end within its time-out.
pub trait InvoiceAccess: Send + Sync + fmt::Debug + 'static {
    /// Makes an invoice that can be paid for `expiry_secs`.
    ///
    /// # Errors
    /// Fails if the node makes none at present.
    fn create(&self, amount_sats: u64, memo: &str, expiry_secs: u32) -> Result<LightningInvoice, LightningUnavailable>;

    /// Looks up an invoice. One that the node does not know is unpaid.
    ///
    /// # Errors
    /// Fails if the node does not answer.
    fn look_up(&self, payment_hash: &[u8; 32]) -> Result<InvoiceStatus, LightningUnavailable>;
}
