//! Calls that are sold by x402: which payments open them, and what becomes of a payment.

use std::sync::Arc;

use axum::{Router, body::Body, http::Request};
use cairn_access::{X402Settings, X402Till};
use cairn_http::{AccessMode, HttpConfig};
use cairn_operations::{ApiConfig, ApiState, router};
use cairn_state::{State, StateUrl};
use cairn_testkit::temp_dir;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    priced,
    support::{
        Reply, World, assert_problem, assert_valid, everything_world, get, get_ok, open_config, script_hash, send,
    },
    x402_payer::{ASSET, Fake, Outcome, PAY_TO, PAYER, TRANSACTION, decoded, domain, encoded, nonce, payment},
};

const SUMMARY: &str = "/v1/wallets/{address}/summary";

/// A server that sells calls, and its facilitator.
struct Shop {
    router: Router,
    fake: Arc<Fake>,
    summary: String,
    detail: String,
    _folder: TempDir,
}

impl Shop {
    async fn over(world: &World, contract_wallets: bool) -> Self {
        let folder = temp_dir();
        let state = State::open(&StateUrl::in_folder(folder.path())).await.unwrap();
        let fake = Arc::new(Fake::default());
        let settings = X402Settings {
            network: "eip155:84532".parse().unwrap(),
            asset: ASSET.parse().unwrap(),
            domain: domain(),
            decimals: 6,
            pay_to: PAY_TO.parse().unwrap(),
            max_timeout_seconds: 60,
            contract_wallets,
            is_open: true,
        };
        let till = X402Till::new(settings, Arc::<Fake>::clone(&fake), "one".to_owned()).unwrap();
        let http = HttpConfig { access_mode: AccessMode::Live, x402: X402Gate::Open, ..open_config().http };
        let api = ApiState::new(Arc::clone(&world.slot) as Arc<_>, ApiConfig::from(http));
        let router = router(ApiState { state: Some(state), tills: vec![Arc::new(till)], ..api });
        let script = world.oracle.scripts().max_by_key(|script| world.oracle.history(script).len()).unwrap();
        let of = |path: &str| path.replace("{address}", &script_hash(script));
        let (summary, detail) = (of(SUMMARY), of("/v1/wallets/{address}/detail"));
        Shop { router, fake, summary, detail, _folder: folder }
    }

    /// A payment of a path, signed by its offer.
    async fn payment(&self, path: &str, seed: &str) -> Value {
        let offered = get(&self.router, path).await;
        assert_problem(&offered, 402, "payment_required");
        payment(&decoded(offered.header("payment-required")), &nonce(seed), priced::now().into())
    }

    /// Asks with a value of `PAYMENT-SIGNATURE`.
    async fn ask(&self, path: &str, value: &str) -> Reply {
        let request = Request::get(path).header("payment-signature", value);
        send(&self.router, request.body(Body::empty()).unwrap()).await
    }

    async fn pay(&self, path: &str, payment: &Value) -> Reply {
        self.ask(path, &encoded(payment)).await
    }
}

