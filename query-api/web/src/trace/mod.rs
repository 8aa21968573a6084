//! The pages that follow money and evidence around an address.

mod claims;
mod cluster;
mod drawing;
mod dust;
mod exposure;
mod flow;
mod members;
mod reports;
mod risk;
mod stops;

use std::sync::Arc;

use axum::Router;

use crate::{route::PageRoutes, site::Site};

pub(crate) fn routes() -> Router<Arc<Site>> {
    Router::new()
        .page("/address/{address}/cluster", cluster::page)
        .page("/address/{address}/cluster.csv", members::file)
        .page("/address/{address}/flow", flow::page)
        .page("/address/{address}/reports", reports::page)
        .page("/address/{address}/risk", risk::page)
}
