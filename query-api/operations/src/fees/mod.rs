//! What to pay.

crate::operation::area! {
    recommended::FeesRecommended,
}
