//! Search: what a text can mean, and where its page is.

use std::sync::Arc;

use axum::Router;

use crate::site::Site;

pub(crate) fn routes() -> Router<Arc<Site>> {
    Router::new()
}
