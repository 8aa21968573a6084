//! Every operation in both modes with every credential: no way around the gate, and nothing free is ever charged.

use std::collections::BTreeSet;

use axum::{Router, body::Body, http::Request};
use cairn_http::{AccessMode, HttpConfig};
use cairn_state::{KeyKind, NewKey};
use serde_json::Value;

use crate::{
    priced,
    sold::{Shop, live_config, warnings},
    support::{Reply, everything_world, get, send},
};

const AGREED: &str = include_str!("../../query-api/operations/agreed.tsv");
/// Operations with a price that is prepared and never asked for.
const PREPARED: [(&str, &str); 3] =
    [("GET", "/v1/network/mempool/stress"), ("GET", "/v1/risk-check/{address}"), ("POST", "/v1/risk-check/batch")];
/// Our own operations that give what a premium operation gives.
const OWN_PREMIUM: [(&str, &str); 1] = [("GET", "/v1/events")];
/// Operations that an example cannot open here: the hash was not handed in, and nothing anchors.
const NOTHING_HERE: [&str; 2] = ["/v1/timestamp", "/v1/timestamp/{hash_hex}/proof"];

/// Method and path of the agreed operations, with tier and prices.
fn agreed() -> impl Iterator<Item = Vec<&'static str>> {
    AGREED.lines().skip(1).map(|line| line.split('\t').collect::<Vec<_>>()).filter(|cells| !cells[2].is_empty())
}

pub fn premium() -> BTreeSet<(String, String)> {
    let rows = agreed().filter(|cells| cells[3] == "premium").map(|cells| (cells[0], cells[1]));
    rows.chain(OWN_PREMIUM).map(|(method, path)| (method.to_owned(), path.to_owned())).collect()
}

/// A call of an operation, as the document's example has it.
pub struct Example {
    pub method: String,
    pub template: String,
    pub target: String,
    body: Option<String>,
    /// True if it takes `view`.
    pub has_view: bool,
}

impl Example {
    pub async fn send(&self, router: &Router, method: &str, headers: &[(&str, &str)]) -> Reply {
        let request = Request::builder().method(method).uri(&self.target);
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let body = self.body.clone().filter(|_| method == "POST");
        let request = match &body {
            Some(_) => request.header("content-type", "application/json"),
            None => request,
        };
        send(router, request.body(body.map_or_else(Body::empty, Body::from)).unwrap()).await
    }
}

pub fn examples(document: &Value) -> Vec<Example> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let mut all = Vec::new();
    // The helpers read text, not pictures.
    let paths = document["paths"].as_object().unwrap().iter().filter(|(template, _)| *template != "/v1/qr");
    for (template, methods) in paths {
        for (method, op) in methods.as_object().unwrap() {
            let (mut target, mut query) = (template.clone(), Vec::new());
            for parameter in op["parameters"].as_array().unwrap() {
                let (name, example) = (parameter["name"].as_str().unwrap(), text(&parameter["example"]));
                match parameter["in"] == "path" {
                    true => target = target.replace(&format!("{{{name}}}"), &example),
                    false if parameter["required"] == true => {
                        let value = example.replace('?', "%3F").replace('=', "%3D").replace(' ', "%20");
                        query.push(format!("{name}={value}"));
                    }
                    false => {}
                }
            }
            if !query.is_empty() {
                target = format!("{target}?{}", query.join("&"));
            }
            let body = &op["requestBody"]["content"]["application/json"]["example"];
            all.push(Example {
                method: method.to_uppercase(),
                template: template.clone(),
                target,
                body: (method == "post").then(|| body.to_string()),
                has_view: op["parameters"].as_array().unwrap().iter().any(|parameter| parameter["name"] == "view"),
            });
        }
    }
    all
}

