//! The words of access in both modes: every answer and document says the same of what is sold.

use std::collections::BTreeSet;

use cairn_http::{AccessMode, HttpConfig};
use cairn_operations::ApiConfig;
use serde_json::{Value, json};

use crate::{
    billing::CATALOG,
    support::{World, everything_world, get, get_ok, open_config},
};

const SPEC: &str = include_str!("../../query-api/operations/agreed.tsv");
/// The stream of a feed that is sold: a key opens it, but no payment for a call does.
const STREAM: &str = "/v1/events";
/// Free, though they have a price: prepared, and never asked for.
const FREE_WITH_PRICE: [&str; 3] =
    ["/v1/network/mempool/stress", "/v1/risk-check/{address}", "POST /v1/risk-check/batch"];
/// The operations with requests that need a session in both modes.
const GATED: [&str; 4] = [
    "/v1/wallets/{address}/transactions",
    "/v1/wallets/{address}/pnl",
    "/v1/wallets/{address}/dashboard",
    "POST /v1/wallets/lookup",
];

pub type Texts = BTreeSet<String>;

pub fn texts<const N: usize>(of: [&str; N]) -> Texts {
    of.map(str::to_owned).into()
}

pub fn strings(list: &Value) -> Texts {
    list.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
}

fn endpoint(method: &str, path: &str) -> String {
    if method == "GET" { path.to_owned() } else { format!("{method} {path}") }
}

/// The endpoints of the agreed interface that are sold call by call.
fn agreed_premium() -> Texts {
    let premium = SPEC.lines().skip(1).filter_map(|line| {
        let cells: Vec<&str> = line.split('\t').collect();
        let [method, path, _, tier, ..] = cells[..] else { panic!("{line}") };
        (tier == "premium").then(|| endpoint(method, path))
    });
    premium.collect()
}

/// Answers and documents of a gated server.
pub struct Said {
    pub health: Value,
    pub capabilities: Value,
    pub catalog: Value,
    pub status: Value,
    pub openapi: Value,
    pub card: Value,
    pub flows: Value,
    pub llms: String,
    pub llms_full: String,
}

impl Said {
    async fn of(world: &World, access_mode: AccessMode, lightning: Option<&'static str>) -> Self {
        Said::with(world, HttpConfig { access_mode, lightning, ..open_config().http }).await
    }

    /// Those of a gated server with this configuration.
    pub async fn with(world: &World, http: HttpConfig) -> Self {
        let http = HttpConfig { gates_enabled: true, ..http };
        let router = &world.router(ApiConfig::from(http));
        let answer = async |path: &str| get_ok(router, path, path).await;
        let document = async |path: &str| get(router, path).await.body;
        Said {
            health: answer("/api/health").await,
            capabilities: answer("/v1/capabilities").await,
            catalog: answer(CATALOG).await,
            status: answer("/v1/beta-status").await,
            openapi: document("/openapi.json").await,
            card: document("/.well-known/agent-card.json").await,
            flows: document("/agents.json").await,
            llms: get(router, "/llms.txt").await.text,
            llms_full: get(router, "/llms-full.txt").await.text,
        }
    }

    /// The rows of the catalog of operations.
    pub fn rows(&self) -> impl Iterator<Item = &Value> {
        let packages = ["primary_package", "timestamp_package"].into_iter();
        packages.flat_map(move |name| self.health[name]["endpoint_catalog"].as_array().unwrap())
    }

    /// The endpoints of the rows that have a value.
    pub fn endpoints_with(&self, key: &str, value: &Value) -> Texts {
        let rows = self.rows().filter(|row| row[key] == *value);
        rows.map(|row| row["endpoint"].as_str().unwrap().to_owned()).collect()
    }

    /// The endpoints of a list of both packages.
    fn listed(&self, list: &str) -> Texts {
        let packages = ["primary_package", "timestamp_package"].map(|name| strings(&self.health[name][list]));
        packages.into_iter().flatten().collect()
    }

    /// The operations in the OpenAPI document, by endpoint.
    fn described(&self) -> impl Iterator<Item = (String, &Value)> {
        let paths = self.openapi["paths"].as_object().unwrap().iter();
        paths.flat_map(|(path, methods)| {
            let methods = methods.as_object().unwrap().iter();
            methods.map(move |(method, operation)| (endpoint(&method.to_uppercase(), path), operation))
        })
    }

