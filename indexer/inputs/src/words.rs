//! Words of operators: pairs, intervals and time zones.

use std::{fmt, str::FromStr};

use cairn_events::{Currency, Interval, Series};
use jiff::tz::TimeZone;

/// A pair of currencies: BTC/USD is the price of a bitcoin in dollars.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pair {
    /// The priced currency.
    pub base: Currency,
    /// Its currency.
    pub quote: Currency,
}

impl Pair {
    /// Bitcoin in dollars.
    pub const BTC_USD: Pair = Pair { base: Currency::BTC, quote: Currency::USD };

    /// The pair of a series.
    #[must_use]
    pub fn of(series: Series) -> Self {
        Pair { base: series.base, quote: series.quote }
    }

    /// Whether bitcoin is one of the two currencies.
    pub(crate) fn has_bitcoin(self) -> bool {
        self.base == Currency::BTC || self.quote == Currency::BTC
    }
}

impl fmt::Display for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.base, self.quote)
    }
}

/// Not a pair.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a pair; write the two codes with a slash, for example BTC/USD")]
pub struct PairError;

/// How the second code of a symbol without separator may end; the longer ones first. Only where bitcoin is not the
/// first: `XBTUSD` is not XB/TUSD.
const QUOTES: [&str; 13] =
    ["USDT", "USDC", "USD", "EUR", "GBP", "JPY", "CHF", "CAD", "AUD", "BRL", "TRY", "KRW", "BTC"];

/// A symbol without separator, in two.
fn split_symbol(text: &str) -> Option<(&str, &str)> {
    let (first, rest) = text.split_at_checked(3)?;
    if first.eq_ignore_ascii_case("BTC") || first.eq_ignore_ascii_case("XBT") {
        return Some((first, rest));
    }
    let parts = |quote: &&str| text.split_at_checked(text.len().checked_sub(quote.len())?);
    QUOTES.iter().find_map(|quote| parts(quote).filter(|(_, end)| end.eq_ignore_ascii_case(quote)))
}

impl FromStr for Pair {
    type Err = PairError;

    /// `BTC/USD`, also with a hyphen, an underscore or a colon, or as exchanges write it: `BTCUSDT`, `XBTUSD`. XBT is
    /// BTC.
    fn from_str(text: &str) -> Result<Self, PairError> {
        let text = text.trim();
        let code = |text: &str| -> Result<Currency, PairError> {
            let text = if text.eq_ignore_ascii_case("XBT") { "BTC" } else { text };
            text.parse().map_err(|_| PairError)
        };
        let parts = text.split_once(['/', '-', '_', ':']).or_else(|| split_symbol(text));
        let (base, quote) = parts.ok_or(PairError)?;
        let pair = Pair { base: code(base)?, quote: code(quote)? };
        if pair.base == pair.quote { Err(PairError) } else { Ok(pair) }
    }
}

/// Not an interval.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not an interval; write minute, hour or day")]
pub struct IntervalError;

/// An interval by its name.
pub fn parse_interval(text: &str) -> Result<Interval, IntervalError> {
    match text {
        "minute" => Ok(Interval::Minute),
        "hour" => Ok(Interval::Hour),
        "day" => Ok(Interval::Day),
        _ => Err(IntervalError),
    }
}

/// Not a time zone.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a time zone that this machine knows; write a name of the IANA database, for example America/New_York")]
pub struct ZoneError;

/// A time zone by its name in the IANA database.
///
/// # Errors
/// Fails for a name that this machine does not know.
pub fn parse_zone(text: &str) -> Result<TimeZone, ZoneError> {
    TimeZone::get(text).map_err(|_| ZoneError)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs() {
        for text in ["BTC/USD", "btc-usd", "BTC_USD", "XBTUSD", "xbt/usd", "BTCUSD", "BTC:USD", " BTC/USD "] {
            assert_eq!(text.parse::<Pair>().unwrap(), Pair::BTC_USD, "{text}");
        }
        assert_eq!("BTCUSDT".parse::<Pair>().unwrap().to_string(), "BTC/USDT");
        assert_eq!("BTCBUSD".parse::<Pair>().unwrap().to_string(), "BTC/BUSD");
        assert_eq!("BNBUSD".parse::<Pair>().unwrap().to_string(), "BNB/USD");
        assert_eq!("EURUSD".parse::<Pair>().unwrap().to_string(), "EUR/USD");
        assert_eq!("ETHBTC".parse::<Pair>().unwrap().to_string(), "ETH/BTC");
        for text in ["", "BTC", "USD", "BTC/", "/USD", "BTC/USD/EUR", "USD/USD", "XBT/BTC", "ÄÖUSD", "€USD", "XYZ"]
        {
            assert!(text.parse::<Pair>().is_err(), "{text}");
        }
    }

    #[test]
    fn intervals_and_zones() {
        for (text, interval) in [("minute", Interval::Minute), ("hour", Interval::Hour), ("day", Interval::Day)] {
            assert_eq!(parse_interval(text), Ok(interval));
        }
        assert!(parse_interval("week").unwrap_err().to_string().contains("minute, hour or day"));
        assert!(parse_zone("America/New_York").is_ok());
        assert!(parse_zone("Mars/Base").unwrap_err().to_string().contains("America/New_York"));
    }
}
