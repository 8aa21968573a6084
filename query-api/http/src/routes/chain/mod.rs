//! The chain as a whole.

pub(crate) mod recent_blocks;
