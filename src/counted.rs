//! Metrics that are counted in the service state: what waits, and for whom.

use std::{future::Future, time::Duration};

use cairn_clock::now_secs;
use cairn_metrics::{
    CHECKOUTS_OPEN, MetricSpec, PASSES_REVERTED, PASSES_SOLD, PASSES_SOLD_SATS, PAYMENT_ADDRESSES, REPORTS_WAITING,
    SALES_WAITING,
};
use cairn_state::{State, StateError};
use prometheus::{IntGauge, Registry};
use tokio::time::{sleep, timeout};

/// Interval of counts. Alerts on these numbers are a matter of minutes.
const PAUSE: Duration = Duration::from_secs(15);
const PATIENCE: Duration = Duration::from_secs(5);
/// Shown while the database cannot be read.
const UNKNOWN: i64 = -1;

/// A metric with the values of its label, in the order of their counts.
struct By {
    spec: &'static MetricSpec,
    values: &'static [&'static str],
}

const REPORTS: By = By { spec: &REPORTS_WAITING, values: &["payment", "operator"] };
const SALES: By = By { spec: &SALES_WAITING, values: &["payment", "outcome", "client"] };
const PASSES: By = By { spec: &PASSES_SOLD, values: &["lightning", "onchain"] };
const PASSES_SATS: By = By { spec: &PASSES_SOLD_SATS, values: &["lightning", "onchain"] };

/// Counts community reports and payment addresses.
pub(crate) fn count_reports(registry: &Registry, state: State) {
    let counted =
        Counted::default().by(registry, &REPORTS).and_then(|counted| counted.one(registry, &PAYMENT_ADDRESSES));
    start(counted, state, |state| async move {
        let counts = state.report_counts(now_secs()).await?;
        Ok(vec![counts.unpaid, counts.held, counts.addresses])
    });
}

pub(crate) fn count_sales(registry: &Registry, state: State) {
    start(Counted::default().by(registry, &SALES), state, |state| async move {
        let counts = state.sales_counts(now_secs()).await?;
        Ok(vec![counts.open_challenges, counts.open_settlements, counts.owed_payments])
    });
}

pub(crate) fn count_passes(registry: &Registry, state: State) {
    let counted = Counted::default().by(registry, &PASSES).and_then(|counted| counted.by(registry, &PASSES_SATS));
    let counted = counted.and_then(|counted| counted.one(registry, &CHECKOUTS_OPEN));
    let counted = counted.and_then(|counted| counted.one(registry, &PASSES_REVERTED));
    start(counted, state, |state| async move {
        let counts = state.pass_counts(now_secs()).await?;
        Ok(vec![
            counts.over_lightning,
            counts.on_chain,
            counts.over_lightning_sats,
            counts.on_chain_sats,
            counts.open_checkouts,
            counts.reverted,
        ])
    });
}

/// Counts in the background, if the metrics could be registered.
fn start<F, Fut>(counted: prometheus::Result<Counted>, state: State, count: F)
where
    F: Fn(State) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Vec<u64>, StateError>> + Send + 'static,
{
    match counted {
        Ok(counted) => drop(tokio::spawn(counted.follow(state, count))),
        Err(error) => tracing::error!(%error, "metrics of the service state are disabled"),
    }
}

/// Gauges in the order of their counts. They are unknown at first.
#[derive(Default)]
struct Counted(Vec<IntGauge>);

impl Counted {
    /// Adds a metric without a label.
    fn one(mut self, registry: &Registry, metric: &MetricSpec) -> prometheus::Result<Self> {
        self.0.push(metric.gauge(registry)?);
        self.show(None);
        Ok(self)
    }

    /// Adds a metric with a label.
    fn by(mut self, registry: &Registry, metric: &By) -> prometheus::Result<Self> {
        let gauges = metric.spec.gauges(registry)?;
        self.0.extend(metric.values.iter().map(|value| gauges.with_label_values(&[value])));
        self.show(None);
        Ok(self)
    }

    fn show(&self, numbers: Option<&[u64]>) {
        for (at, gauge) in self.0.iter().enumerate() {
            let number = numbers.and_then(|numbers| numbers.get(at));
            gauge.set(number.map_or(UNKNOWN, |number| i64::try_from(*number).unwrap_or(i64::MAX)));
        }
    }

    /// Counts again and again. Never ends by itself.
    async fn follow<F, Fut>(self, state: State, count: F)
    where
        F: Fn(State) -> Fut,
        Fut: Future<Output = Result<Vec<u64>, StateError>>,
    {
        loop {
            let counts = timeout(PATIENCE, count(state.clone())).await;
            // The trouble of the part `state` reports the error.
            self.show(counts.ok().and_then(Result::ok).as_deref());
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
        let all = |value: &str| {
            let text = TextEncoder::new().encode_to_string(&registry.gather()).unwrap();
            for name in [
                "cairn_reports_waiting{waits_for=\"payment\"}",
                "cairn_reports_waiting{waits_for=\"operator\"}",
                "cairn_payment_addresses",
                "cairn_sales_waiting{waits_for=\"payment\"}",
                "cairn_sales_waiting{waits_for=\"outcome\"}",
                "cairn_sales_waiting{waits_for=\"client\"}",
                "cairn_passes_sold{method=\"lightning\"}",
                "cairn_passes_sold{method=\"onchain\"}",
                "cairn_passes_sold_sats{method=\"lightning\"}",
                "cairn_passes_sold_sats{method=\"onchain\"}",
                "cairn_checkouts_open",
                "cairn_passes_reverted",
            ] {
                assert!(text.contains(&format!("{name} {value}\n")), "{name}: {text}");
            }
        };
        let folder = cairn_testkit::temp_dir();
        let state = State::open(&StateUrl::in_folder(folder.path())).await.unwrap();
        count_reports(&registry, state.clone());
        count_sales(&registry, state.clone());
        count_passes(&registry, state.clone());
        // The tasks have had no turn yet.
        all("-1");
        assert!(Counted::default().by(&registry, &SALES).is_err(), "registered before");
        let began = std::time::Instant::now();
        while TextEncoder::new().encode_to_string(&registry.gather()).unwrap().contains(" -1\n") {
            assert!(began.elapsed() < PATIENCE, "nothing is counted");
            sleep(Duration::from_millis(5)).await;
        }
        all("0");
    }

    #[test]
    fn counts_are_shown_in_their_order() {
        let registry = Registry::new();
        let counted = Counted::default().by(&registry, &SALES).unwrap().one(&registry, &PAYMENT_ADDRESSES).unwrap();
        counted.show(Some(&[3, 2, 1, 9]));
        let text = TextEncoder::new().encode_to_string(&registry.gather()).unwrap();
        for line in ["\"payment\"} 3\n", "\"outcome\"} 2\n", "\"client\"} 1\n", "cairn_payment_addresses 9\n"] {
            assert!(text.contains(line), "{line}: {text}");
        }
    }
}