#[tokio::test]
async fn every_operation_asks_for_what_its_row_says() {
    let world = everything_world();
    let shop = Shop::over(&world).await;
    let beta = Shop::with(&world, HttpConfig { access_mode: AccessMode::Beta, ..live_config() }).await;
    let document = get(&shop.router, "/openapi.json").await.body;
    let (premium, key) = (premium(), shop.key().await);
    let session = NewKey { kind: KeyKind::Session, label: String::new(), expires_at: None };
    let session = shop.state.issue(session, priced::now().into()).await.unwrap().1;
    let bearer = format!("Bearer {}", session.expose());
    let mut asked = BTreeSet::new();
    for example in examples(&document) {
        let (method, template) = (example.method.as_str(), example.template.as_str());
        let name = format!("{method} {template}");
        let is_premium = premium.contains(&(method.to_owned(), template.to_owned()));
        let credentials: [&[(&str, &str)]; 7] = [
            &[],
            &[("authorization", "L402 garbage")],
            &[("authorization", "LSAT AgEE:00")],
            &[("authorization", "Bearer cairn_ses_garbage")],
            &[("x-wr-api-key", "cairn_key_garbage")],
            &[("payment-signature", "e30=")],
            &[("if-none-match", "*")],
        ];
        for credentials in credentials {
            let reply = example.send(&shop.router, method, credentials).await;
            assert_eq!(reply.status == 402, is_premium, "{name} with {credentials:?}: {}", reply.text);
            if is_premium {
                assert_eq!(reply.body["error"], "payment_required", "{name}");
                assert_eq!(reply.header("cache-control"), "private, no-store", "{name}");
                asked.insert((method.to_owned(), template.to_owned()));
            } else if reply.status == 200 && reply.body["_meta"].is_object() {
                assert_eq!(reply.body["_meta"]["price_sats"], 0, "{name}");
            }
            let reply = example.send(&beta.router, method, credentials).await;
            assert_ne!(reply.status, 402, "{name} in the beta: {}", reply.text);
        }
        for opened in [("x-wr-api-key", key.as_str()), ("authorization", bearer.as_str())] {
            let reply = example.send(&shop.router, method, &[opened]).await;
            assert_ne!(reply.status, 402, "{name} with {}: {}", opened.0, reply.text);
            assert!(!is_premium || NOTHING_HERE.contains(&template) || reply.status == 200, "{name}: {}", reply.text);
        }
        if is_premium && method == "GET" {
            let head = example.send(&shop.router, "HEAD", &[]).await;
            assert_eq!((head.status, head.header("www-authenticate")), (402, ""), "{name}: HEAD makes no invoice");
            let options = example.send(&shop.router, "OPTIONS", &[]).await;
            assert_eq!((options.status, options.header("www-authenticate")), (204, ""), "{name}");
        }
    }
    assert_eq!(asked, premium, "each premium operation has an example");
    for (method, path) in PREPARED {
        let row = agreed().find(|cells| (cells[0], cells[1]) == (method, path)).unwrap();
        assert!(row[3] == "free" && !(row[5].is_empty() && row[7].is_empty()), "{row:?}");
    }
}

/// Operations that keep rows of their own in the service state.
const ASK_STATE: [&str; 10] = [
    "/v1/billing/redeem",
    "/v1/community/reports/{address}",
    "/v1/community/reports/{report_id}/status",
    "/v1/community/reports/{report_id}/vote",
    "/v1/feedback",
    "/v1/l402/challenges/{challenge_id}",
    "/v1/timestamp",
    "/v1/timestamp/quote",
    "/v1/timestamp/{hash_hex}",
    "/v1/timestamp/{hash_hex}/proof",
];

/// The gate must not make free calls wait for the database of the service state.
#[tokio::test]
async fn free_calls_do_not_ask_the_database() {
    let world = everything_world();
    let (premium, mut counted, mut own) = (premium(), 0, BTreeSet::new());
    for access_mode in [AccessMode::Beta, AccessMode::Live] {
        let shop = Shop::with(&world, HttpConfig { access_mode, ..live_config() }).await;
        let document = get(&shop.router, "/openapi.json").await.body;
        for example in examples(&document) {
            let (method, template) = (example.method.as_str(), example.template.as_str());
            if access_mode.is_live() && premium.contains(&(method.to_owned(), template.to_owned())) {
                continue;
            }
            for credentials in [&[][..], &[("authorization", "L402 garbage")]] {
                let before = shop.state.asked();
                example.send(&shop.router, method, credentials).await;
                match shop.state.asked() - before {
                    0 => counted += 1,
                    _ => drop(own.insert(template.to_owned())),
                }
            }
        }
        let before = shop.state.asked();
        for path in FREE_ROUTES {
            get(&shop.router, path).await;
        }
        assert_eq!(shop.state.asked(), before, "documents and pages in {access_mode:?}");
    }
    assert_eq!(own.iter().map(String::as_str).collect::<Vec<_>>(), ASK_STATE);
    assert!(counted >= 250, "{counted}");
}

