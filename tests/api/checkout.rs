//! The checkout of passes: payments over Lightning and on chain, through reorganizations, and the key of a pass.
//!
//! One file on purpose: all tests use the same shop, whose chain grows.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use axum::{Router, body::Body, http::Request};
use cairn_http::{AccessMode, HttpConfig, PassMethod, PassOffer};
use cairn_lightning::{Invoices, NewInvoice, PaymentHash, Simulated};
use cairn_operations::{
    ApiConfig, ApiState, InvoiceAccess, InvoiceStatus, LightningInvoice, LightningUnavailable, PaymentsConfig, router,
};
use cairn_state::{
    ClientHashes, IndexUse, NewCheckout, OpenedCheckout, OpeningCheckout, PaymentInvoice, Secret, Verdict,
};
use serde_json::{Value, json};

use crate::{
    community::{Desk, descriptor},
    priced::now,
    sold::{get_with, simulated, warnings},
    support::{Reply, assert_problem, assert_valid, get, open_config, post, send},
};

pub const CHECKOUT: &str = "/v1/billing/checkout";
pub const STATUS: &str = "/v1/billing/checkout/{checkout_id}";
pub const REFRESH: &str = "/v1/billing/checkout/{checkout_id}/refresh";
const SECRET: &str = "x-checkout-secret";
const PRICE: u64 = 9_000;
const DAY: u64 = 86_400;
/// A secret that opens nothing.
const NO_SECRET: &str =
    "cairn_claim_000000000000_0000000000000000000000000000000000000000000000000000000000000000b5d8e203";

/// A Lightning node that can be away.
#[derive(Debug)]
struct Node {
    wallet: Arc<Simulated>,
    is_away: AtomicBool,
}

impl Node {
    fn check(&self) -> Result<(), LightningUnavailable> {
        if self.is_away.load(Ordering::SeqCst) { Err(LightningUnavailable { kind: "timed_out" }) } else { Ok(()) }
    }
}

impl InvoiceAccess for Node {
    fn create(&self, amount_sats: u64, memo: &str, expiry: u32) -> Result<LightningInvoice, LightningUnavailable> {
        self.check()?;
        let label = format!("label-{:016x}", rand::random::<u64>());
        let made = self.wallet.create(&NewInvoice::new(amount_sats, memo, expiry, &label).unwrap()).unwrap();
        let payment_hash = made.payment_hash.0;
        Ok(LightningInvoice { provider: "simulated", bolt11: made.bolt11, payment_hash })
    }

    fn look_up(&self, payment_hash: &[u8; 32]) -> Result<InvoiceStatus, LightningUnavailable> {
        self.check()?;
        Ok(match self.wallet.lookup(&PaymentHash(*payment_hash)).unwrap() {
            cairn_lightning::InvoiceState::Paid { paid_at, received_sats, .. } => {
                InvoiceStatus::Paid { at: paid_at, received_sats }
            }
            _ => InvoiceStatus::Unpaid,
        })
    }
}

/// A server that sells passes, on a chain that grows.
struct Shop {
    desk: Desk,
    router: Router,
    node: Arc<Node>,
    config: ApiConfig,
}

/// The settings of a server that sells passes.
pub fn selling(price_sats: u64) -> HttpConfig {
    let methods = vec![PassMethod::Lightning, PassMethod::Onchain];
    HttpConfig {
        access_mode: AccessMode::Live,
        pass: Some(PassOffer { price_sats, methods }),
        session_cache: Duration::ZERO,
        gates_enabled: true,
        ..open_config().http
    }
}

impl Shop {
    async fn with(http: HttpConfig) -> Self {
        let desk = Desk::new().await;
        let node = Arc::new(Node { wallet: simulated(), is_away: AtomicBool::new(false) });
        let payments = PaymentsConfig { descriptor: Some(descriptor()), ..PaymentsConfig::default() };
        let config = ApiConfig { payments, ..ApiConfig::from(http) };
        let router = Shop::router(&desk, &node, config.clone());
        Shop { desk, router, node, config }
    }

    async fn new() -> Self {
        Shop::with(selling(PRICE)).await
    }

