//! Prices of the moment.

use cairn_events::{LiveQuote, Quote, Slug, choose};
use cairn_inputs::Pair;

use super::{Fetchers, Ledger, now, source::RequestError};
use crate::providers::{AnswerError, Tick};

/// Age in seconds from which the last trade of a source is not a current price.
const OLD: u32 = 600;

impl<L: Ledger> Fetchers<L> {
    /// Asks all sources for all pairs, and publishes the combined result.
    pub(super) fn tick(&mut self, now: u32) {
        let mut quotes: Vec<Vec<(Slug, Quote)>> = vec![Vec::new(); self.pairs.len()];
        for source in 0..self.sources.len() {
            for (at, pair) in self.pairs.clone().into_iter().enumerate() {
                if self.cancel.is_cancelled() {
                    return;
                }
                if let Some((slug, tick)) = self.ask_for_tick(source, pair, now)
                    && let Some(quotes) = quotes.get_mut(at)
                {
                    quotes.push((slug, Quote { close: tick.price, range: None, volume: None }));
                }
            }
        }
        let mut is_new = false;
        for ((at, pair), quotes) in self.pairs.iter().enumerate().zip(&quotes) {
            let Some(quote) = live_quote(*pair, quotes, super::now()) else { continue };
            self.figures.ticks.with_label_values(&[&pair.to_string()]).set(quote.at.into());
            self.quotes.insert(at, quote);
            is_new = true;
        }
        if is_new {
            self.ledger.publish(self.quotes.values().cloned().collect());
        }
    }

    fn ask_for_tick(&mut self, source: usize, pair: Pair, now: u32) -> Option<(Slug, Tick)> {
        let of = self.sources.get_mut(source)?;
        if !of.is_open(now) {
            return None;
        }
        let path = of.provider.ticker(pair)?;
        let what = format!("price of {pair}");
        let answer = of.ask(&self.client, &self.figures, &path, now);
        let tick = answer.and_then(|answer| of.provider.tick(pair, &answer.content).map_err(RequestError::Answer));
        match tick.and_then(|tick| fresh(tick, self::now()).map_err(RequestError::Answer)) {
            Ok(tick) => {
                of.works(&what);
                Some((of.slug.clone(), tick))
            }
            Err(failed) => {
                of.fails(&self.figures, &what, &failed);
                None
            }
        }
    }
}

/// Refuses a price that is old.
fn fresh(tick: Tick, now: u32) -> Result<Tick, AnswerError> {
    match tick.at.map(|at| now.saturating_sub(at)) {
        Some(age) if age > OLD => Err(AnswerError::Old(age)),
        _ => Ok(tick),
    }
}

/// The price of a pair from what the sources say.
fn live_quote(pair: Pair, quotes: &[(Slug, Quote)], at: u32) -> Option<LiveQuote> {
    Some(LiveQuote::of(pair.base, pair.quote, at, choose(quotes)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outlier_is_left_out_and_an_old_price_refused() {
        let quote =
            |name: &str, price: u32| (name.parse().unwrap(), Quote { close: price.into(), range: None, volume: None });
        let quote = live_quote(Pair::BTC_USD, &[quote("a", 100), quote("b", 101), quote("c", 500)], 7).unwrap();
        assert_eq!((quote.price.to_string(), quote.sources, quote.dropped), ("100.5".to_owned(), 2, 1));
        assert_eq!((quote.at, quote.disputed, quote.source), (7, false, None));
        assert!(live_quote(Pair::BTC_USD, &[], 7).is_none());
        let tick = |at| Tick { price: 1.into(), at };
        assert!(fresh(tick(None), 10_000).is_ok() && fresh(tick(Some(9_400)), 10_000).is_ok());
        assert!(fresh(tick(Some(20_000)), 10_000).is_ok(), "a clock that runs ahead");
        assert_eq!(fresh(tick(Some(9_399)), 10_000), Err(AnswerError::Old(601)));
    }
}
