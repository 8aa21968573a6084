//! The till: sells calls by x402.

use std::{fmt, sync::Arc, time::Duration};

use axum::http::{HeaderName, HeaderValue};
use cairn_http::{Call, CallOffer, NotTaken, Offer, SoldCall, TakenPayment, Till};
use cairn_x402::{Amount, Facilitator, FacilitatorError, OfferError};

use crate::lease::PATIENCE;

use super::{desk::Desk, offer, settings::X402Settings, settler::Settler, taking};

/// Sells calls by x402, with a facilitator that carries payments out.
pub struct X402Till {
    pub(super) desk: Desk,
}

/// How long a request waits until its payment is settled.
const SETTLE_PATIENCE: Duration = Duration::from_secs(20);
/// Calls of the database while a payment is redeemed.
const DATABASE_CALLS: u32 = 5;

impl fmt::Debug for X402Till {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("X402Till").field("settings", &self.desk.settings).finish_non_exhaustive()
    }
}

impl X402Till {
    /// Sells with this facilitator. `holder` names this process among all that use the database.
    ///
    /// # Errors
    /// Fails if no client could pay by these settings.
    pub fn new(settings: X402Settings, facilitator: Arc<dyn Facilitator>, holder: String) -> Result<Self, OfferError> {
        settings.check()?;
        let desk = Desk { settings, settler: Settler::new(facilitator), holder, patience: SETTLE_PATIENCE };
        Ok(X402Till { desk })
    }

    /// Sets how long a request waits until its payment is settled. The facilitator may take longer: the next request
    /// with the payment then gets the answer.
    #[must_use]
    pub fn patient_for(self, patience: Duration) -> Self {
        X402Till { desk: Desk { patience, ..self.desk } }
    }

    /// Asks the facilitator whether it settles such payments.
    ///
    /// # Errors
    /// Fails if it does not answer.
    pub fn is_supported(&self) -> Result<bool, FacilitatorError> {
        let supported = self.desk.settler.facilitator().supported()?;
        Ok(supported.includes(&self.desk.settings.requirements(Amount::from_units(1))))
    }
}

impl Till for X402Till {
    fn name(&self) -> &'static str {
        "x402"
    }

    fn header(&self) -> HeaderName {
        HeaderName::from_static(cairn_x402::PAYMENT_SIGNATURE)
    }

    fn sells(&self, offer: &Offer) -> bool {
        offer.x402_usd.is_some()
    }

    fn is_proof(&self, _: &[u8]) -> bool {
        true
    }

    fn redeeming_limit(&self) -> Duration {
        self.desk.patience + DATABASE_CALLS * PATIENCE
    }

    fn offer(&self, sold: &SoldCall<'_>, _: &Call<'_>) -> CallOffer {
        offer::offer(&self.desk.settings, sold)
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
        let taken = taking::take(&self.desk, sold, proofs, call)?;
        Ok(Box::new(taken))
    }
}
