//! From candles with their times to quotes of a series: interval, duplicates, order, gaps.

use cairn_events::{Interval, Quote, QuoteRow, Series};

use crate::{
    candle_fingerprints::{CandleFingerprints, EarlierCandle},
    error::InputError,
    options::Options,
    plan::Stamp,
    report::{Code, Report, SeriesReport},
    words::Pair,
};

/// Candles that are held back until interval, direction and pair are known.
const PROBE: usize = 1_024;
/// 2009-01-03 00:00 UTC: no candle that closes before it has bitcoin in it.
const FIRST_BITCOIN: i64 = 1_230_940_800;
/// Distances that it takes to say that rows are too far apart.
const ENOUGH: usize = 16;

/// A candle without its interval.
#[derive(Clone, Copy)]
pub(crate) struct Candle {
    pub(crate) line: u64,
    /// Which of the pairs.
    pub(crate) pair: usize,
    /// The time of the row, in seconds since 1970 (UTC).
    pub(crate) time: i64,
    /// Seconds from opening to end, where the row has both.
    pub(crate) length: Option<i64>,
    pub(crate) quote: Quote,
}

struct SeriesRows {
    series: Series,
    fingerprints: CandleFingerprints,
    count: u64,
    first: u32,
    last: u32,
    before: Option<u32>,
}

/// Facts that follow from the first rows.
struct Settled {
    interval: Interval,
    is_ascending: bool,
    series: Vec<SeriesRows>,
}

/// Takes candles, delivers rows.
pub(crate) struct Collector<'a> {
    now: u32,
    stamp: Stamp,
    given: Option<Interval>,
    pub(crate) pairs: Vec<Option<Pair>>,
    held: Vec<Candle>,
    settled: Option<Settled>,
    deliver: &'a mut dyn FnMut(QuoteRow),
    pub(crate) report: Report,
}

impl<'a> Collector<'a> {
    /// With the interval of the layout, where it has one.
    pub(crate) fn new(
        options: &Options,
        stamp: Stamp,
        fixed: Option<Interval>,
        pairs: Vec<Option<Pair>>,
        deliver: &'a mut dyn FnMut(QuoteRow),
        report: Report,
    ) -> Result<Self, InputError> {
        if let (Some(fixed), Some(given)) = (fixed, options.interval)
            && fixed != given
        {
            return Err(InputError::OtherInterval { found: format!("{} seconds", fixed.seconds()), given });
        }
        let given = options.interval.or(fixed);
        Ok(Collector { now: options.now, stamp, given, pairs, held: Vec::new(), settled: None, deliver, report })
    }

    /// Takes a candle of a row that is counted already.
    pub(crate) fn push(&mut self, candle: Candle) -> Result<(), InputError> {
        if self.settled.is_some() {
            self.accept(candle);
            return Ok(());
        }
        self.held.push(candle);
        if self.held.len() >= PROBE { self.settle() } else { Ok(()) }
    }

    pub(crate) fn finish(mut self) -> Result<Report, InputError> {
        if self.settled.is_none() && !self.held.is_empty() {
            self.settle()?;
        }
        if let Some(settled) = self.settled {
            let seconds = settled.interval.seconds();
            self.report.interval = Some(settled.interval);
            let rows = settled.series.into_iter().filter(|rows| rows.count > 0);
            self.report.series = rows
                .map(|rows| SeriesReport {
                    series: rows.series,
                    taken: rows.count,
                    first: rows.first,
                    last: rows.last,
                    gaps: rows.fingerprints.gaps(seconds),
                })
                .collect();
        }
        Ok(self.report)
    }

    /// Decides interval and direction by the candles that are held, and takes them.
    fn settle(&mut self) -> Result<(), InputError> {
        let interval = self.interval()?;
        let pairs: Option<Vec<Pair>> = self.pairs.iter().copied().collect();
        let series = pairs.ok_or(InputError::PairUnknown)?.into_iter().map(|pair| SeriesRows {
            series: Series { base: pair.base, quote: pair.quote, interval },
            fingerprints: CandleFingerprints::default(),
            count: 0,
            first: u32::MAX,
            last: 0,
            before: None,
        });
        let steps = self.held.windows(2).map(|two| two[1].time.cmp(&two[0].time) as i8);
        let is_ascending = steps.map(i32::from).sum::<i32>() >= 0;
        self.settled = Some(Settled { interval, is_ascending, series: series.collect() });
        for candle in std::mem::take(&mut self.held) {
            self.accept(candle);
        }
        Ok(())
    }

