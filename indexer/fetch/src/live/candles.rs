//! Candles: which are asked for and when, and which of an answer are new and closed.

use cairn_events::{Body, Document, DocumentHash, Provenance, QuoteRow, Series};
use sha2::{Digest, Sha256};

use super::{
    Fetchers, Ledger,
    backoff::{Backoff, chance},
    now,
    source::{GoodAnswer, RequestError},
};
use crate::providers::Rows;

/// Seconds after a close at which a candle is asked for: until then its provider has counted its last trades.
const SETTLED: u32 = 20;
/// Seconds over which the requests of sources and series are spread, from that time on.
const SPREAD: u32 = 20;
/// Most candles that are fetched later than at their close. Older ones are imported from files.
const BACK: u32 = 1_000;
/// Seconds between two requests for candles that are fetched later.
const STEP: u32 = 5;
/// Pauses, in seconds, after which a candle is asked for again that was not there. Hours without trades have none.
const AGAIN: [u32; 3] = [60, 300, 900];

pub(super) struct CandleJob {
    pub(super) source: usize,
    series: Series,
    /// Close of the last candle that is known; `None` before the ledger was asked.
    last: Option<u32>,
    /// Until here the source has no candle: it said so.
    bare: u32,
    /// Requests since the last close that did not bring it.
    tries: usize,
    /// When to ask next, in seconds since 1970.
    pub(super) due: u32,
    backoff: Backoff,
}

impl CandleJob {
    pub(super) fn new(source: usize, series: Series) -> Self {
        CandleJob { source, series, last: None, bare: 0, tries: 0, due: 0, backoff: Backoff::default() }
    }

    fn what(&self) -> String {
        let Series { base, quote, interval } = self.series;
        format!("candles of {base}/{quote}, {} s", interval.seconds())
    }

    /// The candles that are missing, as many as an answer has: those that close after one time until another. `closed`
    /// is when the last one closed.
    fn wanted(&self, closed: u32, page: u32) -> Option<(u32, u32)> {
        let interval = self.series.interval.seconds();
        let oldest = closed.saturating_sub(BACK * interval);
        let after = self.last.unwrap_or_default().max(self.bare).max(oldest);
        (after < closed).then(|| (after, closed.min(after.saturating_add(page * interval))))
    }

    /// Notes the newest candle of an answer that was asked for those until a time, and says when to ask next.
    fn note(&mut self, newest: Option<u32>, until: u32, closed: u32, now: u32) {
        self.last = self.last.max(newest);
        (self.tries, self.due) = if newest.is_some_and(|newest| newest >= closed) {
            (0, self.next_close(now))
        } else if until < closed {
            // Candles that the source does not have are not asked for again.
            self.bare = self.bare.max(newest.unwrap_or(until));
            (0, now.saturating_add(STEP))
        } else {
            match AGAIN.get(self.tries) {
                Some(pause) => (self.tries + 1, now.saturating_add(*pause).min(self.next_close(now))),
                None => (0, self.next_close(now)),
            }
        };
    }

    /// When the candle is asked for that closes next.
    fn next_close(&self, now: u32) -> u32 {
        let interval = self.series.interval.seconds();
        // The same each time for a series, and another one for others.
        let spread = (self.source as u32 * 7 + interval / 3_600) % SPREAD;
        (now.saturating_sub(SETTLED + spread) / interval + 1).saturating_mul(interval).saturating_add(SETTLED + spread)
    }
}

impl<L: Ledger> Fetchers<L> {
    pub(super) fn fetch_candles(&mut self, at: usize, now: u32) {
        let Some(job) = self.jobs.get(at) else { return };
        let (what, source) = (job.what(), job.source);
        let result = self.bring(at, now);
        let (Some(job), Some(of)) = (self.jobs.get_mut(at), self.sources.get_mut(source)) else { return };
        match result {
            Ok(()) => {
                job.backoff.succeeded();
                of.works(&what);
            }
            Err(failed) => {
                of.fails(&self.figures, &what, &failed);
                job.backoff.failed(now, None, chance());
                job.due = job.backoff.until().max(of.until());
            }
        }
    }

