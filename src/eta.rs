//! Estimates the remaining time of bulk work over all of its phases.

use std::time::{Duration, Instant};

use cairn_pipeline::{Phase, ProgressStep};

/// No estimate before this much time has passed.
const SETTLED: Duration = Duration::from_secs(1);

/// Phases in order, each with its share of the time as measured by `benches/index.rs`.
const SHARES: [(Phase, f64); 6] = [
    (Phase::Link, 22.0),
    (Phase::Join, 6.0),
    // Only where undo data are missing; then about as long as `link`.
    (Phase::Coins, 25.0),
    (Phase::Fold, 35.0),
    (Phase::Tables, 35.0),
    (Phase::Ingest, 2.0),
];

/// Watches bulk work.
#[derive(Default)]
pub(crate) struct Eta {
    began: Option<(Instant, f64)>,
}

/// Returns the progress of the whole work at a step, from 0 to the sum of the shares; `None` if it is not bulk work.
/// With `coins`, the share of that phase counts.
fn place(step: &ProgressStep, coins: bool) -> Option<f64> {
    let at = SHARES.iter().position(|(phase, _)| *phase == step.phase)?;
    let counts = |(phase, share): &(Phase, f64)| if *phase == Phase::Coins && !coins { 0.0 } else { *share };
    let before: f64 = SHARES[..at].iter().map(counts).sum();
    let (done, total) = if step.of_bytes > 0 { (step.bytes, step.of_bytes) } else { (step.done, step.total) };
    Some(before + SHARES[at].1 * (done as f64 / total.max(1) as f64).min(1.0))
}

impl Eta {
    /// Returns the remaining seconds after a step; `None` if it is not bulk work, or too early for an estimate.
    pub(crate) fn left(&mut self, now: Instant, step: &ProgressStep) -> Option<u64> {
        let coins = step.phase == Phase::Coins;
        let at = place(step, coins)?;
        // A resumed run does not begin at 0.
        let (began, from) = *self.began.get_or_insert((now, at));
        if at < from {
            // Another stage is being rebuilt.
            self.began = Some((now, at));
            return None;
        }
        let all = SHARES.iter().filter(|(phase, _)| coins || *phase != Phase::Coins).map(|(_, share)| share);
        let rest = all.sum::<f64>() - at;
        let time = now.duration_since(began);
        (time >= SETTLED && at > from).then(|| (time.as_secs_f64() * rest / (at - from)).round() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(phase: Phase, done: u64, bytes: u64) -> ProgressStep {
        ProgressStep { phase, done, total: 100, bytes, of_bytes: if bytes > 0 { 1_000 } else { 0 } }
    }

    /// Work whose phases take the expected shares: every estimate is right, from the first on.
    #[test]
    fn true_from_the_beginning() {
        let start = Instant::now();
        let at = |seconds: f64| start + Duration::from_secs_f64(seconds);
        let mut eta = Eta::default();
        assert_eq!(eta.left(start, &step(Phase::Link, 0, 0)), None);
        // A hundred seconds in all; half of the blocks, and a quarter of their bytes.
        assert_eq!(eta.left(at(5.5), &step(Phase::Link, 50, 250)), Some(95));
        assert_eq!(eta.left(at(25.0), &step(Phase::Join, 50, 0)), Some(75));
        assert_eq!(eta.left(at(45.5), &step(Phase::Fold, 90, 500)), Some(55));
        assert_eq!(eta.left(at(98.0), &step(Phase::Tables, 100, 0)), Some(2));
        assert_eq!(eta.left(at(100.0), &step(Phase::Ingest, 100, 0)), Some(0));
    }

    #[test]
    fn work_that_goes_on() {
        let start = Instant::now();
        let mut eta = Eta::default();
        assert_eq!(eta.left(start, &step(Phase::Tables, 50, 0)), None);
        assert_eq!(eta.left(start + Duration::from_secs(9), &step(Phase::Tables, 75, 0)), Some(11));
        // The next stage.
        assert_eq!(eta.left(start + Duration::from_secs(30), &step(Phase::Fold, 1, 0)), None);
        assert_eq!(eta.left(start + Duration::from_secs(31), &step(Phase::Connect, 1, 0)), None);
    }
}
