//! The gate in front of operations that are sold, and its 402 answers. Sessions and keys are checked in
//! [`crate::limits::session`]; a [`till`](till::Till) sells single calls.

pub(crate) mod bridge;
pub(crate) mod delivery;
pub(crate) mod gate;
pub(crate) mod headers;
pub(crate) mod offer;
pub(crate) mod sold;
pub(crate) mod till;
