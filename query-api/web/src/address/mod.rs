//! The pages of an address: overview, transactions, profit and loss.

mod contest;
mod currency;
mod gate;
mod history;
mod label;
mod list;
mod overview;
mod pnl;
mod range;

use std::sync::Arc;

use axum::{Router, extract::DefaultBodyLimit};

use crate::{route::PageRoutes, site::Site};

const MAX_FORM_BYTES: usize = 64 << 10;

pub(crate) fn routes() -> Router<Arc<Site>> {
    Router::new()
        .page("/address/{address}", overview::page)
        .page("/address/{address}/transactions", list::page)
        .page("/address/{address}/pnl", pnl::page)
        .form("/address/{address}/contest", contest::page, contest::send)
        .layer(DefaultBodyLimit::max(MAX_FORM_BYTES))
}
