//! Payments when something fails, and when many send the same one.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use axum::{
    Router,
    body::Body,
    http::{HeaderValue, Request},
};
use base64::{Engine, engine::general_purpose::STANDARD};
use cairn_http::HttpConfig;
use cairn_l402::Credentials;
use cairn_lightning::{BackendError, Invoice, InvoiceState, Invoices, NewInvoice, NodeInfo, PaymentHash, Simulated};
use cairn_operations::{ApiConfig, ApiState, router};
use cairn_state::{MAX_CHALLENGES_OF_CLIENT, MAX_NOT_FOUND_RELEASES, Reopening};
use rand::{Rng, SeedableRng, seq::IndexedRandom};
use rand_chacha::ChaCha8Rng;

use crate::{
    priced,
    sold::{Shop, challenge_id, get_with, l402, live_config, selling, warnings},
    support::{Reply, World, assert_problem, everything_world, get, hex, send},
    x402,
    x402_payer::encoded,
};

/// Path of a call, the value of `Authorization` that opens it, and the id of its challenge.
pub async fn paid_summary(shop: &Shop) -> (String, String, String) {
    let path = format!("/v1/wallets/{}/summary", shop.address);
    let offered = get(&shop.router, &path).await;
    (path, shop.pay(&offered), challenge_id(&offered).to_owned())
}

#[tokio::test]
async fn what_is_not_found_gives_the_payment_back_a_few_times() {
    let shop = Shop::over(&everything_world()).await;
    let path = format!("/v1/tx/{}", "0".repeat(64));
    let offered = get(&shop.router, &path).await;
    let paid = shop.pay(&offered);
    for time in 1..=MAX_NOT_FOUND_RELEASES {
        let reply = get_with(&shop.router, &path, &[("authorization", &paid)]).await;
        assert_problem(&reply, 404, "tx_not_found");
        let state = if time < MAX_NOT_FOUND_RELEASES { "pending" } else { "redeemed" };
        assert_eq!(reply.body["payment_state"], state, "{time}");
        assert_eq!(reply.header("cache-control"), "private, no-store");
    }
    let reply = get_with(&shop.router, &path, &[("authorization", &paid)]).await;
    assert_eq!((reply.status, warnings(&reply)), (402, vec!["credential_redeemed"]));
}

#[tokio::test]
async fn a_failure_of_ours_gives_the_payment_back() {
    let world = everything_world();
    let shop = Shop::over(&world).await;
    let (path, paid, id) = paid_summary(&shop).await;
    // A server with the same database whose index is empty.
    let empty = |state| {
        let slot = Arc::new(cairn_link::IndexSlot::new());
        let till = cairn_access::LightningTill::new(
            cairn_lightning::BackendKind::Simulated,
            Arc::<Simulated>::clone(&shop.wallet),
            "empty".to_owned(),
        );
        let api = ApiState::new(slot, shop.config.clone());
        router(ApiState { state: Some(state), tills: vec![Arc::new(till)], ..api })
    };
    let empty = empty(shop.state.clone());
    for _ in 0..2 * MAX_NOT_FOUND_RELEASES {
        let reply = get_with(&empty, &path, &[("authorization", &paid)]).await;
        assert_problem(&reply, 503, "index_syncing");
        assert_eq!(reply.body["payment_state"], "pending");
    }
    assert_eq!(shop.status_of(&id).await["status"], "pending");
    assert_eq!(get_with(&shop.router, &path, &[("authorization", &paid)]).await.status, 200);
}

#[tokio::test]
async fn an_answer_that_was_lost_can_be_had_again_if_the_operator_says_so() {
    let shop = Shop::over(&everything_world()).await;
    let (path, paid, id) = paid_summary(&shop).await;
    let with = [("authorization", paid.as_str())];
    assert_eq!(get_with(&shop.router, &path, &with).await.status, 200);
    let reopened = shop.state.reopen_challenge(&id, "the connection broke", priced::now().into()).await.unwrap();
    assert!(matches!(reopened, Reopening::Done { .. }));
    assert_eq!(shop.status_of(&id).await["status"], "pending");
    assert_eq!(get_with(&shop.router, &path, &with).await.status, 200);
    assert_eq!(get_with(&shop.router, &path, &with).await.status, 402);
}

