//! The pages that follow money and evidence around an address.

mod drawing;
mod flow;

use std::sync::Arc;

use axum::Router;

use crate::{route::PageRoutes, site::Site};

pub(crate) fn routes() -> Router<Arc<Site>> {
    Router::new().page("/address/{address}/flow", flow::page)
}
