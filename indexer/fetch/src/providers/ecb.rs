//! European Central Bank: `/stats/eurofxref/eurofxref-hist-90d.xml`, reference rates of the euro of the last 90 days.
//!
//! `<Cube time='2024-11-20'><Cube currency='USD' rate='1.0562'/>…</Cube>` for each working day, the newest first,
//! published about 16:00 in Frankfurt. The rate of a day counts as the candle of that day, as in the file that can be
//! imported. It has no price of the moment. The whole table is taken, whatever pairs are configured.

use cairn_events::{Currency, Interval, Quote, QuoteRow, Series};
use cairn_inputs::Pair;
use quick_xml::{
    Reader, XmlVersion,
    events::{BytesStart, Event},
};

use super::{
    AnswerError, Info, Provider, Rows, Tick,
    answer::{exact, price, short},
};

pub(super) struct Ecb;

/// Most rates of an answer.
const MAX: usize = 20_000;

fn form(what: impl ToString) -> AnswerError {
    AnswerError::Form(short(&what.to_string()))
}

fn attribute(of: &BytesStart<'_>, name: &str) -> Result<Option<String>, AnswerError> {
    let found = of.try_get_attribute(name).map_err(form)?;
    found
        .map(|found| found.normalized_value(XmlVersion::Implicit1_0).map(|text| text.into_owned()).map_err(form))
        .transpose()
}

/// When the candle of a day closes.
fn closes(day: &str) -> Result<u32, AnswerError> {
    let date: jiff::civil::Date = day.parse().map_err(|_| AnswerError::Time(short(day)))?;
    let midnight = date.to_zoned(jiff::tz::TimeZone::UTC).map_err(|_| AnswerError::Time(short(day)))?;
    let closes = midnight.timestamp().as_second() + i64::from(Interval::Day.seconds());
    u32::try_from(closes).map_err(|_| AnswerError::Time(short(day)))
}

fn rate(closes_at: u32, code: &str, rate: &str) -> Result<QuoteRow, AnswerError> {
    let quote: Currency =
        code.parse().map_err(|_| AnswerError::OtherPair { asked: "EUR".to_owned(), found: short(code) })?;
    let series = Series { base: Currency::EUR, quote, interval: Interval::Day };
    Ok(QuoteRow { series, closes_at, quote: Quote { close: price(exact(rate)?)?, range: None, volume: None } })
}

impl Provider for Ecb {
    fn info(&self) -> Info {
        Info { name: "ecb", licence: "ecb-statistics", home: "https://www.ecb.europa.eu", page: 90 }
    }

    fn series(&self, _: Pair) -> Vec<Series> {
        // It stands for the whole table.
        vec![Series { base: Currency::EUR, quote: Currency::USD, interval: Interval::Day }]
    }

    fn ticker(&self, _: Pair) -> Option<String> {
        None
    }

    fn tick(&self, _: Pair, _: &[u8]) -> Result<Tick, AnswerError> {
        Err(form("reference rates are not current prices"))
    }

    fn candles(&self, _: Series, _: u32, _: u32) -> String {
        "/stats/eurofxref/eurofxref-hist-90d.xml".to_owned()
    }

    fn rows(&self, _: Series, answer: &[u8]) -> Result<Rows, AnswerError> {
        let text = str::from_utf8(answer).map_err(form)?;
        let mut reader = Reader::from_str(text);
        let (mut rows, mut day, mut depth, mut is_ours) = (Rows::default(), None, 0u32, false);
        loop {
            let event = reader.read_event().map_err(form)?;
            match &event {
                Event::Eof => break,
                Event::Start(of) | Event::Empty(of) => {
                    if matches!(event, Event::Start(_)) {
                        depth += 1;
                    }
                    is_ours |= of.local_name().as_ref() == "Envelope";
                    if of.local_name().as_ref() != "Cube" {
                        continue;
                    }
                    if let Some(date) = attribute(of, "time")? {
                        day = Some(closes(&date)?);
                    }
                    if let (Some(code), Some(text)) = (attribute(of, "currency")?, attribute(of, "rate")?) {
                        let at = rows.good.len() + rows.bad.len() + 1;
                        if at > MAX {
                            return Err(form("it has more than 20,000 rates"));
                        }
                        let day = day.ok_or_else(|| form("a rate has no day"))?;
                        match rate(day, &code, &text) {
                            Ok(row) => rows.good.push(row),
                            Err(wrong) => rows.bad.push((at, wrong)),
                        }
                    }
                }
                Event::End(_) => depth = depth.saturating_sub(1),
                Event::DocType(_) => return Err(form("a document type is not allowed")),
                _ => {}
            }
        }
        if !is_ours || depth != 0 {
            return Err(form("no table of reference rates, or cut short"));
        }
        Ok(rows)
    }
}
