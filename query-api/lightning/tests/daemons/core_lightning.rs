//! Core Lightning. Fields: doc/schemas/{invoice,listinvoices,getinfo}.json of ElementsProject/lightning at 090f4b0e
//! (after v26.06); status 201 and errors: plugins/rest-plugin/src/{handlers,shared,structs}.rs. Answers marked
//! "verbatim" are examples of these schemas.

use cairn_lightning::{BackendError, BackendKind, InvoiceState, PaymentHash, Preimage};
use serde_json::{Value, json};

use crate::{
    Node, SECRETS, config, connect, new_invoice,
    server::{Reply, Request, serve},
};

fn created(json: &Value) -> Reply {
    Reply::Whole(201, json.to_string())
}

fn error(status: u16, code: i64, message: &str) -> Reply {
    Reply::Whole(status, json!({ "code": code, "data": null, "message": message }).to_string())
}

fn invoice(node: &Node, request: &Request) -> Reply {
    assert_eq!((request.line.as_str(), request.header("rune")), ("POST /v1/invoice", Some(SECRETS[1])));
    let asked = request.json();
    let sats = asked["amount_msat"].as_u64().unwrap() / 1_000;
    let expiry = asked["expiry"].as_u64().unwrap().try_into().unwrap();
    assert_eq!(asked["label"], "c-1");
    let made = node.make(sats, asked["description"].as_str().unwrap(), expiry);
    created(&json!({
        "payment_hash": made.payment_hash.to_string(), "expires_at": made.expires_at, "bolt11": made.bolt11,
        "payment_secret": "21f8a38be36697218d2db22cbbca621d96ffc0a63f3585860351b1d905f72cc2", "created_index": 2,
        "warning_capacity": "Insufficient incoming channel capacity",
    }))
}

#[test]
fn an_invoice_is_made_once_for_a_label() {
    let node = Node::new();
    let lightning = connect(BackendKind::CoreLightning, serve(None, move |request| invoice(&node, request)));
    assert!(lightning.create(&new_invoice()).is_ok());
    let again = serve(None, |_| error(500, 900, "Duplicate label 'c-1'"));
    let again = connect(BackendKind::CoreLightning, again).create(&new_invoice());
    assert_eq!(again, Err(BackendError::DuplicateLabel));
}

#[test]
fn channels_that_are_not_public_are_named_on_request_only() {
    for names_private_channels in [false, true] {
        let node = Node::new();
        let address = serve(None, move |request| {
            let named = request.json().get("exposeprivatechannels").cloned();
            assert_eq!(named, names_private_channels.then_some(Value::Bool(true)));
            invoice(&node, request)
        });
        let mut config = config(BackendKind::CoreLightning, address);
        config.names_private_channels = names_private_channels;
        assert!(config.to_backend(None).unwrap().create(&new_invoice()).is_ok());
    }
}

fn look(hash: PaymentHash, reply: Reply) -> Result<InvoiceState, BackendError> {
    let address = serve(None, move |request| {
        assert_eq!((request.line.as_str(), request.header("rune")), ("POST /v1/listinvoices", Some(SECRETS[1])));
        assert_eq!(request.json(), json!({ "payment_hash": hash.to_string() }));
        reply.clone()
    });
    connect(BackendKind::CoreLightning, address).lookup(&hash)
}

#[test]
fn states() {
    let preimage = Preimage::new([9; 32]);
    let hash = preimage.payment_hash();
    let listed = |status: &str, received: Value| {
        json!({ "invoices": [{
            "label": "lbl_l21", "bolt11": "lnbcrt…", "payment_hash": hash.to_string(), "status": status,
            "pay_index": 4, "amount_received_msat": received, "paid_at": 1_738_000_000,
            "payment_preimage": hex::encode(preimage.as_bytes()), "description": "l21 description",
            "expires_at": 1_738_604_800, "created_index": 2, "updated_index": 4,
        }]})
    };
    let paid = |received_sats| InvoiceState::Paid { preimage, paid_at: 1_738_000_000, received_sats };
    assert_eq!(look(hash, created(&listed("paid", json!(400_999)))), Ok(paid(400)));
    assert_eq!(look(hash, created(&listed("paid", json!("25000msat")))), Ok(paid(25)));
    assert_eq!(look(hash, created(&listed("expired", json!(0)))), Ok(InvoiceState::Expired));
    assert_eq!(look(hash, created(&json!({ "invoices": [] }))), Ok(InvoiceState::Unknown));
    let mut two = listed("paid", json!(1));
    let first = two["invoices"][0].clone();
    two["invoices"].as_array_mut().unwrap().push(first);
    for (reply, words) in [
        (created(&two), "lists 2 invoices"),
        (created(&listed("settled", json!(1))), "\"settled\" is unknown"),
        (created(&listed("paid", json!(null))), "amount is missing"),
        (created(&listed("paid", json!("1sat"))), "whole number of msat"),
    ] {
        let error = look(hash, reply).unwrap_err();
        assert!(error.code() == "wrong_answer" && error.to_string().contains(words), "{error}");
    }
}

