//! The pages for people. A page asks the operations for what it shows, as any client of the API does: with the same
//! checks, limits and prices. It has no other way to the index, and links the answers that it was made from.
//!
//! ```text
//! request ─► a page's module ─► ask (one operation, one answer) ─► template ─► frame of all pages
//!                                   │
//!                                   └─► source: block, and the path of the same answer as JSON
//! ```

mod address;
mod answer;
mod ask;
mod assets;
mod block;
mod chart;
mod entity;
mod feerate;
mod format;
mod home;
mod links;
mod meta;
mod operations;
mod query;
mod route;
mod search;
mod site;
mod tabs;
#[cfg(test)]
mod testing;
mod trace;
mod tx;
mod visible;
mod wallet;

use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn_with_state;

use crate::site::Site;
pub use crate::{
    operations::{Operations, Request},
    site::{Options, Story},
};

/// The routes of the pages, for [`cairn_http::router_with`].
pub fn routes(operations: Arc<dyn Operations>, options: Options) -> Router {
    let site = Arc::new(Site::new(operations, options));
    let pages = [
        assets::routes,
        address::routes,
        block::routes,
        entity::routes,
        home::routes,
        search::routes,
        trace::routes,
        tx::routes,
        wallet::routes,
    ];
    let all = pages.into_iter().fold(Router::new(), |all, one| all.merge(one()));
    all.layer(from_fn_with_state(Arc::clone(&site), route::readable)).with_state(site)
}
