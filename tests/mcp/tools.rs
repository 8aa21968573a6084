//! The list of tools.

use std::collections::BTreeSet;

use cairn_mcp::Options;
use cairn_operations::{ApiConfig, openapi_document};
use serde_json::Value;

use crate::{
    rig::{app, result_schema, tools},
    support::everything_world,
};

#[tokio::test]
async fn tools_are_described() {
    let world = &everything_world();
    let router = app(world, Options::default());
    let tools = tools(&router).await;
    let mut names = BTreeSet::new();
    for tool in &tools {
        let name = tool["name"].as_str().unwrap();
        assert!(names.insert(name), "{name} twice");
        assert!(name.len() <= 64 && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_'));
        let description = tool["description"].as_str().unwrap();
        assert!(description.contains(" Use when ") && description.contains(" Not for "), "{name}: {description}");
        assert!(description.len() > 120 && !description.contains("  ") && !description.contains(".."), "{name}");
        // A title would say the summary once more.
        assert!(tool.get("title").is_none() && tool["annotations"].get("title").is_none(), "{name}");
        for hint in ["readOnlyHint", "idempotentHint", "destructiveHint", "openWorldHint"] {
            assert!(tool["annotations"][hint].is_boolean(), "{name} {hint}");
        }
        // Every tool that a description points to is there.
        for word in description.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).filter(|w| w.contains('_')) {
            let close = tools.iter().any(|other| other["name"] == word);
            let known = description.contains(&format!("({word})")) || description.contains(&format!("({word},"));
            assert!(close || !known, "{name} points to {word}");
        }
    }
    assert_eq!(tools[tools.len() - 3]["name"], "search_endpoints");
    assert_eq!(tools[tools.len() - 2]["name"], "describe_endpoint");
    assert_eq!(tools[tools.len() - 1]["name"], "call_endpoint");
    // Nothing that is not built, nothing that only operators need.
    for absent in ["wallet_summary", "whale_alerts", "health_full", "price_history"] {
        let built =
            openapi_document(&ApiConfig::default()).to_string().contains(&format!("\"operationId\":\"{absent}\""));
        assert!(!names.contains(absent) || built, "{absent}");
    }
    for present in [
        "tx_status",
        "tx_lookup",
        "tx_verify",
        "mempool_tx",
        "op_return_decode",
        "fees_recommended",
        "mempool_stats",
        "mempool_stress",
        "network_intelligence",
        "block_detail",
        "bitcoin_price",
    ] {
        assert!(names.contains(present), "{present}");
    }
}

#[tokio::test]
async fn only_what_changes_something_says_so() {
    let world = &everything_world();
    let router = app(world, Options::default());
    for tool in tools(&router).await {
        let (name, hints) = (tool["name"].as_str().unwrap(), &tool["annotations"]);
        let sends = matches!(name, "tx_broadcast" | "call_endpoint");
        let stores = ["submit_feedback", "timestamp_hash", "submit_report", "vote_report"].contains(&name);
        let reads = !sends && !stores;
        assert_eq!((&hints["readOnlyHint"], &hints["destructiveHint"]), (&reads.into(), &sends.into()), "{name}");
    }
}

#[tokio::test]
async fn schemas_are_schemas() {
    let world = &everything_world();
    let router = app(world, Options::default());
    for tool in tools(&router).await {
        let name = &tool["name"];
        // Schemas of answers would be most of the list.
        assert!(tool.get("outputSchema").is_none(), "{name}");
        let result = result_schema(&router, name.as_str().unwrap()).await;
        for (key, schema) in [("inputSchema", &tool["inputSchema"]), ("result", &result)] {
            assert_eq!(schema["type"], "object", "{name}");
            // Hosts of models refuse choices at the top.
            for choice in ["anyOf", "oneOf", "allOf"] {
                assert!(schema.get(choice).is_none(), "{name}: {choice}");
            }
            assert!(schema.get("$schema").is_none(), "{name}: the protocol's default is meant");
            jsonschema::draft202012::meta::validate(schema).unwrap_or_else(|e| panic!("{name} {key}: {e}"));
            jsonschema::draft202012::new(schema).unwrap_or_else(|e| panic!("{name} {key}: {e}"));
            every_reference_leads_somewhere(schema, schema);
            one_type_at_a_time(schema, &format!("{name} {key}"));
        }
        for (parameter, schema) in tool["inputSchema"]["properties"].as_object().unwrap() {
            assert!(schema["description"].is_string(), "{name}: {parameter}");
        }
    }
}

