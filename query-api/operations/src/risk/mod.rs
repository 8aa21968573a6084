//! Risk: what the chain and the claims of sources show about an address. Evidence, not a verdict.

mod base_rate;
mod reading;

crate::area::area! {
    signals::RiskSignals + batch,
}
