//! The pages of entities and mining pools.

use std::sync::Arc;

use axum::Router;

use crate::site::Site;

pub(crate) fn routes() -> Router<Arc<Site>> {
    Router::new()
}
