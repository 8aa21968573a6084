//! The payment of a pass, as answers show it, and the errors of the checkout.

use cairn_http::{CheckoutPause, PassMethod};
use cairn_payments::needed_confirmations;
use cairn_state::{Checkout, CheckoutPayment};

use crate::{invoices::LightningUnavailable, operation::prelude::*, values::bip21_uri};

/// Seconds after which a client may ask a Lightning node again that does not answer.
const RETRY_AFTER_SECS: u32 = 5;
/// Kind of a node whose invoices move no coins.
const SIMULATED: &str = "simulated";

/// A plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) enum PlanId {
    /// A bridge pass for 31 days from the first time it is paid.
    #[serde(rename = "wallet-monthly")]
    WalletMonthly,
}

/// The amount, and where to pay it.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PassPayment {
    amount_sats: Sats,
    amount_btc: Btc,
    /// URI for wallets: `lightning:` with the invoice, or `bitcoin:` with address and amount (BIP 21).
    payment_uri: String,
    /// Path of a picture of the QR code to scan.
    qr_path: String,
    /// Lightning invoice (BOLT 11); only with `lightning`.
    #[serde(skip_serializing_if = "Option::is_none")]
    invoice: Option<String>,
    /// Payment hash of the invoice; only with `lightning`.
    #[serde(skip_serializing_if = "Option::is_none")]
    payment_hash: Option<String>,
    /// True for an invoice of a test, which moves no coins; only with `lightning`.
    #[serde(skip_serializing_if = "Option::is_none")]
    simulated: Option<bool>,
    /// Bitcoin address that no other payment has; only with `onchain`. One payment or several add up.
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<String>,
    /// The URI again (BIP 21); only with `onchain`.
    #[serde(skip_serializing_if = "Option::is_none")]
    bip21: Option<String>,
    /// Confirmations that the payment needs: 1, and 3 from 0.01 BTC; only with `onchain`.
    #[serde(skip_serializing_if = "Option::is_none")]
    confirmations_needed: Option<u32>,
}

impl PassPayment {
    pub(super) fn new(checkout: &Checkout) -> Self {
        let amount = checkout.content.price_sats;
        let common = |payment_uri: String, scanned: &str| PassPayment {
            amount_sats: amount,
            amount_btc: Btc::of(amount),
            qr_path: format!("/v1/qr?data={}", cairn_http::segment(scanned)),
            payment_uri,
            invoice: None,
            payment_hash: None,
            simulated: None,
            address: None,
            bip21: None,
            confirmations_needed: None,
        };
        match &checkout.payment {
            CheckoutPayment::Lightning { provider, payment_hash, invoice } => {
                let uri = format!("lightning:{invoice}");
                // In capitals it fits into a smaller code.
                let scanned = uri.to_ascii_uppercase();
                PassPayment {
                    invoice: Some(invoice.clone()),
                    payment_hash: Some(hex::encode(payment_hash)),
                    simulated: Some(provider == SIMULATED),
                    ..common(uri, &scanned)
                }
            }
            CheckoutPayment::OnChain { address, .. } => {
                let uri = bip21_uri(address, amount);
                PassPayment {
                    address: Some(address.clone()),
                    bip21: Some(uri.clone()),
                    confirmations_needed: Some(needed_confirmations(amount)),
                    ..common(uri.clone(), &uri)
                }
            }
        }
    }
}

pub(super) fn method_of(checkout: &Checkout) -> PassMethod {
    match checkout.payment {
        CheckoutPayment::Lightning { .. } => PassMethod::Lightning,
        CheckoutPayment::OnChain { .. } => PassMethod::Onchain,
    }
}

/// 503 `checkout_paused`.
pub(super) fn paused(pause: CheckoutPause) -> ApiError {
    ApiError::new(ErrorCode::CheckoutPaused, pause.reason()).with("reason", pause.code())
}

/// 503 `checkout_paused`: the descriptor gives no addresses of the network of the index.
pub(super) fn unusable() -> ApiError {
    let detail = "passes cannot be paid on chain at present: the descriptor for payments is not one of this network; choose \
        another payment method if there is one";
    ApiError::new(ErrorCode::CheckoutPaused, detail).with("reason", "descriptor_unusable")
}

/// 503 `lightning_unavailable`.
pub(super) fn away(LightningUnavailable { kind }: LightningUnavailable) -> ApiError {
    let detail =
        format!("the Lightning node of this server does not answer at present ({kind}); try again in a moment");
    ApiError::unavailable(ErrorCode::LightningUnavailable, detail, RETRY_AFTER_SECS)
}
