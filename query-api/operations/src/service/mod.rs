//! The service itself.

pub(crate) mod access;
pub(crate) mod catalog;
mod claim_details;
mod contest;
mod details;
mod week_volume;

pub(crate) use dashboard::SnapshotState;
pub(crate) use week_volume::VolumeSlot;

crate::area::area! {
    health::Health,
    health_full::HealthFull,
    capabilities::Capabilities,
    beta_status::BetaStatus,
    feedback::SubmitFeedback,
    dashboard::Dashboard,
}
