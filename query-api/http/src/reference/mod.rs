//! The reference at `/api/reference/`.

use serde_json::Value;

use crate::{config::ApiConfig, documents::Document, operation::Registered};

/// All pages.
pub(crate) fn documents(_: &[Registered], _: &Value, _: &ApiConfig) -> Vec<Document> {
    Vec::new()
}
