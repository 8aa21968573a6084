//! Metrics of the fetchers since the start.

use cairn_metrics::{PRICE_CANDLES, PRICE_FETCH_FAILURES, PRICE_FETCHES, PRICE_LAST_TICK};
use prometheus::{IntCounterVec, IntGaugeVec, Registry};

/// Metrics of the fetchers.
#[derive(Clone, Debug)]
pub struct Figures {
    pub(super) fetches: IntCounterVec,
    pub(super) failures: IntCounterVec,
    pub(super) candles: IntCounterVec,
    pub(super) ticks: IntGaugeVec,
}

impl Figures {
    /// Registers the metrics.
    pub fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        Ok(Figures {
            fetches: PRICE_FETCHES.counters(registry)?,
            failures: PRICE_FETCH_FAILURES.counters(registry)?,
            candles: PRICE_CANDLES.counters(registry)?,
            ticks: PRICE_LAST_TICK.gauges(registry)?,
        })
    }
}
