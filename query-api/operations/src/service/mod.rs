//! The service itself.

pub(crate) mod catalog;
mod contest;
mod details;
pub(crate) mod posture;
mod vault;

crate::area::area! {
    health::Health,
    health_full::HealthFull,
    capabilities::Capabilities,
    beta_status::BetaStatus,
    feedback::SubmitFeedback,
    dashboard::Dashboard,
}
