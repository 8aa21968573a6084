//! The pass that the checkout sells: one source for the 402 answers, the catalogs and the checkout itself.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Name of the plan.
pub const PASS_PLAN: &str = "wallet-monthly";
/// Days that a pass lasts from the first time it is paid.
pub const PASS_DAYS: u32 = 31;

/// How a pass is paid.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PassMethod {
    /// By a Lightning invoice.
    Lightning,
    /// To a Bitcoin address.
    Onchain,
}

impl PassMethod {
    /// Its name: `payment_method_id` of the checkout.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            PassMethod::Lightning => "lightning",
            PassMethod::Onchain => "onchain",
        }
    }
}

/// The pass as the operator has set it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PassOffer {
    /// Its price.
    pub price_sats: u64,
    /// How it can be paid. It is not sold while there is no way.
    pub methods: Vec<PassMethod>,
}

/// Why the checkout is paused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CheckoutPause {
    /// Nothing is sold during the public beta.
    Beta,
    /// The operator has set no price.
    NoPrice,
    /// The operator has configured neither a Lightning backend nor a descriptor for payments.
    NoMethod,
}

impl CheckoutPause {
    /// The reason in a word.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            CheckoutPause::Beta => "public_beta",
            CheckoutPause::NoPrice => "no_price",
            CheckoutPause::NoMethod => "no_payment_method",
        }
    }

    /// The reason in words.
    #[must_use]
    pub fn reason(self) -> &'static str {
        match self {
            CheckoutPause::Beta => "nothing is sold during the public beta",
            CheckoutPause::NoPrice => {
                "passes are not sold on this server at present; its operator issues keys and codes"
            }
            CheckoutPause::NoMethod => {
                "passes cannot be paid on this server at present: its operator has configured neither a Lightning backend \
                 nor a descriptor for payments; the operator issues keys and codes"
            }
        }
    }
}
