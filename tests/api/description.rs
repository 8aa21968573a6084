//! The description that the service gives of itself.

use serde_json::Value;

use crate::{
    mempool_ops::settle,
    support::{DOCUMENT, answer_of, everything_world, get, open_config},
    unconfirmed::Waiting,
};

#[test]
fn the_description_of_the_interface_does_not_change_unnoticed() {
    let mut frame = DOCUMENT.clone();
    for (path, methods) in DOCUMENT["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let name = operation["operationId"].as_str().unwrap();
            insta::assert_json_snapshot!(format!("operation_{name}"), *operation);
            frame["paths"][path][method] = name.into();
        }
    }
    let schemas = frame["components"]["schemas"].take();
    insta::assert_json_snapshot!("frame", frame);
    insta::assert_json_snapshot!("schemas", schemas);
}

#[tokio::test]
async fn the_description_is_served_as_it_is() {
    let world = &everything_world();
    let reply = get(&world.open_router(), "/openapi.json").await;
    assert_eq!(reply.body, cairn_operations::openapi_document(&open_config()));
    assert_eq!((&reply.body["openapi"], &reply.body["info"]["version"]), (&"3.1.0".into(), &"0.3.0".into()));
}

#[test]
fn every_reference_leads_somewhere_and_every_parameter_is_described() {
    fn walk(value: &Value, at: &str) {
        match value {
            Value::Object(members) => {
                if let Some(target) = members.get("$ref").and_then(Value::as_str) {
                    let found = DOCUMENT.pointer(target.trim_start_matches('#'));
                    assert!(found.is_some(), "{at}: {target} is not there");
                }
                members.iter().for_each(|(key, value)| walk(value, &format!("{at}/{key}")));
            }
            Value::Array(items) => items.iter().for_each(|item| walk(item, at)),
            _ => {}
        }
    }
    walk(&DOCUMENT, "");
    let paths = DOCUMENT["paths"].as_object().unwrap();
    assert!(paths.len() >= 23);
    let operations = paths
        .iter()
        .flat_map(|(path, methods)| methods.as_object().unwrap().values().map(move |operation| (path, operation)));
    for (path, operation) in operations {
        let parameters = operation["parameters"].as_array().unwrap();
        assert!(operation["summary"].as_str().is_some_and(|line| line.len() < 100), "{path}");
        for parameter in parameters {
            assert!(parameter["description"].is_string(), "{path}: {parameter}");
            // No address of a request says null.
            assert!(!parameter["schema"].to_string().contains("null"), "{path}: {parameter}");
        }
        let in_path = parameters.iter().filter(|p| p["in"] == "path").count();
        assert_eq!(in_path, path.matches('{').count(), "{path}");
        // A height may be above the tip.
        let is_as_of = parameters.iter().any(|p| p["name"] == "as_of");
        assert!(!is_as_of || operation["responses"]["404"].is_object(), "{path}");
        assert!(answer_of(operation).is_object(), "{path}");
        for status in ["500", "503"] {
            assert!(operation["responses"][status].is_object(), "{path}: {status}");
        }
    }
}

#[test]
fn every_area_is_described_once_and_in_order() {
    let tags = DOCUMENT["tags"].as_array().unwrap();
    let names: Vec<&str> = tags.iter().map(|tag| tag["name"].as_str().unwrap()).collect();
    assert!(names.is_sorted() && tags.iter().all(|tag| tag["description"].as_str().unwrap().len() > 20), "{tags:?}");
    let paths = DOCUMENT["paths"].as_object().unwrap();
    let operations = paths.values().flat_map(|methods| methods.as_object().unwrap().values());
    let used: std::collections::BTreeSet<&str> = operations.map(|op| op["tags"][0].as_str().unwrap()).collect();
    assert_eq!(used.into_iter().collect::<Vec<_>>(), names);
    assert_eq!(DOCUMENT["info"]["license"]["identifier"], "MIT OR Apache-2.0");
}

#[tokio::test]
async fn health_lists_the_operations() {
    let world = &everything_world();
    let body = get(&world.open_router(), "/api/health").await.body;
    assert_eq!((&body["status"], &body["mode"], &body["beta"]), (&"ok".into(), &"quick".into(), &true.into()));
    let packages = ["primary_package", "timestamp_package"].map(|name| &body[name]["endpoint_catalog"]);
    let catalog: Vec<&Value> = packages.iter().flat_map(|catalog| catalog.as_array().unwrap()).collect();
    assert_eq!(body["endpoints_available"], catalog.len());
    assert!(catalog.iter().all(|e| e["currently_billable"] == false));
    let tip = world.oracle.tip().unwrap();
    assert_eq!(body["live_data"]["bitcoin_backend"]["tip_height"], tip.0);
    assert_eq!(body["live_data"]["bitcoin_backend"]["tip_hash"], tip.1.to_string());
    assert_eq!(body["_meta"]["tip"]["hash"], tip.1.to_string());
}

/// Pages that another crate serves. `tests/cli/pages.rs` follows the links of all of them.
pub const OF_THE_PAGES: [&str; 3] = ["/", "/wallet", "/tx/push"];

#[tokio::test]
async fn links_of_the_landing_page_work() {
    let world = &everything_world();
    let script = world.oracle.scripts().next().unwrap();
    let featured = cairn_operations::Featured {
        title: "Someone".to_owned(),
        description: "An example.".to_owned(),
        address: crate::support::script_hash(script),
        account_key: None,
    };
    let router = world.router(cairn_operations::ApiConfig { featured: vec![featured], ..open_config() });
    let waiting = Waiting::at_tip(world);
    settle(&waiting).await;
    let page = get(&router, "/about").await;
    assert!(page.header("content-type").starts_with("text/html"));
    let links: Vec<&str> = page.text.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert!(links.len() >= 8);
    for link in links.into_iter().filter(|link| *link != "#content" && !OF_THE_PAGES.contains(link)) {
        assert_eq!(get(&router, link).await.status, 200, "{link}");
    }
}

#[test]
fn the_description_names_sessions_payments_and_suggestions() {
    let schemes = DOCUMENT["components"]["securitySchemes"].as_object().unwrap();
    assert_eq!(schemes["walletSession"]["scheme"], "bearer");
    assert_eq!(schemes["bridgeKey"]["name"], "X-WR-API-Key");
    for (path, methods) in DOCUMENT["paths"].as_object().unwrap() {
        for operation in methods.as_object().unwrap().values() {
            let of_wallet = path.strip_prefix("/v1/wallets/{address}/");
            let gated = of_wallet.is_some_and(|part| ["transactions", "pnl", "dashboard"].contains(&part))
                || path == "/v1/wallets/lookup";
            // The empty object: some requests need neither.
            let security = serde_json::json!([{}, {"walletSession": []}, {"bridgeKey": []}]);
            assert_eq!(operation.get("security"), gated.then_some(&security), "{path}");
            let target = &operation["responses"]["402"]["$ref"];
            assert_eq!(target == "#/components/responses/PaymentRequired", gated, "{path}: {target}");
        }
    }
    let problem = &DOCUMENT["components"]["schemas"]["Problem"];
    for member in ["did_you_mean", "links", "warnings", "reject_reason", "limit"] {
        assert!(problem["properties"][member]["description"].is_string(), "{member}");
        assert!(!problem["required"].as_array().unwrap().contains(&member.into()), "{member}");
    }
    // It broadcasts.
    assert!(!DOCUMENT["info"].to_string().contains("read-only"));
}
