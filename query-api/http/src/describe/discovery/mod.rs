//! What an agent finds when it looks around: documents that say what this service is, all made from its operations.

mod agents;
mod llms;

use axum::http::{HeaderValue, header};
use serde_json::{Value, json};

use super::about::About;
use crate::{answers::document::Document, config::HttpConfig, contract::operation::Registered};

/// Where the endpoint for agents is.
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

/// Documents about the service that are worth a link: path, media type, what it is. Descriptions first, then pages,
/// then state.
#[must_use]
pub fn links(config: &HttpConfig) -> Vec<(&'static str, &'static str, &'static str)> {
    let mut all = vec![
        ("/openapi.json", "application/json", "The whole interface as OpenAPI 3.1"),
        ("/api/reference/", "text/html", "The same for people, with examples, errors and definitions"),
        ("/llms.txt", "text/plain", "What there is, in brief, for language models"),
        ("/llms-full.txt", "text/plain", "The same with every parameter"),
        ("/.well-known/agent-card.json", "application/json", "Agent card (A2A)"),
        ("/agents.json", "application/json", "Calls as flows for agents (agents.json)"),
        (CATALOG, "application/linkset+json", "Catalog of APIs (RFC 9727)"),
        ("/v1/capabilities", "application/json", "What the service can do, and under which limits"),
        ("/v1/beta-status", "application/json", "What the public beta means"),
        ("/api/health", "application/json", "State of the service, catalog of its operations"),
    ];
    if config.speaks_mcp() {
        all.push(("/.well-known/mcp.json", "application/json", "Where the Model Context Protocol is spoken"));
    }
    all
}

/// The catalog of APIs: one API, with its description, documentation and state.
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
