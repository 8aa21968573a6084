//! Payments of programs that we did not write.

use cairn_x402::{
    Address, Amount, Network, PaymentRequired, PaymentRequirements, Refusal, ResourceInfo, SettleOutcome,
    SettleResponse, encode, verify,
};
use serde_json::json;

use crate::fixtures::{decoded, offer, payment_of, payment_with, recorded, resource, signed};

/// The clients of `recorded.json` read this header.
#[test]
fn the_header_that_clients_have_read() {
    let required = PaymentRequired::new("Payment is required", resource(), vec![offer()]);
    assert_eq!(encode(&required).unwrap(), recorded()["required"]["header"].as_str().unwrap());
}

#[test]
fn clients_pay() {
    let dear = PaymentRequirements { amount: Amount::from_units(50_000), ..offer() };
    let mut keys = Vec::new();
    for client in ["npm", "pypi", "mcp"] {
        let (payload, now) = payment_of(client);
        let payment = verify(payload, &[dear.clone(), offer()], &resource(), now).unwrap();
        assert_eq!(payment.offer(), &offer());
        // The address that EIP-712's example publishes for the key.
        let payer: Address = "0xCD2a3d9F938E13CD947Ec05AbC7FE734Df8DD826".parse().unwrap();
        assert_eq!(payment.nonce_key().from, payer);
        keys.push(payment.nonce_key().to_string());
        // The clients read the answer: `decodePaymentResponseHeader`, `decode_payment_response_header`.
        let transaction = format!("0x{}", "ab".repeat(32));
        let outcome = SettleOutcome::Settled { transaction: transaction.clone(), network: Network(8453), payer };
        assert_eq!(
            serde_json::to_value(SettleResponse::from_outcome(&outcome, &payment).unwrap()).unwrap(),
            json!({ "success": true, "payer": payer, "transaction": transaction, "network": "eip155:8453" })
        );
    }
    assert_eq!(
        keys[0],
        "eip155:8453/0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913/0xCD2a3d9F938E13CD947Ec05AbC7FE734Df8DD826/\
         0x7422e4dadc6e585e6309ea4843bb0d7542cef37e8d40a3a1ba6f14c79b4b08e2"
    );
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), 3, "each client chose a nonce of its own");
}

/// The example of the specification is a real signature. Its digest was computed by eth-account 0.14.0.
#[test]
fn the_published_payment_verifies() {
    let (payload, now) = payment_of("published");
    let mut offer = PaymentRequirements {
        network: Network(84532),
        asset: "0x036CbD53842c5426634e7929541eC2318f3dCF7e".parse().unwrap(),
        ..offer()
    };
    offer.extra.name = "USDC".to_owned();
    let resource = ResourceInfo { url: "https://api.example.com/premium-data".to_owned(), ..resource() };
    let payment = verify(payload, &[offer], &resource, now).unwrap();
    assert_eq!(payment.transfer().from.to_string(), "0x857b06519E91e3A54538791bDbb0E22373e36b66");
    let digest = "f256992871671abcb27ff92885a7afa46218724e5fc0bac35d050115aa1d22e6";
    assert_eq!(hex::encode(payment.digest()), digest);
}

#[test]
fn signed_transfers_are_judged() {
    let signed = signed();
    let now = signed["now"].as_u64().unwrap();
    for (name, case) in signed["cases"].as_object().unwrap() {
        let payload = decoded(&payment_with(&case["payload"])).unwrap();
        let result = verify(payload, &[offer()], &resource(), now);
        let found = match &result {
            Ok(_) => "ok".to_owned(),
            Err(Refusal::Signature(error)) => variant(error),
            Err(refusal) => variant(refusal),
        };
        assert_eq!(found, case["expected"].as_str().unwrap(), "{name}");
        if let Err(refusal) = result {
            let digits = case["payload"]["signature"].as_str().unwrap();
            assert!(!format!("{refusal} {refusal:?}").contains(&digits[2..40]), "{name}: shows the signature");
            assert!(refusal.to_string().len() < 220 && refusal.code().len() > 10, "{name}: {refusal}");
        }
    }
}

fn variant(value: &impl std::fmt::Debug) -> String {
    format!("{value:?}").split(['(', ' ']).next().unwrap().to_owned()
}

/// A facilitator can decide about all that is refused for its signature's form alone: the rest was verified.
#[test]
fn unsupported_signatures_come_with_the_payment() {
    let signed = signed();
    let case = &signed["cases"]["a contract wallet (ERC-6492)"];
    let now = signed["now"].as_u64().unwrap();
    let result = verify(decoded(&payment_with(&case["payload"])).unwrap(), &[offer()], &resource(), now);
    let Err(Refusal::UnsupportedSignature(payment)) = result else { panic!("{result:?}") };
    assert_eq!(payment.nonce_key().nonce.to_string(), case["payload"]["authorization"]["nonce"].as_str().unwrap());
    let other = ResourceInfo { url: "https://cairn.example/".to_owned(), ..resource() };
    let result = verify(decoded(&payment_with(&case["payload"])).unwrap(), &[offer()], &other, now);
    assert_eq!(result.unwrap_err(), Refusal::OtherResource);
}

/// The window of a payment: the edges of each limit.
#[test]
fn time_has_edges() {
    let signed = signed();
    let payload = &signed["cases"]["as signed"]["payload"];
    let at = |now| verify(decoded(&payment_with(payload)).unwrap(), &[offer()], &resource(), now);
    // Valid from 1 800 000 000 to 1 800 000 060.
    assert!(matches!(at(1_799_999_999), Err(Refusal::NotYetValid(_))));
    assert!(at(1_800_000_000).is_ok());
    assert!(at(1_800_000_048).is_ok());
    assert!(matches!(at(1_800_000_049), Err(Refusal::Expired(_))));
    assert!(matches!(at(u64::MAX), Err(Refusal::Expired(_))));
    let short = PaymentRequirements { max_timeout_seconds: 30, ..offer() };
    let mut payment = payment_with(payload);
    payment["accepted"] = serde_json::to_value(&short).unwrap();
    // 60 s + 30 s + 60 s before the end is the first moment.
    let payload = &signed["cases"]["ends too late"]["payload"];
    payment["payload"] = payload.clone();
    let at = |now| verify(decoded(&payment).unwrap(), std::slice::from_ref(&short), &resource(), now);
    assert!(matches!(at(1_800_000_035), Err(Refusal::TooLong(_, 1_800_000_125))));
    assert!(at(1_800_000_036).is_ok());
}