#[tokio::test]
async fn a_payment_is_not_used_where_a_key_opens_or_nothing_is_asked() {
    let shop = Shop::over(&everything_world()).await;
    let (path, paid, id) = paid_summary(&shop).await;
    let key = shop.key().await;
    let reply = get_with(&shop.router, &path, &[("authorization", &paid), ("x-wr-api-key", &key)]).await;
    assert_eq!((reply.status, warnings(&reply)), (200, vec!["payment_not_used"]), "{}", reply.text);
    let reply = get_with(&shop.router, "/v1/fees/recommended", &[("authorization", &paid)]).await;
    assert!(warnings(&reply).contains(&"payment_not_used"), "{}", reply.text);
    assert_eq!(shop.status_of(&id).await["status"], "pending");
    // The same credential in both schemes, as some clients send it.
    let lsat = paid.replacen("L402", "LSAT", 1);
    let reply = get_with(&shop.router, &path, &[("authorization", &lsat), ("authorization", &paid)]).await;
    assert_eq!((reply.status, &reply.body["_meta"]["price_sats"]), (200, &21.into()), "{}", reply.text);
}

#[tokio::test]
async fn unpaid_requests_cost_few_invoices() {
    let world = everything_world();
    let shop = Shop::over(&world).await;
    let counting = Arc::new(Counting { daemon: Arc::<Simulated>::clone(&shop.wallet), made: AtomicU32::new(0) });
    let router = selling(&world, &shop.state, &shop.config, Arc::<Counting>::clone(&counting), "counts");
    let path = format!("/v1/wallets/{}/summary", shop.address);
    let first = get(&router, &path).await;
    for _ in 0..5 {
        let again = get(&router, &path).await;
        assert_eq!(l402(&again)["payment"], l402(&first)["payment"], "the same within a minute");
    }
    assert_eq!(counting.made.load(Ordering::SeqCst), 1);
    // Other calls of the same client, up to its limit; the answers stay complete but for the invoice.
    for script in world.oracle.scripts().take(2 * MAX_CHALLENGES_OF_CLIENT as usize) {
        let reply = get(&router, &format!("/v1/wallets/raw({})/summary", hex(script.as_bytes()))).await;
        if reply.status == 400 {
            continue;
        }
        assert_eq!(reply.status, 402, "{}", reply.text);
    }
    let made = counting.made.load(Ordering::SeqCst);
    assert!(made <= MAX_CHALLENGES_OF_CLIENT, "{made}");
}

/// Counts the invoices that a node makes.
#[derive(Debug)]
struct Counting {
    daemon: Arc<Simulated>,
    made: AtomicU32,
}

impl Invoices for Counting {
    fn create(&self, new: &NewInvoice) -> Result<Invoice, BackendError> {
        self.made.fetch_add(1, Ordering::SeqCst);
        self.daemon.create(new)
    }

    fn lookup(&self, payment_hash: &PaymentHash) -> Result<InvoiceState, BackendError> {
        self.daemon.lookup(payment_hash)
    }

    fn node(&self) -> Result<NodeInfo, BackendError> {
        self.daemon.node()
    }
}

/// A node that never answers in time.
#[derive(Debug)]
struct Away;

impl Invoices for Away {
    fn create(&self, _: &NewInvoice) -> Result<Invoice, BackendError> {
        Err(BackendError::TimedOut { backend: "lnd", limit: Duration::from_secs(2) })
    }

    fn lookup(&self, _: &PaymentHash) -> Result<InvoiceState, BackendError> {
        Ok(InvoiceState::Unknown)
    }

    fn node(&self) -> Result<NodeInfo, BackendError> {
        Err(BackendError::TimedOut { backend: "lnd", limit: Duration::from_secs(2) })
    }
}

#[tokio::test]
async fn without_a_lightning_node_the_pass_is_offered_and_the_reason_is_said() {
    let world = everything_world();
    let shop = Shop::over(&world).await;
    let router = selling(&world, &shop.state, &shop.config, Arc::new(Away), "away");
    let path = format!("/v1/wallets/{}/summary", shop.address);
    let offered = get(&router, &path).await;
    assert_eq!(l402(&offered)["error"], "lightning_unavailable");
    assert!(l402(&offered)["error_detail"].as_str().unwrap().contains("timed_out"), "{}", offered.text);
    assert!(l402(&offered).get("payment").is_none() && offered.header("www-authenticate").is_empty());
    assert_eq!(offered.body["payment_options"]["bridge"]["scheme"], "api_key_bridge");
    // A payment of before still opens its call.
    let (path, paid, _) = paid_summary(&shop).await;
    assert_eq!(get_with(&router, &path, &[("authorization", &paid)]).await.status, 200);
}

