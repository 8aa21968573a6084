//! The list of all metrics of Cairn. The code that counts takes name and help from here; `docs/metrics.md`,
//! `deploy/grafana/cairn.json` and the tests of the alerting rules are made of the same list.

mod list;
mod register;
mod spec;

pub use list::*;
pub use spec::{Area, Kind, MetricSpec};

/// All metrics.
pub fn all() -> impl Iterator<Item = &'static MetricSpec> {
    AREAS.iter().flat_map(|area| area.metrics)
}