/// Routes without an operation: pages, documents, and what agents read.
const FREE_ROUTES: [&str; 13] = [
    "/about",
    "/openapi.json",
    "/llms.txt",
    "/llms-full.txt",
    "/agents.json",
    "/.well-known/agent-card.json",
    "/.well-known/api-catalog",
    "/checkout",
    "/getting-started",
    "/api/reference",
    "/api/reference/errors/",
    "/robots.txt",
    "/favicon.svg",
];

#[tokio::test]
async fn documents_and_pages_are_free_in_both_modes() {
    let world = everything_world();
    for access_mode in [AccessMode::Beta, AccessMode::Live] {
        let shop = Shop::with(&world, HttpConfig { access_mode, ..live_config() }).await;
        for path in FREE_ROUTES {
            let reply = get(&shop.router, path).await;
            assert!(matches!(reply.status, 200 | 308), "{path} in {access_mode:?}: {}", reply.status);
            assert_eq!(reply.header("www-authenticate"), "", "{path}");
        }
    }
}

#[tokio::test]
async fn every_call_with_a_price_can_be_bought_and_opens_nothing_else() {
    let world = everything_world();
    let document = get(&Shop::over(&world).await.router, "/openapi.json").await.body;
    let premium = premium();
    let mut bought = 0;
    for example in examples(&document) {
        let (method, template) = (example.method.clone(), example.template.clone());
        let (method, template) = (method.as_str(), template.as_str());
        let name = format!("{method} {template}");
        if !premium.contains(&(method.to_owned(), template.to_owned())) {
            continue;
        }
        // A client can have few open offers, so each call is bought in a shop of its own.
        let shop = Shop::over(&world).await;
        let offered = example.send(&shop.router, method, &[]).await;
        let options = &offered.body["payment_options"];
        if OWN_PREMIUM.contains(&(method, template)) {
            assert!(options.is_null() && offered.body["payment_required"].is_object(), "{name}: a pass alone opens it");
            continue;
        }
        if options["l402"]["payment"].is_null() {
            // Nothing anchors here, so the quote has no price.
            assert_eq!((template, &options["l402"]["error"]), ("/v1/timestamp", &"price_unknown".into()), "{name}");
            continue;
        }
        let price = options["l402"]["payment"]["price_sats"].clone();
        let paid = shop.pay(&offered);
        let with = [("authorization", paid.as_str())];
        // Another call of the same operation, and of another one.
        if example.has_view && method == "GET" {
            let end = if example.target.contains('?') { '&' } else { '?' };
            let request = Request::get(format!("{}{end}view=compact", example.target)).header("authorization", &paid);
            let reply = send(&shop.router, request.body(Body::empty()).unwrap()).await;
            assert_eq!((reply.status, warnings(&reply)), (402, vec!["other_query"]), "{name}: {}", reply.text);
        }
        if method == "GET" {
            let head = example.send(&shop.router, "HEAD", &with).await;
            assert_eq!(head.status, 402, "{name}");
        }
        let elsewhere = format!("/v1/wallets/{}/contributors", shop.address);
        if example.target != elsewhere {
            let request = Request::get(&elsewhere).header("authorization", &paid).body(Body::empty()).unwrap();
            assert_eq!(send(&shop.router, request).await.status, 402, "{name} opens {elsewhere}");
        }
        // Another spelling of the same call is the same call.
        let end = if example.target.contains('?') { '&' } else { '?' };
        let spelled = match method {
            "GET" => format!("{}{end}unknown=1", example.target),
            _ => example.target.clone(),
        };
        let again = Example { target: spelled, ..example };
        let reply = again.send(&shop.router, method, &with).await;
        if NOTHING_HERE.contains(&template) {
            assert_eq!(
                (reply.status, &reply.body["payment_state"]),
                (404, &"pending".into()),
                "{name}: {}",
                reply.text
            );
            continue;
        }
        assert_eq!((reply.status, &reply.body["_meta"]["price_sats"]), (200, &price), "{name}: {}", reply.text);
        let reply = again.send(&shop.router, method, &with).await;
        assert_eq!((reply.status, warnings(&reply)[0]), (402, "credential_redeemed"), "{name}");
        bought += 1;
    }
    assert!(bought >= 22, "{bought}");
}
