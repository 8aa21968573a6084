//! The access to operations in the mode in force: one source for the gate, the catalogs and all documents.

use super::{
    mode::{AccessMode, X402Gate},
    offer::Tier,
    operation::RegisteredOperation,
};
use crate::config::HttpConfig;

/// The payment method of calls that are paid over Lightning, in catalogs.
const LIGHTNING_L402: &str = "lightning_l402";
/// The payment method of calls that are paid by x402, in catalogs.
const X402: &str = "x402";

/// The access that an operation gives its clients now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EffectiveTier {
    /// Nothing, because of the beta.
    BetaFree,
    /// Nothing.
    Free,
    /// A payment for each call, or the key of a pass or a wallet session.
    PaidPerCall,
    /// The key of a pass or a wallet session for some requests.
    Conditional,
}

impl EffectiveTier {
    /// Returns the access to an operation under this configuration.
    #[must_use]
    pub fn of(op: &RegisteredOperation, config: &HttpConfig) -> Self {
        match config.access_mode {
            _ if config.gates_enabled && op.info.conditional => EffectiveTier::Conditional,
            AccessMode::Beta => EffectiveTier::BetaFree,
            AccessMode::Live if op.offer.tier == Tier::Premium => EffectiveTier::PaidPerCall,
            AccessMode::Live => EffectiveTier::Free,
        }
    }

    /// True if every request is answered without a payment, a key and a session.
    #[must_use]
    pub fn is_open(self) -> bool {
        matches!(self, EffectiveTier::BetaFree | EffectiveTier::Free)
    }

    /// `effective_tier` of the catalog.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            EffectiveTier::BetaFree => "beta_free",
            EffectiveTier::Free => "free",
            EffectiveTier::PaidPerCall => "paid_per_call",
            EffectiveTier::Conditional => "conditional_free_then_wallet_plus",
        }
    }
}

impl HttpConfig {
    /// Returns the name of the Lightning backend that calls are paid with now; `None` if no call can be paid.
    #[must_use]
    pub fn payment_backend(&self) -> Option<&'static str> {
        self.lightning.filter(|_| self.access_mode.is_live())
    }

    /// `billing_paused_reason` of health and catalogs; `None` while calls or passes are sold.
    #[must_use]
    pub fn billing_paused_reason(&self) -> Option<&'static str> {
        let reason = self.access_mode.word("public_beta", "no_payment_backend");
        let sells = self.payment_backend().is_some() || self.is_x402_open() || self.pass_for_sale().is_ok();
        (!sells).then_some(reason)
    }

    /// True if this operation takes a payment over Lightning for each call (L402) now.
    #[must_use]
    pub fn sells_over_lightning(&self, op: &RegisteredOperation) -> bool {
        self.is_billable(op) && op.offer.price_sats.is_some() && self.lightning.is_some()
    }

    /// Whether calls can be paid by x402 now.
    #[must_use]
    pub fn x402_gate(&self) -> X402Gate {
        if self.access_mode.is_live() { self.x402 } else { X402Gate::Off }
    }

    /// True if payments by x402 are settled now.
    #[must_use]
    pub fn is_x402_open(&self) -> bool {
        self.x402_gate() == X402Gate::Open
    }

    /// True if this operation takes a payment by x402 for each call now.
    #[must_use]
    pub fn sells_by_x402(&self, op: &RegisteredOperation) -> bool {
        self.is_billable(op) && op.offer.x402_usd.is_some() && self.is_x402_open()
    }

    /// Returns the ways in which a call of this operation can be paid now.
    #[must_use]
    pub fn payment_methods_of(&self, op: &RegisteredOperation) -> Vec<&'static str> {
        let lightning = self.sells_over_lightning(op).then_some(LIGHTNING_L402);
        lightning.into_iter().chain(self.sells_by_x402(op).then_some(X402)).collect()
    }

    /// Returns the ways in which calls can be paid now.
    #[must_use]
    pub fn payment_methods(&self) -> Vec<&'static str> {
        let lightning = self.payment_backend().map(|_| LIGHTNING_L402);
        lightning.into_iter().chain(self.is_x402_open().then_some(X402)).collect()
    }

    /// True if calls of this operation must be paid, or made with the key of a pass or a wallet session.
    #[must_use]
    pub fn is_billable(&self, op: &RegisteredOperation) -> bool {
        self.access_mode.is_live() && op.offer.tier == Tier::Premium
    }
}
