//! Where the documents about the service are.

use crate::config::HttpConfig;

/// Where the endpoint for agents is.
pub const MCP: &str = "/mcp/";

/// Where the catalog of APIs is.
pub(super) const CATALOG: &str = "/.well-known/api-catalog";

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
