//! Decides when a gap in the block files is reported.

use std::time::{Duration, Instant};

use cairn_model::{BlockHash, Height};
use cairn_sources::{Gap, GapCause, Survey};

/// A gap that a syncing node may cause is reported once the chain has not grown for this long.
const STALLED: Duration = Duration::from_secs(600);
/// A few blocks may always arrive before their parents; at the end of a run, more than these are reported.
const FEW: u64 = 6;

pub(super) struct GapWatch {
    /// The tip, and since when it is the same.
    tip: Option<(BlockHash, Instant)>,
    /// The gap that was reported last.
    told: Option<Option<GapCause>>,
}

impl GapWatch {
    pub(super) fn new() -> Self {
        GapWatch { tip: None, told: None }
    }

    /// Returns the gap if it must be reported. Logs it when it appears, changes or ends.
    pub(super) fn look<'s>(&mut self, survey: &'s Survey, now: Instant) -> Option<&'s Gap> {
        let tip = survey.tip().map(|tip| tip.hash);
        if self.tip.map(|(hash, _)| hash) != tip {
            self.tip = tip.map(|hash| (hash, now));
        }
        let stalled = self.tip.is_some_and(|(_, since)| now.saturating_duration_since(since) >= STALLED);
        let gap = survey.gap().filter(|gap| gap.certain || stalled);
        let found = gap.map(|gap| gap.cause);
        if self.told != found {
            match gap {
                Some(gap) => tracing::warn!(after = gap.after, blocks = gap.orphan_blocks, "{gap}"),
                None => tracing::info!("the block files are complete again"),
            }
            self.told = found;
        }
        gap
    }
}

/// The gap that makes a finished run incomplete.
pub(super) fn at_the_end(survey: &Survey) -> Option<&Gap> {
    survey.gap().filter(|gap| gap.certain || gap.orphan_blocks > FEW)
}

/// Height of the best chain: of the chain in the files, or of the blocks beyond a gap; `None` if that is unknown.
pub(super) fn best_height(survey: &Survey, told: Option<&Gap>) -> Option<Height> {
    let tip = survey.tip().map(|tip| tip.height);
    match (survey.gap().and_then(|gap| gap.beyond), told) {
        (Some(beyond), _) => tip.max(Some(beyond)),
        (None, Some(gap)) if gap.orphan_blocks > 0 => None,
        (None, _) => tip,
    }
}