    fn router(desk: &Desk, node: &Arc<Node>, config: ApiConfig) -> Router {
        let api = ApiState::new(Arc::clone(&desk.world.slot) as Arc<_>, config);
        let invoices = Some(Arc::<Node>::clone(node) as Arc<dyn InvoiceAccess>);
        router(ApiState { state: Some(desk.state.clone()), invoices, ..api })
    }

    async fn open(&self, method: &str) -> Value {
        let reply = post(&self.router, CHECKOUT, &buying(method)).await;
        assert_eq!(reply.status, 200, "{}", reply.text);
        assert_valid(CHECKOUT, &reply.body);
        assert_eq!(reply.header("cache-control"), "no-store");
        reply.body
    }

    async fn status(&self, opened: &Value) -> Reply {
        let path = STATUS.replace("{checkout_id}", opened["checkout_id"].as_str().unwrap());
        let reply = get_with(&self.router, &path, &[(SECRET, opened["claim_secret"].as_str().unwrap())]).await;
        if reply.status == 200 {
            assert_valid(STATUS, &reply.body);
            assert_eq!((reply.header("cache-control"), reply.header("etag")), ("no-store", ""));
        }
        reply
    }

    async fn refresh(&self, opened: &Value) -> Reply {
        let (id, secret) = (opened["checkout_id"].as_str().unwrap(), opened["claim_secret"].as_str().unwrap());
        refresh(&self.router, id, secret).await
    }

    /// The verdict about a key.
    async fn verdict(&self, key: &str) -> Verdict {
        let secret: Secret = key.parse().unwrap();
        self.desk.state.check(&secret, now().into()).await.unwrap()
    }

    /// Asks for a call that must be paid, with a key.
    async fn call_with(&self, key: &str) -> Reply {
        get_with(&self.router, "/v1/miner/flows", &[("x-wr-api-key", key)]).await
    }

    /// A checkout on chain that was opened earlier.
    async fn opened_before(&self, expires_at: u64, index: u32) -> Value {
        let descriptor = descriptor();
        self.desk.state.begin_payment_counter(descriptor.id(), index).await.unwrap();
        let (script, address) = descriptor.address(index, cairn_model::Network::Regtest).unwrap();
        let look = |_| Some(IndexUse::Free { script: script.clone(), address: address.clone() });
        let (new, client) = (new_checkout(expires_at), client());
        let opening =
            self.desk.state.open_onchain_checkout(new, descriptor.id(), &client, expires_at - DAY, look).await;
        let OpeningCheckout::Opened(opened) = opening.unwrap() else { panic!() };
        let OpenedCheckout { checkout, secret } = *opened;
        json!({"checkout_id": checkout.id, "claim_secret": secret.expose(), "payment": {"address": address}})
    }
}

fn new_checkout(expires_at: u64) -> NewCheckout {
    let plan = "wallet-monthly".to_owned();
    NewCheckout { plan, price_sats: PRICE, valid_secs: 31 * DAY, expires_at }
}

fn client() -> ClientHashes {
    ClientHashes { number: 1, current: "a".to_owned(), previous: "a".to_owned() }
}

fn buying(method: &str) -> Value {
    json!({"plan_id": "wallet-monthly", "payment_method_id": method})
}

async fn refresh(router: &Router, id: &str, secret: &str) -> Reply {
    let request = Request::post(REFRESH.replace("{checkout_id}", id)).header(SECRET, secret);
    let reply = send(router, request.body(Body::empty()).unwrap()).await;
    if reply.status == 200 {
        assert_valid(REFRESH, &reply.body);
    }
    reply
}

fn state(reply: &Reply) -> &str {
    assert_eq!(reply.status, 200, "{}", reply.text);
    reply.body["state"].as_str().unwrap()
}

/// A server that sells passes, the wallet of its clients, and what keeps both alive.
pub async fn example_shop() -> (Router, Arc<Simulated>, impl Sized) {
    let shop = Shop::new().await;
    (shop.router.clone(), Arc::clone(&shop.node.wallet), shop)
}

