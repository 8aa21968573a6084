//! The till: sells calls over Lightning.

use std::{fmt, sync::Arc};

use axum::http::{HeaderName, HeaderValue, header};
use cairn_http::{Call, CallOffer, NotTaken, Offer, SoldCall, TakenPayment, Till};
use cairn_l402::is_l402;
use cairn_lightning::{BackendKind, Invoices};

use crate::{flights::Flights, invoicing::Invoicing, offer, proof};

/// Sells calls over Lightning, with the invoices of a daemon.
pub struct LightningTill {
    pub(crate) invoicing: Invoicing,
    pub(crate) flights: Flights,
    /// Name of the daemon's kind.
    pub(crate) provider: &'static str,
    /// True if nothing is paid in truth.
    pub(crate) is_simulated: bool,
    /// Name of this process in leases.
    holder: String,
}

impl fmt::Debug for LightningTill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LightningTill").field("provider", &self.provider).finish_non_exhaustive()
    }
}

impl LightningTill {
    /// Sells with the invoices of this daemon. `holder` names this process among all that use the database.
    #[must_use]
    pub fn new(kind: BackendKind, daemon: Arc<dyn Invoices>, holder: String) -> Self {
        LightningTill {
            invoicing: Invoicing::new(daemon),
            flights: Flights::default(),
            provider: kind.name(),
            is_simulated: kind == BackendKind::Simulated,
            holder,
        }
    }
}

impl Till for LightningTill {
    fn name(&self) -> &'static str {
        "l402"
    }

    fn header(&self) -> HeaderName {
        header::AUTHORIZATION
    }

    fn sells(&self, offer: &Offer) -> bool {
        offer.price_sats.is_some()
    }

    fn is_proof(&self, authorization: &[u8]) -> bool {
        is_l402(authorization)
    }

    fn offer(&self, sold: &SoldCall<'_>, call: &Call<'_>) -> CallOffer {
        offer::offer(self, sold, call)
    }

    fn no_offer(&self, sold: &SoldCall<'_>, code: &'static str, detail: &str) -> CallOffer {
        offer::without(sold, code, detail)
    }

    fn take(
        &self,
        sold: &SoldCall<'_>,
        proofs: &[HeaderValue],
        call: &Call<'_>,
    ) -> Result<Box<dyn TakenPayment>, NotTaken> {
        let leased = proof::take(sold, proofs, &self.holder, call)?;
        Ok(Box::new(leased))
    }
}
