//! Registers metrics of the list.

use prometheus::{
    Error, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry, Result,
    core::Collector,
};

use crate::spec::MetricSpec;

impl MetricSpec {
    /// Registers a gauge without labels. This and the functions below fail if the metric is of another type, or if the
    /// registry has its name already.
    pub fn gauge(&self, registry: &Registry) -> Result<IntGauge> {
        self.known(registry, "gauge", IntGauge::with_opts(self.opts())?)
    }

    /// Registers a gauge with the labels of the list.
    pub fn gauges(&self, registry: &Registry) -> Result<IntGaugeVec> {
        self.known(registry, "gauge", IntGaugeVec::new(self.opts(), self.labels)?)
    }

    /// Registers a counter without labels.
    pub fn counter(&self, registry: &Registry) -> Result<IntCounter> {
        self.known(registry, "counter", IntCounter::with_opts(self.opts())?)
    }

    /// Registers a counter with the labels of the list.
    pub fn counters(&self, registry: &Registry) -> Result<IntCounterVec> {
        self.known(registry, "counter", IntCounterVec::new(self.opts(), self.labels)?)
    }

    /// Registers a histogram with these upper bounds.
    pub fn histograms(&self, registry: &Registry, bounds: &[f64]) -> Result<HistogramVec> {
        let opts = HistogramOpts::new(self.name, self.help).buckets(bounds.to_vec());
        self.known(registry, "histogram", HistogramVec::new(opts, self.labels)?)
    }

    fn opts(&self) -> Opts {
        Opts::new(self.name, self.help)
    }

    fn known<C: Collector + Clone + 'static>(&self, registry: &Registry, kind: &str, made: C) -> Result<C> {
        if self.kind.name() != kind {
            return Err(Error::Msg(format!("{} is a {}, not a {kind}", self.name, self.kind.name())));
        }
        registry.register(Box::new(made.clone()))?;
        Ok(made)
    }
}

#[cfg(test)]
mod tests {
    use crate::list::{BEST_HEIGHT, REQUESTS};

    use super::*;

    #[test]
    fn a_metric_is_registered_once_and_as_what_it_is() {
        let registry = Registry::new();
        assert!(BEST_HEIGHT.counter(&registry).is_err());
        assert!(BEST_HEIGHT.gauge(&registry).is_ok() && BEST_HEIGHT.gauge(&registry).is_err());
        let answers = REQUESTS.counters(&registry).unwrap();
        assert!(answers.get_metric_with_label_values(&["health", "light", "200"]).is_ok());
        assert!(answers.get_metric_with_label_values(&["health"]).is_err());
    }
}
