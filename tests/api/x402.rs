//! Calls that are sold by x402: which payments open them, and what becomes of a payment.

use std::sync::Arc;

use axum::{body::Body, http::Request};
use cairn_access::{LightningTill, X402Settings, X402Till};
use cairn_http::{HttpConfig, Till, X402Gate};
use cairn_lightning::{BackendKind, Simulated};
use serde_json::{Value, json};

use crate::{
    priced,
    sold::{self, get_with, live_config, selling_by, warnings},
    support::{Reply, World, assert_problem, assert_valid, everything_world, get, get_ok, send},
    x402_payer::{Fake, Outcome, PAYER, TRANSACTION, decoded, encoded, nonce, payment, settings},
};

const SUMMARY: &str = "/v1/wallets/{address}/summary";

/// A till of x402, and its facilitator.
pub fn x402_till(settings: X402Settings) -> (Arc<dyn Till>, Arc<Fake>) {
    let fake = Arc::new(Fake::default());
    let till = X402Till::new(settings, Arc::<Fake>::clone(&fake), "one".to_owned()).unwrap();
    (Arc::new(till), fake)
}

/// A server that sells calls by x402, and its facilitator.
pub struct Shop {
    pub sold: sold::Shop,
    pub fake: Arc<Fake>,
    pub summary: String,
    detail: String,
}

impl Shop {
    /// Sells by x402 alone.
    pub async fn over(world: &World, settings: X402Settings) -> Self {
        Shop::with(world, settings, None).await
    }

    /// Sells over Lightning, too.
    pub async fn both(world: &World) -> Self {
        Shop::with(world, settings(), Some("simulated")).await
    }

    async fn with(world: &World, settings: X402Settings, lightning: Option<&'static str>) -> Self {
        let x402 = if settings.is_open { X402Gate::Open } else { X402Gate::Closed };
        let mut sold = sold::Shop::with(world, HttpConfig { x402, lightning, ..live_config() }).await;
        let (till, fake) = x402_till(settings);
        let wallet = Arc::<Simulated>::clone(&sold.wallet);
        let over_lightning = LightningTill::new(BackendKind::Simulated, wallet, "one".to_owned());
        let first = lightning.map(|_| Arc::new(over_lightning) as Arc<dyn Till>);
        let tills = first.into_iter().chain([till]).collect();
        sold.router = selling_by(world, &sold.state, &sold.config, tills);
        let of = |path: &str| path.replace("{address}", &sold.address);
        let (summary, detail) = (of(SUMMARY), of("/v1/wallets/{address}/detail"));
        Shop { sold, fake, summary, detail }
    }

    /// A payment of a path, signed by its offer.
    pub async fn payment(&self, path: &str, seed: &str) -> Value {
        signed(&get(&self.sold.router, path).await, seed)
    }

    /// Asks with a value of `PAYMENT-SIGNATURE`.
    async fn ask(&self, path: &str, value: &str) -> Reply {
        get_with(&self.sold.router, path, &[("payment-signature", value)]).await
    }

    pub async fn pay(&self, path: &str, payment: &Value) -> Reply {
        self.ask(path, &encoded(payment)).await
    }
}

/// True if the first warning is that the payment pays another call.
pub fn is_of_another_call(reply: &Reply) -> bool {
    ["payment_used_elsewhere", "resource_mismatch"].contains(&warning(reply))
}

/// A payment of an offered call. `seed` decides the nonce.
pub fn signed(offered: &Reply, seed: &str) -> Value {
    assert_problem(offered, 402, "payment_required");
    payment(&decoded(offered.header("payment-required")), &nonce(seed), priced::now().into())
}

