//! How calls are paid, in words: one text for all documents.

use crate::{
    access::bridge::BILLING_CATALOG,
    config::HttpConfig,
    contract::{offer::Unit, operation::RegisteredOperation, pass::PASS_DAYS},
};

/// Returns how access works in live mode, as sentences; `None` during the beta.
pub(crate) fn how_to_pay(config: &HttpConfig) -> Option<String> {
    let way = match config.payment_backend() {
        Some(_) => {
            "A call without payment answers 402 with a Lightning invoice and a macaroon: pay the invoice, and repeat the \
             same request with `Authorization: L402 <macaroon>:<preimage>`; a payment opens one answer."
        }
        None => {
            "A call without a key or session answers 402; it cannot be paid on this server at present, because its \
             operator has configured no Lightning backend."
        }
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
    config.is_billable(op).then(|| match (op.info.quoted_by, op.offer.price_sats, op.offer.unit) {
        (Some(quote), ..) => format!("price quoted by {quote}"),
        (None, Some(sats), Some(Unit::Address)) => format!("{sats} sats per address"),
        (None, Some(sats), _) => format!("{sats} sats per call"),
        (None, None, _) => "only with the key of a pass or a wallet session".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{
        mode::AccessMode,
        pass::{PassMethod, PassOffer},
    };

    #[test]
    fn only_live_mode_explains_payments() {
        let of = |access_mode, lightning| {
            how_to_pay(&HttpConfig { access_mode, lightning, base_url: "http://x".to_owned(), ..HttpConfig::default() })
        };
        assert_eq!(of(AccessMode::Beta, None), None);
        assert_eq!(of(AccessMode::Beta, Some("lnd")), None);
        let (open, closed) = (of(AccessMode::Live, Some("lnd")).unwrap(), of(AccessMode::Live, None).unwrap());
        assert!(open.contains("L402 <macaroon>:<preimage>") && open.contains("http://x/v1/billing/catalog"), "{open}");
        assert!(!closed.contains("L402") && closed.contains("X-WR-API-Key"), "{closed}");
        assert!(!open.contains("billing/checkout"), "{open}");
        let pass = Some(PassOffer { price_sats: 9_000, methods: vec![PassMethod::Onchain] });
        let sold = how_to_pay(&HttpConfig { access_mode: AccessMode::Live, pass, ..HttpConfig::default() }).unwrap();
        assert!(sold.contains("31 days costs 9000 sats (onchain): POST /v1/billing/checkout"), "{sold}");
    }
}
