//! Payments that open a call, and those that open none.

use std::time::Duration;

use axum::{body::Body, http::Request};
use cairn_access::X402Settings;
use cairn_x402::{FacilitatorError, VerifyOutcome};
use serde_json::{Value, json};

use crate::{
    payer::{PAY_TO, PAYER, TRANSACTION, encoded, nonce, payment, settings},
    shop::{NOW, Shop, THING},
};

const LONG: Duration = Duration::from_secs(20);

#[tokio::test(flavor = "multi_thread")]
async fn a_call_is_offered_and_paid() {
    let shop = Shop::new().await;
    let offered = shop.get("/v1/things/a?color=red&unknown=1").await;
    assert_eq!(offered.status, 402, "{}", offered.body);
    let required = offered.message("payment-required");
    assert_eq!((&required["x402Version"], &required["error"]), (&2.into(), &"payment_required".into()));
    assert_eq!(required["resource"]["url"], format!("https://cairn.test{THING}"));
    let offer = json!({
        "scheme": "exact", "network": "eip155:84532", "amount": "10000",
        "asset": "0x036CbD53842c5426634e7929541eC2318f3dCF7e", "payTo": PAY_TO, "maxTimeoutSeconds": 60,
        "extra": {"name": "USDC", "version": "2"},
    });
    assert_eq!(required["accepts"], json!([offer]));
    let option = &offered.body["payment_options"]["x402"];
    assert_eq!((&option["protocol"], &option["version"]), (&"x402".into(), &2.into()));
    assert_eq!((&option["accepts"], &option["resource"]), (&required["accepts"], &required["resource"]));
    assert_eq!((&option["offer"]["price_usd"], &option["offer"]["units"]), (&"0.01".into(), &1.into()));
    assert_eq!(offered.body["payment_options"]["bridge"]["scheme"], "api_key_bridge");
    assert_eq!(offered.headers.get_all("payment-required").iter().count(), 1);
    assert!(offered.body["how_to_access"].as_str().unwrap().contains("PAYMENT-SIGNATURE"));

    let paid = shop.pay(THING, &payment(&required, &nonce("paid"), NOW)).await;
    assert_eq!((paid.status, &paid.body["text"]), (200, &"the goods".into()), "{}", paid.body);
    let receipt = json!({"success": true, "payer": PAYER, "transaction": TRANSACTION, "network": "eip155:84532"});
    assert_eq!(paid.message("payment-response"), receipt);
    assert_eq!(paid.headers["cache-control"], "private, no-store");
    assert!(paid.headers.get("etag").is_none());
    assert_eq!(shop.fake.called(), ["verify", "settle First"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_is_priced_by_address() {
    let shop = Shop::new().await;
    let addresses = ["a", "b", "c"];
    let offered = shop.batch(&addresses, None).await;
    let required = offered.message("payment-required");
    assert_eq!(required["accepts"][0]["amount"], "150000");
    assert_eq!(required["resource"]["url"], "https://cairn.test/v1/things/batch");
    let payment = payment(&required, &nonce("batch"), NOW);
    // The same URL and price, but another body.
    assert_eq!(shop.batch(&addresses, Some(&payment)).await.status, 200);
    let other = shop.batch(&["a", "b", "d"], Some(&payment)).await;
    assert_eq!((other.status, other.warning()), (402, "payment_used_elsewhere"));
    let more = shop.batch(&["a", "b", "c", "d"], Some(&payment)).await;
    assert_eq!((more.status, more.warning()), (402, "payment_used_elsewhere"));
}

/// Changes to a good payment, and the word of the refusal.
#[tokio::test(flavor = "multi_thread")]
async fn payments_that_do_not_fit_are_refused_without_a_call() {
    let shop = Shop::new().await;
    let good = shop.payment(THING, "unfit").await;
    let with = |pointer: &str, value: Value| {
        let mut bad = good.clone();
        *bad.pointer_mut(pointer).unwrap() = value;
        bad
    };
    let authorization = "/payload/authorization";
    let short = format!("{}{}", good["payload"]["signature"].as_str().unwrap(), "00".repeat(31));
    for (bad, word) in [
        (with("/accepted/amount", "1".into()), "invalid_payment_requirements"),
        (
            with(&format!("{authorization}/value"), "9999".into()),
            "invalid_exact_evm_payload_authorization_value_mismatch",
        ),
        (
            with(&format!("{authorization}/value"), "10001".into()),
            "invalid_exact_evm_payload_authorization_value_mismatch",
        ),
        (with(&format!("{authorization}/to"), PAYER.into()), "invalid_exact_evm_payload_recipient_mismatch"),
        (with("/resource/url", "https://cairn.test/v1/things/b".into()), "resource_mismatch"),
        (
            with(&format!("{authorization}/validBefore"), (NOW + 5).to_string().into()),
            "invalid_exact_evm_payload_authorization_valid_before",
        ),
        (
            with(&format!("{authorization}/validAfter"), (NOW + 5).to_string().into()),
            "invalid_exact_evm_payload_authorization_valid_after",
        ),
        (with(&format!("{authorization}/nonce"), nonce("other").into()), "invalid_exact_evm_payload_signature"),
        (with("/payload/signature", short.into()), "unsupported_signature"),
    ] {
        let reply = shop.pay(THING, &bad).await;
        assert_eq!((reply.status, reply.warning()), (402, word), "{}", reply.body);
        assert_eq!(reply.message("payment-required")["error"], word);
        assert_eq!(reply.message("payment-response"), Value::Null);
        assert!(reply.body.get("text").is_none());
        assert_eq!(shop.row(&bad).await, None, "nothing is stored");
    }
    assert_eq!(shop.pay("/v1/things/b", &good).await.warning(), "resource_mismatch");
    assert_eq!((shop.fake.called(), shop.asked()), (Vec::new(), 0));
    assert_eq!(shop.pay(THING, &good).await.status, 200, "refusals use nothing up");
}

#[tokio::test(flavor = "multi_thread")]
async fn payments_that_cannot_be_read_are_errors() {
    let shop = Shop::new().await;
    let mut old = shop.payment(THING, "malformed").await;
    old["x402Version"] = 1.into();
    for value in ["", "hunter2", "{}", &encoded(&json!({})), &encoded(&json!([])), &encoded(&old), &"A".repeat(16_500)]
    {
        let request = Request::get(THING).header("payment-signature", value).body(Body::empty()).unwrap();
        let reply = shop.send(request).await;
        assert_eq!((reply.status, &reply.body["error"]), (400, &"invalid_payment".into()), "{}", reply.body);
        assert!(!reply.body.to_string().contains("hunter2"));
    }
    let good = encoded(&shop.payment(THING, "twice").await);
    let twice = Request::get(THING).header("payment-signature", &good).header("payment-signature", &good);
    let reply = shop.send(twice.body(Body::empty()).unwrap()).await;
    assert_eq!((reply.status, &reply.body["error"]), (400, &"invalid_payment".into()));
    assert_eq!(shop.asked(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_opens_one_answer() {
    let shop = Shop::new().await;
    let payment = shop.payment(THING, "replayed").await;
    assert_eq!(shop.pay(THING, &payment).await.status, 200);
    let again = shop.pay(THING, &payment).await;
    assert_eq!((again.status, again.warning()), (402, "payment_already_used"), "{}", again.body);
    // The signature does not cover the resource: the row does.
    let mut elsewhere = payment.clone();
    elsewhere["resource"]["url"] = "https://cairn.test/v1/things/b".into();
    let other = shop.pay("/v1/things/b", &elsewhere).await;
    assert_eq!((other.status, other.warning()), (402, "payment_used_elsewhere"), "{}", other.body);
    // Another transfer with the same nonce.
    let required = shop.get(THING).await.message("payment-required");
    let other = crate::payer::payment(&required, &nonce("replayed"), NOW - 7);
    assert_eq!(shop.pay(THING, &other).await.warning(), "nonce_reused");
    assert_eq!(shop.fake.called(), ["verify", "settle First"]);
    assert_eq!(shop.asked(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_requests_with_a_payment_one_is_answered() {
    let shop = std::sync::Arc::new(Shop::new().await);
    let payment = shop.payment(THING, "raced").await;
    let tasks: Vec<_> = (0..20)
        .map(|_| {
            let (shop, payment) = (std::sync::Arc::clone(&shop), payment.clone());
            tokio::spawn(async move { shop.pay(THING, &payment).await.status })
        })
        .collect();
    let mut statuses = Vec::new();
    for task in tasks {
        statuses.push(task.await.unwrap());
    }
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 1, "{statuses:?}");
    assert!(statuses.iter().all(|status| [200, 402, 409].contains(status)), "{statuses:?}");
    let settled = shop.fake.called().iter().filter(|call| call.starts_with("settle")).count();
    assert_eq!((settled, shop.asked()), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_facilitator_checks_before_anything_runs() {
    let shop = Shop::new().await;
    let payment = shop.payment(THING, "checked").await;
    shop.fake.says(Ok(VerifyOutcome::Invalid { reason: "insufficient_funds".to_owned() }));
    let invalid = shop.pay(THING, &payment).await;
    assert_eq!((invalid.status, invalid.warning()), (402, "payment_not_valid"), "{}", invalid.body);
    assert!(invalid.body["warnings"][0]["message"].as_str().unwrap().contains("insufficient_funds"));
    shop.fake.says(Err(FacilitatorError::Unreachable("refused".to_owned())));
    for _ in 0..2 {
        let away = shop.pay(THING, &payment).await;
        assert_eq!((away.status, &away.body["error"]), (503, &"facilitator_unavailable".into()), "{}", away.body);
        assert!(away.has_retry_after() && away.body["retryable"] == true);
    }
    assert_eq!(shop.asked(), 0);
    assert_eq!(shop.fake.called(), ["verify", "verify"], "after a failure it is left alone for a while");
    assert_eq!(shop.row(&payment).await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn contract_wallets_are_taken_where_the_operator_says_so() {
    let shop = Shop::with(X402Settings { contract_wallets: true, ..settings() }, LONG, || NOW * 1_000).await;
    let wallet = async |seed: &str, end: &str| {
        let mut payment = shop.payment(THING, seed).await;
        let signature = format!("{}{end}", payment["payload"]["signature"].as_str().unwrap());
        payment["payload"]["signature"] = signature.into();
        payment
    };
    let payment = wallet("wallet", &"64".repeat(32)).await;
    shop.fake.settles(&[crate::payer::Outcome::Unclear]);
    assert_eq!(shop.pay(THING, &payment).await.status, 503);
    // A signature that nobody has verified is not a repetition.
    let forged = wallet("wallet", &"65".repeat(32)).await;
    assert_eq!(shop.pay(THING, &forged).await.warning(), "nonce_reused");
    assert_eq!(shop.fake.called(), ["verify", "settle First"]);
    assert_eq!(shop.pay(THING, &payment).await.status, 200);
    let long = wallet("long", &"64".repeat(5_000)).await;
    assert_eq!(shop.pay(THING, &long).await.warning(), "payment_too_long");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_settled_while_settlement_is_closed() {
    let open = Shop::new().await;
    let payment = open.payment(THING, "closed").await;
    let shop = Shop::with(X402Settings { is_open: false, ..settings() }, LONG, || NOW * 1_000).await;
    for reply in [shop.get(THING).await, shop.pay(THING, &payment).await] {
        assert_eq!(reply.status, 402);
        let option = &reply.body["payment_options"]["x402"];
        assert_eq!((&option["error"], &option["accepts"]), (&"live_settlement_closed".into(), &json!([])));
        // The header is that of the pass.
        let header: Value = serde_json::from_str(reply.headers["payment-required"].to_str().unwrap()).unwrap();
        assert_eq!(header["scheme"], "api_key_bridge");
    }
    assert_eq!(shop.pay(THING, &payment).await.warning(), "live_settlement_closed");
    assert_eq!((shop.fake.called(), shop.asked()), (Vec::new(), 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_without_a_payable_price_say_why() {
    let shop = Shop::new().await;
    let dear = shop.get("/v1/dear/a").await;
    assert!(dear.status == 402 && dear.body.get("payment_options").is_none(), "{}", dear.body);
    let odd = shop.get("/v1/odd/a").await;
    assert_eq!(odd.body["payment_options"]["x402"]["error"], "price_unsupported", "{}", odd.body);
    let payment = shop.payment(THING, "unsold").await;
    assert_eq!(shop.pay("/v1/dear/a", &payment).await.warning(), "payment_not_used");
    let head = Request::head(THING).header("payment-signature", encoded(&payment)).body(Body::empty()).unwrap();
    let head = shop.send(head).await;
    assert_eq!((head.status, shop.asked()), (402, 0));
}
