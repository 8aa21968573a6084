//! The chain as a whole.

crate::operation::area! {
    recent_blocks::RecentBlocks,
    projected_blocks::ProjectedBlocks,
}
