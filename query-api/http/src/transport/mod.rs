//! Connections, layers, routes, counts.

pub(crate) mod admin;
pub(crate) mod connections;
pub(crate) mod metrics;
pub(crate) mod middleware;
pub(crate) mod router;
