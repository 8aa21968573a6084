//! The labelled share of what the inputs of a week spent. It takes reading 1,008 blocks, so that a thread of its own
//! computes it, once somebody asks; then each block is added to it, and the oldest one taken away. A new document may
//! change labels, and with them every block, unless it has prices.

use std::{
    collections::BTreeMap,
    sync::{Arc, Weak},
    thread,
    time::Duration,
};

use cairn_model::Height;
use cairn_reader::{BlockVolume, ReadError, Reader, View, Volume};
use cairn_tables::events::{EventRow, Events};
use parking_lot::{Condvar, Mutex};

/// How long a request waits for it: chains with few transactions take less.
const PATIENCE: Duration = Duration::from_millis(300);
/// Rows of the ledger that are looked at for whether labels may have changed.
const MAX_EVENTS: usize = 256;
/// Blocks that are read with one view: what a reader holds keeps old files on the disk.
const BLOCKS_A_VIEW: usize = 16;

pub(super) const COMPUTING: &str = "being computed from the inputs of 1,008 blocks; try again in a moment";
/// The same after a failure.
const FAILED: &str = "it could not be computed: the reason is in the log; the next request tries again";

/// Keeps it for the index that was last asked about.
#[derive(Debug, Default)]
pub(crate) struct VolumeSlot(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    done: Condvar,
}

#[derive(Debug, Default)]
struct State {
    of: Weak<Reader>,
    /// The newest input event that the labels follow from.
    seq: u64,
    blocks: BTreeMap<Height, BlockVolume>,
    /// The newest block of the last complete week.
    complete: Option<(Height, Arc<Volume>)>,
    is_running: bool,
    has_failed: bool,
}

#[derive(Debug)]
pub(super) struct Week {
    pub(super) height: Height,
    pub(super) volume: Arc<Volume>,
}

impl VolumeSlot {
    /// The week before the tip of a view, which is one of this reader, or the last one that is known; else why there is
    /// none.
    pub(super) fn get(&self, reader: &Arc<Reader>, view: &View<'_>) -> Result<Week, &'static str> {
        let (tip, mut state) = (view.tip(), self.0.state.lock());
        let is_same = std::ptr::eq(state.of.as_ptr(), Arc::as_ptr(reader));
        if is_same && state.seq < tip.seq && !may_change_labels(view, state.seq).unwrap_or(true) {
            state.seq = tip.seq;
        }
        if !is_same || state.seq != tip.seq {
            let is_running = state.is_running;
            *state = State { of: Arc::downgrade(reader), seq: tip.seq, is_running, ..State::default() };
        }
        let is_known = |state: &State| {
            let newest = state.blocks.last_key_value();
            state.complete.is_some() && newest.is_some_and(|(at, of)| (*at, of.hash) == (tip.height, tip.hash))
        };
        if !is_known(&state) {
            if !state.is_running {
                (state.is_running, state.has_failed) = (true, false);
                let shared = Arc::clone(&self.0);
                let started = thread::Builder::new().name("week volume".to_owned()).spawn(move || compute(&shared));
                if let Err(error) = started {
                    tracing::error!(%error, "the thread that computes the volume of a week cannot be started");
                    (state.is_running, state.has_failed) = (false, true);
                }
            }
            let wait = |state: &mut State| state.is_running && !is_known(state);
            self.0.done.wait_while_for(&mut state, wait, PATIENCE);
        }
        match &state.complete {
            Some((height, volume)) => Ok(Week { height: *height, volume: Arc::clone(volume) }),
            None if state.has_failed => Err(FAILED),
            None => Err(COMPUTING),
        }
    }
}

/// True if an event after this one may have changed a label: if it is not a price.
fn may_change_labels(view: &View<'_>, after: u64) -> Result<bool, ReadError> {
    for (row, looked_at) in view.scan::<Events>(Some(&(after + 1)))?.zip(0..) {
        let (_, row) = row?;
        // A document counts by its rows.
        let is_price = matches!(row, EventRow::Document { .. } | EventRow::Quotes { .. });
        if !is_price || looked_at == MAX_EVENTS {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Brings the week to the tip, until it is there.
fn compute(shared: &Shared) {
    let outcome = loop {
        match step(shared) {
            Ok(true) => {}
            Ok(false) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    let mut state = shared.state.lock();
    if let Err(error) = outcome {
        tracing::warn!(%error, "the labelled share of a week's volume cannot be computed");
        state.has_failed = true;
    }
    state.is_running = false;
    drop(state);
    shared.done.notify_all();
}

/// Reads some blocks that are missing; false if none is, or if nobody has the index any more.
fn step(shared: &Shared) -> Result<bool, ReadError> {
    let (of, seq) = {
        let state = shared.state.lock();
        (state.of.clone(), state.seq)
    };
    let Some(reader) = of.upgrade() else { return Ok(false) };
    let view = reader.view()?;
    // Another document was imported: the next request starts again.
    if view.tip().seq != seq || !view.labels().are_settled()? {
        return Ok(false);
    }
    let (first, last) = view.week();
    let missing: Vec<Height> = {
        let mut state = shared.state.lock();
        state.blocks.retain(|at, of| (first..=last).contains(at) && view.chain().is(*at, &of.hash));
        (first..=last).filter(|at| !state.blocks.contains_key(at)).take(BLOCKS_A_VIEW).collect()
    };
    let mut read = Vec::with_capacity(missing.len());
    for height in missing {
        read.push((height, view.labels().volume(height)?));
    }
    let mut state = shared.state.lock();
    if !Weak::ptr_eq(&state.of, &of) || state.seq != seq {
        // Somebody asked about another state meanwhile.
        return Ok(true);
    }
    let is_complete = read.is_empty();
    state.blocks.extend(read);
    if is_complete {
        let mut volume = Volume::default();
        state.blocks.values().for_each(|of| volume.add(of));
        state.complete = Some((last, Arc::new(volume)));
    }
    Ok(!is_complete)
}
