//! Evidence about the risk of an address: claims, patterns, and paths on the chain, with their sources. No answer gives a
//! score, a verdict or advice.

pub(crate) mod exposure;

crate::area::area! {
    intelligence::Intelligence + batch,
    risk_exposure::RiskExposure,
    sanctions_exposure::SanctionsExposure,
}
