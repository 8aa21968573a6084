//! The loop that drives the sources.

use cairn_model::Part;
use prometheus::Registry;

use crate::{ActiveSource, FollowError, OpenIndex, Reached, Source, Until, pause::Pauses};

/// The follower's next step while the index cannot be written or read.
const TRIES_INDEX: &str = "tries again every few seconds; no block is connected until then";
/// The same for the disk.
const WAITS_FOR_ROOM: &str = "goes on as soon as it can be written; no block is connected until then";
/// The same for block files.
const TRIES_SOURCE: &str = "reads again every few seconds";

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
    pub fn counted_in(self, registry: &Registry) -> Result<Self, FollowError> {
        Ok(Follower { index: self.index.counted_in(registry)?, ..self })
    }

    /// Indexes until the end condition is met, or until cancelled.
    ///
    /// # Errors
    /// Fails if a source, the index or the disk fails; committed blocks stay. With [`Until::Cancelled`], a failure is
    /// an error only while a source begins; later it is published, and tried again.
    pub fn follow(mut self, until: Until) -> Result<Outcome, FollowError> {
        let Some(last) = self.sources.pop() else { return Err(FollowError::NoSource) };
        self.index.publish_kept_prices()?;
        if until == Until::Cancelled {
            self.index.troubles.begin();
        }
        for source in self.sources {
            // The next source may have the missing blocks.
            let outcome = bring(&mut self.index, source, Until::Tip { to: until.highest() }, false);
            match outcome {
                Ok(Outcome::Done) => {}
                Ok(Outcome::Cancelled) => return Ok(Outcome::Cancelled),
                // Blocks are served already, and a node has them all.
                Err(error)
                    if until == Until::Cancelled
                        && error.part(Part::BlockFiles) == Part::BlockFiles
                        && self.index.height()?.is_some() =>
                {
                    self.index.troubles.set(Part::BlockFiles, &error, "goes on with the node");
                }
                Err(error) => return Err(error),
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

/// Drives a source to the end condition. Without one, an error is published and tried again.
fn drive(index: &mut OpenIndex, source: &mut dyn ActiveSource, until: Until) -> Result<Outcome, FollowError> {
    let goes_on = until == Until::Cancelled;
    let mut pauses = Pauses::default();
    loop {
        let stepped = if goes_on { step_if_room(index, source, until) } else { step(index, source, until) };
        let error = match stepped {
            Ok(Some(outcome)) => return Ok(outcome),
            Ok(None) => {
                pauses = Pauses::default();
                continue;
            }
            Err(error) if goes_on && error.may_pass() => error,
            Err(error) => return Err(error),
        };
        note(index, source, &error);
        // A second error is the same trouble, or shows in the next step.
        if let Err(error) = source.recover(index, &error) {
            tracing::debug!(%error, "cannot recover yet");
        }
        if index.cancel_token().wait(pauses.next()) {
            return Ok(Outcome::Cancelled);
        }
    }
}

fn note(index: &OpenIndex, source: &dyn ActiveSource, error: &FollowError) {
    let part = error.part(source.part());
    let next = match part {
        Part::Disk => WAITS_FOR_ROOM,
        Part::Index => TRIES_INDEX,
        _ => TRIES_SOURCE,
    };
    index.troubles.set(part, error, next);
}

/// One step, unless the disk lacks room: then the source is only watched.
fn step_if_room(
    index: &mut OpenIndex,
    source: &mut dyn ActiveSource,
    until: Until,
) -> Result<Option<Outcome>, FollowError> {
    if let Some(lacks) = index.lacks_room() {
        index.troubles.set(Part::Disk, &lacks, WAITS_FOR_ROOM);
        source.wait(index)?;
        return Ok(index.cancel_token().is_cancelled().then_some(Outcome::Cancelled));
    }
    let done = step(index, source, until)?;
    index.troubles.clear(Part::Disk);
    index.troubles.clear(Part::Index);
    Ok(done)
}

/// One step of a source. `None` if there is more to do.
fn step(index: &mut OpenIndex, source: &mut dyn ActiveSource, until: Until) -> Result<Option<Outcome>, FollowError> {
    let to = until.highest();
    let reached = source.advance(index, to)?;
    index.take_events()?;
    index.take_tweaks()?;
    // At the tip what is new is announced; a source that makes each block durable at once has done so.
    if reached == Reached::Tip {
        if index.announce(matches!(until, Until::Tip { .. }))? {
            index.settle()?;
        }
        index.publish_feed()?;
    }
    let high_enough = to.map_or(Ok(false), |to| index.is_at(to))?;
    if high_enough || reached == Reached::Tip && matches!(until, Until::Tip { .. }) {
        return Ok(Some(Outcome::Done));
    }
    if reached == Reached::Tip && !index.cancel_token().is_cancelled() {
        source.wait(index)?;
    }
    Ok(index.cancel_token().is_cancelled().then_some(Outcome::Cancelled))
}
