//! Calls that are sold over Lightning: the 402 answer, a payment and what it opens.

use std::sync::Arc;

use axum::{Router, body::Body, http::Request};
use cairn_access::LightningTill;
use cairn_http::{AccessMode, HttpConfig, Till};
use cairn_l402::{Credentials, Macaroon};
use cairn_lightning::{BackendKind, Invoices, MemoryStore, Secret, Simulated};
use cairn_model::Network;
use cairn_operations::{ApiConfig, ApiState, Featured, router};
use cairn_state::{KeyKind, NewKey, State, StateUrl};
use cairn_testkit::temp_dir;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    priced,
    support::{
        Reply, World, assert_problem, assert_valid, everything_world, get, get_ok, open_config, post, script_hash, send,
    },
};

pub const CHALLENGE: &str = "/v1/l402/challenges/{challenge_id}";

/// A server that sells calls, and the wallet of its clients.
pub struct Shop {
    pub router: Router,
    pub state: State,
    pub wallet: Arc<Simulated>,
    /// A wallet that the chain has.
    pub address: String,
    pub config: ApiConfig,
    _folder: Option<TempDir>,
}

/// The settings of a server that sells calls.
pub fn live_config() -> HttpConfig {
    HttpConfig { access_mode: AccessMode::Live, lightning: Some("simulated"), ..open_config().http }
}

/// A simulated Lightning node.
pub fn simulated() -> Arc<Simulated> {
    let key = Secret::new("e126f68f7eafcc8b74f54d269fe206be715000f94dac067d1c04a8ca3b2db734");
    Arc::new(Simulated::new(Network::Regtest, &key, Arc::new(MemoryStore::default())).unwrap())
}

/// A router that sells calls with the invoices of a daemon.
pub fn selling(world: &World, state: &State, config: &ApiConfig, daemon: Arc<dyn Invoices>, holder: &str) -> Router {
    let till = LightningTill::new(BackendKind::Simulated, daemon, holder.to_owned());
    selling_by(world, state, config, vec![Arc::new(till)])
}

/// A router that sells calls by these tills.
pub fn selling_by(world: &World, state: &State, config: &ApiConfig, tills: Vec<Arc<dyn Till>>) -> Router {
    let api = ApiState::new(Arc::clone(&world.slot) as Arc<_>, config.clone());
    router(ApiState { state: Some(state.clone()), tills, ..api })
}

impl Shop {
    pub async fn over(world: &World) -> Self {
        Shop::with(world, live_config()).await
    }

    pub async fn with(world: &World, http: HttpConfig) -> Self {
        let folder = temp_dir();
        let state = State::open(&StateUrl::in_folder(folder.path())).await.unwrap();
        Shop { _folder: Some(folder), ..Shop::keeping(world, http, state) }
    }

    /// A server with this service state.
    pub fn keeping(world: &World, http: HttpConfig, state: State) -> Self {
        let script = world.oracle.scripts().max_by_key(|s| world.oracle.history(s).len()).unwrap();
        let address = script_hash(script);
        let featured = Featured {
            title: "Someone".to_owned(),
            description: "An example.".to_owned(),
            address: address.clone(),
            account_key: None,
        };
        let config = ApiConfig { featured: vec![featured], ..ApiConfig::from(http) };
        let wallet = simulated();
        let router = selling(world, &state, &config, Arc::<Simulated>::clone(&wallet), "one");
        Shop { router, state, wallet, address, config, _folder: None }
    }

    /// Pays the invoice of a 402 answer. Returns the value of `Authorization`.
    pub fn pay(&self, offered: &Reply) -> String {
        let payment = &l402(offered)["payment"];
        let preimage = self.wallet.pay(payment["invoice"].as_str().unwrap()).unwrap();
        format!("L402 {}:{}", payment["macaroon"].as_str().unwrap(), hex::encode(preimage.as_bytes()))
    }

    pub async fn key(&self) -> String {
        let new = NewKey { kind: KeyKind::Bridge, label: String::new(), expires_at: None };
        self.state.issue(new, priced::now().into()).await.unwrap().1.expose().to_owned()
    }

    pub async fn status_of(&self, challenge: &str) -> Value {
        get_ok(&self.router, CHALLENGE, &CHALLENGE.replace("{challenge_id}", challenge)).await
    }
}

/// The member `l402` of a 402 answer.
pub fn l402(reply: &Reply) -> &Value {
    assert_problem(reply, 402, "payment_required");
    &reply.body["payment_options"]["l402"]
}

pub fn challenge_id(reply: &Reply) -> &str {
    l402(reply)["challenge"]["id"].as_str().unwrap_or_else(|| panic!("{}", reply.text))
}