#[tokio::test]
async fn without_a_database_nothing_is_sold_and_no_payment_is_lost() {
    let world = everything_world();
    let shop = Shop::over(&world).await;
    let (path, paid, _) = paid_summary(&shop).await;
    let bare = without_state(&world, &shop, live_config());
    let offered = get(&bare, &path).await;
    assert_eq!(l402(&offered)["error"], "state_unavailable", "{}", offered.text);
    let reply: Reply = get_with(&bare, &path, &[("authorization", &paid)]).await;
    assert_problem(&reply, 503, "state_unavailable");
    assert_eq!(get(&bare, "/v1/fees/recommended").await.body["_meta"]["price_sats"].as_u64().unwrap_or(0), 0);
    assert_eq!(get_with(&shop.router, &path, &[("authorization", &paid)]).await.status, 200);
}

fn without_state(world: &World, shop: &Shop, http: HttpConfig) -> Router {
    let till = cairn_access::LightningTill::new(
        cairn_lightning::BackendKind::Simulated,
        Arc::<Simulated>::clone(&shop.wallet),
        "bare".to_owned(),
    );
    let api = ApiState::new(Arc::clone(&world.slot) as Arc<_>, ApiConfig::from(http));
    router(ApiState { tills: vec![Arc::new(till)], ..api })
}

/// Credentials that the mutations of a paid one are sent as.
const MUTATIONS: usize = 3_000;

/// Changes a few bytes.
fn mutated(text: &str, rng: &mut ChaCha8Rng) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..rng.random_range(1..4) {
        if bytes.is_empty() {
            break;
        }
        let at = rng.random_range(0..bytes.len());
        match rng.random_range(0..4) {
            0 => bytes[at] = rng.random_range(0x20..0x7f),
            1 => drop(bytes.remove(at)),
            2 => bytes.insert(at, *b"AZaz09+/=-_:, \xff".choose(rng).unwrap()),
            _ => bytes.truncate(at.max(1)),
        }
    }
    bytes
}

#[tokio::test]
async fn mutated_credentials_open_nothing_and_break_nothing() {
    let shop = Shop::over(&everything_world()).await;
    let (path, paid, id) = paid_summary(&shop).await;
    let (mut rng, mut was_used) = (ChaCha8Rng::seed_from_u64(53), false);
    for _ in 0..MUTATIONS {
        let bytes = mutated(&paid, &mut rng);
        let Ok(value) = HeaderValue::from_bytes(&bytes) else { continue };
        let name = *["authorization", "x-wr-api-key", "payment-signature"].choose(&mut rng).unwrap();
        let request = Request::get(&path).header(name, &value).body(Body::empty()).unwrap();
        let reply = send(&shop.router, request).await;
        let is_same = name == "authorization" && is_same_credential(&bytes, &paid);
        was_used |= reply.status == 200;
        assert!(reply.status == 402 || is_same, "{name}: {value:?}: {}", reply.text);
    }
    // Unless a mutation kept it, nothing has used it.
    let redeemed = shop.status_of(&id).await["status"] == "redeemed";
    assert_eq!(redeemed, was_used, "{id}");
}

/// Payments of x402 that were changed: as text, or before they were encoded.
#[tokio::test(flavor = "multi_thread")]
async fn mutated_payments_of_x402_are_used_at_most_once() {
    let shop = x402::Shop::both(&everything_world()).await;
    let payment = shop.payment(&shop.summary, "mutated").await;
    let (json, text) = (payment.to_string(), encoded(&payment));
    let (mut rng, mut answered) = (ChaCha8Rng::seed_from_u64(402), 0);
    for number in 0..MUTATIONS {
        let bytes = match number % 2 {
            0 => mutated(&text, &mut rng),
            _ => STANDARD.encode(mutated(&json, &mut rng)).into_bytes(),
        };
        let Ok(value) = HeaderValue::from_bytes(&bytes) else { continue };
        let request = Request::get(&shop.summary).header("payment-signature", &value).body(Body::empty()).unwrap();
        let reply = send(&shop.sold.router, request).await;
        answered += usize::from(reply.status == 200);
        assert!(matches!(reply.status, 200 | 400 | 402), "{value:?}: {}", reply.text);
    }
    // A change such as a space between members leaves the payment as it is.
    assert!(answered <= 1, "{answered}");
    let settled = shop.fake.called().iter().filter(|call| call.starts_with("settle")).count();
    assert_eq!(settled, answered);
}

/// True if a mutation kept the credential: the case of a digit or of the scheme, or a space.
fn is_same_credential(bytes: &[u8], paid: &str) -> bool {
    let read = |value: &[u8]| {
        let credentials = Credentials::parse(value).ok()?;
        Some((credentials.macaroon.to_base64(), credentials.preimage.payment_hash()))
    };
    read(bytes).is_some_and(|credentials| Some(credentials) == read(paid.as_bytes()))
}