/// Verbatim, from listinvoices.json, examples 1 and 2.
#[test]
fn examples_of_the_documentation() {
    let hash = |text: &str| text.parse::<PaymentHash>().unwrap();
    let unpaid = "7e5375391640549587500c1bfa05d046e49d6278df8b1e9c98b7b551cf778d10";
    let reply = r#"{"invoices": [{"label": "lbl_l22", "bolt11": "lnbcrt2u1pne035qsp5syt0v2w9nsa7xnu9neq9np0ln5c7e25mnurjppqzwktwtkr830sqpp50efh2wgkgp2ftp6spsdl5pwsgmjf6cncm793a8yck764rnmh35gqdqcdserygryv4ekxunfwp6xjmmwxqyjw5qcqp9rzjq08vhlwxs4zvcktzywmgecr3pj096tyukvt7upuz9k2s0xkvwq7nzqqqwcqqqqgqqqqqqqqpqqqqqzsqqc9qxpqysgq2ysc0ll0du4pgdz0l8xt9uu47t72k3chdxvxnrj9vj6arxecvej4cmh2x3uwe9xye2mpm2df5xfuh9xgcc0um4uwnc69x5yu5glqfgcqac9wfd",
        "payment_hash": "7e5375391640549587500c1bfa05d046e49d6278df8b1e9c98b7b551cf778d10", "amount_msat": 200000,
        "status": "unpaid", "description": "l22 description", "expires_at": 1738604800, "created_index": 3}]}"#;
    assert_eq!(look(hash(unpaid), Reply::Whole(201, reply.to_owned())), Ok(InvoiceState::Open));
    let paid = "3fe5289854b8924b4ebb3f61cd8f5a29f8f509cc781919230f7ee95ec2fa7c46";
    let reply = r#"{"invoices": [{"label": "lbl_l21", "payment_hash": "3fe5289854b8924b4ebb3f61cd8f5a29f8f509cc781919230f7ee95ec2fa7c46",
        "status": "paid", "pay_index": 4, "amount_received_msat": 400000, "paid_at": 1738000000,
        "payment_preimage": "09e7f193a0100ea009e7f193a0100ea009e7f193a0100ea009e7f193a0100ea0",
        "description": "l21 description", "expires_at": 1738604800, "created_index": 2, "updated_index": 4}]}"#;
    let state = look(hash(paid), Reply::Whole(201, reply.to_owned())).unwrap();
    let InvoiceState::Paid { preimage, paid_at, received_sats } = state else { panic!("{state:?}") };
    assert_eq!(hex::encode(preimage.as_bytes()), "09e7f193a0100ea0".repeat(4));
    assert_eq!((paid_at, received_sats), (1_738_000_000, 400));
    let other = reply.replace("09e7f193", "09e7f194");
    let error = look(hash(paid), Reply::Whole(201, other)).unwrap_err().to_string();
    assert!(error.contains("preimage does not have") && !error.contains("09e7f194"), "{error}");
}

#[test]
fn failures_and_the_network() {
    let failed = |reply: Reply| look(PaymentHash([0; 32]), reply).unwrap_err();
    assert_eq!(failed(error(401, 1502, "Rune is not valid")).code(), "refused");
    assert_eq!(failed(error(403, 1501, "Not authorized: Missing rune")).code(), "refused");
    let text = failed(error(404, -32601, "Unknown command 'listinvoices'")).to_string();
    assert!(text.contains("HTTP status 404): Unknown command 'listinvoices'"), "{text}");

    // Verbatim, from getinfo.json, example 1, without the features and the folder.
    let info = r#"{"id": "033845802d25b4e074ccfd7cd8b339a41dc75bf9978a034800444b51d42b07799a",
        "alias": "SILENTARTIST-v26.09", "color": "033845", "num_peers": 0, "num_pending_channels": 0,
        "num_active_channels": 0, "num_inactive_channels": 0, "address": [],
        "binding": [{"type": "ipv4", "address": "127.0.0.1", "port": 30003}], "version": "v26.09",
        "blockheight": 114, "network": "regtest", "fees_collected_msat": 0}"#;
    let node = |info: String| {
        let address = serve(None, move |request| {
            assert_eq!((request.line.as_str(), request.body.as_str()), ("POST /v1/getinfo", "{}"));
            Reply::Whole(201, info.clone())
        });
        connect(BackendKind::CoreLightning, address).node()
    };
    assert_eq!(node(info.to_owned()).unwrap().alias.as_deref(), Some("SILENTARTIST-v26.09"));
    let error = node(info.replace("\"regtest\"", "\"bitcoin\"")).unwrap_err();
    assert!(error.code() == "wrong_network" && error.to_string().contains("on the network bitcoin"), "{error}");
}