fn warning(reply: &Reply) -> &str {
    reply.body["warnings"][0]["code"].as_str().unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_opens_a_summary() {
    let shop = Shop::over(&everything_world(), settings()).await;
    let offered = get(&shop.sold.router, &shop.summary).await;
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
    let shop = Shop::over(&everything_world(), settings()).await;
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
    assert!(is_of_another_call(&shop.pay(&shop.detail, &good).await));
    let detail = shop.payment(&shop.detail, "detail").await;
    let forged = with("/resource/url", detail["resource"]["url"].clone());
    assert!(is_of_another_call(&shop.pay(&shop.detail, &forged).await));
    assert_eq!(shop.fake.called(), ["verify", "settle First"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn outcomes_of_settlements() {
    let shop = Shop::over(&everything_world(), settings()).await;
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
    let shop = Shop::over(&everything_world(), X402Settings { contract_wallets: true, ..settings() }).await;
    let mut wallet = shop.payment(&shop.summary, "wallet").await;
    let signature = format!("{}{}", wallet["payload"]["signature"].as_str().unwrap(), "64".repeat(32));
    wallet["payload"]["signature"] = signature.into();
    assert_eq!(shop.pay(&shop.summary, &wallet).await.status, 200);
    assert_eq!(shop.fake.called(), ["verify", "settle First"]);
}

/// A payment is used only where nothing else opens the call; the answer says that it was not.
#[tokio::test(flavor = "multi_thread")]
async fn payments_that_are_not_needed_are_left_alone() {
    let shop = Shop::both(&everything_world()).await;
    let payment = shop.payment(&shop.summary, "kept").await;
    let signature = encoded(&payment);
    let paid = ("payment-signature", signature.as_str());
    let free = get_with(&shop.sold.router, "/v1/chain/recent-blocks", &[paid]).await;
    assert!(free.status == 200 && warnings(&free).contains(&"payment_not_used"), "{}", free.text);
    assert_eq!(free.header("cache-control"), "private, no-cache");
    let key = shop.sold.key().await;
    let opened = get_with(&shop.sold.router, &shop.summary, &[paid, ("x-wr-api-key", &key)]).await;
    assert_eq!((opened.status, &opened.body["_meta"]["price_sats"]), (200, &0.into()), "{}", opened.text);
    assert!(warnings(&opened).contains(&"payment_not_used"), "{}", opened.text);
    // Of two payments, the one over Lightning is used.
    let proof = shop.sold.pay(&get(&shop.sold.router, &shop.summary).await);
    let both = [paid, ("authorization", proof.as_str())];
    let opened = get_with(&shop.sold.router, &shop.summary, &both).await;
    assert_eq!((opened.status, &opened.body["_meta"]["price_sats"]), (200, &21.into()), "{}", opened.text);
    assert!(warnings(&opened).contains(&"payment_not_used"), "{}", opened.text);
    assert_eq!(opened.header("payment-response"), "");
    let again = get_with(&shop.sold.router, &shop.summary, &both).await;
    assert_problem(&again, 402, "payment_required");
    assert_eq!(warnings(&again), ["credential_redeemed", "payment_not_used"]);
    // An unsold call, and HEAD.
    let contributors = shop.summary.replace("/summary", "/contributors");
    let unsold = get_with(&shop.sold.router, &contributors, &[paid]).await;
    assert_problem(&unsold, 402, "payment_required");
    assert_eq!(warnings(&unsold), ["payment_not_used"]);
    assert!(unsold.body["payment_options"].get("x402").is_none(), "{}", unsold.text);
    let head = Request::head(&shop.summary).header(paid.0, paid.1).body(Body::empty()).unwrap();
    assert_eq!(send(&shop.sold.router, head).await.status, 402);
    assert_eq!(shop.fake.called(), Vec::<String>::new());
    assert_eq!(shop.pay(&shop.summary, &payment).await.status, 200);
    assert_eq!(shop.fake.called(), ["verify", "settle First"]);
    let health = get_ok(&shop.sold.router, "/api/health", "/api/health").await;
    assert_eq!((&health["x402_opening"]["status"], &health["billing_paused"]), (&"open".into(), &false.into()));
}

/// A server without a till of x402 says so to those who pay by it.
#[tokio::test]
async fn without_x402_a_payment_is_ignored_with_a_warning() {
    let shop = sold::Shop::over(&everything_world()).await;
    let path = format!("/v1/wallets/{}/summary", shop.address);
    let paid = ("payment-signature", "anything");
    let free = get_with(&shop.router, "/v1/chain/recent-blocks", &[paid]).await;
    assert!(free.status == 200 && warnings(&free).contains(&"payment_not_used"), "{}", free.text);
    let refused = get_with(&shop.router, &path, &[paid]).await;
    assert_problem(&refused, 402, "payment_required");
    assert_eq!(warnings(&refused), ["payment_not_used"]);
    let message = refused.body["warnings"][0]["message"].as_str().unwrap();
    assert!(message.contains("sells no calls by x402") && !message.contains("anything"), "{message}");
    let proof = shop.pay(&refused);
    let opened = get_with(&shop.router, &path, &[paid, ("authorization", &proof)]).await;
    assert_eq!((opened.status, &opened.body["_meta"]["price_sats"]), (200, &21.into()), "{}", opened.text);
    assert!(warnings(&opened).contains(&"payment_not_used"), "{}", opened.text);
}

/// A closed settlement takes nothing, and says why.
#[tokio::test(flavor = "multi_thread")]
async fn a_closed_settlement_offers_no_way_to_pay() {
    let world = everything_world();
    let shop = Shop::over(&world, X402Settings { is_open: false, ..settings() }).await;
    let offered = get(&shop.sold.router, &shop.summary).await;
    assert_problem(&offered, 402, "payment_required");
    let x402 = &offered.body["payment_options"]["x402"];
    assert_eq!((&x402["error"], &x402["accepts"]), (&"live_settlement_closed".into(), &json!([])));
    assert!(x402["error_detail"].as_str().unwrap().contains("not opened"), "{x402}");
    let compact: Value = serde_json::from_str(offered.header("payment-required")).unwrap();
    assert_eq!((&compact["scheme"], &compact["amount_sats"]), (&"api_key_bridge".into(), &Value::Null));
    let open = Shop::over(&world, settings()).await;
    let payment = open.payment(&open.summary, "too early").await;
    let refused = shop.pay(&shop.summary, &payment).await;
    assert_problem(&refused, 402, "payment_required");
    assert_eq!(warnings(&refused), ["live_settlement_closed"]);
    assert_problem(&shop.ask(&shop.summary, "hunter2").await, 400, "invalid_payment");
    let free = shop.pay("/v1/chain/recent-blocks", &payment).await;
    assert!(free.status == 200 && warnings(&free).contains(&"payment_not_used"), "{}", free.text);
    let key = shop.sold.key().await;
    let headers = [("payment-signature", "hunter2"), ("x-wr-api-key", key.as_str())];
    let opened = get_with(&shop.sold.router, &shop.summary, &headers).await;
    assert!(opened.status == 200 && warnings(&opened).contains(&"payment_not_used"), "{}", opened.text);
    assert_eq!(shop.fake.called(), Vec::<String>::new());
    assert_eq!(open.pay(&open.summary, &payment).await.status, 200);
}
