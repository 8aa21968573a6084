//! The pages of an address: overview, transactions, profit and loss.

mod currency;
mod gate;
mod history;
mod label;
mod list;
mod overview;
mod pnl;
mod range;

use std::sync::Arc;

use axum::Router;

use crate::{route::PageRoutes, site::Site};

pub(crate) fn routes() -> Router<Arc<Site>> {
    Router::new()
        .page("/address/{address}", overview::page)
        .page("/address/{address}/transactions", list::page)
        .page("/address/{address}/pnl", pnl::page)
}
