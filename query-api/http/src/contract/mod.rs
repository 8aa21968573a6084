//! Definition of an operation: texts, input and output.

pub(crate) mod access;
pub(crate) mod check;
pub(crate) mod cost;
pub(crate) mod format;
pub(crate) mod input;
pub(crate) mod method;
pub(crate) mod mode;
pub(crate) mod nearest;
pub(crate) mod offer;
pub(crate) mod operation;
pub(crate) mod output;
pub(crate) mod pass;
pub(crate) mod secret_header;
pub(crate) mod tool;
