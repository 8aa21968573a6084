//! Documents for agents: agent card, flows, and the endpoint of the Model Context Protocol.

use serde_json::{Map, Value, json};

use super::{
    authentication::{Scheme, authentication, schemes},
    links::MCP,
};
use crate::{
    config::HttpConfig,
    contract::{offer::Tier, operation::RegisteredOperation},
    describe::{about::About, openapi::example_of, paying::how_to_pay},
};

/// The agent card of A2A 1.0. It lists the interfaces that the server has; none is one of A2A's own bindings.
pub(super) fn card(operations: &[RegisteredOperation], about: &About, config: &HttpConfig) -> Value {
    let base = &config.base_url;
    let mut interfaces = vec![json!({"url": base, "protocolBinding": "OPENAPI", "protocolVersion": "3.1.0"})];
    if let Some(newest) = config.mcp_versions.first() {
        let url = format!("{base}{MCP}");
        interfaces.insert(0, json!({"url": url, "protocolBinding": "MCP", "protocolVersion": newest}));
    }
    let schemes = schemes(operations, config);
    let by_id: Map<String, Value> = schemes.iter().map(|scheme| (scheme.id().to_owned(), scheme.for_card())).collect();
    let skills: Vec<Value> = operations.iter().map(|op| skill(op, about, &schemes, config)).collect();
    let description = match how_to_pay(config) {
        Some(paying) => format!("{}. {paying}", about.sentence),
        None => about.sentence.to_owned(),
    };
    json!({
        "name": about.name,
        "description": description,
        "version": env!("CARGO_PKG_VERSION"),
        "supportedInterfaces": interfaces,
        "provider": {"organization": about.name, "url": format!("{base}/")},
        "documentationUrl": format!("{base}/api/reference/"),
        "capabilities": {"streaming": false, "pushNotifications": false, "extendedAgentCard": false},
        "securitySchemes": by_id,
        "defaultInputModes": ["application/json"],
        "defaultOutputModes": ["application/json"],
        "skills": skills,
    })
}

fn skill(op: &RegisteredOperation, about: &About, schemes: &[Scheme], config: &HttpConfig) -> Value {
    let tier = if op.offer.tier == Tier::Free { "free" } else { "premium" };
    let mut skill = json!({
        "id": op.info.name,
        "name": op.info.summary,
        "description": op.info.description,
        "tags": [op.info.area, tier],
        "examples": [format!("{} {}", op.info.method.name(), example_of(op, about))],
        "inputModes": ["application/json"],
        "outputModes": op.media,
    });
    if config.is_billable(op) {
        // Any one of them is enough.
        let ways = schemes.iter().filter(|scheme| scheme.opens(op, config));
        skill["securityRequirements"] = ways.map(|scheme| json!({"schemes": {scheme.id(): {"list": []}}})).collect();
    }
    skill
}

/// Operations as flows of one step (agents.json 0.1).
pub(super) fn flows(operations: &[RegisteredOperation], about: &About, config: &HttpConfig) -> Value {
    let flows: Vec<Value> = operations
        .iter()
        .map(|op| {
            let parameters: Vec<Value> = op
                .input
                .fields
                .iter()
                .map(|field| json!({"name": op.name_of(field), "required": field.required, "schema": field.schema}))
                .collect();
            json!({
                "id": op.info.name,
                "title": op.info.summary,
                "description": op.info.description,
                "actions": [{"id": op.info.name, "sourceId": "cairn", "operationId": op.info.name}],
                "links": [],
                "fields": {"parameters": parameters, "responses": {"success": {"$ref": "#"}}},
            })
        })
        .collect();
    json!({
        "agentsJson": "0.1.0",
        "info": {"title": about.name, "version": env!("CARGO_PKG_VERSION"), "description": about.sentence},
        "authentication": authentication(operations, config),
        "sources": [{"id": "cairn", "path": format!("{}/openapi.json", config.base_url)}],
        "overrides": [],
        "flows": flows,
    })
}

/// Endpoints of the Model Context Protocol.
pub(super) fn mcp(operations: &[RegisteredOperation], about: &About, config: &HttpConfig) -> Value {
    let url = format!("{}{MCP}", config.base_url);
    json!({
        "name": "cairn",
        "title": about.name,
        "version": env!("CARGO_PKG_VERSION"),
        "description": about.sentence,
        "protocolVersion": config.mcp_versions.first(),
        "protocolVersions": config.mcp_versions,
        "servers": [
            {"type": "streamable-http", "url": url},
            {"type": "sse", "url": url},
        ],
        "authentication": authentication(operations, config),
        "documentation": format!("{}/api/reference/", config.base_url),
    })
}
