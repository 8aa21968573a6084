//! The market: prices of bitcoin and exchange rates.

pub(crate) mod span;

crate::area::area! {
    price::CurrentPrice,
    price_history::PriceHistory,
    fx_history::FxHistory,
}
