//! Exposure of a script to scripts with claims: what operations share that ask for it.
//!
//! [`reader::ExposureReader`] reads transactions and claims, and keeps them for the next address of a batch.
//! [`compute::compute`] makes the answer for one address.

pub(crate) mod claimed;
pub(crate) mod compute;
mod counted_clusters;
pub(crate) mod moment;
pub(crate) mod output;
pub(crate) mod parameters;
pub(crate) mod reader;
pub(crate) mod rows;
pub(crate) mod traced;
