//! Discovery documents for agents, made from the operations.

mod agents;
mod authentication;
mod links;
mod llms;

use axum::http::{HeaderValue, header};
use serde_json::{Value, json};

pub(crate) use self::authentication::authentication;
use self::links::CATALOG;
pub use self::links::{MCP, links};
use super::about::About;
use crate::{answers::document::Document, config::HttpConfig, contract::operation::RegisteredOperation};

pub(crate) fn documents(
    operations: &[RegisteredOperation],
    about: &About,
    openapi: &Value,
    config: &HttpConfig,
) -> Vec<Document> {
    let mut all = vec![
        Document::new("/llms.txt", TEXT, llms::brief(operations, about, config)),
        Document::new("/llms-full.txt", TEXT, llms::full(operations, about, openapi, config)),
        Document::json("/.well-known/agent-card.json", &agents::card(operations, about, config)),
        Document::json("/agents.json", &agents::flows(operations, about, config)),
        Document::new(CATALOG, LINKSET, catalog(config).to_string())
            .with(header::LINK, HeaderValue::from_static("</.well-known/api-catalog>; rel=\"api-catalog\"")),
    ];
    if config.speaks_mcp() {
        all.push(Document::json("/.well-known/mcp.json", &agents::mcp(operations, about, config)));
    }
    all
}

const TEXT: &str = "text/plain; charset=utf-8";
const LINKSET: &str = "application/linkset+json; profile=\"https://www.rfc-editor.org/info/rfc9727\"";

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