/// The answer of an operation of this area, for the description.
pub async fn example(path: &str) -> Option<Reply> {
    if ![CHECKOUT, STATUS, REFRESH].contains(&path) {
        return None;
    }
    let mut shop = Shop::new().await;
    let opened = shop.open("onchain").await;
    let mut reply = match path {
        CHECKOUT => post(&shop.router, CHECKOUT, &buying("onchain")).await,
        path => {
            shop.desk.pay(&opened["payment"]["address"], PRICE);
            shop.desk.mine(1);
            if path == STATUS { shop.status(&opened).await } else { shop.refresh(&opened).await }
        }
    };
    // No secret stands in the repository, not even one of a database that is gone.
    let id = "co_00000000000000000000000000000000";
    let own = reply.body["checkout_id"].as_str().unwrap().to_owned();
    for name in ["status_path", "refresh_path"] {
        if let Some(text) = reply.body[name].as_str() {
            reply.body[name] = text.replace(&own, id).into();
        }
    }
    reply.body["checkout_id"] = id.into();
    if reply.body["claim_secret"].is_string() {
        reply.body["claim_secret"] = NO_SECRET.into();
    }
    if reply.body["api_key"].is_string() {
        reply.body["key_id"] = "0".repeat(12).into();
        reply.body["api_key"] =
            "cairn_key_000000000000_00000000000000000000000000000000000000000000000000000000000000000844bb28".into();
    }
    Some(reply)
}

#[tokio::test]
async fn a_lightning_payment_gives_a_pass_once() {
    let shop = Shop::new().await;
    let opened = shop.open("lightning").await;
    let payment = &opened["payment"];
    assert_eq!(
        (&opened["state"], &payment["amount_sats"], &payment["simulated"]),
        (&json!("open"), &json!(PRICE), &json!(true))
    );
    let invoice = payment["invoice"].as_str().unwrap();
    assert_eq!(payment["payment_uri"], format!("lightning:{invoice}"));
    assert!(payment["qr_path"].as_str().unwrap().starts_with("/v1/qr?data=LIGHTNING:LNBCRT"), "{payment}");
    assert!(payment.get("address").is_none() && opened["customer_email_kept"] == false);
    for reply in [shop.status(&opened).await, shop.refresh(&opened).await] {
        assert_eq!((state(&reply), &reply.body["api_key_reason"]), ("open", &json!("not_paid")));
        assert_eq!((&reply.body["missing_sats"], &reply.body["confirmations"]), (&json!(PRICE), &Value::Null));
        assert!(!reply.text.contains(opened["claim_secret"].as_str().unwrap()));
    }
    shop.node.wallet.pay(invoice).unwrap();
    // A look at the stored state asks nobody.
    assert_eq!(state(&shop.status(&opened).await), "open");
    let paid = shop.refresh(&opened).await;
    assert_eq!((state(&paid), &paid.body["api_key_reason"], &paid.body["note"]), ("paid", &Value::Null, &Value::Null));
    let key = paid.body["api_key"].as_str().unwrap();
    let days = |name: &str| paid.body[name].as_str().unwrap().parse::<jiff::Timestamp>().unwrap().as_second();
    assert_eq!(days("pass_ends_at") - days("pass_begins_at"), 31 * 86_400);
    assert_eq!(shop.call_with(key).await.status, 200);
    assert_problem(&shop.call_with("").await, 402, "payment_required");
    for reply in [shop.refresh(&opened).await, shop.status(&opened).await] {
        assert_eq!((state(&reply), &reply.body["api_key"]), ("paid", &Value::Null));
        assert_eq!(
            (&reply.body["api_key_reason"], &reply.body["key_id"]),
            (&json!("shown_before"), &paid.body["key_id"])
        );
        assert!(!reply.text.contains(key));
    }
    assert_eq!(shop.desk.state.keys().await.unwrap().len(), 1);
}

