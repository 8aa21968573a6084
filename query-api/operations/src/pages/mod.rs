//! The pages for people that answers send them to. Each is made once, when the server starts, and is whole in itself:
//! no script, nothing from elsewhere.

mod getting_started;
mod landing;

use cairn_domain::evidence::keys_document;
use cairn_http::{CHECKOUT_PAGE, Document, GETTING_STARTED_PAGE, RegisteredOperation};

use crate::config::ApiConfig;

/// Path of the public keys that evidence packs are signed with.
pub(crate) const EVIDENCE_KEYS: &str = "/.well-known/cairn-evidence-keys.json";

pub(crate) fn all(operations: &[RegisteredOperation], config: &ApiConfig) -> Vec<Document> {
    vec![
        Document::plain_page("/", landing::page(operations, config)),
        Document::plain_page(CHECKOUT_PAGE, getting_started::checkout(operations, config)),
        Document::plain_page(GETTING_STARTED_PAGE, getting_started::getting_started(operations, config)),
        Document::json(EVIDENCE_KEYS, &keys_document(&config.evidence.published())),
    ]
}
