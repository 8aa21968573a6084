//! The chain as a whole.

pub(crate) mod projected_blocks;
pub(crate) mod recent_blocks;