fn every_reference_leads_somewhere(root: &Value, value: &Value) {
    match value {
        Value::Object(members) => {
            if let Some(target) = members.get("$ref").and_then(Value::as_str) {
                assert!(root.pointer(target.trim_start_matches('#')).is_some(), "{target} is not there");
            }
            members.values().for_each(|value| every_reference_leads_somewhere(root, value));
        }
        Value::Array(items) => items.iter().for_each(|item| every_reference_leads_somewhere(root, item)),
        _ => {}
    }
}

/// Some hosts of models know one type for each value, and refuse lists of them.
fn one_type_at_a_time(value: &Value, what: &str) {
    match value {
        Value::Object(members) => {
            assert!(!members.get("type").is_some_and(Value::is_array), "{what}: {value}");
            members.values().for_each(|value| one_type_at_a_time(value, what));
        }
        Value::Array(items) => items.iter().for_each(|item| one_type_at_a_time(item, what)),
        _ => {}
    }
}

#[tokio::test]
async fn the_order_is_the_same_every_time() {
    let world = &everything_world();
    let (one, other) = (app(world, Options::default()), app(world, Options::default()));
    assert_eq!(tools(&one).await, tools(&other).await);
    let text = Value::Array(tools(&one).await).to_string();
    assert_eq!(text.matches("\"name\":\"").count(), tools(&one).await.len());
}

/// Bytes of JSON in a token, about.
const BYTES_PER_TOKEN: f64 = 3.5;

/// Models read the whole list before each task.
#[tokio::test]
async fn the_list_is_short() {
    let world = &everything_world();
    let router = app(world, Options::default());
    let tools = tools(&router).await;
    let sizes: Vec<(usize, &str)> =
        tools.iter().map(|tool| (tool.to_string().len(), tool["name"].as_str().unwrap())).collect();
    let bytes = Value::Array(tools.clone()).to_string().len();
    let of_fifty = bytes as f64 / tools.len() as f64 * 50.0 / BYTES_PER_TOKEN;
    println!("{} tools, {bytes} bytes, {of_fifty:.0} tokens for 50 tools; {sizes:?}", tools.len());
    assert!(of_fifty < 12_000.0, "{of_fifty:.0} tokens for 50 tools: {sizes:?}");
    let (largest, name) = sizes.iter().max().unwrap();
    assert!(*largest < 2_000, "{name} alone has {largest} bytes");
}

/// The parts that the list leaves out are in the description of a tool.
#[tokio::test]
async fn descriptions_are_whole() {
    let world = &everything_world();
    let router = app(world, Options::default());
    for tool in tools(&router).await {
        let name = tool["name"].as_str().unwrap();
        let said = crate::rig::call(&router, "describe_endpoint", serde_json::json!({"endpoint": name})).await;
        let data = &said["structuredContent"]["data"];
        assert_eq!(data["tool"], name);
        let listed: Vec<&String> = tool["inputSchema"]["properties"].as_object().unwrap().keys().collect();
        let described: Vec<&String> = data["arguments"]["properties"].as_object().unwrap().keys().collect();
        assert_eq!(listed, described, "{name}");
        assert!(data["result"]["properties"]["data"].is_object(), "{name}");
        for key in data["arguments"]["required"].as_array().into_iter().flatten() {
            assert!(tool["inputSchema"]["required"].as_array().unwrap().contains(key), "{name}");
        }
    }
    let said = crate::rig::call(&router, "describe_endpoint", serde_json::json!({"endpoint": "walet_overview"})).await;
    assert_eq!(said["structuredContent"]["error"]["did_you_mean"][0], "wallet_overview");
}
