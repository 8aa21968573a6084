//! Payments that other programs made, and the offers that they pay.

use cairn_x402::{
    Amount, Eip712Name, Network, Payment, PaymentPayload, PaymentRequirements, ResourceInfo, Scheme,
    decode_payment_signature, encode, payment_from_meta, verify,
};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Headers and objects as clients sent them; each has its source in it.
pub(crate) fn recorded() -> Value {
    serde_json::from_str(include_str!("fixtures/recorded.json")).unwrap()
}

/// Transfers that eth-account signed: see `fixtures/sign.py`.
pub(crate) fn signed() -> Value {
    serde_json::from_str(include_str!("fixtures/signed.json")).unwrap()
}

/// USDC on Base, 0.01 USD.
pub(crate) fn offer() -> PaymentRequirements {
    PaymentRequirements {
        scheme: Scheme::Exact,
        network: Network(8453),
        amount: Amount::from_price("0.01", 6).unwrap(),
        asset: "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913".parse().unwrap(),
        pay_to: "0x209693bc6afc0c5328ba36faf03c514ef312287c".parse().unwrap(),
        max_timeout_seconds: 60,
        extra: Eip712Name { name: "USD Coin".to_owned(), version: "2".to_owned() },
    }
}

pub(crate) fn resource() -> ResourceInfo {
    ResourceInfo {
        url: "https://cairn.example/v1/address/bc1q0/summary?currency=usd&x=%C3%A9".to_owned(),
        description: Some("Summary of a wallet – one request".to_owned()),
        mime_type: Some("application/json".to_owned()),
    }
}

/// The payment of a recorded client, and when it was sent.
pub(crate) fn payment_of(client: &str) -> (PaymentPayload, u64) {
    let recorded = &recorded()[client];
    let payload = match &recorded["header"] {
        Value::String(header) => decode_payment_signature(header.as_bytes()).unwrap(),
        _ => payment_from_meta(&recorded["meta"]["x402/payment"]).unwrap(),
    };
    (payload, recorded["now"].as_u64().unwrap())
}

/// The payment of PyPI's client, as JSON to change.
pub(crate) fn payment_json() -> (Value, u64) {
    let (payload, now) = payment_of("pypi");
    (serde_json::to_value(payload).unwrap(), now)
}

/// A payment for the offer with this content of `payload`.
pub(crate) fn payment_with(payload: &Value) -> Value {
    json!({ "x402Version": 2, "resource": resource(), "accepted": offer(), "payload": payload })
}

/// Sends JSON as a client would.
pub(crate) fn decoded(json: &Value) -> Result<PaymentPayload, cairn_x402::DecodeError> {
    decode_payment_signature(encode(json).unwrap().as_bytes())
}

/// A verified payment.
pub(crate) fn verified() -> Payment {
    let (payload, now) = payment_of("pypi");
    verify(payload, &[offer()], &resource(), now).unwrap()
}

/// Any JSON.
pub(crate) fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        "0x[0-9a-f]{0,70}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map("[a-zA-Z0-9]{1,12}", inner, 0..4)
                .prop_map(|map| Value::from_iter(map.into_iter().collect::<Vec<_>>())),
        ]
    })
}
