//! LND. Fields, their types and their JSON forms: lnrpc/lightning.swagger.json (lnrpcInvoice, lnrpcAddInvoiceResponse,
//! lnrpcGetInfoResponse, rpcStatus) of lightningnetwork/lnd at 90ea05d5 (0.21.99-beta), with `EmitUnpopulated` (all
//! fields are present, lnrpc/rpc_utils.go). Errors: invoices/errors.go, macaroons/service.go, docs/macaroons.md.

use base64::{Engine, engine::general_purpose::STANDARD};
use cairn_lightning::{BackendError, BackendKind, InvoiceState, PaymentHash, Preimage};
use serde_json::{Value, json};

use crate::{
    Node, SECRETS, connect, new_invoice,
    server::{Reply, Request, ok, serve},
};

/// The answer to `POST /v1/invoices`.
fn add_invoice(node: &Node, request: &Request) -> Reply {
    assert_eq!(request.line, "POST /v1/invoices");
    assert_eq!(request.header("grpc-metadata-macaroon"), Some(SECRETS[0]));
    let asked = request.json();
    // int64 is a text.
    let number = |field: &str| asked[field].as_str().unwrap().parse::<u64>().unwrap();
    let made = node.make(number("value"), asked["memo"].as_str().unwrap(), number("expiry").try_into().unwrap());
    ok(&json!({
        "r_hash": STANDARD.encode(made.payment_hash.0),
        "payment_request": made.bolt11,
        "add_index": "1",
        "payment_addr": STANDARD.encode([7; 32]),
    }))
}

/// The answer to `GET /v1/invoice/{r_hash_str}`.
fn invoice(hash: PaymentHash, preimage: [u8; 32], state: &str, created: u64) -> Value {
    let is_settled = state == "SETTLED";
    json!({
        "memo": "m", "r_preimage": STANDARD.encode(preimage), "r_hash": STANDARD.encode(hash.0),
        "value": "25", "value_msat": "25000", "settled": is_settled, "creation_date": created.to_string(),
        "settle_date": if is_settled { "1738000000" } else { "0" }, "payment_request": "lnbcrt…",
        "description_hash": "", "expiry": "600", "fallback_addr": "", "cltv_expiry": "80", "route_hints": [],
        "private": false, "add_index": "1", "settle_index": "0", "amt_paid": "26000",
        "amt_paid_sat": if is_settled { "26" } else { "0" }, "amt_paid_msat": "26000", "state": state, "htlcs": [],
        "features": {}, "is_keysend": false, "payment_addr": "", "is_amp": false, "amp_invoice_state": {},
        "is_blinded": false, "blinded_path_config": null,
    })
}

fn status(http: u16, code: u16, message: &str) -> Reply {
    Reply::Whole(http, json!({ "code": code, "message": message, "details": [] }).to_string())
}

#[test]
fn an_invoice_is_made() {
    let node = Node::new();
    let lnd = connect(BackendKind::Lnd, serve(None, move |request| add_invoice(&node, request)));
    let made = lnd.create(&new_invoice()).unwrap();
    let decoded = cairn_lightning::decode(&made.bolt11).unwrap();
    assert_eq!((decoded.amount_msat, decoded.payment_hash), (Some(25_000), made.payment_hash));
    assert_eq!(made.expires_at, decoded.created_at + 600);
}

#[test]
fn states() {
    let preimage = Preimage::new([9; 32]);
    let hash = preimage.payment_hash();
    let now = cairn_clock::now_secs();
    let look = move |reply: Reply| {
        let address = serve(None, move |request| {
            assert_eq!(request.line, format!("GET /v1/invoice/{hash}"));
            assert_eq!(request.header("grpc-metadata-macaroon"), Some(SECRETS[0]));
            reply.clone()
        });
        connect(BackendKind::Lnd, address).lookup(&hash)
    };
    let bytes = *preimage.as_bytes();
    let paid = InvoiceState::Paid { preimage, paid_at: 1_738_000_000, received_sats: 26 };
    for (state, created, expected) in [
        ("OPEN", now, InvoiceState::Open),
        ("ACCEPTED", now, InvoiceState::Open),
        ("CANCELED", now, InvoiceState::Cancelled),
        ("CANCELED", now - 601, InvoiceState::Expired),
        ("SETTLED", now, paid),
    ] {
        assert_eq!(look(ok(&invoice(hash, bytes, state, created))), Ok(expected), "{state}");
    }
    assert_eq!(look(status(404, 5, "unable to locate invoice")), Ok(InvoiceState::Unknown));
    assert_eq!(look(status(500, 2, "unable to locate invoice")), Ok(InvoiceState::Unknown));
    assert_eq!(look(status(404, 5, "there are no existing invoices")), Ok(InvoiceState::Unknown));

    let wrong = |reply: Reply, words: &str| {
        let error = look(reply).unwrap_err();
        assert!(matches!(error, BackendError::WrongAnswer { .. }) && error.to_string().contains(words), "{error}");
    };
    wrong(ok(&invoice(hash, bytes, "PAID", now)), "\"PAID\" is unknown");
    wrong(ok(&invoice(hash, [8; 32], "SETTLED", now)), "preimage does not have the payment hash");
    wrong(ok(&invoice(PaymentHash([1; 32]), bytes, "OPEN", now)), "another payment hash");
    let without = |field: &str| {
        let mut invoice = invoice(hash, bytes, "SETTLED", now);
        invoice.as_object_mut().unwrap().remove(field);
        ok(&invoice)
    };
    wrong(without("state"), "missing field `state`");
    wrong(without("r_hash"), "missing field `r_hash`");
    wrong(without("r_preimage"), "preimage, time or amount is missing");
    wrong(without("amt_paid_sat"), "preimage, time or amount is missing");
}

#[test]
fn failures() {
    let look = |reply: Reply| {
        let lnd = connect(BackendKind::Lnd, serve(None, move |_| reply.clone()));
        lnd.lookup(&PaymentHash([0; 32])).unwrap_err()
    };
    for message in [
        "verification failed: signature mismatch after caveat verification",
        "cannot get macaroon: root key with id 0 doesn't exist",
        "expected 1 macaroon, got 0",
        "permission denied",
    ] {
        let error = look(status(500, 2, message));
        assert!(matches!(&error, BackendError::Refused { reason, .. } if reason == message), "{error}");
    }
    // An unknown path of the gateway has the code of an unknown invoice.
    assert_eq!(look(status(404, 5, "Not Found")).code(), "failed");
    let error = look(status(500, 2, "the RPC server is in the process of starting up, but not yet ready"));
    assert!(error.to_string().contains("HTTP status 500): the RPC server is in the process"), "{error}");
}

#[test]
fn the_network_of_the_node() {
    let info = |network: &str| {
        let info = json!({
            "version": "0.21.0-beta", "identity_pubkey": "03…", "alias": "bob", "color": "#3399ff", "testnet": false,
            "synced_to_chain": true, "block_height": 114, "uris": [], "features": {},
            "chains": [{ "chain": "bitcoin", "network": network }],
        });
        let address = serve(None, move |request| {
            assert_eq!(request.line, "GET /v1/getinfo");
            ok(&info)
        });
        connect(BackendKind::Lnd, address).node()
    };
    assert_eq!(info("regtest").unwrap().alias.as_deref(), Some("bob"));
    for network in ["mainnet", "testnet", "simnet", ""] {
        let error = info(network).unwrap_err();
        assert!(matches!(&error, BackendError::WrongNetwork { found, .. } if found == network), "{error}");
    }
}
