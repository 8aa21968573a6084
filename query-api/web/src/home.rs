//! The page of the chain as it is now.

use std::sync::Arc;

use axum::Router;

use crate::site::Site;

pub(crate) fn routes() -> Router<Arc<Site>> {
    Router::new()
}
