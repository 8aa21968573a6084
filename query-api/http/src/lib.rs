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
mod inside;
mod landing;
mod mempool;
mod meta;
mod middleware;
mod nearest;
mod node;
mod offer;
mod openapi;
mod operation;
mod planned;
mod raw_tx;
mod router;
mod routes;
mod tool;
mod values;

pub use config::{ApiConfig, Featured};
pub use index::{IndexSlot, IndexSource};
pub use inside::{AnswerSchema, Api, Described, Reply};
pub use mempool::{Absent, MempoolSlot};
pub use node::{NodeAccess, Refused, Unreachable};
pub use openapi::document as openapi_document;
pub use router::{ApiState, Counters, router, router_with, serve};
pub use tool::Effect;
