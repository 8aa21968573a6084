//! Feerates to pay.

crate::area::area! {
    recommended::FeesRecommended,
}