/// Codes of the warnings of an answer, or of a failure.
pub fn warnings(reply: &Reply) -> Vec<&str> {
    let own = reply.body["warnings"].as_array();
    let warnings = own.or_else(|| reply.body["_meta"]["warnings"].as_array());
    warnings.into_iter().flatten().map(|warning| warning["code"].as_str().unwrap()).collect()
}

/// Sends a GET with headers.
pub async fn get_with(router: &Router, path: &str, headers: &[(&str, &str)]) -> Reply {
    let request = headers.iter().fold(Request::get(path), |request, (name, value)| request.header(*name, *value));
    send(router, request.body(Body::empty()).unwrap()).await
}

/// The answer about a challenge, for the description.
pub async fn example(path: &str) -> Option<Reply> {
    if path != CHALLENGE {
        return None;
    }
    let shop = Shop::over(&everything_world()).await;
    let offered = get(&shop.router, &format!("/v1/wallets/{}/summary", shop.address)).await;
    let mut reply = get(&shop.router, &CHALLENGE.replace("{challenge_id}", challenge_id(&offered))).await;
    reply.body["challenge_id"] = "ch_00000000000000000000000000000000".into();
    Some(reply)
}

/// Fields that the specification's part "Payment-required body" names.
const BODY: [&str; 7] =
    ["error", "detail", "requested_capability", "payment_options", "how_to_access", "getting_started_url", "docs_url"];
const BRIDGE: [&str; 12] = [
    "scheme",
    "plan_id",
    "header",
    "currency",
    "checkout_url",
    "catalog_url",
    "description",
    "bridge_access",
    "requested_capability",
    "future_native_l402_price_sats",
    "future_native_price_unit",
    "pricing_status",
];
const L402: [(&str, &[&str]); 7] = [
    ("offer", &["id", "path_template", "price_sats", "summary"]),
    ("challenge", &["id", "offer_id", "resource_path", "status", "provider", "created_at", "updated_at", "expires_at"]),
    ("payment_method", &["id", "name", "network", "simulated", "display_hint"]),
    ("payment", &["price_sats", "currency", "invoice", "payment_uri", "payment_hash", "macaroon"]),
    ("links", &["status_url"]),
    ("authorization", &["scheme", "header_example"]),
    ("", &["error", "protocol"]),
];

#[tokio::test]
async fn the_offer_has_every_field_of_the_specification() {
    let shop = Shop::over(&everything_world()).await;
    let path = format!("/v1/wallets/{}/summary", shop.address);
    let offered = get(&shop.router, &path).await;
    let l402 = l402(&offered);
    for name in BODY {
        assert!(!offered.body[name].is_null(), "{name}: {}", offered.text);
    }
    let bridge = &offered.body["payment_options"]["bridge"];
    for name in BRIDGE {
        assert!(!bridge[name].is_null(), "{name}: {bridge}");
    }
    for (object, names) in L402 {
        let object = if object.is_empty() { l402 } else { &l402[object] };
        names.iter().for_each(|name| assert!(!object[name].is_null(), "{name}: {object}"));
    }
    assert!(offered.body.get("payment_required").is_none(), "one of the two, not both");
    assert_eq!((&l402["protocol"], &l402["offer"]["price_sats"]), (&"L402".into(), &21.into()));
    assert_eq!((&bridge["scheme"], &bridge["future_native_l402_price_sats"]), (&"api_key_bridge".into(), &21.into()));
    assert_eq!((&l402["challenge"]["resource_path"], &l402["challenge"]["status"]), (&path.into(), &"pending".into()));
    assert_eq!(l402["payment_method"]["simulated"], true);
    // The headers say the same.
    let challenges: Vec<&str> =
        offered.headers.get_all("www-authenticate").iter().map(|value| value.to_str().unwrap()).collect();
    let (macaroon, invoice) =
        (l402["payment"]["macaroon"].as_str().unwrap(), l402["payment"]["invoice"].as_str().unwrap());
    let first = format!("L402 version=\"0\", token=\"{macaroon}\", macaroon=\"{macaroon}\", invoice=\"{invoice}\"");
    assert_eq!(challenges, [first, format!("LSAT macaroon=\"{macaroon}\", invoice=\"{invoice}\"")]);
    let header: Value = serde_json::from_str(offered.header("payment-required")).unwrap();
    assert_eq!(header["amount_sats"], Value::Null);
    for (name, value) in bridge.as_object().unwrap() {
        assert_eq!(&header[name], value, "{name}");
    }
    assert_eq!(offered.header("cache-control"), "private, no-store");
    assert!(offered.header("vary").contains("authorization"), "{:?}", offered.headers);
    // Nothing of it is in the state of the challenge.
    let status = shop.status_of(challenge_id(&offered)).await;
    assert_eq!((&status["status"], &status["price_sats"]), (&"pending".into(), &21.into()));
    assert!(!status.to_string().contains(macaroon) && !status.to_string().contains(invoice));
}