#[tokio::test]
async fn of_many_requests_after_the_payment_one_gets_the_key() {
    let shop = Shop::new().await;
    let opened = shop.open("lightning").await;
    shop.node.wallet.pay(opened["payment"]["invoice"].as_str().unwrap()).unwrap();
    let tasks: Vec<_> = (0..24)
        .map(|_| {
            let (router, opened) = (shop.router.clone(), opened.clone());
            tokio::spawn(async move {
                let (id, secret) = (opened["checkout_id"].as_str().unwrap(), opened["claim_secret"].as_str().unwrap());
                let reply = refresh(&router, id, secret).await;
                (state(&reply).to_owned(), reply.body["api_key"].is_string())
            })
        })
        .collect();
    let mut seen: BTreeMap<(String, bool), u32> = BTreeMap::new();
    for task in tasks {
        *seen.entry(task.await.unwrap()).or_default() += 1;
    }
    assert_eq!(seen, BTreeMap::from([(("paid".to_owned(), true), 1), (("paid".to_owned(), false), 23)]));
    assert_eq!(shop.desk.state.keys().await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_payment_on_chain_is_followed_through_reorganizations() {
    let mut shop = Shop::new().await;
    let opened = shop.open("onchain").await;
    let (payment, address) = (&opened["payment"], &opened["payment"]["address"]);
    assert_eq!(payment["bip21"], format!("bitcoin:{}?amount=0.00009000", address.as_str().unwrap()));
    assert_eq!((&payment["payment_uri"], &payment["confirmations_needed"]), (&payment["bip21"], &json!(1)));
    assert!(payment.get("invoice").is_none());
    assert_eq!(state(&shop.status(&opened).await), "open");
    // Payments add up.
    shop.desk.pay(address, 4_000);
    shop.desk.mine(1);
    let part = shop.status(&opened).await;
    assert_eq!((state(&part), &part.body["missing_sats"]), ("underpaid", &json!(5_000)));
    assert!(part.body["note"].as_str().unwrap().contains("5000 satoshis are missing"), "{}", part.text);
    shop.desk.pay(address, 5_500);
    shop.desk.mine(1);
    // HEAD shows nothing, so it uses nothing up.
    let path = STATUS.replace("{checkout_id}", opened["checkout_id"].as_str().unwrap());
    let head = Request::head(&path).header(SECRET, opened["claim_secret"].as_str().unwrap());
    assert_eq!(send(&shop.router, head.body(Body::empty()).unwrap()).await.status, 200);
    assert_eq!(shop.desk.state.keys().await.unwrap(), []);
    let paid = shop.status(&opened).await;
    assert_eq!(
        (state(&paid), &paid.body["overpaid_sats"], &paid.body["confirmations"]),
        ("paid", &json!(500), &json!(1))
    );
    let key = paid.body["api_key"].as_str().unwrap().to_owned();
    assert_eq!(shop.call_with(&key).await.status, 200);

    for depth in [2, 5] {
        shop.desk.reorganize(depth);
        let gone = shop.refresh(&opened).await;
        assert_eq!((state(&gone), &gone.body["api_key_reason"]), ("reverted", &json!("shown_before")), "{}", gone.text);
        assert!(gone.body["note"].as_str().unwrap().contains("suspended"), "{}", gone.text);
        assert_eq!(shop.verdict(&key).await, Verdict::Suspended);
        let refused = shop.call_with(&key).await;
        assert_problem(&refused, 402, "payment_required");
        assert!(
            warnings(&refused).contains(&"api_key_ignored") && refused.text.contains("reorganization"),
            "{}",
            refused.text
        );
        shop.desk.pay(address, PRICE);
        shop.desk.mine(1);
        let back = shop.refresh(&opened).await;
        assert_eq!((state(&back), &back.body["pass_ends_at"]), ("paid", &paid.body["pass_ends_at"]));
        assert_eq!(shop.call_with(&key).await.status, 200, "it works again");
        shop.desk.mine(depth);
    }
}

#[tokio::test]
async fn a_large_payment_needs_three_confirmations() {
    let mut shop = Shop::with(selling(1_000_000)).await;
    let opened = shop.open("onchain").await;
    assert_eq!(opened["payment"]["confirmations_needed"], 3);
    shop.desk.pay(&opened["payment"]["address"], 1_000_000);
    for confirmations in 1..=2 {
        shop.desk.mine(1);
        let reply = shop.refresh(&opened).await;
        assert_eq!((state(&reply), &reply.body["confirmations"]), ("open", &json!(confirmations)));
        assert!(reply.body["note"].as_str().unwrap().contains("more confirmations"), "{}", reply.text);
    }
    shop.desk.mine(1);
    assert_eq!(state(&shop.refresh(&opened).await), "paid");
}

#[tokio::test]
async fn what_comes_too_late_is_honoured_and_what_does_not_come_expires() {
    let mut shop = Shop::new().await;
    let today = u64::from(now());
    let opened = shop.open("onchain").await;
    shop.desk.pay(&opened["payment"]["address"], PRICE);
    shop.desk.mine_at(now() + 2 * 86_400);
    let late = shop.refresh(&opened).await;
    assert_eq!(state(&late), "late");
    assert!(
        late.body["api_key"].is_string() && late.body["note"].as_str().unwrap().contains("honoured"),
        "{}",
        late.text
    );

    let unpaid = shop.opened_before(today - 10, 50).await;
    let expired = shop.refresh(&unpaid).await;
    assert_eq!((state(&expired), &expired.body["api_key_reason"]), ("expired", &json!("not_paid")));
    // A part can be topped up for a day.
    for (expires_at, index, expected) in [(today - 3_600, 51, "underpaid"), (today - 2 * DAY, 52, "expired")] {
        let part = shop.opened_before(expires_at, index).await;
        shop.desk.pay(&part["payment"]["address"], PRICE - 1);
        shop.desk.mine(1);
        let reply = shop.refresh(&part).await;
        assert_eq!((state(&reply), &reply.body["missing_sats"]), (expected, &json!(1)), "{}", reply.text);
    }
    let invoice =
        PaymentInvoice { provider: "simulated".to_owned(), payment_hash: [7; 32], invoice: "lnbcrt".to_owned() };
    let new = new_checkout(today - 1);
    let opening = shop.desk.state.open_lightning_checkout(new, invoice, &client(), today - 9).await.unwrap();
    let OpeningCheckout::Opened(opened) = opening else { panic!() };
    let expired = refresh(&shop.router, &opened.checkout.id, opened.secret.expose()).await;
    assert_eq!(state(&expired), "expired");
}

#[tokio::test]
async fn without_its_secret_a_checkout_is_not_found() {
    let shop = Shop::new().await;
    let (one, other) = (shop.open("onchain").await, shop.open("onchain").await);
    assert_ne!(one["payment"]["address"], other["payment"]["address"]);
    let id = one["checkout_id"].as_str().unwrap();
    let (own, wrong) = (one["claim_secret"].as_str().unwrap(), other["claim_secret"].as_str().unwrap());
    let (status, again) = (STATUS.replace("{checkout_id}", id), REFRESH.replace("{checkout_id}", id));
    let long = "x".repeat(5_000);
    for headers in [
        &[][..],
        &[(SECRET, wrong)],
        &[(SECRET, NO_SECRET)],
        &[(SECRET, "")],
        &[(SECRET, "hunter2")],
        &[(SECRET, &long)],
        &[(SECRET, own), (SECRET, own)],
        &[("authorization", own)],
    ] {
        let read = get_with(&shop.router, &status, headers).await;
        let written =
            headers.iter().fold(Request::post(&again), |request, (name, value)| request.header(*name, *value));
        for reply in [read, send(&shop.router, written.body(Body::empty()).unwrap()).await] {
            assert_problem(&reply, 404, "checkout_not_found");
            assert!(headers.iter().all(|(_, value)| value.is_empty() || !reply.text.contains(value)), "{}", reply.text);
        }
    }
    // Only the header counts, and what stands elsewhere is not repeated.
    let reply = get(&shop.router, &format!("{status}?checkout_secret={own}")).await;
    assert_problem(&reply, 404, "checkout_not_found");
    assert!(!reply.text.contains(own), "{}", reply.text);
    let known = get_with(&shop.router, &STATUS.replace("{checkout_id}", "co_0"), &[(SECRET, own)]).await;
    assert_problem(&known, 404, "checkout_not_found");
    assert_eq!(shop.status(&one).await.status, 200);
}

#[tokio::test]
async fn a_paused_checkout_says_why() {
    let shop = Shop::new().await;
    let with = |http: HttpConfig| Shop::router(&shop.desk, &shop.node, ApiConfig { http, ..shop.config.clone() });
    let none = Some(PassOffer { price_sats: PRICE, methods: Vec::new() });
    for (http, reason) in [
        (HttpConfig { access_mode: AccessMode::Beta, ..selling(PRICE) }, "public_beta"),
        (HttpConfig { pass: None, ..selling(PRICE) }, "no_price"),
        (HttpConfig { pass: none, ..selling(PRICE) }, "no_payment_method"),
    ] {
        let reply = post(&with(http), CHECKOUT, &buying("onchain")).await;
        assert_problem(&reply, 503, "checkout_paused");
        assert_eq!((&reply.body["reason"], &reply.body["retryable"]), (&reason.into(), &false.into()));
        assert_eq!(reply.header("retry-after"), "");
    }
    assert_eq!(shop.desk.state.checkouts(9).await.unwrap(), []);
    // A checkout that was opened before is answered all the same.
    let opened = shop.open("lightning").await;
    shop.node.wallet.pay(opened["payment"]["invoice"].as_str().unwrap()).unwrap();
    let (id, secret) = (opened["checkout_id"].as_str().unwrap(), opened["claim_secret"].as_str().unwrap());
    let paid = refresh(&with(HttpConfig { pass: None, ..selling(PRICE) }), id, secret).await;
    assert_eq!((state(&paid), paid.body["api_key"].is_string()), ("paid", true));
}

#[tokio::test]
async fn what_cannot_be_sold_is_refused() {
    let shop = Shop::new().await;
    for (body, field) in [
        (json!({}), "plan_id"),
        (json!({"plan_id": "other", "payment_method_id": "onchain"}), "plan_id"),
        (json!({"plan_id": "wallet-monthly", "payment_method_id": "cash"}), "payment_method_id"),
    ] {
        let reply = post(&shop.router, CHECKOUT, &body).await;
        assert_problem(&reply, 422, "validation_error");
        assert_eq!(reply.body["errors"][0]["name"], field, "{}", reply.text);
    }
    let methods = vec![PassMethod::Onchain];
    let http = HttpConfig { pass: Some(PassOffer { price_sats: PRICE, methods }), ..selling(PRICE) };
    let only_chain = Shop::router(&shop.desk, &shop.node, ApiConfig { http, ..shop.config.clone() });
    let reply = post(&only_chain, CHECKOUT, &buying("lightning")).await;
    assert_problem(&reply, 422, "validation_error");
    assert!(reply.text.contains("choose onchain"), "{}", reply.text);
    // An address of mail is not kept.
    let mut body = buying("onchain");
    body["customer_email"] = "ann@example.com".into();
    let reply = post(&shop.router, CHECKOUT, &body).await;
    assert_eq!((reply.status, warnings(&reply).contains(&"customer_email_not_kept")), (200, true));
    assert!(!reply.text.contains("ann@example.com"));

    // The node is away: nothing is stored, and a payment is not lost.
    let opened = shop.open("lightning").await;
    shop.node.wallet.pay(opened["payment"]["invoice"].as_str().unwrap()).unwrap();
    shop.node.is_away.store(true, Ordering::SeqCst);
    for reply in [post(&shop.router, CHECKOUT, &buying("lightning")).await, shop.refresh(&opened).await] {
        assert_problem(&reply, 503, "lightning_unavailable");
        assert_eq!(reply.header("retry-after"), "5");
    }
    assert_eq!(shop.desk.state.checkouts(9).await.unwrap().len(), 2);
    shop.node.is_away.store(false, Ordering::SeqCst);
    assert_eq!(state(&shop.refresh(&opened).await), "paid");
}

#[tokio::test]
async fn a_client_has_five_open_checkouts() {
    let shop = Shop::new().await;
    for method in ["lightning", "onchain", "lightning", "onchain", "onchain"] {
        shop.open(method).await;
    }
    for method in ["lightning", "onchain"] {
        let reply = post(&shop.router, CHECKOUT, &buying(method)).await;
        assert_problem(&reply, 429, "rate_limited");
        let wait: u64 = reply.header("retry-after").parse().unwrap();
        assert!((3_000..=3_600).contains(&wait), "{wait}");
    }
}
