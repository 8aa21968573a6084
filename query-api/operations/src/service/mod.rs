//! The service itself.

pub(crate) mod catalog;
mod contest;
mod details;
pub(crate) mod posture;
mod vault;
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
