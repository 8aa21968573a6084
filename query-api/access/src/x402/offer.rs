//! The offer of a call by x402: in the body, and as the header PAYMENT-REQUIRED.

use axum::http::HeaderName;
use cairn_http::{CallOffer, SoldCall};
use cairn_x402::{PaymentRequired, VERSION, encode};
use serde_json::{Value, json};

use super::settings::{NoTerms, Terms, X402Settings};

const HOW: &str = "Sign one entry of payment_options.x402.accepts with a client of x402 version 2, then repeat the \
    same request with the header `PAYMENT-SIGNATURE`.";
const PAYMENT_REQUIRED: HeaderName = HeaderName::from_static(cairn_x402::PAYMENT_REQUIRED);

pub(crate) fn offer(settings: &X402Settings, sold: &SoldCall<'_>) -> CallOffer {
    if !settings.is_open {
        return without(sold, "live_settlement_closed", "the operator has not opened the settlement of x402 payments");
    }
    match settings.terms(sold) {
        Ok(terms) => of_terms(&terms, sold, sold.refused.unwrap_or("payment_required")),
        Err(NoTerms(code, detail)) => without(sold, code, &detail),
    }
}

/// The offer with its terms. `error` is the stable word for the reason of asking.
pub(crate) fn of_terms(terms: &Terms, sold: &SoldCall<'_>, error: &str) -> CallOffer {
    let Terms { offer, resource } = terms;
    let body = json!({
        "error": error,
        "protocol": "x402",
        "version": VERSION,
        "offer": offer_of(sold),
        "accepts": [offer],
        "resource": resource,
    });
    let required = PaymentRequired::new(error, resource.clone(), vec![offer.clone()]);
    let headers = encode(&required).into_iter().map(|value| (PAYMENT_REQUIRED, value)).collect();
    CallOffer { body, headers, how: HOW }
}

pub(crate) fn without(sold: &SoldCall<'_>, code: &str, detail: &str) -> CallOffer {
    let body = json!({
        "error": code,
        "error_detail": detail,
        "protocol": "x402",
        "version": VERSION,
        "offer": offer_of(sold),
        "accepts": [],
    });
    CallOffer {
        body,
        headers: Vec::new(),
        how: "A payment by x402 is not possible at present: payment_options.x402 has the reason.",
    }
}

fn offer_of(sold: &SoldCall<'_>) -> Value {
    json!({
        "id": sold.info.name,
        "path_template": sold.template,
        "price_usd": sold.unit_usd,
        "units": sold.units,
        "summary": sold.info.summary,
    })
}
