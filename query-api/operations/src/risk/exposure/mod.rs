//! Exposure of a script to scripts with claims: what operations share that ask for it.
//!
//! [`reader::ExposureReader`] reads transactions and claims, and keeps them for the next address of a batch.
//! [`reached::reached`] lists the claims that a script's coins came from or went to; [`compute::compute`] makes the
//! whole answer.

pub(crate) mod claimed;
pub(crate) mod compute;
pub(crate) mod moment;
pub(crate) mod output;
pub(crate) mod parameters;
#[allow(dead_code, reason = "operations with detectors call it")]
pub(crate) mod reached;
pub(crate) mod reader;
pub(crate) mod rows;
pub(crate) mod traced;