fn warning(reply: &Reply) -> &str {
    reply.body["warnings"][0]["code"].as_str().unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_opens_a_summary() {
    let shop = Shop::over(&everything_world(), false).await;
    let offered = get(&shop.router, &shop.summary).await;
    assert_problem(&offered, 402, "payment_required");
    let required = decoded(offered.header("payment-required"));
    assert_eq!((&required["x402Version"], &required["accepts"][0]["amount"]), (&2.into(), &"10000".into()));
    // The name of the address is written in its canonical form.
    let url = required["resource"]["url"].as_str().unwrap();
    assert!(url.starts_with("http://cairn.test/v1/wallets/") && url.contains("/summary"), "{url}");
    let options = &offered.body["payment_options"];
    assert_eq!(options["x402"]["accepts"], required["accepts"]);
    assert_eq!(options["bridge"]["scheme"], "api_key_bridge");
    let paid = shop.pay(&shop.summary, &payment(&required, &nonce("summary"), priced::now().into())).await;
    assert_eq!(paid.status, 200, "{}", paid.text);
    assert_valid(SUMMARY, &paid.body);
    let receipt = json!({"success": true, "payer": PAYER, "transaction": TRANSACTION, "network": "eip155:84532"});
    assert_eq!(decoded(paid.header("payment-response")), receipt);
    let exposed = paid.header("access-control-expose-headers");
    assert!(exposed.contains("payment-required") && exposed.contains("payment-response"), "{exposed}");
    assert_eq!(shop.fake.called(), ["verify", "settle First"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn payments_that_open_nothing() {
    let shop = Shop::over(&everything_world(), false).await;
    let good = shop.payment(&shop.summary, "table").await;
    let now = u64::from(priced::now());
    let with = |pointer: &str, value: Value| {
        let mut bad = good.clone();
        *bad.pointer_mut(pointer).unwrap() = value;
        bad
    };
    let ending = format!("{}{}", good["payload"]["signature"].as_str().unwrap(), "64".repeat(32));
    for (bad, word) in [
        (with("/payload/authorization/value", "9999".into()), "invalid_exact_evm_payload_authorization_value_mismatch"),
        (with("/payload/authorization/to", PAYER.into()), "invalid_exact_evm_payload_recipient_mismatch"),
        (with("/accepted/payTo", PAYER.into()), "invalid_payment_requirements"),
        (with("/resource/url", "http://cairn.test/v1/chain/awakenings".into()), "resource_mismatch"),
        (
            with("/payload/authorization/validBefore", now.to_string().into()),
            "invalid_exact_evm_payload_authorization_valid_before",
        ),
        (with("/payload/authorization/nonce", nonce("another").into()), "invalid_exact_evm_payload_signature"),
        (with("/payload/signature", ending.into()), "unsupported_signature"),
    ] {
        let reply = shop.pay(&shop.summary, &bad).await;
        assert_problem(&reply, 402, "payment_required");
        assert_eq!(warning(&reply), word, "{}", reply.text);
        assert_eq!(decoded(reply.header("payment-required"))["error"], word);
    }
    for malformed in ["", "hunter2", "e30=", &encoded(&json!({"x402Version": 1}))] {
        let reply = shop.ask(&shop.summary, malformed).await;
        assert_problem(&reply, 400, "invalid_payment");
        assert!(!reply.text.contains("hunter2"));
    }
    assert_eq!(shop.fake.called(), Vec::<String>::new());
    assert_eq!(shop.pay(&shop.summary, &good).await.status, 200);
    // Again, on another path, and on another path with a forged resource.
    assert_eq!(warning(&shop.pay(&shop.summary, &good).await), "payment_already_used");
    assert_eq!(warning(&shop.pay(&shop.detail, &good).await), "resource_mismatch");
    let detail = shop.payment(&shop.detail, "detail").await;
    let forged = with("/resource/url", detail["resource"]["url"].clone());
    assert_eq!(warning(&shop.pay(&shop.detail, &forged).await), "payment_used_elsewhere");
    assert_eq!(shop.fake.called(), ["verify", "settle First"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn outcomes_of_settlements() {
    let shop = Shop::over(&everything_world(), false).await;
    let refused = shop.payment(&shop.summary, "refused").await;
    shop.fake.settles(&[Outcome::Refused]);
    let reply = shop.pay(&shop.summary, &refused).await;
    assert_problem(&reply, 402, "payment_required");
    assert_eq!(decoded(reply.header("payment-response"))["success"], false);
    assert!(reply.body.get("_meta").is_none());
    assert_eq!(warning(&shop.pay(&shop.summary, &refused).await), "settlement_refused");

    let unclear = shop.payment(&shop.summary, "unclear").await;
    shop.fake.settles(&[Outcome::Unclear, Outcome::Unclear]);
    for _ in 0..2 {
        let reply = shop.pay(&shop.summary, &unclear).await;
        assert_problem(&reply, 503, "payment_pending");
        assert_eq!((reply.header("retry-after"), reply.header("payment-response")), ("10", ""));
    }
    let reply = shop.pay(&shop.summary, &unclear).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    assert_eq!(decoded(reply.header("payment-response"))["transaction"], TRANSACTION);
    assert_eq!(warning(&shop.pay(&shop.summary, &unclear).await), "payment_already_used");

    let unsent = shop.payment(&shop.summary, "unsent").await;
    shop.fake.settles(&[Outcome::NotSent]);
    assert_problem(&shop.pay(&shop.summary, &unsent).await, 503, "facilitator_unavailable");
    assert_eq!(shop.pay(&shop.summary, &unsent).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn contract_wallets_pay_where_the_operator_allows_it() {
    let shop = Shop::over(&everything_world(), true).await;
    let mut wallet = shop.payment(&shop.summary, "wallet").await;
    let signature = format!("{}{}", wallet["payload"]["signature"].as_str().unwrap(), "64".repeat(32));
    wallet["payload"]["signature"] = signature.into();
    assert_eq!(shop.pay(&shop.summary, &wallet).await.status, 200);
    assert_eq!(shop.fake.called(), ["verify", "settle First"]);
}

/// What is free stays free, and health says what is sold.
#[tokio::test(flavor = "multi_thread")]
async fn free_calls_leave_payments_alone() {
    let shop = Shop::over(&everything_world(), false).await;
    let payment = shop.payment(&shop.summary, "kept").await;
    let free = shop.pay("/v1/chain/recent-blocks", &payment).await;
    assert_eq!((free.status, &free.body["_meta"]["warnings"][0]["code"]), (200, &"payment_not_used".into()));
    assert_eq!(shop.fake.called(), Vec::<String>::new());
    let health = get_ok(&shop.router, "/api/health", "/api/health").await;
    assert_eq!((&health["x402_opening"]["status"], &health["billing_paused"]), (&"open".into(), &false.into()));
    let sold: Vec<String> = serde_json::from_value(health["live_x402_capabilities"].clone()).unwrap();
    assert_eq!(sold, ["chain_awakenings", "tx_verify", "wallet_detail", "wallet_summary"]);
}
