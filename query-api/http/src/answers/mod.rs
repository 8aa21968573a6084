//! Outgoing data: bodies, failures, versions.

pub(crate) mod code;
pub(crate) mod compact;
pub(crate) mod document;
pub(crate) mod error;
pub(crate) mod meta;
pub(crate) mod secrets;
pub(crate) mod validators;
