//! The loop that drives the sources.

use prometheus::Registry;

use crate::{ActiveSource, FollowError, OpenIndex, Reached, Source, Until};

/// Outcome.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The end condition is met.
    Done,
    /// Cancelled before.
    Cancelled,
}

/// Brings an index to the tip of its sources.
pub struct Follower {
    index: OpenIndex,
    sources: Vec<Box<dyn Source>>,
}

impl Follower {
    /// Follows the last of `sources`, after the others are exhausted in this order.
    #[must_use]
    pub fn new(index: OpenIndex, sources: Vec<Box<dyn Source>>) -> Self {
        Follower { index, sources }
    }

    /// The same, with metrics in this registry.
    ///
    /// # Errors
    /// It already has metrics with these names.
    pub fn counted_in(self, registry: &Registry) -> Result<Self, FollowError> {
        Ok(Follower { index: self.index.counted_in(registry)?, ..self })
    }

    /// Indexes until the end condition is met, or until cancelled.
    ///
    /// # Errors
    /// A source, the index or the disk fails. What was committed stays.
    pub fn follow(mut self, until: Until) -> Result<Outcome, FollowError> {
        let Some(last) = self.sources.pop() else { return Err(FollowError::NoSource) };
        self.index.publish_kept_prices()?;
        for source in self.sources {
            // The next source may have the missing blocks.
            let outcome = bring(&mut self.index, source, Until::Tip { to: until.highest() }, false)?;
            if outcome == Outcome::Cancelled {
                return Ok(outcome);
            }
        }
        bring(&mut self.index, last, until, true)
    }
}

/// Follows one source. `last`: no other source follows.
fn bring(index: &mut OpenIndex, source: Box<dyn Source>, until: Until, last: bool) -> Result<Outcome, FollowError> {
    let outcome = source.begin(index, until).and_then(|mut source| {
        let outcome = drive(index, source.as_mut(), until);
        let complete = match (&outcome, until) {
            (Ok(Outcome::Done), Until::Tip { to }) if last => source.check_complete(index, to),
            _ => Ok(()),
        };
        let ended = source.end(index);
        // The first error is returned.
        let outcome = outcome?;
        complete.and(ended).map(|()| outcome)
    });
    index.progress.end();
    let outcome = match outcome {
        Err(error) if error.is_cancelled() => Outcome::Cancelled,
        other => other?,
    };
    if outcome == Outcome::Cancelled
        && let Ok(Some((height, hash))) = index.tip()
    {
        tracing::info!(height, %hash, "stopped; the next start resumes from here");
    }
    Ok(outcome)
}

fn drive(index: &mut OpenIndex, source: &mut dyn ActiveSource, until: Until) -> Result<Outcome, FollowError> {
    let to = until.highest();
    loop {
        let reached = source.advance(index, to)?;
        index.take_events()?;
        // At the tip what is new is announced; a source that makes each block durable at once has done so.
        if reached == Reached::Tip {
            if index.announce(matches!(until, Until::Tip { .. }))? {
                index.settle()?;
            }
            index.publish_feed()?;
        }
        let high_enough = to.map_or(Ok(false), |to| index.is_at(to))?;
        if high_enough || reached == Reached::Tip && matches!(until, Until::Tip { .. }) {
            return Ok(Outcome::Done);
        }
        if reached == Reached::Tip && !index.cancel_token().is_cancelled() {
            source.wait(index)?;
        }
        if index.cancel_token().is_cancelled() {
            return Ok(Outcome::Cancelled);
        }
    }
}
