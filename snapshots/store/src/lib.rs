//! Stores of objects: buckets that speak S3's protocol, and folders. The calls block; threads may share a store.

mod error;
mod lease;
mod location;
mod send;
mod store;

pub use error::StoreError;
pub use lease::{Lease, identity};
pub use location::{Location, LocationError};
pub use send::PIECE;
pub use store::{Object, Options, Store};
