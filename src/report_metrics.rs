//! Metrics of community reports and payment addresses, counted in the service state.

use std::time::Duration;

use cairn_clock::now_secs;
use cairn_state::State;
use prometheus::{IntGauge, IntGaugeVec, Opts, Registry, core::Collector};
use tokio::time::{sleep, timeout};

/// Interval of counts. Alerts on these numbers are a matter of hours.
const PAUSE: Duration = Duration::from_secs(15);
/// Timeout of a count.
const PATIENCE: Duration = Duration::from_secs(5);
/// Shown while the database cannot be read.
const UNKNOWN: i64 = -1;

/// Numbers of reports and payment addresses.
pub(crate) struct ReportMetrics {
    for_payment: IntGauge,
    for_operator: IntGauge,
    addresses: IntGauge,
}

impl ReportMetrics {
    /// Registers the metrics. They are unknown at first.
    ///
    /// # Errors
    /// Fails if the registry already has metrics with these names.
    pub(crate) fn register(registry: &Registry) -> prometheus::Result<Self> {
        fn known<C: Collector + Clone + 'static>(registry: &Registry, made: C) -> prometheus::Result<C> {
            registry.register(Box::new(made.clone()))?;
            Ok(made)
        }
        let waiting = Opts::new(
            "cairn_reports_waiting",
            "Community reports that wait for their payment or for the operator's decision; -1 if unknown.",
        );
        let waiting = known(registry, IntGaugeVec::new(waiting, &["waits_for"])?)?;
        let addresses = Opts::new("cairn_payment_addresses", "Payment addresses that were given out; -1 if unknown.");
        let metrics = ReportMetrics {
            for_payment: waiting.with_label_values(&["payment"]),
            for_operator: waiting.with_label_values(&["operator"]),
            addresses: known(registry, IntGauge::with_opts(addresses)?)?,
        };
        metrics.show(None);
        Ok(metrics)
    }

    /// Shows these numbers: reports that wait for their payment, for the operator, and addresses.
    fn show(&self, numbers: Option<[u64; 3]>) {
        let numbers = numbers.map(|numbers| numbers.map(|number| i64::try_from(number).unwrap_or(i64::MAX)));
        let [for_payment, for_operator, addresses] = numbers.unwrap_or([UNKNOWN; 3]);
        self.for_payment.set(for_payment);
        self.for_operator.set(for_operator);
        self.addresses.set(addresses);
    }

    /// Counts again and again. Never ends by itself.
    pub(crate) async fn follow(self, state: State) {
        loop {
            let counts = timeout(PATIENCE, state.report_counts(now_secs())).await;
            // The trouble of the part `state` reports the error.
            let counts = counts.ok().and_then(Result::ok);
            self.show(counts.map(|counts| [counts.unpaid, counts.held, counts.addresses]));
            sleep(PAUSE).await;
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use cairn_state::StateUrl;
    use prometheus::TextEncoder;

    use super::*;

    #[tokio::test]
    async fn numbers_are_unknown_until_they_are_counted() {
        let registry = Registry::new();
        let text = || TextEncoder::new().encode_to_string(&registry.gather()).unwrap();
        let metrics = ReportMetrics::register(&registry).unwrap();
        for line in ["{waits_for=\"payment\"} -1\n", "{waits_for=\"operator\"} -1\n", "cairn_payment_addresses -1\n"] {
            assert!(text().contains(line), "{}", text());
        }
        assert!(ReportMetrics::register(&registry).is_err());
        let folder = cairn_testkit::temp_dir();
        let state = State::open(&StateUrl::in_folder(folder.path())).await.unwrap();
        // Ends while it waits for the next count.
        assert!(timeout(Duration::from_secs(3), metrics.follow(state)).await.is_err());
        for line in ["{waits_for=\"payment\"} 0\n", "{waits_for=\"operator\"} 0\n", "cairn_payment_addresses 0\n"] {
            assert!(text().contains(line), "{}", text());
        }
    }
}
