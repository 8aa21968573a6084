//! Request metrics for Prometheus.

use std::{
    fmt::Write,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::http::StatusCode;

use crate::contract::operation::Registered;

/// Statuses with their own counter; all others are counted as 0.
const STATUSES: [u16; 24] = [
    200, 202, 204, 304, 400, 401, 402, 403, 404, 405, 406, 408, 409, 413, 414, 415, 422, 429, 431, 500, 501, 503, 504,
    0,
];

/// Upper bounds of the duration buckets in microseconds.
const BOUNDS: [u64; 14] =
    [50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 100_000, 250_000, 1_000_000, 5_000_000, 20_000_000];

/// Counters of an operation.
#[derive(Debug, Default)]
struct Row {
    operation: &'static str,
    class: &'static str,
    statuses: [AtomicU64; STATUSES.len()],
    /// One more than the bounds: the last bucket has no bound.
    durations: [AtomicU64; BOUNDS.len() + 1],
    micros: AtomicU64,
    rows_read: AtomicU64,
}

/// Request metrics since the start.
#[derive(Debug, Default)]
pub struct Metrics {
    /// One for each operation, then one for all other requests.
    rows: OnceLock<Vec<Row>>,
    in_flight: AtomicU64,
    /// Waiting requests.
    pub(crate) queued: Arc<AtomicUsize>,
}

/// Sums of relaxed counters are not a consistent snapshot, which is acceptable for metrics.
const ORDER: Ordering = Ordering::Relaxed;

impl Metrics {
    /// Creates the counters of these operations.
    pub(crate) fn prepare(&self, operations: &[Registered]) {
        self.rows.get_or_init(|| {
            let known = operations.iter().map(|op| (op.info.name, op.info.cost.name()));
            let all = known.chain([("other", "light")]);
            all.map(|(operation, class)| Row { operation, class, ..Row::default() }).collect()
        });
    }

    /// Counts a request as in flight until the returned guard is dropped.
    pub(crate) fn begin(&self) -> InFlight<'_> {
        self.in_flight.fetch_add(1, ORDER);
        InFlight(self)
    }

    /// Counts an answer of the operation at this index of the registry, or of another request.
    pub(crate) fn count(&self, operation: Option<usize>, status: StatusCode, took: Duration, rows_read: u64) {
        let Some((other, rows)) = self.rows.get().and_then(|rows| rows.split_last()) else { return };
        let row = operation.and_then(|at| rows.get(at)).unwrap_or(other);
        let known = STATUSES.iter().position(|known| *known == status.as_u16());
        row.statuses[known.unwrap_or(STATUSES.len() - 1)].fetch_add(1, ORDER);
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        row.durations[BOUNDS.partition_point(|bound| *bound < micros)].fetch_add(1, ORDER);
        row.micros.fetch_add(micros, ORDER);
        row.rows_read.fetch_add(rows_read, ORDER);
    }

    fn sum(&self, wanted: impl Fn(u16) -> bool) -> u64 {
        let rows = self.rows.get().into_iter().flatten();
        let counts = rows.flat_map(|row| STATUSES.iter().zip(&row.statuses));
        counts.filter(|(status, _)| wanted(**status)).map(|(_, count)| count.load(ORDER)).sum()
    }

    /// All answers.
    #[must_use]
    pub fn answers(&self) -> u64 {
        self.sum(|_| true)
    }

    /// Answers with a status of 400 to 499.
    #[must_use]
    pub fn client_errors(&self) -> u64 {
        self.sum(|status| (400..500).contains(&status))
    }

    /// Answers with a status of 500 and more.
    #[must_use]
    pub fn server_errors(&self) -> u64 {
        self.sum(|status| status >= 500)
    }

    /// Everything in Prometheus' text format.
    #[must_use]
    pub fn text(&self) -> String {
        let rows: Vec<&Row> = self.rows.get().into_iter().flatten().collect();
        let mut out = String::new();
        head(&mut out, "cairn_build_info", "gauge", "The version of this server.");
        let _ = writeln!(out, "cairn_build_info{{version=\"{}\"}} 1", env!("CARGO_PKG_VERSION"));
        head(&mut out, "cairn_http_requests_in_flight", "gauge", "Requests that are being answered.");
        let _ = writeln!(out, "cairn_http_requests_in_flight {}", self.in_flight.load(ORDER));
        head(&mut out, "cairn_http_requests_queued", "gauge", "Requests that are waiting.");
        let _ = writeln!(out, "cairn_http_requests_queued {}", self.queued.load(ORDER));
        let name = "cairn_http_requests_total";
        head(&mut out, name, "counter", "Answers by operation, cost class and status.");
        for row in &rows {
            for (status, count) in STATUSES.iter().zip(&row.statuses).map(|(s, c)| (s, c.load(ORDER))) {
                if count > 0 {
                    let (operation, class) = (row.operation, row.class);
                    let labels = format!("operation=\"{operation}\",class=\"{class}\",status=\"{status}\"");
                    let _ = writeln!(out, "{name}{{{labels}}} {count}");
                }
            }
        }
        let name = "cairn_http_request_duration_seconds";
        head(&mut out, name, "histogram", "Time from request to answer, without sending the body.");
        for row in &rows {
            durations(&mut out, name, row);
        }
        let name = "cairn_http_rows_read_total";
        head(&mut out, name, "counter", "Rows of the index read for answers.");
        for row in &rows {
            let _ = writeln!(out, "{name}{{operation=\"{}\"}} {}", row.operation, row.rows_read.load(ORDER));
        }
        out
    }
}

