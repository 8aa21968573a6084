//! Risk evidence about one script: paths on the chain and claims, with their sources. No score.

pub(crate) mod exposure;

crate::area::area! {
    risk_exposure::RiskExposure,
    sanctions_exposure::SanctionsExposure,
}
