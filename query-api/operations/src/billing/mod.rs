//! Plans, prices, challenges, and codes for keys.

crate::area::area! {
    catalog::BillingCatalog,
    challenge::GetChallenge,
    redeem::RedeemCode,
}
