//! The terms of payments by x402.

use cairn_http::SoldCall;
use cairn_x402::{Address, Amount, Eip712Name, Network, OfferError, PaymentRequirements, ResourceInfo, Scheme};

/// Settings of an operator who sells calls by x402.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct X402Settings {
    /// The chain.
    pub network: Network,
    /// The contract of the token, which must implement EIP-3009. One token counts as one dollar.
    pub asset: Address,
    /// Name and version of the token in its EIP-712 domain.
    pub domain: Eip712Name,
    /// Decimals of the token: 6 for USDC.
    pub decimals: u8,
    /// The account that is paid.
    pub pay_to: Address,
    /// How long a payment may stay valid, in seconds.
    pub max_timeout_seconds: u32,
    /// True if signatures of contract wallets are taken. Only the facilitator can verify them.
    pub contract_wallets: bool,
    /// True if payments are settled. Otherwise calls are offered without a way to pay.
    pub is_open: bool,
}

/// The terms of one call: the payment that opens it, and the resource that the payment names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Terms {
    pub(crate) offer: PaymentRequirements,
    pub(crate) resource: ResourceInfo,
}

/// Why a call has no price: a stable word, and a sentence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct NoTerms(pub(crate) &'static str, pub(crate) String);

impl X402Settings {
    /// Checks that clients can pay.
    ///
    /// # Errors
    /// Names the setting that is wrong.
    pub fn check(&self) -> Result<(), OfferError> {
        self.requirements(Amount::from_units(1)).check()
    }

    pub(super) fn requirements(&self, amount: Amount) -> PaymentRequirements {
        PaymentRequirements {
            scheme: Scheme::Exact,
            network: self.network,
            amount,
            asset: self.asset,
            pay_to: self.pay_to,
            max_timeout_seconds: self.max_timeout_seconds,
            extra: self.domain.clone(),
        }
    }

    pub(crate) fn terms(&self, sold: &SoldCall<'_>) -> Result<Terms, NoTerms> {
        let usd =
            sold.unit_usd.ok_or_else(|| NoTerms("price_unknown", "the call has no price in dollars".to_owned()))?;
        let amount = Amount::from_price(usd, self.decimals).and_then(|unit| unit.times(sold.units));
        let offer = match amount {
            Ok(amount) => self.requirements(amount),
            Err(error) => return Err(NoTerms("price_unsupported", error.to_string())),
        };
        offer.check().map_err(|error| NoTerms("price_unsupported", error.to_string()))?;
        let query = if sold.query.is_empty() { String::new() } else { format!("?{}", sold.query) };
        let url = format!("{}{}{query}", sold.base_url, sold.path);
        Ok(Terms {
            offer,
            resource: ResourceInfo { url, description: Some(sold.info.summary.to_owned()), mime_type: None },
        })
    }
}