    /// The interval: what was given, unless the rows say otherwise; else the most frequent distance.
    fn interval(&self) -> Result<Interval, InputError> {
        let lengths = self.held.iter().filter_map(|candle| candle.length);
        let mut distances: Vec<u64> = lengths.filter_map(|length| u64::try_from(length).ok()).collect();
        let has_lengths = !distances.is_empty();
        if !has_lengths {
            // In order of time: a file without order shows its interval, too.
            let mut times: Vec<i64> = self.held.iter().map(|candle| candle.time).collect();
            times.sort_unstable();
            let between = times.windows(2).map(|two| two[1].abs_diff(two[0]));
            distances = between.filter(|distance| *distance > 0).collect();
        }
        distances.sort_unstable();
        let mut best: Option<(usize, u64)> = None;
        for same in distances.chunk_by(|a, b| a == b) {
            if let Some(distance) = same.first()
                && best.is_none_or(|(count, _)| count < same.len())
            {
                best = Some((same.len(), *distance));
            }
        }
        let found = best.map(|(_, distance)| distance);
        let text = || found.map_or("no two rows differ in time".to_owned(), |found| format!("{found} seconds"));
        let allowed = found.and_then(|found| u32::try_from(found).ok()).and_then(Interval::of_seconds);
        let Some(given) = self.given else {
            return allowed.ok_or_else(|| InputError::IntervalUnknown { found: text() });
        };
        // Only what most rows say is held against the caller.
        let is_clear = |(count, distance): &(usize, u64)| {
            count.saturating_mul(2) > distances.len() && *distance != u64::from(given.seconds())
        };
        let Some((_, found)) = best.filter(is_clear) else { return Ok(given) };
        // Trades were rare once, and a moment's price stands for itself. But an hour's candle is not a day's, and rows
        // that are all five minutes apart are not minutes.
        let is_far = distances.len() >= ENOUGH && distances.iter().all(|distance| distance.is_multiple_of(found));
        let is_other = found < u64::from(given.seconds())
            || has_lengths
            || (self.stamp == Stamp::Opening && (allowed.is_some() || is_far));
        if is_other { Err(InputError::OtherInterval { found: text(), given }) } else { Ok(given) }
    }

    /// Checks a candle against those before, and delivers it.
    fn accept(&mut self, candle: Candle) {
        let Some(settled) = &mut self.settled else { return };
        let Some(rows) = settled.series.get_mut(candle.pair) else { return };
        let seconds = settled.interval.seconds();
        let refuse = |report: &mut Report, code| report.tell(candle.line, None, code, &when(candle.time));
        let closes = self.stamp.closes(candle.time, settled.interval);
        if candle.time.rem_euclid(i64::from(seconds)) != 0 {
            return refuse(&mut self.report, Code::Misaligned);
        }
        let pair = Pair { base: rows.series.base, quote: rows.series.quote };
        if closes <= 0 || (pair.has_bitcoin() && closes <= FIRST_BITCOIN) {
            return refuse(&mut self.report, Code::TooEarly);
        }
        let Some(closes_at) = u32::try_from(closes).ok().filter(|closes| *closes <= self.now) else {
            return refuse(&mut self.report, Code::Future);
        };
        match rows.fingerprints.note(closes_at / seconds, &candle.quote) {
            EarlierCandle::Nothing => {}
            EarlierCandle::Same => return refuse(&mut self.report, Code::Repeated),
            EarlierCandle::Other => return refuse(&mut self.report, Code::Conflicting),
        }
        let is_in_order = rows.before.is_none_or(|before| (closes_at > before) == settled.is_ascending);
        if !is_in_order {
            refuse(&mut self.report, Code::OutOfOrder);
        }
        rows.before = Some(closes_at);
        rows.count = rows.count.saturating_add(1);
        (rows.first, rows.last) = (rows.first.min(closes_at), rows.last.max(closes_at));
        self.report.taken = self.report.taken.saturating_add(1);
        (self.deliver)(QuoteRow { series: rows.series, closes_at, quote: candle.quote });
    }
}

fn when(time: i64) -> String {
    jiff::Timestamp::from_second(time).map_or_else(|_| time.to_string(), |timestamp| timestamp.to_string())
}
