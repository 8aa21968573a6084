//! From a request to its answer.

mod accept;
pub(crate) mod aside;
pub(crate) mod ask;
pub(crate) mod body;
pub(crate) mod execute;
pub(crate) mod fingerprint;
pub(crate) mod form;
pub(crate) mod http;
pub(crate) mod inside;
pub(crate) mod parameters;
pub(crate) mod precompute;
pub(crate) mod queue;
mod running;
pub(crate) mod snapshot;
pub(crate) mod work;
