//! The texts that look a wallet up appear nowhere else: no answer, header or line of a log has any part of a key.

use std::{
    fmt::{Debug, Write},
    sync::{Mutex, Once},
};

use axum::{Router, body::Body, http::Request};
use bitcoin::{
    Network, NetworkKind, PrivateKey,
    bip32::{Xpriv, Xpub},
    secp256k1::{Secp256k1, SecretKey},
};
use serde_json::{Value, json};
use tracing::{Event, Metadata, Subscriber, field, span};

use crate::{
    lookup::LOOKUP,
    lookup_gaps::{Account, UPUB, VPUB, checksum},
    support::{Reply, everything_world, send},
};

/// All that was written to the log, at every level.
static LOG: Mutex<String> = Mutex::new(String::new());

/// Writes the fields of spans and events to [`LOG`].
struct Log;

struct Fields<'a>(&'a mut String);

impl field::Visit for Fields<'_> {
    fn record_debug(&mut self, field: &field::Field, value: &dyn Debug) {
        write!(self.0, " {field}={value:?}").unwrap();
    }
}

impl Subscriber for Log {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &span::Attributes<'_>) -> span::Id {
        span.record(&mut Fields(&mut LOG.lock().unwrap()));
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, values: &span::Record<'_>) {
        values.record(&mut Fields(&mut LOG.lock().unwrap()));
    }

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut log = LOG.lock().unwrap();
        write!(log, "\n{}", event.metadata().level()).unwrap();
        event.record(&mut Fields(&mut log));
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

/// Logs of all threads: the operation runs on one of its own.
fn watch_logs() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| tracing::subscriber::set_global_default(Log).unwrap());
}

/// Length of a part of a key that must appear nowhere.
const PIECE: usize = 12;

/// Sends a body and checks that no part of the secrets appears.
async fn sent(router: &Router, target: &str, body: String, secrets: &[&str]) -> Reply {
    let request =
        Request::post(target).header("content-type", "application/json").body(Body::from(body.clone())).unwrap();
    LOG.lock().unwrap().clear();
    let reply = send(router, request).await;
    let log = LOG.lock().unwrap().clone();
    assert!(log.contains("answered") || log.contains("slow request"), "the log has to be watched: {log:?}");
    let mut all = reply.text.clone();
    reply.headers.iter().for_each(|(name, value)| write!(all, "\n{name}: {value:?}").unwrap());
    for secret in secrets {
        assert!(secret.len() >= PIECE);
        let letters: Vec<char> = secret.chars().collect();
        for piece in letters.windows(PIECE) {
            let piece: String = piece.iter().collect();
            assert!(!all.contains(&piece), "{piece} of {body} to {target} is told: {all}");
            assert!(!log.contains(&piece), "{piece} of {body} to {target} is logged: {log}");
        }
    }
    assert_eq!((reply.header("cache-control"), reply.header("etag")), ("no-store", ""), "{body}");
    reply
}

fn assert_refused(reply: &Reply, status: u16, code: &str, body: &str) {
    assert_eq!((reply.status, &reply.body["error"]), (status, &json!(code)), "{body}: {}", reply.text);
}

/// Another letter at a place.
fn mistyped(text: &str, at: usize) -> String {
    let other = if &text[at..=at] == "5" { "6" } else { "5" };
    format!("{}{other}{}", &text[..at], &text[at + 1..])
}

const PHRASE: &str = "legal winner thank year wave sausage worth useful legal winner thank yellow";

