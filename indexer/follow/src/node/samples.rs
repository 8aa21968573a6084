//! A sample of the mempool each minute: the input of mempool stress, and the mempool history that the index stores.

use std::time::{Duration, Instant};

use cairn_clock::now_secs;
use cairn_domain::mempool::{StressParams, sample};
use cairn_link::MempoolSlot;
use cairn_model::MempoolSample;
use cairn_pipeline::Engine;

use crate::FollowError;

/// Time between two samples.
pub(super) const SAMPLE: Duration = Duration::from_secs(60);

/// The samples in the period that stress uses.
pub(super) struct Samples {
    samples: Vec<MempoolSample>,
    taken_at: Option<Instant>,
}

impl Samples {
    /// Reads the samples of the index.
    pub(super) fn begin(engine: &Engine) -> Result<Self, FollowError> {
        let now = now_secs();
        let from = now.saturating_sub(StressParams::default().window_secs);
        let samples = engine.reader().view()?.ledger().mempool_samples(from, now, usize::MAX)?;
        Ok(Samples { samples, taken_at: None })
    }

    /// Takes a sample if one is due and the mempool is complete. Returns true if it did.
    pub(super) fn take(&mut self, mempool: &MempoolSlot, engine: &Engine) -> Result<bool, FollowError> {
        if self.taken_at.is_some_and(|at| at.elapsed() < SAMPLE) {
            return Ok(false);
        }
        let Some((projection, stats)) = mempool.projection().zip(mempool.stats()) else { return Ok(false) };
        self.taken_at = Some(Instant::now());
        let (now, params) = (now_secs(), StressParams::default());
        let start = now.saturating_sub(params.window_secs);
        let old = self.samples.partition_point(|s| s.time_unix < start);
        self.samples.drain(..old);
        let taken = sample(&projection, &stats, &self.samples, now, &params);
        // A clock that was set back may meet a sample that stands; that one stays, and this one is not used either.
        let written = engine.put_sample(&taken)?;
        if written {
            self.samples.push(taken);
        }
        Ok(written)
    }
}
