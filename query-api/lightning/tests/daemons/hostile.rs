//! Servers that lie, are slow, or send garbage; for all three daemons.

use std::{
    net::{SocketAddr, TcpListener},
    sync::Arc,
    time::{Duration, Instant},
};

use base64::{Engine, engine::general_purpose::STANDARD};
use cairn_lightning::{BackendError, BackendKind, Invoice, Invoices, NewInvoice, PaymentHash, Preimage};
use cairn_model::Network;
use proptest::prelude::*;
use serde_json::json;

use crate::{
    Node, SECRETS, config, connect, new_invoice,
    server::{Reply, ok, serve},
};

const KINDS: [BackendKind; 3] = [BackendKind::Lnd, BackendKind::CoreLightning, BackendKind::Phoenixd];

/// A new invoice, as each of the daemons writes it: the fields of one are unknown to the others.
fn written(bolt11: &str, hash: &PaymentHash) -> Reply {
    ok(&json!({
        "r_hash": STANDARD.encode(hash.0), "payment_request": bolt11,
        "payment_hash": hash.to_string(), "bolt11": bolt11,
        "paymentHash": hash.to_string(), "serialized": bolt11,
    }))
}

fn all(reply: &Reply, timeout: Duration, call: impl Fn(&dyn Invoices) -> BackendError) -> Vec<BackendError> {
    let connect = |kind| {
        let reply = reply.clone();
        let mut config = config(kind, serve(None, move |_| reply.clone()));
        config.timeout = timeout;
        config.to_backend(None).unwrap()
    };
    KINDS.map(|kind| call(&*connect(kind))).to_vec()
}

fn create(backend: &dyn Invoices) -> BackendError {
    backend.create(&new_invoice()).unwrap_err()
}

#[test]
fn invoices_that_differ_from_the_request_are_refused() {
    let node = Node::new();
    let good = node.make(25, "m", 600);
    let damaged = Invoice { bolt11: good.bolt11.replace("lnbcrt250n", "lnbcrt251n"), ..good.clone() };
    let other_hash = Invoice { payment_hash: Preimage::new([1; 32]).payment_hash(), ..good.clone() };
    // BOLT 11, examples: "Please send $3 for a cup of coffee", on mainnet.
    let mainnet = Invoice {
        bolt11: concat!(
            "lnbc2500u1pvjluezsp5zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zyg3zygspp5qqqsyqcyq5rqwzqfqqqsyqcyq5rqwzqf",
            "qqqsyqcyq5rqwzqfqypqdq5xysxxatsyp3k7enxv4jsxqzpu9qrsgquk0rl77nj30yxdy8j9vdx85fkpmdla2087ne0xh8nhedh8w27kyke0",
            "lp53ut353s06fv3qfegext0eh0ymjpf39tuven09sam30g4vgpfna3rh"
        )
        .to_owned(),
        ..good.clone()
    };
    for (invoice, words) in [
        (node.make(26, "m", 600), "asks for 26000 msat instead of 25000 msat"),
        (node.make(25, "m", 601), "valid for 601 s instead of 600 s"),
        (other_hash, "payment hash of the invoice is not the one"),
        (mainnet, "for the network bc, not for bcrt (regtest)"),
        (damaged, "malformed or its signature is wrong"),
        (Invoice { bolt11: "lnbcrt".repeat(1_000), ..good.clone() }, "longer than 4096 bytes"),
    ] {
        for error in all(&written(&invoice.bolt11, &invoice.payment_hash), Duration::from_secs(2), create) {
            assert!(error.code() == "wrong_answer" && error.to_string().contains(words), "{error}");
        }
    }
    let address = serve(None, move |_| written(&good.bolt11, &good.payment_hash));
    for kind in KINDS {
        assert!(connect(kind, address).create(&new_invoice()).is_ok());
        let mut config = config(kind, address);
        config.network = Network::Main;
        assert_eq!(create(&*config.to_backend(None).unwrap()).code(), "wrong_answer");
    }
}

#[test]
fn an_old_invoice_is_refused() {
    // The first invoice of doc/schemas/invoice.json of Core Lightning: 10 sats, a week from 2025-01-27.
    let bolt11 = crate::core_lightning_example();
    let hash = "7279b503a14344267e464829da26fcafa4e5a89c6d625a22b9345a874bdfbbf9".parse().unwrap();
    let new = NewInvoice::new(10, "Invoice description l31", 604_800, "lbl_l31").unwrap();
    for error in all(&written(bolt11, &hash), Duration::from_secs(2), |backend| backend.create(&new).unwrap_err()) {
        assert!(error.to_string().contains("away from this machine's time"), "{error}");
    }
}

#[test]
fn answers_that_do_not_end_stop_at_the_limits() {
    for reply in [Reply::Endless, Reply::EndlessHeaders] {
        for error in all(&reply, Duration::from_secs(20), create) {
            assert_eq!(error.code(), "wrong_answer", "{error}");
        }
    }
    let long = Reply::Whole(200, format!("{{\"x\":\"{}\"}}", "a".repeat(64 << 10)));
    for error in all(&long, Duration::from_secs(2), create) {
        assert!(error.to_string().contains("longer than 65536 bytes"), "{error}");
    }
}

