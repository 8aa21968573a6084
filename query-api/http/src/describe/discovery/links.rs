//! Where the documents about the service are.

use crate::{config::HttpConfig, describe::paying::BILLING_CATALOG};

/// Path of the MCP endpoint.
pub const MCP: &str = "/mcp/";

/// Where the catalog of APIs is.
pub(super) const CATALOG: &str = "/.well-known/api-catalog";

/// Documents about the service: path, media type, title.
#[must_use]
pub fn links(config: &HttpConfig) -> Vec<(&'static str, &'static str, &'static str)> {
    let mut all = vec![
        ("/openapi.json", "application/json", "The whole interface as OpenAPI 3.1"),
        ("/api/reference/", "text/html", "Reference pages, with examples, errors and definitions"),
        ("/llms.txt", "text/plain", "Short overview for language models"),
        ("/llms-full.txt", "text/plain", "Overview for language models, with all parameters"),
        ("/.well-known/agent-card.json", "application/json", "Agent card (A2A)"),
        ("/agents.json", "application/json", "Operations as flows for agents (agents.json)"),
        (CATALOG, "application/linkset+json", "Catalog of APIs (RFC 9727)"),
        ("/v1/capabilities", "application/json", "Capabilities and limits of the service"),
        (
            "/v1/beta-status",
            "application/json",
            config.access_mode.word("Rules of the public beta", "Access rules in force, after the public beta"),
        ),
        ("/api/health", "application/json", "State of the service and catalog of its operations"),
    ];
    if config.access_mode.is_live() {
        all.push((BILLING_CATALOG, "application/json", "Plans and prices per call, and whether they are sold now"));
    }
    if config.speaks_mcp() {
        all.push(("/.well-known/mcp.json", "application/json", "Endpoints of the Model Context Protocol"));
    }
    all
}