    /// The endpoints whose description has something.
    pub fn described_with(&self, has: impl Fn(&Value) -> bool) -> Texts {
        self.described().filter(|(_, operation)| has(operation)).map(|(endpoint, _)| endpoint).collect()
    }

    /// The names of the operations with these endpoints.
    pub fn names(&self, endpoints: &Texts) -> Texts {
        let operations = self
            .described()
            .filter(|(endpoint, operation)| endpoints.contains(endpoint) && operation.get("x-alias-of").is_none());
        operations.map(|(_, operation)| operation["operationId"].as_str().unwrap().to_owned()).collect()
    }

    /// The endpoints of the capabilities that are sold, and the names of these.
    fn sold(&self) -> (Texts, Texts) {
        let listed = self.catalog["capabilities"].as_array().unwrap().iter();
        let sold: Vec<&Value> = listed.filter(|of| of["currently_billable"] == true).collect();
        let names = sold.iter().map(|of| of["capability"].as_str().unwrap().to_owned()).collect();
        (sold.iter().flat_map(|of| strings(&of["endpoints"])).collect(), names)
    }

    /// The lines of the operations under a heading of `/llms.txt`.
    pub fn lines_under(&self, heading: &str) -> Vec<&str> {
        let part = self.llms.split("\n## ").find(|part| part.lines().next() == Some(heading));
        let part = part.unwrap_or_else(|| panic!("{heading} is missing: {}", self.llms));
        part.lines().filter(|line| line.starts_with("- [")).collect()
    }

    /// Ids of the ways to authenticate.
    pub fn schemes(&self) -> Texts {
        let schemes = self.flows["authentication"]["schemes"].as_array().unwrap().iter();
        let ids: Texts = schemes.map(|scheme| scheme["id"].as_str().unwrap().to_owned()).collect();
        assert_eq!(ids, self.card["securitySchemes"].as_object().unwrap().keys().cloned().collect());
        ids
    }

    /// True if an operation takes this scheme.
    pub fn takes(&self, scheme: &str) -> Texts {
        self.described_with(|operation| {
            operation["security"].as_array().into_iter().flatten().any(|way| way.get(scheme).is_some())
        })
    }
}

/// Checks members of an answer.
pub fn assert_words(answer: &Value, words: &Value) {
    for (name, word) in words.as_object().unwrap() {
        assert_eq!(&answer[name], word, "{name}");
    }
}

/// The endpoint in a line of `/llms.txt`.
pub fn endpoint_of(line: &str) -> String {
    let (endpoint, _) = line.strip_prefix("- [").unwrap().split_once("](").unwrap();
    endpoint.strip_prefix("GET ").unwrap_or(endpoint).to_owned()
}

