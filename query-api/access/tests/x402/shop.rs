//! A server with toy operations that are sold by x402.

use std::{
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{HeaderMap, Request},
};
use cairn_access::{X402Settings, X402Till};
use cairn_http::{
    About, AccessMode, AgreedOperation, Answer, ApiError, Ask, Backend, DataState, ErrorCode, HttpConfig, Info, Method,
    Metric, Offer, Output, Package, RegisteredOperation, Selection, Service, Tier, Unit, router_with,
};
use cairn_mcp::{Options, routes};
use cairn_state::{State, StateUrl, X402Payment, X402PaymentKey};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tempfile::TempDir;
use tower::ServiceExt;

use crate::payer::{ASSET, Fake, PAYER, decoded, encoded, payment, settings};

/// When the servers of the tests believe to be, in seconds since 1970.
pub const NOW: u64 = 1_800_000_000;

pub const THING: &str = "/v1/things/a?color=red";

#[derive(Serialize, JsonSchema)]
struct Said {
    text: String,
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code)]
struct ThingInput {
    name: String,
    #[serde(default)]
    color: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code)]
struct BatchInput {
    addresses: Vec<String>,
}

#[derive(Default)]
struct Toy {
    /// How often it was asked.
    asked: AtomicUsize,
    /// True while it fails.
    is_broken: AtomicBool,
    /// While true, the free operation waits.
    is_held: Mutex<bool>,
    freed: Condvar,
}

impl Backend for Toy {
    fn network(&self) -> Option<&'static str> {
        Some("regtest")
    }

    fn answer(&self, ask: &Ask<'_>) -> Result<Answer, ApiError> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        if self.is_broken.load(Ordering::SeqCst) {
            return Err(ApiError::internal());
        }
        match ask.input["name"].as_str() {
            Some("none") => return Err(ApiError::new(ErrorCode::EntityNotFound, "there is none")),
            Some("panic") => panic!("a fault"),
            Some("held") => {
                let held = self.is_held.lock().unwrap();
                drop(self.freed.wait_timeout_while(held, Duration::from_secs(60), |held| *held).unwrap());
            }
            _ => {}
        }
        let written = Said { text: "the goods".to_owned() }.write(Selection::All, &ask.call.work)?;
        ask.body(written, &DataState::default(), ask.etag(|_, _| {}), 0)
    }

    fn ready(&self) -> Result<String, String> {
        Ok(String::new())
    }

    fn readings(&self) -> Vec<Metric> {
        Vec::new()
    }

    fn explain(&self, _: &(dyn std::error::Error + Send + Sync + 'static)) -> ApiError {
        ApiError::internal()
    }
}

/// A row of the agreed interface.
fn sold(method: &'static str, path: &'static str, usd: Option<&'static str>, unit: Unit) -> AgreedOperation {
    let offer = Offer {
        package: Package::Primary,
        tier: Tier::Premium,
        capability: Some("thing"),
        price_sats: None,
        unit: Some(unit),
        x402_usd: usd,
    };
    AgreedOperation { method, path, offer, summary: "" }
}

/// An answer.
pub struct Reply {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Value,
}

impl Reply {
    /// The JSON in a header of x402; null if it is missing.
    pub fn message(&self, name: &str) -> Value {
        self.headers.get(name).map_or(Value::Null, |value| decoded(value.to_str().unwrap()))
    }

    /// The code of the first warning.
    pub fn warning(&self) -> &str {
        self.body["warnings"][0]["code"].as_str().unwrap_or_default()
    }

    pub fn has_retry_after(&self) -> bool {
        self.headers.contains_key("retry-after")
    }
}

/// A server.
pub struct Shop {
    pub router: Router,
    pub fake: Arc<Fake>,
    pub state: State,
    pub till: Arc<X402Till>,
    toy: Arc<Toy>,
    clock: fn() -> u64,
    _folder: Arc<TempDir>,
}

impl Shop {
    pub async fn new() -> Self {
        Shop::with(settings(), Duration::from_secs(20), || NOW * 1_000).await
    }

    pub async fn with(settings: X402Settings, patience: Duration, clock: fn() -> u64) -> Self {
        let folder = Arc::new(tempfile::tempdir().unwrap());
        let state = State::open(&StateUrl::in_folder(folder.path())).await.unwrap();
        Shop::keeping(settings, patience, clock, HttpConfig::default(), state, Arc::default(), folder)
    }

    /// A server with few places for requests, and this time limit.
    pub async fn narrow(max_concurrent_reads: usize, request_timeout: Duration) -> Self {
        let folder = Arc::new(tempfile::tempdir().unwrap());
        let state = State::open(&StateUrl::in_folder(folder.path())).await.unwrap();
        let http = HttpConfig { max_concurrent_reads, request_timeout, ..HttpConfig::default() };
        let (patience, clock) = (Duration::from_secs(20), || NOW * 1_000);
        Shop::keeping(settings(), patience, clock, http, state, Arc::default(), folder)
    }

