//! Who may ask, and how much.

pub(crate) mod admission;
pub(crate) mod admitted;
pub(crate) mod budget;
pub(crate) mod client;
pub(crate) mod memory;
pub(crate) mod session;
pub(crate) mod size;
pub(crate) mod stream_slots;