/// Everything says that exactly these endpoints need a payment, a key or a session for each call.
pub fn assert_billable(said: &Said) {
    let sold = agreed_premium();
    let stream = texts([STREAM]);
    let billable: Texts = sold.union(&stream).cloned().collect();
    let gated = texts(GATED);
    assert!(sold.len() > 20);

    assert_eq!(said.endpoints_with("currently_billable", &true.into()), billable);
    for (key, word) in [("effective_tier", "paid_per_call"), ("live_access_model", "paid_per_call")] {
        assert_eq!(said.endpoints_with(key, &word.into()), billable, "{key}");
        assert_eq!(said.endpoints_with(key, &"beta_free".into()), Texts::new(), "{key}");
    }
    assert_eq!(said.listed("effective_premium"), billable);
    assert_eq!(said.listed("effective_conditional"), gated);
    assert_eq!(said.listed("effective_free"), said.endpoints_with("effective_tier", &"free".into()));
    assert_eq!(
        said.endpoints_with("live_access_model", &"conditional_free_then_wallet_plus".into()),
        texts(["/v1/wallets/{address}/pnl"])
    );
    let free: Texts = texts(FREE_WITH_PRICE);
    assert!(free.is_subset(&said.listed("effective_free")));

    assert_eq!(said.sold().0, sold);
    let prepared = said.catalog["capabilities"].as_array().unwrap().iter();
    let prepared = prepared.filter(|of| of["currently_billable"] == false).flat_map(|of| strings(&of["endpoints"]));
    assert_eq!(prepared.collect::<Texts>(), free);
    let opened = strings(&said.catalog["plans"][0]["opens"]);
    assert_eq!(opened, billable.union(&gated).cloned().collect());

    let needs = |operation: &Value| operation["security"][0].as_object().is_some_and(|way| !way.is_empty());
    assert_eq!(said.described_with(needs), billable);
    let asks = |operation: &Value| {
        operation["responses"]["402"]["description"].as_str().is_some_and(|codes| codes.contains("payment_required"))
    };
    assert_eq!(said.described_with(asks), billable);

    let names = said.names(&billable);
    let areas = said.capabilities["areas"].as_array().unwrap().iter();
    let operations = areas.flat_map(|area| area["operations"].as_array().unwrap());
    let premium = operations.filter(|of| of["post_beta_tier"] == "premium");
    assert_eq!(premium.map(|of| of["name"].as_str().unwrap().to_owned()).collect::<Texts>(), names);
    let needed_for = strings(&said.flows["authentication"]["needed_for"]);
    assert_eq!(needed_for, names.union(&said.names(&gated)).cloned().collect());
    assert_eq!(said.flows["authentication"]["required"], false);
    let skills = said.card["skills"].as_array().unwrap().iter();
    let paid = skills.filter(|skill| skill.get("securityRequirements").is_some());
    assert_eq!(paid.map(|skill| skill["id"].as_str().unwrap().to_owned()).collect::<Texts>(), names);

    let lines = said.lines_under("Operations that are paid per call");
    assert_eq!(lines.iter().map(|line| endpoint_of(line)).collect::<Texts>(), billable);
    for line in lines {
        let has_price = line.contains(" sats per ") || line.contains("price quoted by ");
        assert_eq!(has_price, endpoint_of(line) != STREAM, "{line}");
    }
}

/// Every document explains access in the same words.
pub fn assert_explained(said: &Said) -> &str {
    let description = said.openapi["info"]["description"].as_str().unwrap();
    let at = description.find("The public beta is over").unwrap();
    let explained = &description[at..];
    assert!(explained.contains("http://cairn.test/v1/billing/catalog") && explained.contains("X-WR-API-Key"));
    assert!(said.llms.contains(explained), "{}", said.llms);
    assert!(said.card["description"].as_str().unwrap().ends_with(explained), "{}", said.card["description"]);
    for of_the_beta in ["during the beta", "during the public beta", "after the beta"] {
        assert!(!said.llms.contains(of_the_beta), "{of_the_beta}: {}", said.llms);
    }
    explained
}

#[tokio::test]
async fn everything_says_the_same_of_what_is_sold() {
    let world = &everything_world();
    let said = Said::of(world, AccessMode::Live, Some("simulated")).await;
    assert_billable(&said);
    assert!(assert_explained(&said).contains("`Authorization: L402 <macaroon>:<preimage>`"));

    let words = json!({
        "product_mode": "live",
        "beta": false,
        "beta_mode": false,
        "billing_provider": "simulated",
        "billing_mode": "per_call_402",
        "billing_paused": false,
        "billing_paused_reason": null,
        "beta_pricing_active": false,
        "auth_mode": "payment_or_key",
        "auth_header": "Authorization, X-WR-API-Key, PAYMENT-SIGNATURE",
        "checkout_buy_path": "not_for_sale",
        "checkout_payment_methods": [],
        "public_l402_enabled": true,
        "live_x402_capabilities": [],
    });
    assert_words(&said.health, &words);
    let (_, names) = said.sold();
    assert_eq!(strings(&said.health["native_l402_live_capabilities"]), names);
    let native = &said.health["native_402_opening"];
    assert_words(native, &json!({"status": "open", "operator_gate_enabled": true, "public_opening_ready": true}));
    assert_eq!(strings(&native["configured_capabilities"]), names);
    let x402 = &said.health["x402_opening"];
    assert_words(x402, &json!({"status": "prepared_but_closed", "operator_gate_enabled": false}));
    assert_eq!(x402["status_reason"], "the operator has configured no facilitator of x402");

    let posture = json!({
        "active": false,
        "reason": "live",
        "current_access": "per_call_402",
        "billing_paused": false,
        "checkout_buy_path": "not_for_sale",
        "conditional_access_exceptions": ["wallet_transactions", "wallet_pnl", "wallet_dashboard", "wallet_lookup"],
    });
    assert_words(&said.status, &posture);
    assert!(said.status["message"].as_str().unwrap().starts_with("The public beta is over"));
    for name in ["beta_notice", "beta_posture"] {
        assert_words(&said.status, &said.health[name]);
    }
    for answer in [&said.status, &said.capabilities] {
        assert_words(answer, &json!({"product_mode": "live", "auth_mode": "payment_or_key"}));
    }
    let words = json!({
        "product_mode": "live",
        "billing_paused": false,
        "billing_paused_reason": null,
        "checkout_buy_path": "not_for_sale",
        "payment_methods": ["lightning_l402"],
        "payment_methods_reason": null,
    });
    assert_words(&said.catalog, &words);
    assert_words(&said.catalog["plans"][0], &json!({"for_sale": false, "price_sats": null}));

    assert_eq!(said.schemes(), texts(["bridge_key", "l402", "wallet_session"]));
    assert_eq!(said.openapi["components"]["securitySchemes"]["l402"]["scheme"], "L402");
    assert_eq!(said.takes("l402"), agreed_premium());
}

