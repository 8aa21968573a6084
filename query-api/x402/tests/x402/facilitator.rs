//! Calls of a facilitator over real connections.

use std::{io::Write, net::TcpListener, thread, time::Duration};

use cairn_x402::{
    Attempt, ConfigError, Credential, Facilitator, FacilitatorError, HttpFacilitator, MAX_ANSWER_BYTES, Network,
    SettleOutcome, SettleResponse, Timeouts, VerifyOutcome,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{
    fixtures::{json_value, offer, resource, verified},
    server::{Answer, serve},
};

/// Longer than a busy machine needs.
const LONG: Duration = Duration::from_secs(20);
const TOKEN: &str = "hunter2-of-the-facilitator";

fn client(url: &str) -> HttpFacilitator {
    client_within(url, LONG)
}

fn client_within(url: &str, limit: Duration) -> HttpFacilitator {
    let timeouts = Timeouts { connect: LONG, verify: limit, settle: limit };
    HttpFacilitator::new(url, Some(Credential::bearer(TOKEN).unwrap()), timeouts).unwrap()
}

fn settle(answer: Answer, attempt: Attempt) -> SettleOutcome {
    let (url, serving) = serve(vec![answer]);
    let outcome = client(&url).settle(&verified(), attempt);
    assert_eq!(serving.join().unwrap().len(), 1);
    outcome
}

fn verify(answer: Answer) -> Result<VerifyOutcome, FacilitatorError> {
    let (url, serving) = serve(vec![answer]);
    let outcome = client(&url).verify(&verified());
    serving.join().unwrap();
    outcome
}

/// A success as PyPI's x402 2.25.0 answers (`SettleResponse.model_dump_json(by_alias=True, exclude_none=True)`).
fn success() -> Value {
    json!({
        "success": true,
        "payer": verified().transfer().from,
        "transaction": format!("0x{}", "cd".repeat(32)),
        "network": "eip155:8453",
    })
}

fn failure(reason: &str, transaction: &str) -> Answer {
    let body = json!({
        "success": false, "errorReason": reason, "transaction": transaction, "network": "eip155:8453",
    });
    Answer::Body(200, body.to_string())
}

#[test]
fn kinds_that_a_facilitator_settles() {
    for (version, scheme, network, includes) in [
        (2, "exact", "eip155:8453", true),
        (1, "exact", "eip155:8453", false),
        (2, "upto", "eip155:8453", false),
        (2, "exact", "eip155:84532", false),
        (1, "exact", "base", false),
    ] {
        let kind = json!({ "x402Version": version, "scheme": scheme, "network": network, "extra": {} });
        let (url, serving) = serve(vec![Answer::Body(200, json!({ "kinds": [kind], "signers": {} }).to_string())]);
        assert_eq!(client(&url).supported().unwrap().includes(&offer()), includes, "{version} {scheme} {network}");
        serving.join().unwrap();
    }
}

/// PyPI's x402 2.25.0 read this body (`VerifyRequest`), and its `ExactEvmScheme` verified it and settled it.
#[test]
fn calls_are_those_of_the_reference() {
    let (url, serving) = serve(vec![
        Answer::Body(
            200,
            json!({ "kinds": [{ "x402Version": 2, "scheme": "exact", "network": "eip155:8453" }] }).to_string(),
        ),
        Answer::Body(200, json!({ "isValid": true, "payer": verified().transfer().from }).to_string()),
        Answer::Body(200, success().to_string()),
    ]);
    let (client, payment) = (client(&format!("{url}/base/")), verified());
    assert!(client.supported().unwrap().includes(&offer()));
    assert_eq!(client.verify(&payment).unwrap(), VerifyOutcome::Valid);
    let settled = client.settle(&payment, Attempt::First);
    assert_eq!(
        settled,
        SettleOutcome::Settled {
            transaction: format!("0x{}", "cd".repeat(32)),
            network: Network(8453),
            payer: payment.transfer().from,
        }
    );
    let response = serde_json::to_value(SettleResponse::from_outcome(&settled, &payment)).unwrap();
    assert_eq!(response, success());

    let requests = serving.join().unwrap();
    let lines: Vec<_> = requests.iter().map(|request| request.head.lines().next().unwrap()).collect();
    assert_eq!(lines, ["GET /base/supported HTTP/1.1", "POST /base/verify HTTP/1.1", "POST /base/settle HTTP/1.1"]);
    assert!(requests.iter().all(|request| request.head.contains(&format!("authorization: Bearer {TOKEN}\r\n"))));
    assert_eq!(requests[1].body, requests[2].body);
    let (sent, _) = crate::fixtures::payment_json();
    let expected = json!({
        "x402Version": 2,
        "paymentPayload": { "x402Version": 2, "resource": resource(), "accepted": offer(), "payload": sent["payload"] },
        "paymentRequirements": offer(),
    });
    assert_eq!(serde_json::from_str::<Value>(&requests[2].body).unwrap(), expected);
}

#[test]
fn answers_that_settle_refuse_or_leave_open() {
    let other = |field: &str, value: Value| {
        let mut answer = success();
        answer[field] = value;
        Answer::Body(200, answer.to_string())
    };
    let hash = format!("0x{}", "cd".repeat(32));
    for (answer, first, again) in [
        (other("payer", Value::Null), "Settled", "Settled"),
        (other("amount", json!("10000")), "Settled", "Settled"),
        (failure("insufficient_funds", ""), "Refused", "RefusedAgain"),
        (failure("invalid_exact_evm_payload_signature", ""), "Refused", "RefusedAgain"),
        (
            Answer::Body(
                400,
                json!({ "success": false, "errorReason": "invalid_payload", "transaction": "", "network": "" })
                    .to_string(),
            ),
            "Refused",
            "RefusedAgain",
        ),
        (failure("invalid_exact_evm_nonce_already_used", ""), "NonceUsed", "NonceUsed"),
        (failure("settlement_pending", &hash), "Pending", "Pending"),
        (failure("transaction_failed", ""), "Pending", "Pending"),
        (failure("invalid_exact_evm_transaction_failed: fetch failed", ""), "Pending", "Pending"),
        (failure("insufficient_funds", &hash), "Pending", "Pending"),
        (failure("", ""), "Pending", "Pending"),
        (other("network", json!("eip155:84532")), "Unreadable", "Unreadable"),
        (other("transaction", json!("")), "Unreadable", "Unreadable"),
        (other("payer", json!(offer().pay_to)), "Unreadable", "Unreadable"),
        (other("amount", json!("1")), "Unreadable", "Unreadable"),
        (other("success", json!("true")), "Unreadable", "Unreadable"),
        (Answer::Body(200, "<html>".to_owned()), "Unreadable", "Unreadable"),
        (Answer::Body(200, String::new()), "Unreadable", "Unreadable"),
        (Answer::Body(404, success().to_string()), "Status(404)", "Status(404)"),
        (Answer::Body(429, "slow down".to_owned()), "Status(429)", "Status(429)"),
        (
            Answer::Body(
                500,
                json!({ "success": false, "errorReason": "insufficient_funds", "transaction": "", "network": "" })
                    .to_string(),
            ),
            "Status(500)",
            "Status(500)",
        ),
        (Answer::Body(502, success().to_string()), "Status(502)", "Status(502)"),
        (
            Answer::Body(
                307,
                json!({ "success": false, "errorReason": "insufficient_funds", "transaction": "", "network": "" })
                    .to_string(),
            ),
            "Status(307)",
            "Status(307)",
        ),
    ] {
        for (attempt, expected) in [(Attempt::First, first), (Attempt::Again, again)] {
            let outcome = settle(answer.clone(), attempt);
            let text = format!("{outcome:?}");
            let is_final = text.starts_with("Settled") || text.starts_with("Refused {");
            assert!(text.contains(expected), "{text}");
            assert_eq!(is_final, ["Settled", "Refused"].contains(&expected), "{text}");
            assert_eq!(SettleResponse::from_outcome(&outcome, &verified()).is_some(), is_final);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A field of a success is anything else: no panic, and settled only where the field may be missing.
    #[test]
    fn no_changed_success_settles(
        field in prop::sample::select(vec!["success", "payer", "transaction", "network", "amount"]), value in json_value(),
    ) {
        let mut answer = success();
        prop_assume!(answer[field] != value);
        answer[field] = value.clone();
        let outcome = settle(Answer::Body(200, answer.to_string()), Attempt::First);
        let is_settled = matches!(outcome, SettleOutcome::Settled { .. });
        let may_be_missing = value.is_null() && ["payer", "amount"].contains(&field);
        prop_assert_eq!(is_settled, may_be_missing, "{:?}", outcome);
    }

    /// Bytes that are not an answer.
    #[test]
    fn no_bytes_settle(bytes in prop::collection::vec(any::<u8>(), 0..300), in_body: bool) {
        let head = format!("HTTP/1.1 200 x\r\ncontent-length: {}\r\n\r\n", bytes.len());
        let bytes = if in_body { [head.as_bytes(), &bytes].concat() } else { bytes };
        let outcome = settle(Answer::Bytes(bytes), Attempt::First);
        prop_assert!(matches!(outcome, SettleOutcome::Indeterminate { .. }), "{:?}", outcome);
    }
}

#[test]
fn connections_that_fail_leave_it_open() {
    let long = format!("HTTP/1.1 200 x\r\ncontent-length: 99999\r\n\r\n{}", " ".repeat(MAX_ANSWER_BYTES + 1));
    for (answer, expected) in [
        (Answer::Bytes(Vec::new()), "NoAnswer(Lost"),
        (Answer::Bytes(b"HTTP/1.1 200 x\r\ncontent-length: 400\r\n\r\n{\"success\":tr".to_vec()), "NoAnswer("),
        (Answer::Bytes(long.into_bytes()), "TooLong"),
        (Answer::Bytes(b"SSH-2.0-x\r\n".to_vec()), "NoAnswer("),
    ] {
        let text = format!("{:?}", settle(answer.clone(), Attempt::First));
        assert!(text.starts_with("Indeterminate") && text.contains(expected), "{expected}: {text}");
        verify(answer).unwrap_err();
    }
}

#[test]
fn silence_leaves_it_open() {
    let limit = Duration::from_secs(2);
    let (url, serving) = serve(vec![Answer::Silence(limit * 2)]);
    let outcome = client_within(&url, limit).settle(&verified(), Attempt::First);
    assert_eq!(serving.join().unwrap().len(), 1);
    let why = FacilitatorError::TimedOut(limit).into();
    assert_eq!(outcome, SettleOutcome::Indeterminate { why });
}

/// A server that is not one of TLS: the handshake fails before the request.
#[test]
fn nothing_is_sent_without_tls() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let serving = thread::spawn(move || listener.accept().unwrap().0.write_all(b"HTTP/1.1 400 x\r\n\r\n"));
    let outcome = client(&url).settle(&verified(), Attempt::First);
    assert!(matches!(outcome, SettleOutcome::NotSent { .. }), "{outcome:?}");
    // On a machine without root certificates there was no connection to wait for.
    if outcome != (SettleOutcome::NotSent { why: FacilitatorError::NoRoots }) {
        serving.join().unwrap().unwrap();
    }
}

#[test]
fn nothing_is_sent_where_nobody_listens() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    for attempt in [Attempt::First, Attempt::Again] {
        let outcome = client(&url).settle(&verified(), attempt);
        assert!(matches!(outcome, SettleOutcome::NotSent { why: FacilitatorError::Unreachable(_) }), "{outcome:?}");
    }
    assert!(matches!(client(&url).supported(), Err(FacilitatorError::Unreachable(_))));
}

#[test]
fn verdicts_before_settling() {
    let invalid = json!({ "isValid": false, "invalidReason": "insufficient_funds" }).to_string();
    for status in [200, 400] {
        let reason = "insufficient_funds".to_owned();
        assert_eq!(verify(Answer::Body(status, invalid.clone())), Ok(VerifyOutcome::Invalid { reason }));
    }
    let valid = json!({ "isValid": true }).to_string();
    assert_eq!(verify(Answer::Body(200, valid.clone())), Ok(VerifyOutcome::Valid));
    assert_eq!(verify(Answer::Body(400, valid)), Err(FacilitatorError::Status(400)));
    assert_eq!(verify(Answer::Body(503, invalid)), Err(FacilitatorError::Status(503)));
    let other = json!({ "isValid": true, "payer": offer().pay_to }).to_string();
    assert!(matches!(verify(Answer::Body(200, other)), Err(FacilitatorError::Unreadable(_))));
}

/// Neither Debug nor an error shows the credential, even if the facilitator repeats it.
#[test]
fn the_credential_stays_secret() {
    let repeated = Answer::Body(200, format!("\"Bearer {TOKEN}\""));
    let (url, serving) = serve(vec![repeated.clone()]);
    let client = client(&url);
    let error = client.verify(&verified()).unwrap_err();
    serving.join().unwrap();
    assert!(error.to_string().contains("Bearer ***"), "{error}");
    let outcomes = [settle(repeated, Attempt::First), settle(failure(TOKEN, ""), Attempt::First)];
    let text = format!("{client:?} {error} {error:?} {outcomes:?}");
    assert!(!text.contains("hunter2"), "{text}");
}

#[test]
fn configuration_is_checked() {
    let new = |url: &str, credential| HttpFacilitator::new(url, credential, Timeouts::default()).map(|_| ());
    for url in ["http://127.0.0.1:4022", "http://localhost:4022/", "http://[::1]:4022", "https://x402.example/base"] {
        assert_eq!(new(url, Some(Credential::bearer(TOKEN).unwrap())), Ok(()), "{url}");
    }
    for url in
        ["", "127.0.0.1:4022", "ftp://x402.example", "http://", "http://a:b@x402.example", "http://x402.example/?a"]
    {
        assert_eq!(new(url, None), Err(ConfigError::Url), "{url}");
    }
    assert_eq!(new("http://facilitator:4022", None), Ok(()));
    assert_eq!(new("http://facilitator:4022", Some(Credential::bearer(TOKEN).unwrap())), Err(ConfigError::ClearText));
    for (name, value) in [("x y", TOKEN), ("x", "value of\nlines"), ("", TOKEN), ("x", "7 bytes")] {
        assert_eq!(Credential::header(name, value).map(|_| ()), Err(ConfigError::Credential));
    }
    assert_eq!(Credential::bearer("7 bytes").map(|_| ()), Err(ConfigError::Credential));
}
