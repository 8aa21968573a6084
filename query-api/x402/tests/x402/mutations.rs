//! Damaged payments: each field that is changed, and bytes that are not payments.

use base64::{Engine, engine::general_purpose::STANDARD};
use cairn_x402::{
    DecodeError, MAX_PAYLOAD_BYTES, PaymentRequirements, Refusal, decode_payment_signature, encode, payment_from_meta,
    verify,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::fixtures::{decoded, json_value, offer, payment_json, payment_of, resource};

/// The fields that decide about the payment.
const FIELDS: [&str; 19] = [
    "/x402Version",
    "/resource/url",
    "/accepted/scheme",
    "/accepted/network",
    "/accepted/amount",
    "/accepted/asset",
    "/accepted/payTo",
    "/accepted/maxTimeoutSeconds",
    "/accepted/extra/name",
    "/accepted/extra/version",
    "/payload/signature",
    "/payload/authorization/from",
    "/payload/authorization/to",
    "/payload/authorization/value",
    "/payload/authorization/validAfter",
    "/payload/authorization/validBefore",
    "/payload/authorization/nonce",
    "/payload/authorization",
    "/accepted/extra",
];

fn is_paid(json: &Value, now: u64) -> bool {
    decoded(json).is_ok_and(|payload| verify(payload, &[offer()], &resource(), now).is_ok())
}

#[test]
fn no_field_may_be_missing_or_of_another_type() {
    let (good, now) = payment_json();
    assert!(is_paid(&good, now));
    for field in FIELDS {
        for value in [json!(null), json!(true), json!(-1), json!(10_000), json!(1e4), json!([]), json!({}), json!("")] {
            let mut bad = good.clone();
            *bad.pointer_mut(field).unwrap() = value.clone();
            assert!(!is_paid(&bad, now), "{field} is {value}");
        }
        let (parent, name) = field.rsplit_once('/').unwrap();
        let mut bad = good.clone();
        bad.pointer_mut(parent).unwrap().as_object_mut().unwrap().remove(name).unwrap();
        assert!(!is_paid(&bad, now), "{field} is missing");
    }
}

/// Field by field, the refusal that it leads to.
#[test]
fn each_change_has_its_refusal() {
    let (good, now) = payment_json();
    let other = "0x8617E340B3D01FA5F11F306F4090FD50E238070D";
    for (field, value, expected) in [
        ("/resource/url", "https://cairn.example/v1/address/bc1q0/summary?currency=usd&x=%c3%a9", "OtherResource"),
        ("/accepted/scheme", "upto", "NotOffered"),
        ("/accepted/network", "eip155:84532", "NotOffered"),
        ("/accepted/amount", "10", "NotOffered"),
        ("/accepted/asset", other, "NotOffered"),
        ("/accepted/asset", "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913", "NotOffered"),
        ("/accepted/payTo", other, "NotOffered"),
        ("/accepted/extra/name", "USDC", "NotOffered"),
        ("/accepted/extra/assetTransferMethod", "permit2", "NotOffered"),
        ("/payload/authorization/from", other, "Signer"),
        ("/payload/authorization/to", other, "Recipient"),
        ("/payload/authorization/value", "9999", "Value"),
        ("/payload/authorization/validAfter", "1", "Signer"),
        ("/payload/authorization/validBefore", "1", "Expired"),
        ("/payload/authorization/validBefore", "99999999999", "TooLong"),
        ("/payload/signature", "0x00", "UnsupportedSignature"),
    ] {
        let mut bad = good.clone();
        let (parent, name) = field.rsplit_once('/').unwrap();
        bad.pointer_mut(parent).unwrap()[name] = json!(value);
        let refusal = verify(decoded(&bad).unwrap(), &[offer()], &resource(), now).unwrap_err();
        assert!(format!("{refusal:?}").starts_with(expected), "{field}: {refusal:?}");
    }
    let mut bad = good.clone();
    bad.as_object_mut().unwrap().remove("resource");
    assert_eq!(verify(decoded(&bad).unwrap(), &[offer()], &resource(), now).unwrap_err(), Refusal::NoResource);
    assert_eq!(verify(decoded(&good).unwrap(), &[], &resource(), now).unwrap_err(), Refusal::NotOffered);
    // The same transfer for an offer that a client chose, but of a chain that the signature does not name.
    let sepolia = PaymentRequirements { network: "eip155:84532".parse().unwrap(), ..offer() };
    bad = good;
    bad["accepted"] = serde_json::to_value(&sepolia).unwrap();
    let refusal = verify(decoded(&bad).unwrap(), &[offer(), sepolia], &resource(), now).unwrap_err();
    assert!(matches!(refusal, Refusal::Signer(_)), "{refusal:?}");
}

#[test]
fn every_bit_of_the_signature_counts() {
    let (good, now) = payment_json();
    let text = good["payload"]["signature"].as_str().unwrap();
    let bytes = hex::decode(&text[2..]).unwrap();
    for bit in 0..bytes.len() * 8 {
        let (mut bad, mut changed) = (good.clone(), bytes.clone());
        changed[bit / 8] ^= 1 << (bit % 8);
        bad["payload"]["signature"] = json!(format!("0x{}", hex::encode(changed)));
        assert!(!is_paid(&bad, now), "bit {bit}");
    }
}

/// Letters of addresses may have any case, since only some clients write the checksum; nothing else may change.
#[test]
fn addresses_are_read_in_any_case() {
    let (mut good, now) = payment_json();
    for field in ["from", "to", "nonce"] {
        let value = &mut good["payload"]["authorization"][field];
        *value = json!(format!("0x{}", value.as_str().unwrap()[2..].to_ascii_uppercase()));
    }
    assert!(is_paid(&good, now));
}

#[test]
fn unreadable_payments() {
    let (good, _) = payment_json();
    let text = good.to_string();
    let header = |json: &str| decode_payment_signature(encode_text(json).as_bytes());
    assert!(header(&text).is_ok());
    let version_1 = r#"{"x402Version":1,"scheme":"exact","network":"base","payload":{}}"#;
    assert_eq!(header(version_1), Err(DecodeError::Version(1)));
    assert_eq!(payment_from_meta(&serde_json::from_str(version_1).unwrap()), Err(DecodeError::Version(1)));
    assert_eq!(decode_payment_signature(text.as_bytes()), Err(DecodeError::Base64));
    // A second value of a field: others could read the other one.
    let twice = text.replacen("\"value\":", "\"value\":\"1\",\"value\":", 1);
    assert!(matches!(header(&twice), Err(DecodeError::Json(text)) if text.contains("duplicate field")));
    assert!(matches!(header(&format!("{text}{text}")), Err(DecodeError::Json(_))));
    let long = json!({ "x402Version": 2, "accepted": "y".repeat(9_000) });
    let error = decoded(&long).unwrap_err();
    assert!(error.to_string().len() < 400, "{error}");
    // Padding may be missing, as the reference server allows.
    assert!(decode_payment_signature(encode_text(&text).trim_end_matches('=').as_bytes()).is_ok());
}

#[test]
fn size_has_a_limit() {
    let (mut good, _) = payment_json();
    let spare = MAX_PAYLOAD_BYTES - serde_json::to_string(&good).unwrap().len() - r#""more":"","#.len();
    good["more"] = json!("x".repeat(spare));
    assert!(payment_from_meta(&good).is_ok());
    good["more"] = json!("x".repeat(spare + 1));
    assert_eq!(payment_from_meta(&good), Err(DecodeError::TooLong));
    assert_eq!(decode_payment_signature(&[b'A'; MAX_PAYLOAD_BYTES + 1]), Err(DecodeError::TooLong));
    assert!(matches!(decode_payment_signature(&[b'A'; MAX_PAYLOAD_BYTES]), Err(DecodeError::Json(_))));
}

fn encode_text(json: &str) -> String {
    STANDARD.encode(json)
}

proptest! {
    #[test]
    fn no_header_panics(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(decode_payment_signature(&bytes).is_err());
    }

    /// A field of a good payment is anything else: no panic, and never paid.
    #[test]
    fn no_changed_field_is_paid(field in prop::sample::select(FIELDS.to_vec()), value in json_value()) {
        let (mut bad, now) = payment_json();
        let place = bad.pointer_mut(field).unwrap();
        prop_assume!(*place != value);
        *place = value;
        prop_assert!(!is_paid(&bad, now));
        if let Ok(payload) = payment_from_meta(&bad) {
            prop_assert!(verify(payload, &[offer()], &resource(), now).is_err());
        }
    }

    /// One character of a field is another one.
    #[test]
    fn no_changed_character_is_paid(
        field in prop::sample::select(FIELDS[..17].to_vec()), at: prop::sample::Index, byte in 0x20u8..0x7f,
    ) {
        let (mut bad, now) = payment_json();
        let place = bad.pointer_mut(field).unwrap();
        let Value::String(text) = &*place else { return Ok(()) };
        let at = at.index(text.len());
        prop_assume!(!text.as_bytes()[at].eq_ignore_ascii_case(&byte));
        let mut bytes = text.clone().into_bytes();
        bytes[at] = byte;
        *place = json!(String::from_utf8(bytes).unwrap());
        prop_assert!(!is_paid(&bad, now));
    }

    /// Payments are written as they were read.
    #[test]
    fn payments_are_written_back(client in prop::sample::select(vec!["npm", "pypi", "mcp", "published"])) {
        let (payload, _) = payment_of(client);
        let again = decode_payment_signature(encode(&payload).unwrap().as_bytes()).unwrap();
        prop_assert_eq!(&again, &payload);
        prop_assert_eq!(payment_from_meta(&serde_json::to_value(&payload).unwrap()).unwrap(), payload);
    }
}
