//! Request metrics for Prometheus.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::http::StatusCode;
use cairn_metrics::{
    BUILD_INFO, LOST_ANSWERS, REQUEST_DURATION, REQUESTS, REQUESTS_IN_FLIGHT, REQUESTS_QUEUED, ROWS_READ, SPANS_DROPPED,
};
use prometheus::{HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry, TextEncoder};

use crate::{contract::operation::RegisteredOperation, requests::ask::Metric};

/// Statuses with their own counter; all others are counted as 0.
const STATUSES: [u16; 23] =
    [200, 202, 204, 304, 400, 401, 402, 403, 404, 405, 406, 408, 409, 413, 414, 415, 422, 429, 431, 500, 501, 503, 504];

/// Upper bounds of the duration buckets in seconds.
const BOUNDS: [f64; 14] =
    [0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.1, 0.25, 1.0, 5.0, 20.0];

/// Operation and class of requests without an operation.
const OTHER: (&str, &str) = ("other", "light");

/// Request metrics since the start, in a registry that others may use as well.
#[derive(Debug, Default)]
pub struct Metrics {
    registry: Registry,
    /// `None` if the registry already has metrics with these names.
    counts: OnceLock<Option<Counts>>,
    /// Waiting requests.
    pub(crate) queued: Arc<AtomicUsize>,
    /// Spans of traces that were not exported.
    pub dropped_spans: Arc<AtomicU64>,
}

#[derive(Debug)]
struct Counts {
    /// Name and cost class of each operation.
    operations: Vec<(&'static str, &'static str)>,
    in_flight: IntGauge,
    queued: IntGauge,
    answers: IntCounterVec,
    durations: HistogramVec,
    rows_read: IntCounterVec,
    lost_answers: IntCounter,
    dropped_spans: IntCounter,
}

impl Counts {
    fn register(registry: &Registry, operations: &[RegisteredOperation]) -> prometheus::Result<Self> {
        BUILD_INFO.gauges(registry)?.with_label_values(&[env!("CARGO_PKG_VERSION")]).set(1);
        let counts = Counts {
            operations: operations.iter().map(|op| (op.info.name, op.info.cost.name())).collect(),
            in_flight: REQUESTS_IN_FLIGHT.gauge(registry)?,
            queued: REQUESTS_QUEUED.gauge(registry)?,
            answers: REQUESTS.counters(registry)?,
            durations: REQUEST_DURATION.histograms(registry, &BOUNDS)?,
            rows_read: ROWS_READ.counters(registry)?,
            lost_answers: LOST_ANSWERS.counter(registry)?,
            dropped_spans: SPANS_DROPPED.counter(registry)?,
        };
        // Shown from the start, even at zero.
        for (operation, _) in counts.operations.iter().chain([&OTHER]) {
            counts.rows_read.with_label_values(&[operation]);
        }
        Ok(counts)
    }
}

impl Metrics {
    /// Metrics in this registry, which may have metrics of others.
    #[must_use]
    pub fn of(registry: Registry) -> Self {
        Metrics { registry, ..Metrics::default() }
    }

    /// Creates the counters of these operations.
    pub(crate) fn prepare(&self, operations: &[RegisteredOperation]) {
        self.counts.get_or_init(|| {
            let counts = Counts::register(&self.registry, operations);
            counts.inspect_err(|error| tracing::error!(%error, "request metrics are disabled")).ok()
        });
    }

    fn counts(&self) -> Option<&Counts> {
        self.counts.get()?.as_ref()
    }

    /// Counts paid answers that were lost with their connection.
    pub(crate) fn lost_answers(&self) -> Option<IntCounter> {
        self.counts().map(|counts| counts.lost_answers.clone())
    }

    /// Counts a request as in flight until the returned guard is dropped.
    pub(crate) fn begin(&self) -> InFlight {
        let in_flight = self.counts().map(|counts| counts.in_flight.clone());
        in_flight.iter().for_each(IntGauge::inc);
        InFlight(in_flight)
    }

    /// Counts an answer of the operation at this index of the registry, or of another request.
    pub(crate) fn count(&self, operation: Option<usize>, status: StatusCode, took: Duration, rows_read: u64) {
        let Some(counts) = self.counts() else { return };
        let (operation, class) = operation.and_then(|at| counts.operations.get(at)).copied().unwrap_or(OTHER);
        let known = STATUSES.contains(&status.as_u16());
        counts.answers.with_label_values(&[operation, class, if known { status.as_str() } else { "0" }]).inc();
        counts.durations.with_label_values(&[operation]).observe(took.as_secs_f64());
        counts.rows_read.with_label_values(&[operation]).inc_by(rows_read);
    }

    /// All metrics of the registry in the Prometheus text format.
    #[must_use]
    pub fn text(&self) -> String {
        if let Some(counts) = self.counts() {
            counts.queued.set(i64::try_from(self.queued.load(Ordering::Relaxed)).unwrap_or(i64::MAX));
            let dropped = self.dropped_spans.load(Ordering::Relaxed);
            counts.dropped_spans.inc_by(dropped.saturating_sub(counts.dropped_spans.get()));
        }
        text(&self.registry)
    }
}

