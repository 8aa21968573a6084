//! The chain as a whole.

crate::area::area! {
    recent_blocks::RecentBlocks,
    projected_blocks::ProjectedBlocks,
    supply_distribution::SupplyDistribution,
    onchain::Onchain,
    silent_payment_tweaks::SilentPaymentTweaks,
}
