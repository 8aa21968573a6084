//! The service itself.

pub(crate) mod catalog;
pub(crate) mod posture;

crate::area::area! {
    health::Health,
    health_full::HealthFull,
    capabilities::Capabilities,
    beta_status::BetaStatus,
    feedback::SubmitFeedback,
    dashboard::Dashboard,
}
