//! The pass that the checkout sells: one source for the 402 answers, the catalogs and the checkout itself.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::access::AccessMode;
use crate::config::HttpConfig;

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
            CheckoutPause::NoPrice => "passes are not sold on this server at present; its operator issues keys and codes",
            CheckoutPause::NoMethod => {
                "passes cannot be paid on this server at present: its operator has configured neither a Lightning backend \
                 nor a descriptor for payments; the operator issues keys and codes"
            }
        }
    }
}

impl HttpConfig {
    /// Returns the pass that is sold now.
    ///
    /// # Errors
    /// Returns the reason if none is.
    pub fn pass_for_sale(&self) -> Result<&PassOffer, CheckoutPause> {
        match &self.pass {
            _ if self.access_mode == AccessMode::Beta => Err(CheckoutPause::Beta),
            None => Err(CheckoutPause::NoPrice),
            Some(offer) if offer.methods.is_empty() => Err(CheckoutPause::NoMethod),
            Some(offer) => Ok(offer),
        }
    }

    /// Returns how the pass that is sold now can be paid; empty if none is.
    #[must_use]
    pub fn pass_methods(&self) -> Vec<&'static str> {
        self.pass_for_sale().map_or_else(|_| Vec::new(), |offer| offer.methods.iter().map(|way| way.name()).collect())
    }

    /// `checkout_buy_path` of health and catalogs.
    #[must_use]
    pub fn checkout_buy_path(&self) -> &'static str {
        match self.pass_for_sale() {
            Ok(_) => "open",
            Err(CheckoutPause::Beta) => "paused_during_public_beta",
            Err(_) => "not_for_sale",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pass_is_sold_in_live_mode_with_a_price_and_a_way_to_pay() {
        let of = |access_mode, methods: Option<&[PassMethod]>| {
            let pass = methods.map(|methods| PassOffer { price_sats: 1, methods: methods.to_vec() });
            let config = HttpConfig { access_mode, pass, ..HttpConfig::default() };
            let sold = config.pass_for_sale().map(|_| ()).map_err(CheckoutPause::code);
            (sold, config.checkout_buy_path(), config.pass_methods())
        };
        let both = [PassMethod::Lightning, PassMethod::Onchain];
        let beta = "paused_during_public_beta";
        assert_eq!(of(AccessMode::Beta, Some(&both)), (Err("public_beta"), beta, vec![]));
        assert_eq!(of(AccessMode::Live, None), (Err("no_price"), "not_for_sale", vec![]));
        assert_eq!(of(AccessMode::Live, Some(&[])), (Err("no_payment_method"), "not_for_sale", vec![]));
        assert_eq!(of(AccessMode::Live, Some(&both)), (Ok(()), "open", vec!["lightning", "onchain"]));
    }
}
