//! The pages for people that answers send them to. Each is made once, when the server starts, and is whole in itself:
//! no script, nothing from elsewhere.

mod getting_started;
mod landing;

use cairn_http::{CHECKOUT_PAGE, Document, GETTING_STARTED_PAGE, RegisteredOperation};

use crate::config::ApiConfig;

pub(crate) fn all(operations: &[RegisteredOperation], config: &ApiConfig) -> Vec<Document> {
    vec![
        Document::plain_page("/", landing::page(operations, config)),
        Document::plain_page(CHECKOUT_PAGE, getting_started::checkout(operations, config)),
        Document::plain_page(GETTING_STARTED_PAGE, getting_started::getting_started(operations, config)),
    ]
}