fn durations(out: &mut String, name: &str, row: &Row) {
    let counts: Vec<u64> = row.durations.iter().map(|count| count.load(ORDER)).collect();
    let all: u64 = counts.iter().sum();
    if all == 0 {
        return;
    }
    let labels = format!("operation=\"{}\"", row.operation);
    let mut below = 0;
    for (bound, count) in BOUNDS.iter().zip(&counts) {
        below += count;
        let _ = writeln!(out, "{name}_bucket{{{labels},le=\"{}\"}} {below}", seconds(*bound));
    }
    let _ = writeln!(out, "{name}_bucket{{{labels},le=\"+Inf\"}} {all}");
    let _ = writeln!(out, "{name}_sum{{{labels}}} {}", seconds(row.micros.load(ORDER)));
    let _ = writeln!(out, "{name}_count{{{labels}}} {all}");
}

/// Microseconds as seconds, without trailing zeros.
fn seconds(micros: u64) -> String {
    let text = format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The HELP and TYPE lines of a metric.
pub(crate) fn head(out: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

/// A request that is being answered.
pub(crate) struct InFlight<'a>(&'a Metrics);

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, ORDER);
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

    #[test]
    fn what_is_counted_is_written() {
        let metrics = Metrics::default();
        let health = Info { cost: Cost::Light, ..Info::get("health", "/api/health", "service") };
        metrics.prepare(&[Registered::of::<NoInput, NoOutput>(health, &[])]);
        metrics.count(Some(0), StatusCode::OK, Duration::from_micros(70), 3);
        metrics.count(Some(0), StatusCode::OK, Duration::from_secs(100), 0);
        metrics.count(None, StatusCode::IM_A_TEAPOT, Duration::ZERO, 0);
        let running = metrics.begin();
        let text = metrics.text();
        for line in [
            "cairn_http_requests_in_flight 1",
            "cairn_http_requests_total{operation=\"health\",class=\"light\",status=\"200\"} 2",
            "cairn_http_requests_total{operation=\"other\",class=\"light\",status=\"0\"} 1",
            "cairn_http_request_duration_seconds_bucket{operation=\"health\",le=\"0.00005\"} 0",
            "cairn_http_request_duration_seconds_bucket{operation=\"health\",le=\"0.0001\"} 1",
            "cairn_http_request_duration_seconds_bucket{operation=\"health\",le=\"20\"} 1",
            "cairn_http_request_duration_seconds_bucket{operation=\"health\",le=\"+Inf\"} 2",
            "cairn_http_request_duration_seconds_sum{operation=\"health\"} 100.00007",
            "cairn_http_request_duration_seconds_count{operation=\"health\"} 2",
            "cairn_http_rows_read_total{operation=\"health\"} 3",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
        }
        drop(running);
        assert!(metrics.text().contains("cairn_http_requests_in_flight 0\n"));
        assert_eq!((metrics.answers(), metrics.client_errors(), metrics.server_errors()), (3, 0, 0));
    }
}
