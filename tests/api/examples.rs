//! The examples in the description of the interface: the server takes every request, and gives such answers.
//!
//! With `CAIRN_WRITE_EXAMPLES` set the test writes the answers again, from a generated chain.

use std::path::Path;

use axum::{Router, body::Body, http::Request};
use cairn_events::{Interval, QuoteRow};
use cairn_state::{State, StateUrl};
use cairn_testkit::temp_dir;
use serde_json::{Map, Value, json};

use crate::{
    billing, checkout, claims, community,
    discovery::world_router_with,
    exchange_flows, pools,
    priced::{DAY, now, row, series, take, whole_row},
    sold,
    support::{DOCUMENT, Reply, answer_of, assert_valid, everything_world, get, hex, post, send},
    surveillance, timestamps_anchored,
};

/// Method and path template of every operation in a document, with what it says of it.
fn operations(document: &Value) -> impl Iterator<Item = (&str, &str, &Value)> {
    let paths = document["paths"].as_object().unwrap().iter();
    paths.flat_map(|(path, methods)| {
        methods.as_object().unwrap().iter().map(move |(method, op)| (method.as_str(), path.as_str(), op))
    })
}

/// Sends the request that the document gives as an example, with or without the parameters that may be left out.
async fn ask(router: &Router, of: (&str, &str, &Value), optional: bool) -> Reply {
    ask_knowing(router, of, optional, None).await
}

/// The same with the version that the client has.
async fn ask_knowing(
    router: &Router,
    (method, path, op): (&str, &str, &Value),
    optional: bool,
    etag: Option<&str>,
) -> Reply {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let (mut target, mut query, mut headers) = (path.to_owned(), Vec::new(), Vec::new());
    for parameter in op["parameters"].as_array().unwrap() {
        let (name, example) = (parameter["name"].as_str().unwrap(), &parameter["example"]);
        if parameter["in"] == "path" {
            target = target.replace(&format!("{{{name}}}"), &text(example));
        } else if parameter["in"] == "header" {
            headers.push((name, text(example)));
        } else if !example.is_null() && (optional || parameter["required"] == true) {
            let value = text(example).replace('?', "%3F").replace('=', "%3D").replace(' ', "%20");
            query.push(format!("{name}={value}"));
        }
    }
    let mut request = Request::builder().method(method.to_uppercase().as_str());
    for (name, value) in headers {
        request = request.header(name, value);
    }
    if let Some(etag) = etag {
        request = request.header("if-none-match", etag);
    }
    let mut body = Body::empty();
    if op["requestBody"].is_object() {
        let example = &op["requestBody"]["content"]["application/json"]["example"];
        assert!(example.as_object().is_some_and(|members| !members.is_empty()), "{path} has no example of a body");
        body = Body::from(example.to_string());
        request = request.header("content-type", "application/json");
    }
    let target = if query.is_empty() { target } else { format!("{target}?{}", query.join("&")) };
    send(router, request.uri(target).body(body).unwrap()).await
}

/// True if a list of an answer has nothing.
fn has_an_empty_list(body: &Value) -> bool {
    body.as_object().is_some_and(|members| members.values().any(|value| value.as_array().is_some_and(Vec::is_empty)))
}

/// The same with the first item of each list alone.
fn trimmed(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().take(1).map(trimmed).collect(),
        Value::Object(members) => members.into_iter().map(|(key, value)| (key, trimmed(value))).collect(),
        other => other,
    }
}

/// Prices and rates of the chain's days, of the year that examples ask about, and of the last days.
pub fn prices() -> Vec<QuoteRow> {
    let (dollars, euro) = (series("BTC", "USD", Interval::Day), series("EUR", "USD", Interval::Day));
    let today = now() / DAY;
    let days = (15_006..15_300).chain(19_720..20_100).chain(today - 3..today);
    let rows = days.flat_map(|day| {
        let at = (day + 1) * DAY;
        let price =
            if day < 19_000 { ["1.05", "1.12", "0.98", "1.07"] } else { ["42283.6", "44184.1", "42175.7", "44179.9"] };
        [whole_row(dollars, at, price), row(euro, at, "1.1039")]
    });
    rows.collect()
}