    /// Asks for the next candles, hands in those that are new, and says when to ask again.
    fn bring(&mut self, at: usize, now: u32) -> Result<(), RequestError> {
        let Some(job) = self.jobs.get_mut(at) else { return Ok(()) };
        let Some(of) = self.sources.get_mut(job.source) else { return Ok(()) };
        let (series, interval) = (job.series, job.series.interval.seconds());
        // The last candle that has closed.
        let closed = now / interval * interval;
        let oldest = closed.saturating_sub(BACK * interval);
        let known = match job.last {
            Some(last) => last,
            None => {
                let found = self.ledger.last(&of.slug, series, oldest).map_err(RequestError::Ledger)?;
                *job.last.insert(found.unwrap_or(oldest))
            }
        };
        let Some((after, until)) = job.wanted(closed, of.provider.info().page) else {
            (job.tries, job.due) = (0, job.next_close(now));
            return Ok(());
        };
        let path = of.provider.candles(series, after, until);
        let answer = of.ask(&self.client, &self.figures, &path, now)?;
        let rows = of.provider.rows(series, &answer.content).map_err(RequestError::Answer)?;
        let rows = fresh(rows, known, answer.date, self::now(), of.provider.name());
        let newest = rows.iter().map(|row| row.closes_at).max();
        if newest.is_some() {
            let count = rows.len() as u64;
            let document =
                document(of.slug.clone(), of.provider.info().licence, &answer, rows).map_err(RequestError::Ledger)?;
            self.ledger.hand_in(document).map_err(RequestError::Ledger)?;
            self.figures.candles.with_label_values(&[of.provider.name()]).inc_by(count);
            tracing::debug!(source = of.provider.name(), candles = count, "closed candles fetched");
        }
        job.note(newest, until, closed, now);
        Ok(())
    }
}

/// The candles of an answer that are closed and not known, in order, one for each time. The newest one of an answer is
/// mostly still open.
fn fresh(rows: Rows, known: u32, date: Option<u32>, now: u32, source: &str) -> Vec<QuoteRow> {
    if let Some((row, why)) = rows.bad.first() {
        tracing::warn!(source, refused = rows.bad.len(), row, %why, "candles of a source are refused");
    }
    // Of two clocks the one that is behind: a candle that is taken too early would be wrong for good.
    let now = date.map_or(now, |date| now.min(date));
    let mut good = rows.good;
    good.retain(|row| row.closes_at > known && row.closes_at <= now);
    good.sort_by_key(|row| (row.series, row.closes_at));
    good.dedup_by_key(|row| (row.series, row.closes_at));
    good
}

/// The document of these rows. Its hash is that of the rows, not of the answer: an answer has an open candle in it, and
/// changes by the second. So rows that are fetched again are the same document.
fn document(
    source: cairn_events::Slug,
    licence: &str,
    answer: &GoodAnswer,
    rows: Vec<QuoteRow>,
) -> Result<Document, String> {
    let mut hasher = Sha256::new();
    hasher.update(format!("fetched from {source}\n"));
    for QuoteRow { series, closes_at, quote } in &rows {
        hasher.update(format!("{},{},{},{closes_at}", series.base, series.quote, series.interval.seconds()));
        let range = quote.range.map(|range| [range.open, range.high, range.low]);
        for number in range.into_iter().flatten().chain([quote.close]).chain(quote.volume) {
            hasher.update(format!(",{number}"));
        }
        hasher.update("\n");
    }
    let provenance = Provenance {
        source,
        licence: licence.parse().map_err(|error: cairn_events::SlugError| error.to_string())?,
        origin: answer.url.clone(),
        retrieved_at: now(),
        document: DocumentHash(hasher.finalize().into()),
    };
    let document = Document { provenance, received_at: None, body: Body::Quotes(rows) };
    document.check().map_err(|error| error.to_string())?;
    Ok(document)
}

#[cfg(test)]
mod tests {
    use cairn_events::{Currency, Interval, Quote};
    use proptest::prelude::*;

    use super::*;

    const HOUR: Series = Series { base: Currency::BTC, quote: Currency::USD, interval: Interval::Hour };

    fn row(closes_at: u32, close: u32) -> QuoteRow {
        QuoteRow { series: HOUR, closes_at, quote: Quote { close: close.into(), range: None, volume: None } }
    }