    /// The same server with other settings.
    pub fn reopened(&self, settings: X402Settings) -> Self {
        let (state, fake, folder) = (self.state.clone(), Arc::clone(&self.fake), Arc::clone(&self._folder));
        let http = HttpConfig::default();
        Shop::keeping(settings, Duration::from_secs(20), self.clock, http, state, fake, folder)
    }

    fn keeping(
        settings: X402Settings,
        patience: Duration,
        clock: fn() -> u64,
        http: HttpConfig,
        state: State,
        fake: Arc<Fake>,
        folder: Arc<TempDir>,
    ) -> Self {
        let toy = Arc::new(Toy::default());
        let till = X402Till::new(settings, Arc::<Fake>::clone(&fake), "test".to_owned()).unwrap().patient_for(patience);
        let till = Arc::new(till);
        let mut free = sold("GET", "/v1/free/{name}", None, Unit::Request);
        free.offer.tier = Tier::Free;
        let agreed = vec![
            sold("GET", "/v1/things/{name}", Some("0.01"), Unit::Request),
            sold("POST", "/v1/things/batch", Some("0.05"), Unit::Address),
            sold("GET", "/v1/dear/{name}", None, Unit::Request),
            sold("GET", "/v1/odd/{name}", Some("0.0000001"), Unit::Request),
            free,
        ];
        let things = |name, path| RegisteredOperation::of::<ThingInput, Said>(Info::get(name, path, "t"), &agreed);
        let batch = Info { method: Method::Post, ..Info::get("batch", "/v1/things/batch", "t") };
        let service = Service {
            config: HttpConfig {
                base_url: "https://cairn.test".to_owned(),
                access_mode: AccessMode::Live,
                rate_limit: 0,
                ..http
            },
            configured: String::new(),
            operations: vec![
                things("thing", "/v1/things/{name}"),
                things("dear", "/v1/dear/{name}"),
                things("odd", "/v1/odd/{name}"),
                things("free", "/v1/free/{name}"),
                RegisteredOperation::of::<BatchInput, Said>(batch, &agreed),
            ],
            agreed,
            backend: Arc::<Toy>::clone(&toy),
            formats: &[],
            state: Some(state.clone()),
            tills: vec![Arc::<X402Till>::clone(&till)],
            clock,
            metrics: Arc::default(),
            about: About {
                name: "Toy",
                summary: "",
                sentence: "",
                conventions: "",
                conventions_for_models: "",
                areas: &[("t", "Toys.")],
                definitions: &[],
                ways: &[],
                answer: |_| None,
                examples: Vec::new(),
            },
            pages: Vec::new(),
            precomputed: Vec::new(),
        };
        let router = router_with(service, |api| routes(api, Options::default()));
        Shop { router, fake, state, till, toy, clock, _folder: folder }
    }

    pub async fn send(&self, request: Request<Body>) -> Reply {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let bytes = to_bytes(body, usize::MAX).await.unwrap();
        let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        Reply { status: parts.status.as_u16(), headers: parts.headers, body }
    }

    pub async fn get(&self, path: &str) -> Reply {
        self.send(Request::get(path).body(Body::empty()).unwrap()).await
    }

    /// Asks with a payment.
    pub async fn pay(&self, path: &str, payment: &Value) -> Reply {
        let request = Request::get(path).header("payment-signature", encoded(payment));
        self.send(request.body(Body::empty()).unwrap()).await
    }

    /// Asks for a batch, with a payment if it is given.
    pub async fn batch(&self, addresses: &[&str], payment: Option<&Value>) -> Reply {
        let mut request = Request::post("/v1/things/batch").header("content-type", "application/json");
        if let Some(payment) = payment {
            request = request.header("payment-signature", encoded(payment));
        }
        self.send(request.body(Body::from(json!({ "addresses": addresses }).to_string())).unwrap()).await
    }

    /// A payment for a call, signed by its offer. `seed` decides the nonce.
    pub async fn payment(&self, path: &str, seed: &str) -> Value {
        let required = self.get(path).await.message("payment-required");
        payment(&required, &crate::payer::nonce(seed), (self.clock)() / 1_000)
    }

    /// Makes the operations fail, or work again.
    pub fn is_broken(&self, is_broken: bool) {
        self.toy.is_broken.store(is_broken, Ordering::SeqCst);
    }

    /// Lets calls of `/v1/free/held` wait, or go on.
    pub fn hold(&self, held: bool) {
        *self.toy.is_held.lock().unwrap() = held;
        self.toy.freed.notify_all();
    }

    /// How often the operations were asked since the last time.
    pub fn asked(&self) -> usize {
        self.toy.asked.swap(0, Ordering::SeqCst)
    }

    /// The row of a payment.
    pub async fn row(&self, payment: &Value) -> Option<X402Payment> {
        let nonce = payment["payload"]["authorization"]["nonce"].as_str().unwrap();
        let nonce = hex::decode(&nonce[2..]).unwrap().try_into().unwrap();
        let (asset, payer) = (ASSET.to_ascii_lowercase(), PAYER.to_ascii_lowercase());
        self.state.x402_payment(&X402PaymentKey { chain_id: 84_532, asset, payer, nonce }).await.unwrap()
    }
}
