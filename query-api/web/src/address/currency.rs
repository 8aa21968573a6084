//! Currencies that the forms of the pages offer.

/// Currencies of the forms. The path takes all that the server has rates for.
const OFFERED: [&str; 5] = ["USD", "EUR", "GBP", "CHF", "JPY"];

/// The offered currencies, and the chosen one if it is another.
pub(super) fn currencies(chosen: &str) -> Vec<&str> {
    let other = (!OFFERED.contains(&chosen)).then_some(chosen);
    OFFERED.into_iter().chain(other).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chosen_currency_is_offered() {
        assert_eq!((currencies("EUR").len(), currencies("SEK").last()), (5, Some(&"SEK")));
    }
}