#[tokio::test]
async fn the_server_takes_every_example() {
    let world = &everything_world();
    take(world, "example", 1_900_000_000, prices());
    let folder = temp_dir();
    let state = State::open(&StateUrl::in_folder(folder.path())).await.unwrap();
    let (router, waiting) = world_router_with(world, Some(state)).await;
    let document = get(&router, "/openapi.json").await.body;
    let parameters = &document["paths"]["/v1/wallets/{address}/trust-safety"]["get"]["parameters"];
    claims::take_example(world, parameters[0]["example"].as_str().unwrap());
    pools::take_example(world);
    let demo = exchange_flows::named_world();
    let sixteen_years = demo.open_router();
    let (dusted, pinged) = surveillance::campaign_world();
    let mut answers: Map<String, Value> = Map::new();
    for (method, path, op) in operations(&document) {
        if path == "/v1/qr" {
            continue;
        }
        let mut reply = ask(&router, (method, path, op), true).await;
        // No example knows what waits here and now, and there is no node to send anything to.
        let expected = match path {
            "/v1/mempool/tx/{txid}" => 404,
            "/v1/tx/broadcast" => 503,
            // This server anchors no hashes.
            timestamps_anchored::SUBMIT => 503,
            timestamps_anchored::STATUS | timestamps_anchored::PROOF => 404,
            // This server takes no payments.
            community::REPORTS | community::STATUS | community::VOTE => 503,
            // A code that nobody issued.
            billing::REDEEM => 404,
            // Nothing is sold here, and nobody has opened a checkout.
            checkout::CHECKOUT => 503,
            checkout::STATUS | checkout::REFRESH => 404,
            // A challenge that nobody was given.
            sold::CHALLENGE => 404,
            _ => 200,
        };
        assert_eq!(reply.status, expected, "{method} {path}: {}", reply.text);
        // 304 comes where it is promised, and only there.
        let etag = reply.header("etag").to_owned();
        if reply.status == 200 {
            let promised = op["responses"]["304"].is_object();
            let described = answer_of(op)["headers"]["ETag"].is_object();
            assert_eq!((promised, described), (!etag.is_empty(), !etag.is_empty()), "{method} {path}");
            if promised {
                let again = ask_knowing(&router, (method, path, op), true, Some(&etag)).await;
                assert_eq!((again.status, again.text.as_str()), (304, ""), "{method} {path}");
            }
        }
        if path == "/v1/mempool/tx/{txid}" {
            reply = get(&router, &format!("/v1/mempool/tx/{}", waiting.made[0].1.txid)).await;
        }
        // The examples of dates are of mainnet; the generated chain has nothing to say about them.
        if reply.body["points"] == json!([]) {
            reply = ask(&router, (method, path, op), false).await;
        }
        if path == "/v1/wallets/lookup" {
            let busiest = world.oracle.scripts().max_by_key(|script| world.oracle.history(script).len()).unwrap();
            let parts = ["addresses", "transactions", "balance_history", "dashboard", "pnl"];
            let wallet = json!({"wallet": [format!("raw({})", hex(busiest.as_bytes()))], "include": parts});
            reply = post(&router, path, &wallet).await;
        }
        // Lists of what is rare are of a chain that has some.
        if path == surveillance::STATUS {
            let path = path.replace("{address}", &pinged);
            reply = get(&dusted.open_router(), &path).await;
        }
        let is_rare =
            ["/v1/chain/", "/v1/dormancy/", "/v1/pulse/", "/v1/exchange/"].iter().any(|part| path.starts_with(part));
        let is_named = path.starts_with("/v1/exchange/");
        if method == "get" && is_rare && (is_named || has_an_empty_list(&reply.body)) {
            let takes = |name: &str| op["parameters"].as_array().unwrap().iter().any(|of| of["name"] == name);
            let query = if takes("since") { "?since=0" } else { "" };
            let long = get(&sixteen_years, &format!("{path}{query}")).await;
            if long.status == 200 && (is_named || !has_an_empty_list(&long.body)) {
                reply = long;
            }
        }
        if let Some(answer) = community::example(path).await {
            reply = answer;
        }
        if let Some(answer) = timestamps_anchored::example(path).await {
            reply = answer;
        }
        if let Some(answer) = billing::example(path).await {
            reply = answer;
        }
        if let Some(answer) = sold::example(path).await {
            reply = answer;
        }
        if let Some(answer) = checkout::example(path).await {
            reply = answer;
        }
        // A file that is not JSON has no example in the description.
        if matches!(reply.status, 200 | 202) && reply.body.is_object() && op.get("x-alias-of").is_none() {
            answers.insert(op["operationId"].as_str().unwrap().to_owned(), trimmed(reply.body));
        }
    }
    if std::env::var_os("CAIRN_WRITE_EXAMPLES").is_some() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples.json");
        let mut kept: Map<String, Value> = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        kept.extend(answers);
        let written =
            serde_json::to_string_pretty(&json!(kept)).unwrap().replace("http://cairn.test", "http://127.0.0.1:8080");
        std::fs::write(file, written + "\n").unwrap();
    }
}

#[test]
fn every_answer_has_an_example_that_fits() {
    for (method, path, op) in operations(&DOCUMENT) {
        let content = &answer_of(op)["content"];
        let Some(json) = content.get("application/json") else {
            assert!(["/v1/qr", "/v1/dormancy/weekly.md"].contains(&path), "{path}");
            continue;
        };
        assert!(json["example"].is_object(), "{method} {path} has no example of an answer");
        assert_valid(path, &json["example"]);
        for parameter in op["parameters"].as_array().unwrap() {
            let needed = parameter["required"] == true;
            assert!(!needed || !parameter["example"].is_null(), "{path}: {}", parameter["name"]);
        }
    }
}
