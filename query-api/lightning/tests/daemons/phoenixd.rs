//! phoenixd. Fields: `GeneratedInvoice`, `IncomingPayment` and `NodeInfo` of JsonSerializers.kt, with
//! `explicitNulls = false`; forms, statuses and bare texts: Api.kt; both of ACINQ/phoenixd at 402c2eac (2026-05-20).
//! The published reference is phoenix.acinq.co/server/api (version 0.8.0).

use base64::{Engine, engine::general_purpose::STANDARD};
use cairn_lightning::{BackendError, BackendKind, InvoiceState, PaymentHash, Preimage};
use serde_json::{Value, json};

use crate::{
    Node, SECRETS, connect, new_invoice,
    server::{Reply, Request, ok, serve},
};

/// Checks Basic with the empty user.
fn authorized(request: &Request) {
    let expected = format!("Basic {}", STANDARD.encode(format!(":{}", SECRETS[2])));
    assert_eq!(request.header("authorization"), Some(expected.as_str()));
}

#[test]
fn an_invoice_is_made() {
    let node = Node::new();
    let address = serve(None, move |request| {
        authorized(request);
        assert_eq!(request.line, "POST /createinvoice");
        assert_eq!(request.header("content-type"), Some("application/x-www-form-urlencoded"));
        // The form of "wallet_summary: é & more" by Python's urllib.parse.quote(…, safe=""), which leaves '_' as it is.
        let form = request.body.replace("%5F", "_");
        let description = "wallet_summary%3A%20%C3%A9%20%26%20more";
        assert_eq!(form, format!("description={description}&amountSat=25&expirySeconds=600&externalId=c%2D1"));
        let made = node.make(25, "wallet_summary: é & more", 600);
        ok(&json!({
            "amountSat": 25, "paymentHash": made.payment_hash.to_string(), "serialized": made.bolt11,
        }))
    });
    assert!(connect(BackendKind::Phoenixd, address).create(&new_invoice()).is_ok());
}

fn look(hash: PaymentHash, reply: Reply) -> Result<InvoiceState, BackendError> {
    let address = serve(None, move |request| {
        authorized(request);
        assert_eq!(request.line, format!("GET /payments/incoming/{hash}"));
        reply.clone()
    });
    connect(BackendKind::Phoenixd, address).lookup(&hash)
}

#[test]
fn states() {
    let preimage = Preimage::new([9; 32]);
    let hash = preimage.payment_hash();
    let payment = |is_paid: bool, is_expired: bool, received: i64| {
        let mut payment = json!({
            "type": "incoming_payment", "subType": "lightning", "paymentHash": hash.to_string(),
            "preimage": hex::encode(preimage.as_bytes()), "externalId": "c-1", "description": "m",
            "invoice": "lnbcrt…", "isPaid": is_paid, "isExpired": is_expired, "requestedSat": 25,
            "receivedSat": received, "fees": 0, "expiresAt": 1_738_000_600_000_u64, "createdAt": 1_738_000_000_000_u64,
        });
        if is_paid {
            payment["completedAt"] = json!(1_738_000_123_456_u64);
        }
        payment
    };
    let paid = |received_sats| InvoiceState::Paid { preimage, paid_at: 1_738_000_123, received_sats };
    for (payment, expected) in [
        (payment(false, false, 0), InvoiceState::Open),
        (payment(false, true, 0), InvoiceState::Expired),
        (payment(true, false, 25), paid(25)),
        // It arrived in time; the page is looked at later.
        (payment(true, true, 25), paid(25)),
        // phoenixd opened a channel, and took its price.
        (payment(true, false, -4), paid(0)),
    ] {
        assert_eq!(look(hash, ok(&payment)), Ok(expected));
    }
    assert_eq!(look(hash, Reply::Whole(404, "Not found".to_owned())), Ok(InvoiceState::Unknown));
    let mut other = payment(true, false, 25);
    other["preimage"] = Value::from("00".repeat(32));
    assert_eq!(look(hash, ok(&other)).unwrap_err().code(), "wrong_answer");
    let page = Reply::Whole(404, "<html>404: no such site</html>".to_owned());
    assert_eq!(look(hash, page).unwrap_err().code(), "failed");
}

#[test]
fn failures_and_the_network() {
    let words = "Invalid authentication (use basic auth with the http password set in phoenix.conf)";
    let error = look(PaymentHash([0; 32]), Reply::Whole(401, words.to_owned())).unwrap_err();
    assert!(matches!(&error, BackendError::Refused { reason, .. } if reason == words), "{error}");
    let node = |chain: &str| {
        let info = json!({
            "nodeId": "03…", "channels": [{ "state": "Normal" }], "chain": chain, "blockHeight": 114,
            "version": "0.8.0-402c2ea",
        });
        let address = serve(None, move |request| {
            assert_eq!(request.line, "GET /getinfo");
            ok(&info)
        });
        connect(BackendKind::Phoenixd, address).node()
    };
    assert_eq!(node("regtest").map(|info| info.alias), Ok(None));
    for chain in ["mainnet", "testnet3", "testnet4"] {
        assert_eq!(node(chain).unwrap_err().code(), "wrong_network");
    }
}
