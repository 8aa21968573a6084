//! The query API over HTTP. One operation is one file under `routes`: its route, its entry in `/openapi.json`, its place
//! in the catalog and its validation all derive from what that file says.

mod compact;
mod config;
mod context;
mod cursor;
mod dispatch;
mod error;
mod identifiers;
mod index;
mod input;
mod landing;
mod meta;
mod middleware;
mod nearest;
mod openapi;
mod operation;
mod raw_tx;
mod router;
mod routes;
mod values;

pub use config::{ApiConfig, Featured};
pub use index::{IndexSlot, IndexSource};
pub use openapi::document as openapi_document;
pub use router::{ApiState, Counters, router, serve};