#[test]
fn the_time_out_holds() {
    for reply in [Reply::Silent, Reply::Dripping] {
        let began = Instant::now();
        for error in all(&reply, Duration::from_millis(300), create) {
            assert_eq!(error.code(), "timed_out", "{error}");
        }
        assert!(began.elapsed() < Duration::from_secs(6), "{:?}", began.elapsed());
    }
    // Connected by the kernel, and never accepted.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut config = config(BackendKind::Lnd, listener.local_addr().unwrap());
    config.timeout = Duration::from_millis(300);
    assert_eq!(create(&*config.to_backend(None).unwrap()).code(), "timed_out");
}

#[test]
fn a_daemon_that_is_away() {
    let gone: SocketAddr = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for kind in KINDS {
        let error = connect(kind, gone).node().unwrap_err();
        assert!(error.code() == "unreachable" && error.to_string().contains("refused"), "{error}");
    }
    for error in all(&Reply::Raw(Vec::new()), Duration::from_secs(2), create) {
        assert_eq!(error.code(), "unreachable", "{error}");
    }
}

#[test]
fn redirects_are_not_followed_and_statuses_are_read() {
    let elsewhere = serve(None, |request| panic!("asked for {}", request.line));
    let redirect = format!("HTTP/1.1 307 X\r\nLocation: http://{elsewhere}/\r\nContent-Length: 0\r\n\r\n");
    for error in all(&Reply::Raw(redirect.into_bytes()), Duration::from_secs(2), create) {
        assert!(error.to_string().contains("not followed"), "{error}");
    }
    for (status, code) in [(401, "refused"), (403, "refused"), (429, "failed"), (500, "failed"), (503, "failed")] {
        for error in all(&Reply::Whole(status, "no".to_owned()), Duration::from_secs(2), create) {
            assert_eq!(error.code(), code, "{error}");
        }
    }
}

/// A daemon, or a proxy, repeats the request in its error.
#[test]
fn no_error_and_no_debug_form_has_a_secret() {
    let preimage = "09e7f193a0100ea009e7f193a0100ea009e7f193a0100ea009e7f193a0100ea0";
    let basic = STANDARD.encode(format!(":{}", SECRETS[2]));
    let echoes = [SECRETS[0].to_owned(), SECRETS[1].to_owned(), format!("{} {basic}", SECRETS[2])];
    for (kind, own) in KINDS.into_iter().zip(echoes) {
        let echo = format!("bad request: {own} {preimage}");
        let json = json!({ "code": 2, "message": echo, "r_hash": preimage, "payment_hash": own, "paymentHash": own });
        for reply in [Reply::Whole(500, echo), Reply::Whole(401, json.to_string()), ok(&json)] {
            let error = connect(kind, serve(None, move |_| reply.clone())).create(&new_invoice()).unwrap_err();
            let shown = format!("{error} {error:?}");
            assert!(own.split(' ').chain([preimage]).all(|secret| !shown.contains(secret)), "{shown}");
        }
    }
    for kind in KINDS {
        let config = config(kind, "127.0.0.1:1".parse().unwrap());
        let shown = format!("{config:?} {:?}", config.to_backend(None).unwrap());
        assert!(SECRETS.iter().all(|secret| !shown.contains(secret)) && !shown.contains(&basic), "{shown}");
    }
}

#[test]
fn garbage_gives_errors() {
    let garbage = Arc::new(std::sync::Mutex::new(Vec::new()));
    let shared = Arc::clone(&garbage);
    let address = serve(None, move |_| Reply::Raw(shared.lock().unwrap().clone()));
    let backends = KINDS.map(|kind| connect(kind, address));
    let json = prop::sample::select(vec![
        "null",
        "[]",
        "{}",
        "0",
        "\"\"",
        "{\"invoices\":[{}]}",
        "{\"chains\":[]}",
        "{\"chains\":[{\"network\":7}]}",
        "{\"r_hash\":\"AA==\",\"state\":5}",
        "{\"paymentHash\":\"00\",\"isPaid\":true}",
        "[[[[[[",
        "{\"network\":null}",
    ]);
    let answer = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..200),
        prop::collection::vec(any::<u8>(), 0..200).prop_map(|body| [
            format!("HTTP/1.1 200 X\r\nContent-Length: {}\r\n\r\n", body.len()).into_bytes(),
            body
        ]
        .concat()),
        (100u16..1_000, json).prop_map(|(status, body)| {
            format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
        }),
    ];
    proptest!(ProptestConfig::with_cases(128), |(bytes in answer)| {
        garbage.lock().unwrap().clone_from(&bytes);
        for backend in &backends {
            let (made, node) = (backend.create(&new_invoice()), backend.node());
            prop_assert!(made.is_err() && node.is_err());
            prop_assert!(made.unwrap_err().to_string().len() < 1_000);
            let state = backend.lookup(&PaymentHash([0; 32]));
            prop_assert!(state.is_err(), "{state:?}");
        }
    });
}
