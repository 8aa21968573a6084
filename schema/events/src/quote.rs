//! Prices and exchange rates.

use cairn_model::DAY_SECS;
use std::{fmt, str::FromStr};

use rust_decimal::Decimal;

/// Code of a currency: two to five capital letters or digits, as in ISO 4217 or as exchanges write it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Currency([u8; 5]);

impl Currency {
    /// Bitcoin.
    pub const BTC: Currency = Currency(*b"BTC\0\0");
    /// United States dollar.
    pub const USD: Currency = Currency(*b"USD\0\0");
    /// Euro.
    pub const EUR: Currency = Currency(*b"EUR\0\0");

    /// The code.
    #[must_use]
    pub fn as_str(&self) -> &str {
        let end = self.0.iter().position(|byte| *byte == 0).unwrap_or(self.0.len());
        str::from_utf8(&self.0[..end]).unwrap_or_default()
    }

    /// The code, padded with zeros.
    #[must_use]
    pub const fn bytes(self) -> [u8; 5] {
        self.0
    }

    /// From padded bytes; `None` if they are not a code.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 5]) -> Option<Self> {
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        let (code, rest) = bytes.split_at(end);
        let valid = code.len() >= 2
            && code.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
            && rest.iter().all(|byte| *byte == 0);
        valid.then_some(Currency(bytes))
    }
}

/// Not the code of a currency.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a currency code; write 2 to 5 letters or digits, for example USD")]
pub struct CurrencyError;

impl FromStr for Currency {
    type Err = CurrencyError;

    /// Small letters are accepted.
    fn from_str(text: &str) -> Result<Self, CurrencyError> {
        let mut bytes = [0; 5];
        bytes.get_mut(..text.len()).ok_or(CurrencyError)?.copy_from_slice(text.as_bytes());
        Currency::from_bytes(bytes.map(|byte| byte.to_ascii_uppercase())).ok_or(CurrencyError)
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Time from the opening of a candle to its close.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u32)]
pub enum Interval {
    /// One minute.
    Minute = 60,
    /// One hour.
    Hour = 3_600,
    /// One day, from 00:00 UTC.
    Day = DAY_SECS,
}

impl Interval {
    /// All, ascending.
    pub const ALL: [Interval; 3] = [Interval::Minute, Interval::Hour, Interval::Day];

    /// Seconds.
    #[must_use]
    pub const fn seconds(self) -> u32 {
        self as u32
    }

    /// The interval with this number of seconds.
    #[must_use]
    pub fn of_seconds(seconds: u32) -> Option<Self> {
        Interval::ALL.into_iter().find(|interval| interval.seconds() == seconds)
    }
}

/// A series: the price of one unit of `base` in units of `quote`, once each interval.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Series {
    /// The priced currency.
    pub base: Currency,
    /// Its currency.
    pub quote: Currency,
    /// Length of a candle.
    pub interval: Interval,
}

/// The lowest, highest and first price of a candle, and its traded volume.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Range {
    /// The first.
    pub open: Decimal,
    /// The highest.
    pub high: Decimal,
    /// The lowest.
    pub low: Decimal,
}

/// Quote of a source for a candle or a reference rate. All numbers are above zero, but for the volume, which may be
/// zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Quote {
    /// The last price.
    pub close: Decimal,
    /// The other prices, if the source has them.
    pub range: Option<Range>,
    /// Units of the base that were traded, if the source has it.
    pub volume: Option<Decimal>,
}

/// A row of a document.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QuoteRow {
    /// The pair.
    pub series: Series,
    /// When the candle closed, in seconds since 1970 (UTC): a multiple of the interval. From then on the quote is
    /// known. A reference rate of a day counts as that day's candle.
    pub closes_at: u32,
    /// The quote.
    pub quote: Quote,
}

/// Prices and volumes are at most 10^15, so that sums and means of them do not overflow.
const MAX: i64 = 1_000_000_000_000_000;

impl Quote {
    /// True if all prices are above zero, the volume is not below it, and none is above 10^15 and they have no trailing
    /// zeros.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let most = Decimal::from(MAX);
        let is_plain = |number: Decimal| number <= most && number.normalize().scale() == number.scale();
        let prices = self.range.map(|range| [range.open, range.high, range.low]);
        let mut prices = prices.into_iter().flatten().chain([self.close]);
        prices.all(|price| price > Decimal::ZERO && is_plain(price))
            && self.volume.is_none_or(|volume| volume >= Decimal::ZERO && is_plain(volume))
    }
}