    #[test]
    fn only_closed_candles_that_are_not_known_are_taken() {
        let good = vec![row(7_200, 1), row(14_400, 3), row(10_800, 2), row(10_800, 2), row(18_000, 4)];
        let rows = Rows { good, bad: Vec::new() };
        let times =
            |date, now| fresh(rows.clone(), 7_200, date, now, "x").iter().map(|r| r.closes_at).collect::<Vec<_>>();
        assert_eq!(times(None, 14_399), [10_800]);
        assert_eq!(times(None, 14_400), [10_800, 14_400]);
        // The provider's clock is behind: its candle is still open.
        assert_eq!(times(Some(14_399), 14_500), [10_800]);
        assert_eq!(times(Some(99_999), 14_399), [10_800]);
    }

    #[test]
    fn a_candle_is_asked_for_soon_after_it_closes() {
        for source in 0..5 {
            let job = CandleJob::new(source, HOUR);
            for now in [0, 3_599, 3_600, 3_619, 3_641, 7_199] {
                let next = job.next_close(now);
                assert!(next > now && (SETTLED..SETTLED + SPREAD).contains(&(next % 3_600)), "{now}: {next}");
                assert!(next - now <= 3_600 + SETTLED + SPREAD);
            }
        }
    }

    proptest! {
        /// A source that has some candles, and shows the last one late or never: each that it has is fetched, once,
        /// with few requests.
        #[test]
        fn what_a_source_has_is_fetched_once(
            has in prop::collection::vec(prop::bool::weighted(0.7), 1_200),
            gap in (0usize..1_200, 0usize..900),
            page in prop::sample::select(vec![90u32, 300, 720, 1_000]),
            late in prop::sample::select(vec![0u32, 30, 90, 400, 5_000]),
            known in prop::option::of(0u32..1_200),
        ) {
            let start = 500_000 * 3_600;
            let mut now = start + 1_200 * 3_600 + 17;
            let closed = |now: u32| now / 3_600 * 3_600;
            let first = closed(now) - BACK * 3_600;
            let mut job = CandleJob::new(0, HOUR);
            let known = known.map_or(first, |n| start + n * 3_600);
            job.last = Some(known);
            let candles: Vec<u32> = (1..=1_200u32)
                .filter(|n| has[*n as usize - 1] && !(gap.0..gap.0 + gap.1).contains(&(*n as usize)))
                .map(|n| start + n * 3_600)
                .collect();
            let (mut got, mut requests) = (Vec::new(), 0);
            let end = now + 3_500;
            while now < end {
                if let Some((after, until)) = job.wanted(closed(now), page) {
                    requests += 1;
                    prop_assert!(after < until && until - after <= page * 3_600 && until <= closed(now));
                    let has = |at: &u32| *at > after && *at <= until && now >= at + late;
                    let answer: Vec<u32> = candles.iter().copied().filter(has).collect();
                    job.note(answer.last().copied(), until, closed(now), now);
                    got.extend(answer);
                } else {
                    job.due = job.next_close(now);
                }
                prop_assert!(job.due > now);
                now = job.due;
            }
            let wanted = |at: &u32| *at > known.max(first) && at + late <= end - 2_300;
            let expected: Vec<u32> = candles.iter().copied().filter(wanted).collect();
            prop_assert!(got.windows(2).all(|two| two[0] < two[1]), "none twice, in order");
            prop_assert!(expected.iter().all(|at| got.binary_search(at).is_ok()));
            prop_assert!(requests <= BACK.div_ceil(page) * 3 + 5, "{requests} requests");
        }
    }

    #[test]
    fn the_same_rows_are_the_same_document() {
        let answer = |url: &str| GoodAnswer { content: Vec::new(), date: None, url: url.to_owned() };
        let of =
            |rows: &[QuoteRow], url| document("x".parse().unwrap(), "cc0-1.0", &answer(url), rows.to_vec()).unwrap();
        let hash = |rows: &[QuoteRow], url| of(rows, url).provenance.document;
        let rows = [row(7_200, 1), row(10_800, 2)];
        assert_eq!(hash(&rows, "a"), hash(&rows, "b"));
        assert_ne!(hash(&rows, "a"), hash(&rows[..1], "a"));
        assert_ne!(hash(&rows, "a"), hash(&[row(7_200, 1), row(10_800, 3)], "a"));
    }
}
