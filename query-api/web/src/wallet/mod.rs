//! The page of a wallet.

use std::sync::Arc;

use axum::Router;

use crate::site::Site;

pub(crate) fn routes() -> Router<Arc<Site>> {
    Router::new()
}
