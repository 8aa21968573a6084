//! Connections, layers, routes, counts.

pub(crate) mod admin;
pub(crate) mod connections;
mod cors;
mod head;
mod held;
pub(crate) mod hosts;
pub(crate) mod metrics;
pub(crate) mod middleware;
pub(crate) mod names;
pub(crate) mod router;
mod stream;
pub(crate) mod threads;
