//! Samples of the mempool, thinned so that a request reads at most a few hundred rows at any sampling rate.

use cairn_model::MempoolSample;
use cairn_reader::{ReadError, View};

/// The first sample of every `step` seconds from `from` to `to` (seconds since 1970, both included), ascending. Reads
/// two rows for each.
pub(super) fn thinned(view: &View<'_>, from: u64, to: u64, step: u64) -> Result<Vec<MempoolSample>, ReadError> {
    let step = step.max(1);
    let mut samples = Vec::new();
    let mut next = from;
    while next <= to {
        let Some(sample) = view.ledger().mempool_samples(next, to, 1)?.pop() else { break };
        next = after(from, sample.time_unix, step);
        samples.push(sample);
    }
    Ok(samples)
}

/// Start of the step after the one of `time`.
fn after(from: u64, time: u64, step: u64) -> u64 {
    let steps = (time.saturating_sub(from) / step).saturating_add(1);
    from.saturating_add(steps.saturating_mul(step))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_counted_from_the_start() {
        assert_eq!([100, 109, 110].map(|time| after(100, time, 10)), [110, 110, 120]);
        assert_eq!(after(0, u64::MAX, 1), u64::MAX);
    }
}
