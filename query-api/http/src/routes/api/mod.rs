//! The service itself.

pub(crate) mod health;
