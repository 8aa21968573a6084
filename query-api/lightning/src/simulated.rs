//! Invoices without a Lightning node, for regtest: real BOLT 11 invoices with a key of ours, paid by a local call.

use std::{sync::Arc, time::Duration};

use bitcoin::{
    hashes::{Hash, sha256},
    secp256k1::{Message, Secp256k1, SecretKey},
};
use cairn_model::Network;
use lightning_invoice::{Currency, InvoiceBuilder, PaymentSecret};
use thiserror::Error;

use crate::{
    BackendError, ConfigError, Invoice, InvoiceState, InvoiceStore, Invoices, NewInvoice, NodeInfo, PaymentHash,
    Preimage, Secret, StoreError, StoredInvoice, bolt11,
};

/// Blocks between the arrival of a payment and its end that invoices ask for: BOLT 11's default.
const FINAL_CLTV_DELTA: u64 = 18;

/// Makes invoices with a key of ours, and pays them on request. Several processes with the same key and store are one
/// backend.
#[derive(Debug)]
pub struct Simulated {
    /// `Debug` of this type does not show the key.
    key: SecretKey,
    store: Arc<dyn InvoiceStore>,
    now: fn() -> u64,
}

/// Why a simulated invoice is not paid.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum PayError {
    /// The text is malformed, or an invoice that this backend did not make.
    #[error("this is not an invoice of the simulated backend; pay an invoice that this service made")]
    NotOurs,
    /// It has expired.
    #[error("the invoice expired at {0} (seconds since 1970); ask for a new one")]
    Expired(u64),
    /// It is paid: a Lightning invoice is paid once.
    #[error("the invoice is already paid; ask for a new one")]
    AlreadyPaid,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Simulated {
    /// Creates the backend with the key of the node: 64 hexadecimal digits that are a private key of secp256k1.
    ///
    /// # Errors
    /// Fails with [`ConfigError::SimulatedNetwork`] on every network but regtest: anyone can pay these invoices.
    pub fn new(network: Network, key: &Secret, store: Arc<dyn InvoiceStore>) -> Result<Self, ConfigError> {
        if network != Network::Regtest {
            return Err(ConfigError::SimulatedNetwork(network));
        }
        let bad = || ConfigError::BadCredential("it is not a private key of 64 hexadecimal digits");
        let bytes = hex::decode(key.expose().trim()).map_err(|_| bad())?;
        let key = SecretKey::from_slice(&bytes).map_err(|_| bad())?;
        Ok(Simulated { key, store, now: cairn_clock::now_secs })
    }

    /// Pays an invoice as a wallet would, and returns the preimage that the wallet learns.
    pub fn pay(&self, bolt11: &str) -> Result<Preimage, PayError> {
        let decoded = bolt11::decode(bolt11).map_err(|_| PayError::NotOurs)?;
        let stored = self.store.get(&decoded.payment_hash)?.ok_or(PayError::NotOurs)?;
        if !stored.bolt11.eq_ignore_ascii_case(bolt11) {
            return Err(PayError::NotOurs);
        }
        let now = (self.now)();
        if now >= stored.expires_at && stored.paid_at.is_none() {
            return Err(PayError::Expired(stored.expires_at));
        }
        // Of two calls at the same time, in whatever processes, one pays.
        if !self.store.mark_paid(&decoded.payment_hash, now)? {
            return Err(PayError::AlreadyPaid);
        }
        Ok(stored.preimage)
    }

    fn sign(&self, new: &NewInvoice, preimage: &Preimage, secret: [u8; 32], now: u64) -> Result<String, StoreError> {
        let context = Secp256k1::new();
        let sign = |message: &Message| context.sign_ecdsa_recoverable(message, &self.key);
        let payment_hash = sha256::Hash::from_byte_array(preimage.payment_hash().0);
        InvoiceBuilder::new(Currency::Regtest)
            .description(new.memo().to_owned())
            .payment_hash(payment_hash)
            .payment_secret(PaymentSecret(secret))
            .duration_since_epoch(Duration::from_secs(now))
            .min_final_cltv_expiry_delta(FINAL_CLTV_DELTA)
            .expiry_time(Duration::from_secs(u64::from(new.expiry_secs())))
            .amount_milli_satoshis(new.amount_sats().saturating_mul(1_000))
            .basic_mpp()
            .build_signed(sign)
            .map(|invoice| invoice.to_string())
            .map_err(|error| StoreError::Failed(error.to_string()))
    }
}

impl Invoices for Simulated {
    fn create(&self, new: &NewInvoice) -> Result<Invoice, BackendError> {
        let now = (self.now)();
        let preimage = Preimage::new(random()?);
        let bolt11 = self.sign(new, &preimage, random()?, now)?;
        let payment_hash = preimage.payment_hash();
        let invoice = bolt11::check(&bolt11, &payment_hash, new, Network::Regtest, now).map_err(StoreError::Failed)?;
        self.store.insert(StoredInvoice {
            label: new.label().to_owned(),
            payment_hash,
            preimage,
            bolt11,
            amount_sats: new.amount_sats(),
            expires_at: invoice.expires_at,
            paid_at: None,
        })?;
        Ok(invoice)
    }

    fn lookup(&self, payment_hash: &PaymentHash) -> Result<InvoiceState, BackendError> {
        let Some(stored) = self.store.get(payment_hash)? else { return Ok(InvoiceState::Unknown) };
        Ok(match stored.paid_at {
            Some(paid_at) => {
                InvoiceState::Paid { preimage: stored.preimage, paid_at, received_sats: stored.amount_sats }
            }
            None if (self.now)() >= stored.expires_at => InvoiceState::Expired,
            None => InvoiceState::Open,
        })
    }

    fn node(&self) -> Result<NodeInfo, BackendError> {
        Ok(NodeInfo { network: Network::Regtest, alias: Some("simulated".to_owned()) })
    }
}

fn random() -> Result<[u8; 32], StoreError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| StoreError::Failed(format!("no random numbers: {error}")))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::MemoryStore;

    static NOW: AtomicU64 = AtomicU64::new(1_700_000_000);

    #[test]
    fn invoices_expire() {
        let key = Secret::new("e126f68f7eafcc8b74f54d269fe206be715000f94dac067d1c04a8ca3b2db734");
        let mut simulated = Simulated::new(Network::Regtest, &key, Arc::new(MemoryStore::default())).unwrap();
        simulated.now = || NOW.load(Ordering::Relaxed);
        let new = |label: &str| NewInvoice::new(5, "m", 60, label).unwrap();
        let (paid, unpaid) = (simulated.create(&new("a")).unwrap(), simulated.create(&new("b")).unwrap());
        assert_eq!(paid.expires_at, 1_700_000_060);
        NOW.store(1_700_000_059, Ordering::Relaxed);
        let preimage = simulated.pay(&paid.bolt11).unwrap();
        NOW.store(1_700_000_060, Ordering::Relaxed);
        assert_eq!(simulated.pay(&unpaid.bolt11), Err(PayError::Expired(1_700_000_060)));
        assert_eq!(simulated.pay(&paid.bolt11), Err(PayError::AlreadyPaid));
        assert_eq!(simulated.lookup(&unpaid.payment_hash), Ok(InvoiceState::Expired));
        let state = InvoiceState::Paid { preimage, paid_at: 1_700_000_059, received_sats: 5 };
        assert_eq!(simulated.lookup(&paid.payment_hash), Ok(state));
    }
}
