//! Plans, prices, challenges, codes for keys, and the checkout of passes.

mod followed;
mod pass_payment;

crate::area::area! {
    catalog::BillingCatalog,
    challenge::GetChallenge,
    redeem::RedeemCode,
    checkout::CreateCheckout,
    checkout_status::GetCheckout,
    checkout_refresh::RefreshCheckout,
}