#[tokio::test]
async fn lookup_tells_nothing_of_bad_descriptors() {
    watch_logs();
    let world = everything_world();
    let router = &world.open_router();
    let account = Account::new(21, 0);
    let (key, secp) = (account.key.to_string(), Secp256k1::new());
    let (upub, vpub) = (account.with_prefix(UPUB), account.with_prefix(VPUB));
    let good = checksum(&format!("wpkh({}{key}/<0;1>/*)", account.origin));
    let master = Xpriv::new_master(Network::Regtest, &[22; 32]).unwrap();
    let xprv = master.to_string();
    let wif = PrivateKey::new(SecretKey::from_slice(&[7; 32]).unwrap(), NetworkKind::Test).to_wif();
    let abroad = Xpub::from_priv(&secp, &Xpriv::new_master(Network::Bitcoin, &[23; 32]).unwrap()).to_string();
    let (invalid, private, network) = ("invalid_descriptor", "private_key_refused", "wrong_network");
    let share = format!("ms10test{}", "s".repeat(48));
    let cases = [
        (mistyped(&good, good.len() - 3), &key, invalid),
        (mistyped(&good, 40), &key, invalid),
        (good[..good.len() - 1].to_owned(), &key, invalid),
        (mistyped(&key, 50), &key, invalid),
        (key[..100].to_owned(), &key, invalid),
        (format!("{key}{key}"), &key, invalid),
        (format!("{key}/0/*"), &key, invalid),
        (format!("wpkh({vpub}/0/*)"), &vpub, invalid),
        (format!("wpkh({key}/0h/*)"), &key, invalid),
        (format!("wpkh({key}/0/*h)"), &key, invalid),
        (format!("wsh({key})"), &key, invalid),
        (format!("wpkh({key}"), &key, invalid),
        (format!("{}{key}{}", "sh(".repeat(900), ")".repeat(900)), &key, invalid),
        (format!("wpkh({key}/<{}>/*)", (0..40).map(|n| n.to_string()).collect::<Vec<_>>().join(";")), &key, invalid),
        (format!("wpkh({key}/0/*) and {}", "x".repeat(9_000)), &key, invalid),
        (format!("wpkh({key}/0/*)é"), &key, invalid),
        (format!("addr({key})"), &key, invalid),
        (format!("raw({key})"), &key, invalid),
        (upub.to_uppercase(), &upub.to_uppercase(), invalid),
        (xprv.clone(), &xprv, private),
        (format!("wpkh({xprv}/0/*)"), &xprv, private),
        (checksum(&format!("wpkh({}{xprv}/0/*)", account.origin)), &xprv, private),
        (mistyped(&xprv, 60), &xprv, private),
        (format!("wpkh([{xprv}]{key}/0/*)"), &xprv, private),
        (wif.clone(), &wif, private),
        (format!("wpkh({wif})"), &wif, private),
        (mistyped(&wif, 30), &wif, private),
        (PHRASE.to_owned(), &PHRASE.to_owned(), private),
        (format!(" {PHRASE}\n"), &PHRASE.to_owned(), private),
        (format!("{xprv} {}", "y".repeat(20_000)), &xprv, private),
        (share.clone(), &share, private),
        (abroad.clone(), &abroad, network),
        (format!("wpkh({abroad}/0/*)"), &abroad, network),
        (format!("rawtr({abroad}/0/*)"), &abroad, network),
    ];
    for (text, secret, code) in &cases {
        // The good text in front of it is repeated no more than the bad one.
        for wallet in [json!([text]), json!([{"desc": text, "range": [0, 5]}]), json!([good, text])] {
            for include in [json!(["addresses"]), json!(["pnl", "dashboard", "transactions", "balance_history"])] {
                let body = json!({"wallet": wallet, "include": include}).to_string();
                let reply = sent(router, LOOKUP, body.clone(), &[secret, &key]).await;
                assert_refused(&reply, 400, code, &body);
                let name = reply.body["errors"][0]["name"].as_str().unwrap();
                assert!(name.starts_with(if wallet[1].is_null() { "wallet[0]" } else { "wallet[1]" }), "{name}");
            }
        }
    }
}

#[tokio::test]
async fn lookup_says_what_is_wrong_with_a_descriptor() {
    watch_logs();
    let world = everything_world();
    let router = &world.open_router();
    let key = Account::new(26, 0).key.to_string();
    for (form, wanted) in [
        ("wsh(multi(0,KEY/*,KEY/1/*))", "threshold of 0"),
        ("wsh(sortedmulti(3,KEY/*,KEY/1/*))", "above the number of keys"),
        ("wpkh([d34db33]KEY/0/*)", "8 hex digits"),
        ("[d34db33g/84h/1h/0h]KEY", "8 hex digits"),
        ("wpkh(KEY/*/0)", "step after *"),
        ("wpkh(KEY/+1/*)", "not a number from 0 to 2147483647"),
        ("wpkh(KEY/<1;1>/*)", "two or more different numbers"),
        ("wsh(sortedmulti(1,KEY/<0;1>/*,KEY/<0;1;2>/*))", "different numbers of alternatives"),
        ("wsh(sortedmulti(1,KEY/<0;1;2>/*,KEY/<0;1>/*))", "different numbers of alternatives"),
        ("raw()", "no script in raw"),
        ("tr(musig(KEY/*,KEY)/0/*)", "BIP 390"),
        ("wsh(sortedmulti_a(1,KEY/*,KEY/1/*))", "not allowed"),
        ("wsh(and_v(v:pk(KEY/0/*),pk(KEY/0/*)))", "a key twice"),
        ("wpkh(KEY/0/*", "parentheses"),
        ("unused(KEY)", "function"),
    ] {
        let body = json!({"wallet": [form.replace("KEY", &key)]}).to_string();
        let reply = sent(router, LOOKUP, body.clone(), &[&key]).await;
        assert_refused(&reply, 400, "invalid_descriptor", &body);
        let said = reply.body["errors"][0]["message"].as_str().unwrap();
        assert!(said.contains(wanted) && !said.contains("is neither"), "{form}: {said}");
    }
}

