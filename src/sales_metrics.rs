//! Metrics of sales that are not done, counted in the service state.

use std::time::Duration;

use cairn_clock::now_secs;
use cairn_state::{SalesCounts, State};
use prometheus::{IntGaugeVec, Opts, Registry};
use tokio::time::{sleep, timeout};

/// Interval of counts. Alerts on these numbers are a matter of minutes.
const PAUSE: Duration = Duration::from_secs(15);
/// Timeout of a count.
const PATIENCE: Duration = Duration::from_secs(5);
/// Shown while the database cannot be read.
const UNKNOWN: i64 = -1;

/// Numbers of sales that are not done.
pub(crate) struct SalesMetrics(IntGaugeVec);

impl SalesMetrics {
    /// Registers the metrics. They are unknown at first.
    ///
    /// # Errors
    /// Fails if the registry already has metrics with these names.
    pub(crate) fn register(registry: &Registry) -> prometheus::Result<Self> {
        let waiting = Opts::new(
            "cairn_sales_waiting",
            "Sales that are not done: challenges that wait for a payment, x402 payments whose outcome is not known, x402 \
             payments that are settled and whose client has not fetched its answer; -1 if unknown.",
        );
        let metrics = SalesMetrics(IntGaugeVec::new(waiting, &["waits_for"])?);
        registry.register(Box::new(metrics.0.clone()))?;
        metrics.show(None);
        Ok(metrics)
    }

    fn show(&self, counts: Option<SalesCounts>) {
        let known = |number: fn(&SalesCounts) -> u64| {
            counts.as_ref().map_or(UNKNOWN, |counts| i64::try_from(number(counts)).unwrap_or(i64::MAX))
        };
        for (waits_for, number) in [
            ("payment", known(|counts| counts.open_challenges)),
            ("outcome", known(|counts| counts.open_settlements)),
            ("client", known(|counts| counts.owed_payments)),
        ] {
            self.0.with_label_values(&[waits_for]).set(number);
        }
    }

    /// Counts again and again. Never ends by itself.
    pub(crate) async fn follow(self, state: State) {
        loop {
            let counts = timeout(PATIENCE, state.sales_counts(now_secs())).await;
            // The trouble of the part `state` reports the error.
            self.show(counts.ok().and_then(Result::ok));
            sleep(PAUSE).await;
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use prometheus::TextEncoder;

    use super::*;

    #[test]
    fn numbers_are_unknown_until_they_are_counted() {
        let registry = Registry::new();
        let metrics = SalesMetrics::register(&registry).unwrap();
        let shown = || TextEncoder::new().encode_to_string(&registry.gather()).unwrap();
        assert_eq!(shown().matches("} -1").count(), 3, "{}", shown());
        metrics.show(Some(SalesCounts { open_challenges: 3, open_settlements: 2, owed_payments: 1 }));
        for line in ["waits_for=\"payment\"} 3", "waits_for=\"outcome\"} 2", "waits_for=\"client\"} 1"] {
            assert!(shown().contains(line), "{line}: {}", shown());
        }
        SalesMetrics::register(&registry).err().unwrap();
    }
}
