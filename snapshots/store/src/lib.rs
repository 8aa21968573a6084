//! Stores of objects: buckets that speak S3's protocol, and folders. The calls block; threads may share a store.
//! Exports and checkpoints also share files of this machine, jobs on threads, and the result of a comparison.

mod checked;
mod error;
pub mod files;
mod jobs;
mod lease;
mod location;
mod send;
mod store;

pub use checked::{Checked, Difference};
pub use error::StoreError;
pub use jobs::{JobError, on_threads};
pub use lease::{Lease, identity};
pub use location::{Location, LocationError};
pub use send::PIECE;
pub use store::{Object, Options, Store};