#[tokio::test]
async fn lookup_tells_nothing_of_requests_that_are_none() {
    watch_logs();
    let world = everything_world();
    let router = &world.open_router();
    let account = Account::new(24, 0);
    let key = account.key.to_string();
    let xprv = Xpriv::new_master(Network::Regtest, &[25; 32]).unwrap().to_string();
    for secret in [&key, &xprv, &PHRASE.to_owned()] {
        let deep = |count: usize| format!("{{\"wallet\": {}\"{secret}\"{}}}", "[".repeat(count), "]".repeat(count));
        let good = format!("\"wpkh({key}/0/*)\"");
        let cases = [
            // Wrong types, and a key in the place of another parameter.
            (json!({"wallet": secret}).to_string(), 422, "validation_error"),
            (json!({"wallet": {"desc": secret}}).to_string(), 422, "validation_error"),
            (json!({"wallet": [[secret]]}).to_string(), 422, "validation_error"),
            (json!({"wallet": [{"descriptor": secret}]}).to_string(), 422, "validation_error"),
            (json!({"wallet": [{"desc": [secret]}]}).to_string(), 422, "validation_error"),
            (json!({"wallet": [{secret: "wpkh"}]}).to_string(), 422, "validation_error"),
            (json!({secret: [secret]}).to_string(), 422, "validation_error"),
            (format!("{{\"wallet\": [{good}], \"gap_limit\": \"{secret}\"}}"), 422, "validation_error"),
            (format!("{{\"wallet\": [{good}], \"include\": [\"{secret}\"]}}"), 422, "validation_error"),
            (format!("{{\"wallet\": [{good}], \"include\": \"{secret}\"}}"), 422, "validation_error"),
            (format!("{{\"wallet\": [{good}], \"from\": \"{secret}\"}}"), 422, "validation_error"),
            (format!("{{\"wallet\": [{good}], \"currency\": \"{secret}\"}}"), 422, "validation_error"),
            (format!("{{\"wallet\": [{good}], \"method\": \"{secret}\"}}"), 422, "validation_error"),
            (format!("{{\"wallet\": [{good}], \"range\": \"{secret}\"}}"), 422, "validation_error"),
            (format!("{{\"wallet\": [{good}], \"csv_profile\": \"{secret}\"}}"), 422, "validation_error"),
            (format!("{{\"wallet\": [{good}], \"format\": {{\"{secret}\": 1}}}}"), 422, "validation_error"),
            (
                format!("{{\"wallet\": [{good}], \"include\": [\"transactions\"], \"cursor\": \"{secret}\"}}"),
                422,
                "validation_error",
            ),
            (format!("{{\"wallet\": [{{\"desc\": {good}, \"range\": \"{secret}\"}}]}}"), 422, "validation_error"),
            (format!("{{\"wallet\": [{{\"desc\": {good}, \"range\": [\"{secret}\"]}}]}}"), 422, "validation_error"),
            // No JSON, or too much of it.
            (deep(3), 422, "validation_error"),
            (deep(60), 422, "validation_error"),
            (deep(400), 400, "malformed_json"),
            (secret.clone(), 400, "malformed_json"),
            (format!("\"{secret}\""), 422, "validation_error"),
            (format!("{{\"wallet\": [\"{secret}\""), 400, "malformed_json"),
            (format!("{{\"wallet\": [\"{secret}\"],}}"), 400, "malformed_json"),
            (format!("{{\"wallet\": [{secret}]}}"), 400, "malformed_json"),
            (format!("{{\"{secret}\": 1, \"{secret}\": 2}}"), 400, "malformed_json"),
            (format!("{{\"wallet\": [\"{secret}\\x\"]}}"), 400, "malformed_json"),
            (format!("{{\"wallet\": [\"{secret}{}\"]}}", " ".repeat(6_000_000)), 413, "payload_too_large"),
        ];
        for (body, status, code) in cases {
            let shown: String = body.chars().take(300).collect();
            let reply = sent(router, LOOKUP, body, &[secret, &key]).await;
            assert_refused(&reply, status, code, &shown);
        }
        // Junk in the query, also beside a body that is wrong.
        let encoded = secret.replace(' ', "+");
        for (query, warned) in [
            (encoded.clone(), true),
            (format!("{encoded}=1&wallet={encoded}"), true),
            (format!("wallet={encoded}"), true),
            (format!("a=1&b{encoded}[]=2"), true),
        ] {
            for (body, status) in [(json!({"wallet": [key]}), 200), (json!({"wallet": [key, "x"]}), 400)] {
                let reply =
                    sent(router, &format!("{LOOKUP}?{query}"), body.to_string(), &[secret, &encoded, &key]).await;
                assert_eq!(reply.status, status, "{query}: {}", reply.text);
                let warnings = if status == 200 { &reply.body["_meta"]["warnings"] } else { &reply.body["warnings"] };
                assert_eq!(warnings.to_string().contains("unknown_parameter"), warned, "{query}: {}", reply.text);
            }
        }
        // Other types of bodies.
        for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"] {
            let request = Request::post(LOOKUP).header("content-type", kind).body(Body::from(secret.clone())).unwrap();
            let reply = send(router, request).await;
            assert_refused(&reply, 415, "unsupported_media_type", kind);
            assert!(!reply.text.contains(&secret[..PIECE]));
        }
    }
}