#[tokio::test]
async fn without_a_backend_nothing_can_be_paid_and_keys_open_the_same() {
    let world = &everything_world();
    let said = Said::of(world, AccessMode::Live, None).await;
    assert_billable(&said);
    assert!(!assert_explained(&said).contains("L402"));
    let words = json!({
        "billing_provider": "none",
        "billing_paused": true,
        "billing_paused_reason": "no_payment_backend",
        "public_l402_enabled": false,
        "native_l402_live_capabilities": [],
    });
    assert_words(&said.health, &words);
    let native = json!({
        "status": "closed_no_backend",
        "operator_gate_enabled": true,
        "public_opening_ready": false,
        "configured_capabilities": [],
    });
    assert_words(&said.health["native_402_opening"], &native);
    assert_words(&said.status, &json!({"active": false, "billing_paused": true}));
    assert_words(&said.catalog, &json!({"billing_paused_reason": "no_payment_backend", "payment_methods": []}));
    assert!(said.catalog["payment_methods_reason"].as_str().unwrap().contains("no Lightning backend"));
    assert_eq!(said.schemes(), texts(["bridge_key", "wallet_session"]));
    assert_eq!(said.takes("l402"), Texts::new());
}

#[tokio::test]
async fn nothing_is_billable_during_the_beta() {
    let world = &everything_world();
    let plain = Said::of(world, AccessMode::Beta, None).await;
    let ready = Said::of(world, AccessMode::Beta, Some("simulated")).await;
    for said in [&plain, &ready] {
        assert_eq!(said.endpoints_with("currently_billable", &true.into()), Texts::new());
        assert_eq!((said.sold().0, said.listed("effective_premium")), (Texts::new(), Texts::new()));
        assert_eq!(said.listed("effective_free"), said.endpoints_with("effective_tier", &"beta_free".into()));
        let words = json!({
            "product_mode": "public_beta",
            "beta": true,
            "billing_provider": "none",
            "billing_mode": "beta_free",
            "billing_paused": true,
            "billing_paused_reason": "public_beta",
            "auth_mode": "beta_public",
            "auth_header": "none",
            "checkout_buy_path": "paused_during_public_beta",
            "public_l402_enabled": false,
            "native_l402_live_capabilities": [],
        });
        assert_words(&said.health, &words);
        assert_eq!(said.health["native_402_opening"]["status"], "prepared_but_closed");
        assert_words(&said.status, &json!({"active": true, "reason": "public_beta", "current_access": "beta_free"}));
        assert_eq!(strings(&said.catalog["plans"][0]["opens"]), texts(GATED));
        assert_eq!(said.schemes(), texts(["bridge_key", "wallet_session"]));
        assert_eq!(strings(&said.flows["authentication"]["needed_for"]), said.names(&texts(GATED)));
        let asks = |operation: &Value| operation["responses"]["402"].to_string().contains("payment_required");
        assert_eq!(said.described_with(asks), Texts::new());
        assert!(said.llms.contains("No account is needed during the public beta."));
    }
    // A backend that is configured already changes no document.
    assert_eq!((&plain.openapi, &plain.card, &plain.flows), (&ready.openapi, &ready.card, &ready.flows));
    assert_eq!(plain.llms, ready.llms);
}
