//! A section of a pack, and its status.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// A section.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PackSection")]
pub(super) struct Section {
    pub(super) status: SectionStatus,
    /// Why there is no data; otherwise null.
    pub(super) reason: Option<String>,
    /// The answer of the section's own operation, without numbers that are not integers, prices, unconfirmed
    /// transactions and cursors.
    pub(super) data: Option<Value>,
}

/// Status of a section.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum SectionStatus {
    /// The section has its data.
    Ok,
    /// The request did not want the section.
    Skipped,
    /// The section could not be computed in time, or while tables are being built. Try again later.
    Unavailable,
    /// The section failed.
    Error,
}
