//! The service itself.

pub(crate) mod beta_status;
pub(crate) mod capabilities;
pub(crate) mod catalog;
pub(crate) mod feedback;
pub(crate) mod health;
pub(crate) mod health_full;
pub(crate) mod posture;