fn text(registry: &Registry) -> String {
    TextEncoder::new().encode_to_string(&registry.gather()).unwrap_or_else(|error| {
        tracing::error!(%error, "metrics cannot be written");
        String::new()
    })
}

/// These readings in the same format.
pub(crate) fn readings(readings: Vec<Metric>) -> String {
    let registry = Registry::new();
    for reading in readings {
        if let Err(error) = show(&registry, &reading) {
            tracing::error!(%error, name = reading.name, "a metric cannot be shown");
        }
    }
    text(&registry)
}

fn show(registry: &Registry, reading: &Metric) -> prometheus::Result<()> {
    let labels: Vec<&str> = reading.label.into_iter().collect();
    let values = reading.values.iter().map(|(of, value)| (&std::slice::from_ref(of)[..labels.len()], *value));
    let opts = Opts::new(reading.name, reading.help);
    if reading.grows {
        let counters = IntCounterVec::new(opts, &labels)?;
        values.for_each(|(of, value)| counters.with_label_values(of).inc_by(value));
        registry.register(Box::new(counters))
    } else {
        let gauges = IntGaugeVec::new(opts, &labels)?;
        values.for_each(|(of, value)| gauges.with_label_values(of).set(i64::try_from(value).unwrap_or(i64::MAX)));
        registry.register(Box::new(gauges))
    }
}

/// Counts a request as in flight until dropped.
pub(crate) struct InFlight(Option<IntGauge>);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.iter().for_each(IntGauge::dec);
    }
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;
    use serde::Serialize;

    use super::*;
    use crate::{Cost, Info, NoInput};

    #[derive(Serialize, JsonSchema)]
    struct NoOutput {}

    fn prepared(registry: &Registry) -> Metrics {
        let metrics = Metrics::of(registry.clone());
        let health = Info { cost: Cost::Light, ..Info::get("health", "/api/health", "service") };
        metrics.prepare(&[RegisteredOperation::of::<NoInput, NoOutput>(health, &[])]);
        metrics
    }

    #[test]
    fn what_is_counted_is_written() {
        let metrics = prepared(&Registry::new());
        metrics.count(Some(0), StatusCode::OK, Duration::from_micros(70), 3);
        metrics.count(Some(0), StatusCode::OK, Duration::from_secs(100), 0);
        metrics.count(None, StatusCode::IM_A_TEAPOT, Duration::ZERO, 0);
        let running = metrics.begin();
        let text = metrics.text();
        for line in [
            "# HELP cairn_build_info The version of this server.",
            "# TYPE cairn_build_info gauge",
            concat!("cairn_build_info{version=\"", env!("CARGO_PKG_VERSION"), "\"} 1"),
            "# HELP cairn_http_requests_in_flight Requests that are being answered.",
            "# TYPE cairn_http_requests_in_flight gauge",
            "cairn_http_requests_in_flight 1",
            "# HELP cairn_http_requests_queued Requests that are waiting.",
            "# TYPE cairn_http_requests_queued gauge",
            "cairn_http_requests_queued 0",
            "# HELP cairn_http_requests_total Answers by operation, cost class and status.",
            "# TYPE cairn_http_requests_total counter",
            "cairn_http_requests_total{class=\"light\",operation=\"health\",status=\"200\"} 2",
            "cairn_http_requests_total{class=\"light\",operation=\"other\",status=\"0\"} 1",
            "# HELP cairn_http_request_duration_seconds Time from request to answer, without sending the body.",
            "# TYPE cairn_http_request_duration_seconds histogram",
            "cairn_http_request_duration_seconds_bucket{operation=\"health\",le=\"0.00005\"} 0",
            "cairn_http_request_duration_seconds_bucket{operation=\"health\",le=\"0.0001\"} 1",
            "cairn_http_request_duration_seconds_bucket{operation=\"health\",le=\"20\"} 1",
            "cairn_http_request_duration_seconds_bucket{operation=\"health\",le=\"+Inf\"} 2",
            "cairn_http_request_duration_seconds_sum{operation=\"health\"} 100.00007",
            "cairn_http_request_duration_seconds_count{operation=\"health\"} 2",
            "# HELP cairn_http_rows_read_total Rows of the index read for answers.",
            "# TYPE cairn_http_rows_read_total counter",
            "cairn_http_rows_read_total{operation=\"health\"} 3",
            "cairn_http_rows_read_total{operation=\"other\"} 0",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
        }
        drop(running);
        assert!(metrics.text().contains("cairn_http_requests_in_flight 0\n"));
    }

    #[test]
    fn a_registry_is_shared_and_not_taken_twice() {
        let registry = Registry::new();
        let theirs = IntGauge::new("theirs", "Of others.").unwrap();
        registry.register(Box::new(theirs)).unwrap();
        let (first, second) = (prepared(&registry), prepared(&registry));
        second.count(None, StatusCode::OK, Duration::ZERO, 0);
        drop(second.begin());
        assert!(first.text().contains("theirs 0\n") && !first.text().contains("cairn_http_requests_total{"));
        // Metrics in another registry are independent.
        let other = prepared(&Registry::new());
        other.count(None, StatusCode::OK, Duration::ZERO, 0);
        assert!(other.text().contains("cairn_http_requests_total{") && !other.text().contains("theirs"));
        assert!(!first.text().contains("cairn_http_requests_total{"));
    }
}
