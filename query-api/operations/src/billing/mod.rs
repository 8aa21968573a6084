//! Plans, prices, and codes for keys.

crate::area::area! {
    catalog::BillingCatalog,
    redeem::RedeemCode,
}
