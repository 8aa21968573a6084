//! How calls are paid, in words: one text for all documents.

use crate::{
    access::bridge::BILLING_CATALOG,
    config::HttpConfig,
    contract::{offer::Unit, operation::RegisteredOperation, pass::PASS_DAYS},
};

/// How a call is paid over Lightning.
const BY_LIGHTNING: &str = "A call without payment answers 402 with a Lightning invoice and a macaroon: pay the invoice, \
    and repeat the same request with `Authorization: L402 <macaroon>:<preimage>`; a payment opens one answer.";
/// How a call is paid by x402; an agent reads the rest in the 402 answer.
const BY_X402: &str = "sign one entry of `accepts` in its header `PAYMENT-REQUIRED` (base64 of JSON) with a client of x402 \
    version 2, and repeat the same request with the payment in `PAYMENT-SIGNATURE`, or in `_meta[\"x402/payment\"]` of a \
    tool call; the header `PAYMENT-RESPONSE` of the answer has the receipt.";

/// Returns how access works in live mode, as sentences; `None` during the beta.
pub(crate) fn how_to_pay(config: &HttpConfig) -> Option<String> {
    let way = match (config.payment_backend(), config.is_x402_open()) {
        (Some(_), false) => BY_LIGHTNING.to_owned(),
        (Some(_), true) => format!(
            "{BY_LIGHTNING} If the call has a price in US dollars, it can be paid by x402 in place of Lightning: \
             {BY_X402}"
        ),
        (None, true) => format!(
            "A call without payment answers 402. If it has a price in US dollars, it is paid by x402: {BY_X402} A \
             payment opens one answer. Other premium calls cannot be paid on this server at present, because its \
             operator has configured no Lightning backend."
        ),
        (None, false) => "A call without a key or session answers 402; it cannot be paid on this server at present, \
                          because its operator has configured no Lightning backend."
            .to_owned(),
    };
    let pass = config.pass_for_sale().map_or_else(
        |_| String::new(),
        |pass| {
            let methods = config.pass_methods().join(" or ");
            format!(
                " A pass of {PASS_DAYS} days costs {} sats ({methods}): POST /v1/billing/checkout sells it.",
                pass.price_sats
            )
        },
    );
    config.access_mode.is_live().then(|| {
        format!(
            "The public beta is over: premium operations are paid per call, all others are free. {way} The key of a \
             bridge pass (`X-WR-API-Key: <key>`) or a wallet session (`Authorization: Bearer <token>`) opens every \
             premium operation without payment.{pass} The catalog at {}{BILLING_CATALOG} has plans and prices.",
            config.base_url
        )
    })
}

/// Returns the price of a call of this operation now; `None` if it is free.
pub(crate) fn price_now(op: &RegisteredOperation, config: &HttpConfig) -> Option<String> {
    let unit = if op.offer.unit == Some(Unit::Address) { "address" } else { "call" };
    let by_x402 =
        op.offer.x402_usd.filter(|_| config.sells_by_x402(op)).map(|usd| format!("{usd} USD per {unit} by x402"));
    config.is_billable(op).then(|| match (op.info.quoted_by, op.offer.price_sats, by_x402) {
        (Some(quote), ..) => format!("price quoted by {quote}"),
        (None, Some(sats), Some(by_x402)) => format!("{sats} sats per {unit}, or {by_x402}"),
        (None, Some(sats), None) => format!("{sats} sats per {unit}"),
        (None, None, Some(by_x402)) => by_x402,
        (None, None, None) => "only with the key of a pass or a wallet session".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{
        mode::{AccessMode, X402Gate},
        pass::{PassMethod, PassOffer},
    };

    fn explained(access_mode: AccessMode, lightning: Option<&'static str>, x402: X402Gate) -> Option<String> {
        let base_url = "http://x".to_owned();
        how_to_pay(&HttpConfig { access_mode, lightning, x402, base_url, ..HttpConfig::default() })
    }

    #[test]
    fn only_live_mode_explains_payments() {
        let of = |access_mode, lightning| explained(access_mode, lightning, X402Gate::Off);
        assert_eq!(of(AccessMode::Beta, None), None);
        assert_eq!(of(AccessMode::Beta, Some("lnd")), None);
        assert_eq!(explained(AccessMode::Beta, Some("lnd"), X402Gate::Open), None);
        let (open, closed) = (of(AccessMode::Live, Some("lnd")).unwrap(), of(AccessMode::Live, None).unwrap());
        assert!(open.contains("L402 <macaroon>:<preimage>") && open.contains("http://x/v1/billing/catalog"), "{open}");
        assert!(!closed.contains("L402") && closed.contains("X-WR-API-Key"), "{closed}");
        assert!(!open.contains("billing/checkout"), "{open}");
        let pass = Some(PassOffer { price_sats: 9_000, methods: vec![PassMethod::Onchain] });
        let sold = how_to_pay(&HttpConfig { access_mode: AccessMode::Live, pass, ..HttpConfig::default() }).unwrap();
        assert!(sold.contains("31 days costs 9000 sats (onchain): POST /v1/billing/checkout"), "{sold}");
    }

    #[test]
    fn x402_is_explained_only_where_it_is_settled() {
        for lightning in [None, Some("lnd")] {
            let of = |x402| explained(AccessMode::Live, lightning, x402).unwrap();
            assert_eq!(of(X402Gate::Off), of(X402Gate::Closed));
            let open = of(X402Gate::Open);
            assert!(!of(X402Gate::Closed).contains("x402") && open.contains("`PAYMENT-SIGNATURE`"), "{open}");
            assert_eq!(open.contains("Authorization: L402"), lightning.is_some(), "{open}");
            assert_eq!(open.contains("no Lightning backend"), lightning.is_none(), "{open}");
        }
    }
}
