//! Invoices of the simulated Lightning node, which is for regtest only.

use std::fmt;

use crate::{
    State, StateError,
    keys::to_stored,
    pool::sql,
    sales::limits::{MAX_LONG_BYTES, MAX_NAME_BYTES, PURGED_AT_ONCE, bytes32, is_bounded},
};

/// An invoice of the simulated Lightning node. `Debug` does not show the preimage. All times are in seconds since 1970.
#[derive(Clone, PartialEq, Eq)]
pub struct SimulatedInvoice {
    /// Name of the request for it; unique.
    pub label: String,
    /// SHA-256 of the preimage; unique.
    pub payment_hash: [u8; 32],
    /// The secret that its payer learns.
    pub preimage: [u8; 32],
    /// The invoice (BOLT 11).
    pub bolt11: String,
    /// Its amount.
    pub amount_sats: u64,
    /// Until when it can be paid.
    pub expires_at: u64,
    /// When it was paid; `None` if it was not.
    pub paid_at: Option<u64>,
}

impl fmt::Debug for SimulatedInvoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimulatedInvoice")
            .field("label", &self.label)
            .field("payment_hash", &hex::encode(self.payment_hash))
            .field("amount_sats", &self.amount_sats)
            .field("expires_at", &self.expires_at)
            .field("paid_at", &self.paid_at)
            .finish_non_exhaustive()
    }
}

const INSERT: &str = "INSERT INTO simulated_invoices (payment_hash, preimage, label, bolt11, amount_sats, expires_at, \
    paid_at) VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING";
const ONE: &str = "SELECT preimage, label, bolt11, amount_sats, expires_at, paid_at FROM simulated_invoices \
    WHERE payment_hash = $1";
// The condition makes the row a lock: of concurrent payments one succeeds.
const PAY: &str = "UPDATE simulated_invoices SET paid_at = $1 WHERE payment_hash = $2 AND paid_at IS NULL";
const PURGE: &str = "DELETE FROM simulated_invoices WHERE payment_hash IN (SELECT payment_hash FROM simulated_invoices \
    WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2)";

/// A stored row without its payment hash.
type StoredInvoice = (Vec<u8>, String, String, i64, i64, Option<i64>);

fn invoice_of(payment_hash: &[u8; 32], row: StoredInvoice) -> Result<SimulatedInvoice, StateError> {
    let (preimage, label, bolt11, amount_sats, expires_at, paid_at) = row;
    let bad = |what: &str| {
        StateError::Row(format!("the simulated invoice {} has an invalid {what}", hex::encode(payment_hash)))
    };
    let number = |number: i64| u64::try_from(number).map_err(|_| bad("time or amount"));
    Ok(SimulatedInvoice {
        payment_hash: *payment_hash,
        preimage: bytes32(preimage).ok_or_else(|| bad("preimage"))?,
        amount_sats: number(amount_sats)?,
        expires_at: number(expires_at)?,
        paid_at: paid_at.map(number).transpose()?,
        label,
        bolt11,
    })
}

impl State {
    /// Stores an invoice. Returns false if its label or its payment hash exists.
    ///
    /// # Errors
    /// Fails if a text is empty or too long, if the amount is 0, or if a time is out of range.
    pub async fn add_simulated_invoice(&self, new: &SimulatedInvoice) -> Result<bool, StateError> {
        let fits = is_bounded(&new.label, MAX_NAME_BYTES) && is_bounded(&new.bolt11, MAX_LONG_BYTES);
        if !fits || new.amount_sats == 0 {
            return Err(StateError::Sale);
        }
        let (amount, expires_at) = (to_stored(new.amount_sats)?, to_stored(new.expires_at)?);
        let paid_at = new.paid_at.map(to_stored).transpose()?;
        self.ready().await?;
        let insert = sql(INSERT).bind(new.payment_hash.as_slice()).bind(new.preimage.as_slice());
        let insert = insert.bind(&new.label).bind(&new.bolt11).bind(amount).bind(expires_at).bind(paid_at);
        Ok(insert.run(&self.pool, "cannot store a simulated invoice").await? > 0)
    }

    /// Returns the simulated invoice with this payment hash.
    pub async fn simulated_invoice(&self, payment_hash: &[u8; 32]) -> Result<Option<SimulatedInvoice>, StateError> {
        self.ready().await?;
        let row: Option<StoredInvoice> =
            sql(ONE).bind(payment_hash.as_slice()).first(&self.reads, "cannot look up a simulated invoice").await?;
        row.map(|row| invoice_of(payment_hash, row)).transpose()
    }

    /// Marks an unpaid invoice as paid at `at` (seconds since 1970), in one atomic step. Returns false if it is unknown
    /// or paid: of concurrent calls, in whatever processes, one returns true.
    pub async fn mark_simulated_invoice_paid(&self, payment_hash: &[u8; 32], at: u64) -> Result<bool, StateError> {
        let at = to_stored(at)?;
        self.ready().await?;
        let pay = sql(PAY).bind(at).bind(payment_hash.as_slice());
        Ok(pay.run(&self.pool, "cannot mark a simulated invoice as paid").await? > 0)
    }

    /// Removes invoices `kept_secs` after their end, paid or not; at most 1,000. Returns their number: call again until
    /// it is 0. `now` is in seconds since 1970.
    pub async fn purge_simulated_invoices(&self, now: u64, kept_secs: u64) -> Result<u64, StateError> {
        let before = to_stored(now.saturating_sub(kept_secs))?;
        self.ready().await?;
        let purge = sql(PURGE).bind(before).bind(PURGED_AT_ONCE);
        purge.run(&self.pool, "cannot remove old simulated invoices").await
    }
}
