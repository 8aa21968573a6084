//! Evidence about the risk of an address: claims, patterns, and paths on the chain, with their sources. No answer gives
//! a score, a verdict or advice.

mod base_rate;
pub(crate) mod exposure;
mod reading;
mod shared;

crate::area::area! {
    intelligence::Intelligence + batch,
    signals::RiskSignals + batch,
    risk_exposure::RiskExposure,
    sanctions_exposure::SanctionsExposure,
    risk_check::RiskCheck,
    risk_check_batch::RiskCheckBatch,
    evidence_pack::EvidencePack,
}
