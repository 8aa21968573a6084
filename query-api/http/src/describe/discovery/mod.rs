//! Discovery documents for agents, made from the operations.

mod agents;
mod llms;

use axum::http::{HeaderValue, header};
use serde_json::{Value, json};

use super::about::About;
use crate::{answers::document::Document, config::HttpConfig, contract::operation::Registered};

/// Path of the MCP endpoint.
pub const MCP: &str = "/mcp/";

/// All of them.
pub(crate) fn documents(operations: &[Registered], about: &About, config: &HttpConfig) -> Vec<Document> {
    let mut all = vec![
        Document::new("/llms.txt", TEXT, llms::brief(operations, about, config)),
        Document::new("/llms-full.txt", TEXT, llms::full(operations, about, config)),
        Document::json("/.well-known/agent-card.json", &agents::card(operations, about, config)),
        Document::json("/agents.json", &agents::flows(operations, about, config)),
        Document::new(CATALOG, LINKSET, catalog(config).to_string())
            .with(header::LINK, HeaderValue::from_static("</.well-known/api-catalog>; rel=\"api-catalog\"")),
    ];
    if config.speaks_mcp() {
        all.push(Document::json("/.well-known/mcp.json", &agents::mcp(about, config)));
    }
    all
}

const TEXT: &str = "text/plain; charset=utf-8";
const CATALOG: &str = "/.well-known/api-catalog";
const LINKSET: &str = "application/linkset+json; profile=\"https://www.rfc-editor.org/info/rfc9727\"";

/// Documents about the service: path, media type, title.
#[must_use]
pub fn links(config: &HttpConfig) -> Vec<(&'static str, &'static str, &'static str)> {
    let mut all = vec![
        ("/openapi.json", "application/json", "The whole interface as OpenAPI 3.1"),
        ("/api/reference/", "text/html", "The same for people, with examples, errors and definitions"),
        ("/llms.txt", "text/plain", "Short overview for language models"),
        ("/llms-full.txt", "text/plain", "The same with all parameters"),
        ("/.well-known/agent-card.json", "application/json", "Agent card (A2A)"),
        ("/agents.json", "application/json", "Operations as flows for agents (agents.json)"),
        (CATALOG, "application/linkset+json", "Catalog of APIs (RFC 9727)"),
        ("/v1/capabilities", "application/json", "Capabilities and limits of the service"),
        ("/v1/beta-status", "application/json", "Rules of the public beta"),
        ("/api/health", "application/json", "State of the service and catalog of its operations"),
    ];
    if config.speaks_mcp() {
        all.push(("/.well-known/mcp.json", "application/json", "Endpoints of the Model Context Protocol"));
    }
    all
}

/// The API catalog: one API with its description, documentation and status.
fn catalog(config: &HttpConfig) -> Value {
    let link = |path: &str, kind: &str| json!({"href": format!("{}{path}", config.base_url), "type": kind});
    json!({"linkset": [
        {
            "anchor": format!("{}{CATALOG}", config.base_url),
            "item": [{"href": format!("{}/", config.base_url)}],
        },
        {
            "anchor": format!("{}/", config.base_url),
            "service-desc": [link("/openapi.json", "application/json")],
            "service-doc": [link("/api/reference/", "text/html"), link("/llms.txt", "text/plain")],
            "service-meta": [
                link("/.well-known/agent-card.json", "application/json"),
                link("/v1/capabilities", "application/json"),
            ],
            "status": [link("/api/health", "application/json")],
        },
    ]})
}
