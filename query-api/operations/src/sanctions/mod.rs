//! Lists of sanctions: what operators have approved, as far as the current feed still has it.

mod feed;

crate::area::area! {
    compliance_tier::ComplianceTier,
    coverage::OfacCoverage,
}
