//! The access mode, and its words: one source for catalogs and all documents.

/// Whether calls are sold.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum AccessMode {
    /// Public beta: nothing is sold.
    #[default]
    Beta,
    /// Calls of premium operations must be paid, or made with the key of a pass or a wallet session.
    Live,
}

/// Whether calls can be paid by x402, in the settings of the operator.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum X402Gate {
    /// No facilitator is configured.
    #[default]
    Off,
    /// A facilitator is configured, but the operator has not opened the settlement: calls are offered without a way to
    /// pay.
    Closed,
    /// Payments are settled.
    Open,
}

impl AccessMode {
    /// True if calls are sold.
    #[must_use]
    pub fn is_live(self) -> bool {
        self == AccessMode::Live
    }

    /// Returns the word that holds in this mode.
    #[must_use]
    pub fn word(self, beta: &'static str, live: &'static str) -> &'static str {
        if self.is_live() { live } else { beta }
    }

    /// `product_mode` of health and catalogs.
    #[must_use]
    pub fn product_mode(self) -> &'static str {
        self.word("public_beta", "live")
    }

    /// `billing_mode` of health and catalogs.
    #[must_use]
    pub fn billing_mode(self) -> &'static str {
        self.word("beta_free", "per_call_402")
    }

    /// `auth_mode` of health and catalogs.
    #[must_use]
    pub fn auth_mode(self) -> &'static str {
        self.word("beta_public", "payment_or_key")
    }

    /// `auth_header` of health and catalogs.
    #[must_use]
    pub fn auth_header(self) -> &'static str {
        self.word("none", "Authorization, X-WR-API-Key, PAYMENT-SIGNATURE")
    }
}