#[tokio::test]
async fn lookup_tells_nothing_of_good_requests() {
    watch_logs();
    let world = everything_world();
    let router = &world.open_router();
    let (account, second) = (Account::new(26, 0), Account::new(27, 3));
    let (key, other) = (account.key.to_string(), second.key.to_string());
    let (upub, vpub) = (account.with_prefix(UPUB), account.with_prefix(VPUB));
    let below = account.child(&[0]).to_string();
    let pubkey = account.child(&[0, 1]).public_key.to_string();
    let secrets = [&key, &other, &upub, &vpub, &below, &pubkey].map(String::as_str);
    let texts = [
        key.clone(),
        upub.clone(),
        vpub.clone(),
        below.clone(),
        format!("{}{key}", account.origin),
        checksum(&format!("wpkh({}{key}/<0;1>/*)", account.origin)),
        checksum(&format!("wsh(sortedmulti(2,{}{key}/0/*,{}{other}/0/*))", account.origin, second.origin)),
        format!("combo({pubkey})"),
        format!("tr({key}/0/*,{{pk({other}/1/*),pk({other}/2/*)}})"),
    ];
    let all = ["addresses", "transactions", "balance_history", "dashboard", "pnl"];
    for text in &texts {
        for mut body in [
            json!({"wallet": [text], "include": all}),
            json!({"wallet": [{"desc": text, "range": [0, 9], "active": true}, text], "include": all}),
            json!({"wallet": [text], "include": ["pnl"], "format": "csv"}),
            json!({"wallet": [text], "include": all, "explain": true, "gap_limit": 1}),
            // A member of an entry that has no meaning.
            json!({"wallet": [{"desc": text, key.as_str(): other.as_str(), "timestamp": {"a": key.as_str()}}], "include": all}),
        ] {
            let reply = sent(router, LOOKUP, body.to_string(), &secrets).await;
            assert_eq!(reply.status, 200, "{body}: {}", reply.text);
            // The whole texts are not repeated either.
            assert!(!reply.text.contains(text.as_str()));
            // A parameter that there is none of.
            body[other.as_str()] = json!(key);
            body["gap_limits"] = json!(5);
            let reply = sent(router, LOOKUP, body.to_string(), &secrets).await;
            assert_eq!(reply.status, 200, "{body}: {}", reply.text);
            if reply.body.is_object() {
                let warnings = reply.body["_meta"]["warnings"].to_string();
                assert!(warnings.contains("did you mean gap_limit?"), "{warnings}");
            } else {
                assert!(reply.header("x-warning").contains("unknown_parameter"));
            }
        }
    }
    // Whatever version a client has, it gets the answer; and nobody keeps it.
    let request = Request::post(LOOKUP).header("content-type", "application/json").header("if-none-match", "*");
    let reply = send(router, request.body(Body::from(json!({"wallet": [key]}).to_string())).unwrap()).await;
    assert_eq!((reply.status, reply.header("cache-control")), (200, "no-store"));
    let told: Value = reply.body;
    assert_eq!(told["branches"].as_array().unwrap().len(), 8);
}
