//! Metrics of the fetchers since the start.

use prometheus::{IntCounterVec, IntGaugeVec, Opts, Registry};

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
        let counter = |name: &str, help: &str| {
            let counter = IntCounterVec::new(Opts::new(name, help), &["source"])?;
            registry.register(Box::new(counter.clone()))?;
            Ok::<_, prometheus::Error>(counter)
        };
        let ticks = Opts::new(
            "cairn_price_last_tick_seconds",
            "Time of the newest price of the moment, in seconds since 1970. Its age is time() less this.",
        );
        let ticks = IntGaugeVec::new(ticks, &["pair"])?;
        registry.register(Box::new(ticks.clone()))?;
        Ok(Figures {
            fetches: counter("cairn_price_fetches_total", "Requests to sources of prices.")?,
            failures: counter("cairn_price_fetch_failures_total", "Requests to sources of prices that failed.")?,
            candles: counter("cairn_price_candles_total", "Closed candles and rates that were handed to the ledger.")?,
            ticks,
        })
    }
}
