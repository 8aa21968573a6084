//! The query API over HTTP. One operation is one file under `routes`: its route, its entry in `/openapi.json`, its place
//! in the catalog and its validation all derive from what that file says.

mod amounts;
mod body;
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
mod mempool;
mod meta;
mod middleware;
mod nearest;
mod node;
mod openapi;
mod operation;
mod raw_tx;
mod router;
mod routes;
mod values;

pub use config::{ApiConfig, Featured};
pub use index::{IndexSlot, IndexSource};
pub use mempool::{Absent, MempoolSlot};
pub use node::{NodeAccess, Refused, Unreachable};
pub use openapi::document as openapi_document;
pub use router::{ApiState, Counters, router, serve};
