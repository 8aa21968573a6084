//! Definitions of the tools for all operations: one searches, one describes, one calls.

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::json;

use crate::{
    answer,
    portable::{object, portable},
};

pub(crate) const SEARCH: &str = "search_endpoints";
pub(crate) const DESCRIBE: &str = "describe_endpoint";
pub(crate) const CALL: &str = "call_endpoint";

/// Default and maximum number of endpoints in a search result.
pub(crate) const FOUND: u64 = 5;
pub(crate) const MAX_FOUND: u64 = 100;

fn reads(effects: (bool, bool)) -> ToolAnnotations {
    let (reads, open_world) = effects;
    ToolAnnotations::new().read_only(reads).destructive(!reads).idempotent(reads).open_world(open_world)
}

pub(crate) fn search_tool() -> Tool {
    let input = json!({
        "type": "object",
        "properties": {
            "query": {"type": "string", "maxLength": 256,
                "description": "The question in words. Without it, all endpoints are listed."},
            "limit": {"type": "integer", "minimum": 1, "maximum": MAX_FOUND, "default": FOUND,
                "description": "Maximum number of results."},
        },
    });
    let description = "Finds the endpoints that answer a question, also those that are not tools. Use when no tool fits \
        the question. Not for data about the chain itself.";
    Tool::new(SEARCH, description, object(input)).with_annotations(reads((true, false)))
}

pub(crate) fn describe_tool() -> Tool {
    let input = json!({
        "type": "object",
        "properties": {
            "endpoint": {"type": "string", "description": "Name of a tool, `endpoint` or `operation` from search_endpoints."},
        },
        "required": ["endpoint"],
    });
    let description = "Description of an endpoint or tool: all its arguments with examples, and the schema of its answer. \
        Use when the list of tools does not say enough. Not for calling it (call_endpoint).";
    Tool::new(DESCRIBE, description, object(input)).with_annotations(reads((true, false)))
}

pub(crate) fn call_tool(annotations: ToolAnnotations) -> Tool {
    let input = json!({
        "type": "object",
        "properties": {
            "endpoint": {"type": "string",
                "description": "`endpoint` or `operation` from search_endpoints, or a complete path with its query \
                    string, prefixed with POST if that is its method."},
            "arguments": {"type": "object", "description": "Arguments by name."},
        },
        "required": ["endpoint"],
    });
    let description = "Calls any endpoint with the same checks and limits as over HTTP; for a document it returns the \
        URL. Use when an endpoint has no tool. Not for endpoints with a tool.";
    Tool::new(CALL, description, object(input)).with_annotations(annotations)
}

/// Schema of the answer of one of these tools.
pub(crate) fn own_schema(tool: &str) -> JsonObject {
    let found = json!({
        "type": "object",
        "properties": {
            "endpoints": {"type": "array", "items": {
                "type": "object",
                "properties": {
                    "endpoint": {"type": "string", "description": "Value for call_endpoint."},
                    "operation": {"type": "string", "description": "Name of the operation."},
                    "tool": {"type": ["string", "null"], "description": "Name of its tool; null if it has none."},
                    "summary": {"type": "string"},
                    "tier": {"enum": ["free", "premium"], "description": "Tier after the beta: premium is paid per call. Everything is free during the beta."},
                    "arguments": {"type": "object", "description": "Arguments, each with its type."},
                },
                "required": ["endpoint", "operation", "tool", "summary", "tier", "arguments"],
            }},
            "total": {"type": "integer", "description": "Number of matches, listed or not."},
        },
        "required": ["endpoints", "total"],
    });
    let mut schema = answer::schema(None, &[]);
    if tool == SEARCH
        && let Some(data) = schema.get_mut("properties").and_then(|properties| properties.get_mut("data"))
    {
        data["anyOf"] = json!([portable(found), {"type": "null"}]);
    }
    schema
}
