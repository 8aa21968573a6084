//! The service itself.

pub(crate) mod health;
pub(crate) mod health_full;
