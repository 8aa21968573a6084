//! Where the times and numbers of a file are, and how a row of cells becomes a quote.

use cairn_events::{Currency, Interval, Quote, Range};
use jiff::tz::TimeZone;
use rust_decimal::Decimal;

use crate::{
    csv::Cells,
    number::{NumberStyle, number},
    report::Code,
    time::{TimeFormat, seconds},
    words::Pair,
};

/// The event that the time of a row names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stamp {
    /// When the candle opens. It closes an interval later.
    Opening,
    /// When the candle closes, or the moment of a single price: the close of the candle that ends then.
    Close,
    /// Close from that time on, opening before: seconds since 1970 (UTC).
    CloseSince(i64),
}

impl Stamp {
    /// When a candle with such a time closes.
    pub(crate) fn closes(self, time: i64, interval: Interval) -> i64 {
        let is_close = match self {
            Stamp::Opening => false,
            Stamp::Close => true,
            Stamp::CloseSince(since) => time >= since,
        };
        if is_close { time } else { time.saturating_add(i64::from(interval.seconds())) }
    }
}

/// Columns of a candle, from 0.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(crate) struct Columns {
    pub(crate) close: usize,
    /// Open, high and low.
    pub(crate) range: Option<[usize; 3]>,
    pub(crate) volume: Option<usize>,
    /// The pair.
    pub(crate) symbol: Option<usize>,
    /// When the candle ends, to the last millisecond or microsecond.
    pub(crate) end: Option<usize>,
}

/// The content of the other columns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Values {
    Candle(Columns),
    /// The rate of a currency in each column.
    Table(Vec<(usize, Pair)>),
}

/// How a file is read.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// Lines before the first row, blank ones not counted.
    pub(crate) skip: usize,
    /// Names of the columns, for messages.
    pub(crate) names: Vec<String>,
    /// Number of cells of a row; one more, if it is empty, is fine.
    pub(crate) width: usize,
    pub(crate) delimiter: u8,
    pub(crate) time: usize,
    pub(crate) format: TimeFormat,
    pub(crate) zone: Option<TimeZone>,
    pub(crate) stamp: Stamp,
    pub(crate) values: Values,
    pub(crate) numbers: NumberStyle,
    pub(crate) pair: Option<Pair>,
    pub(crate) interval: Option<Interval>,
}

impl Plan {
    /// A plan for candles whose time names the opening, with columns of these names.
    pub(crate) fn candles(skip: usize, names: &[&str], format: TimeFormat, columns: Columns) -> Self {
        Plan {
            skip,
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            width: names.len(),
            delimiter: b',',
            time: 0,
            format,
            zone: None,
            stamp: Stamp::Opening,
            values: Values::Candle(columns),
            numbers: NumberStyle::PLAIN,
            pair: None,
            interval: None,
        }
    }

    /// Name of a column; its number, from 1, where the file has no names.
    pub(crate) fn name(&self, column: usize) -> Option<&str> {
        self.names.get(column).map(String::as_str).filter(|name| !name.is_empty())
    }

    /// Whether a row has as many cells as it should.
    pub(crate) fn fits(&self, cells: &Cells) -> bool {
        cells.len() == self.width || (cells.len() == self.width + 1 && cells.get(self.width).is_empty())
    }

    /// The time of a row, in seconds since 1970 (UTC).
    pub(crate) fn time<'a>(&self, cells: &'a Cells) -> Result<i64, Fault<'a>> {
        let text = cells.get(self.time);
        seconds(text, &self.format, self.zone.as_ref()).map_err(|code| Fault::new(code, self.time, text))
    }

    /// A number that is not below zero.
    fn number<'a>(&self, cells: &'a Cells, column: usize) -> Result<Decimal, Fault<'a>> {
        let text = cells.get(column);
        let fault = |code| Fault::new(code, column, text);
        if is_no_value(text) {
            return Err(fault(Code::NoValue));
        }
        let number = number(text, self.numbers).map_err(fault)?;
        if number.is_sign_negative() && !number.is_zero() { Err(fault(Code::Negative)) } else { Ok(number) }
    }

    pub(crate) fn price<'a>(&self, cells: &'a Cells, column: usize) -> Result<Decimal, Fault<'a>> {
        let price = self.number(cells, column)?;
        if price.is_zero() { Err(Fault::new(Code::Zero, column, cells.get(column))) } else { Ok(price) }
    }

    pub(crate) fn quote<'a>(&self, cells: &'a Cells, columns: &Columns) -> Result<Quote, Fault<'a>> {
        let close = self.price(cells, columns.close)?;
        let mut range = None;
        if let Some([open, high, low]) = columns.range {
            let prices =
                Range { open: self.price(cells, open)?, high: self.price(cells, high)?, low: self.price(cells, low)? };
            let within = prices.low..=prices.high;
            for (column, price) in [(high, prices.high), (open, prices.open), (columns.close, close)] {
                if !within.contains(&price) {
                    return Err(Fault::new(Code::Range, column, cells.get(column)));
                }
            }
            range = Some(prices);
        }
        let volume = match columns.volume {
            Some(column) if !matches!(cells.get(column), "-") && !is_no_value(cells.get(column)) => {
                Some(self.number(cells, column)?)
            }
            _ => None,
        };
        Ok(Quote { close, range, volume })
    }

    /// Seconds from the opening of a candle to its end, where the row has both.
    pub(crate) fn length(&self, cells: &Cells, columns: &Columns, opening: i64) -> Option<i64> {
        let end: i64 = cells.get(columns.end?).parse().ok()?;
        seconds(&end.checked_add(1)?.to_string(), &TimeFormat::UnixAny, None).ok()?.checked_sub(opening)
    }
}

/// Whether a source has nothing to say.
fn is_no_value(text: &str) -> bool {
    text.is_empty() || text.eq_ignore_ascii_case("null") || text.eq_ignore_ascii_case("n/a")
}

#[derive(Debug)]
pub(crate) struct Fault<'a> {
    pub(crate) code: Code,
    pub(crate) column: usize,
    pub(crate) value: &'a str,
}

impl<'a> Fault<'a> {
    pub(crate) fn new(code: Code, column: usize, value: &'a str) -> Self {
        Fault { code, column, value }
    }
}

/// Rates of `quote` in units of each euro and the like: what the header of a table names.
pub(crate) fn table(base: Currency, names: &[String]) -> Option<Vec<(usize, Pair)>> {
    let of = |(column, name): (usize, &String)| {
        let quote: Currency = name.parse().ok()?;
        (quote != base).then_some((column, Pair { base, quote }))
    };
    names.iter().enumerate().skip(1).map(of).collect()
}
