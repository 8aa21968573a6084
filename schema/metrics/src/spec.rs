//! The description of a metric.

/// How a metric behaves, and so how it is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A value that rises and falls.
    Gauge,
    /// A moment in seconds since 1970, or 0. A gauge, of which the age matters.
    Time,
    /// A number that only grows, and does so all the time: its rate matters.
    Counter,
    /// A number that only grows, and seldom: its increase in an hour matters.
    Events,
    /// Durations in seconds, by upper bounds.
    Histogram,
}

impl Kind {
    /// The type in Prometheus' text format.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Kind::Gauge | Kind::Time => "gauge",
            Kind::Counter | Kind::Events => "counter",
            Kind::Histogram => "histogram",
        }
    }
}

/// One metric.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MetricSpec {
    /// Its name.
    pub name: &'static str,
    /// How it behaves.
    pub kind: Kind,
    /// Names of its labels.
    pub labels: &'static [&'static str],
    /// Its help text.
    pub help: &'static str,
}

/// Metrics of one subject.
#[derive(Clone, Copy, Debug)]
pub struct Area {
    /// Its title.
    pub title: &'static str,
    /// Servers that have these metrics.
    pub exposed_by: &'static str,
    /// The metrics.
    pub metrics: &'static [MetricSpec],
}