#[tokio::test]
async fn a_payment_opens_one_whole_answer() {
    let shop = Shop::over(&everything_world()).await;
    let template = "/v1/wallets/{address}/summary";
    let path = template.replace("{address}", &shop.address);
    let offered = get(&shop.router, &path).await;
    let paid = shop.pay(&offered);
    // An ETag that always fits: a paid answer is sent all the same.
    let headers = [("authorization", paid.as_str()), ("if-none-match", "*")];
    let reply = get_with(&shop.router, &path, &headers).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    assert_valid(template, &reply.body);
    assert_eq!(reply.body["_meta"]["price_sats"], 21);
    assert_eq!((reply.header("cache-control"), reply.header("etag")), ("private, no-store", ""));
    assert!(warnings(&reply).iter().all(|code| !code.contains("authorization")), "{}", reply.text);
    let status = shop.status_of(challenge_id(&offered)).await;
    assert_eq!(status["status"], "redeemed");
    assert!(status["redeemed_at"].is_string());
    // The answer is the one that a key gets, but for its price.
    let key = shop.key().await;
    let by_key = get_with(&shop.router, &path, &[("x-wr-api-key", &key)]).await;
    let mut with_price = by_key.body.clone();
    assert_eq!(with_price["_meta"]["price_sats"], 0);
    with_price["_meta"]["price_sats"] = 21.into();
    assert_eq!((by_key.status, with_price), (200, reply.body));
    // Once only: the next request gets another offer.
    let again = get_with(&shop.router, &path, &headers).await;
    assert_eq!(warnings(&again), ["credential_redeemed"]);
    assert_ne!(challenge_id(&again), challenge_id(&offered));
}

#[tokio::test]
async fn what_a_batch_costs_depends_on_its_length() {
    let shop = Shop::over(&everything_world()).await;
    let path = "/v1/batch/summary";
    let body = |count: usize| json!({ "addresses": vec![shop.address.as_str(); count] });
    for count in [1, 3] {
        let offered = post(&shop.router, path, &body(count)).await;
        assert_eq!(l402(&offered)["payment"]["price_sats"], 21 * count, "{}", offered.text);
        let paid = shop.pay(&offered);
        let send_it = |body: Value| {
            let request = Request::post(path).header("content-type", "application/json").header("authorization", &paid);
            let request = request.body(Body::from(body.to_string())).unwrap();
            let router = shop.router.clone();
            async move { send(&router, request).await }
        };
        // Another body is another call.
        assert_eq!(warnings(&send_it(body(count + 1)).await), ["other_body"]);
        // The order of fields and unknown ones make no other call.
        let mut same = json!({ "unknown": 1 });
        same["addresses"] = body(count)["addresses"].clone();
        let reply = send_it(same).await;
        assert_eq!((reply.status, &reply.body["_meta"]["price_sats"]), (200, &json!(21 * count)), "{}", reply.text);
    }
    // Errors of parsing come first.
    assert_problem(&post(&shop.router, path, &body(101)).await, 422, "validation_error");
    assert_problem(&post(&shop.router, path, &json!({})).await, 422, "validation_error");
    assert_problem(&get(&shop.router, "/v1/wallets/nonsense/summary").await, 400, "invalid_address");
}

#[tokio::test]
async fn holders_may_narrow_a_macaroon_and_not_widen_it() {
    let shop = Shop::over(&everything_world()).await;
    let path = format!("/v1/wallets/{}/summary", shop.address);
    let offered = get(&shop.router, &path).await;
    let paid = shop.pay(&offered);
    let Credentials { macaroon, .. } = Credentials::parse(paid.as_bytes()).unwrap();
    let secret = paid.rsplit(':').next().unwrap();
    let with = |caveat: &str| {
        let more: Macaroon = macaroon.clone().with_caveat(caveat.as_bytes()).unwrap();
        format!("L402 {}:{secret}", more.to_base64())
    };
    for (caveat, code) in [
        ("wr_expires=1", "credential_expired"),
        ("wr_expires=99999999999", "caveat_widened"),
        ("wr_method=POST", "other_method"),
        ("wr_path=/v1/other", "other_path"),
    ] {
        let reply = get_with(&shop.router, &path, &[("authorization", &with(caveat))]).await;
        assert_problem(&reply, 402, "payment_required");
        assert_eq!(warnings(&reply), [code], "{caveat}");
    }
    let reply = get_with(&shop.router, &path, &[("authorization", &with("mine = yes"))]).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
}

#[tokio::test]
async fn an_unknown_challenge_is_not_found() {
    let shop = Shop::over(&everything_world()).await;
    for id in ["ch_00000000000000000000000000000000", "x", "%20"] {
        let reply = get(&shop.router, &CHALLENGE.replace("{challenge_id}", id)).await;
        assert_problem(&reply, 404, "challenge_not_found");
    }
}
