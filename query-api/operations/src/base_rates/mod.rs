//! Base rates of the detectors of risk signals: how often each fires for scripts of 4 032 blocks. Once a client asks
//! for them, they are computed beside requests, once a day: scripts are drawn by the hash of the day's last block, so
//! that every server draws the same, and each is examined by the operation itself. Each step has a view of its own.
//! `schema/domain/src/base_rate.rs` explains the weights.

mod drawing;

use std::collections::{BTreeMap, VecDeque};

use cairn_domain::base_rate::{RATE_DRAWS, Tally};
use cairn_http::{ApiError, Aside, Versions};
use cairn_link::IndexSource;
use cairn_model::{Height, MonoTime};
use cairn_reader::{ReadError, Reader, View};
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::Map;

use drawing::{Drawing, ScriptHash, Window};

/// The operation that examines a script.
const EXAMINES: &str = "address_risk";
/// How often the examination of a script is tried.
const TRIES: u8 = 3;

const COMPUTING: &str = "being computed from scripts of the last 4 032 blocks; try again in some minutes";
const NO_DAY: &str = "no day of the chain is over yet";
const NOBODY: &str = "the detector could not examine any of the scripts that were drawn";

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct KnownRate {
    /// Share of the scripts for which it fires, in millionths.
    pub(crate) share_ppm: u32,
    pub(crate) blocks: u32,
    /// Height of the newest of these blocks: the last of a day.
    pub(crate) to_height: Height,
    /// Monotone time of that block.
    pub(crate) at: MonoTime,
}

#[derive(Default)]
pub(crate) struct RateSlot(Mutex<State>);

#[derive(Default)]
struct State {
    is_wanted: bool,
    /// All blocks are of one day.
    lacks_day: bool,
    known: Option<Known>,
    work: Option<Work>,
}

struct Known {
    window: Window,
    shares: BTreeMap<String, u32>,
}

struct Work {
    window: Window,
    /// `None` once all draws are made.
    drawing: Option<Drawing>,
    /// Scripts that are left, with their weights and the number of tries.
    left: VecDeque<(ScriptHash, u128, u8)>,
    tallies: BTreeMap<String, Tally>,
}

/// The part of an answer that counts.
#[derive(Deserialize)]
struct Examined {
    signals: Vec<ExaminedSignal>,
}

#[derive(Deserialize)]
struct ExaminedSignal {
    id: String,
    state: String,
}

impl RateSlot {
    /// The base rate of a detector, or why it is not known. From then on, they are computed.
    pub(crate) fn get(&self, detector: &str) -> Result<KnownRate, &'static str> {
        let mut state = self.0.lock();
        state.is_wanted = true;
        let missing = if state.lacks_day { NO_DAY } else { COMPUTING };
        let known = state.known.as_ref().ok_or(missing)?;
        let share_ppm = *known.shares.get(detector).ok_or(NOBODY)?;
        let Window { first, last, time, .. } = known.window;
        Ok(KnownRate { share_ppm, blocks: last + 1 - first, to_height: last, at: time })
    }

    pub(crate) fn add_version(&self, versions: &mut Versions) {
        let state = self.0.lock();
        versions.add(&[state.lacks_day.into()]);
        versions.add(&state.known.as_ref().map_or([0; 32], |known| known.window.hash.0));
    }

    /// The next step towards the base rates of the newest day.
    pub(crate) fn step(&self, index: &dyn IndexSource, max_lag: u32) -> Result<Aside, ReadError> {
        if !self.0.lock().is_wanted {
            return Ok(Aside::Nothing);
        }
        let Some(reader) = index.reader() else { return Ok(Aside::Nothing) };
        // After a failure the next request tries again.
        self.advance(&reader, index.best_height(), max_lag).inspect_err(|_| self.0.lock().is_wanted = false)
    }

    fn advance(&self, reader: &Reader, best: Option<Height>, max_lag: u32) -> Result<Aside, ReadError> {
        let view = match reader.view() {
            Err(ReadError::Empty) => return Ok(Aside::Nothing),
            view => view?,
        };
        // While the index catches up, days pass in minutes.
        if best.is_some_and(|best| best.saturating_sub(view.tip().height) > max_lag) {
            return Ok(Aside::Nothing);
        }
        let window = Window::of(&view)?;
        self.0.lock().lacks_day = window.is_none();
        let Some(window) = window else { return Ok(Aside::Nothing) };
        let Some(mut work) = self.work(&view, window)? else { return Ok(Aside::Nothing) };
        let next = work.step(&view);
        let mut state = self.0.lock();
        match next {
            Ok(Aside::Nothing) => {
                tracing::debug!(to_height = window.last, draws = RATE_DRAWS, "base rates of risk signals computed");
                state.known = Some(work.into_known());
            }
            _ => state.work = Some(work),
        }
        next
    }

    /// The work for these blocks: the current one, or a new one; `None` if their base rates are known. It is taken out:
    /// a request for what is known does not wait for it.
    fn work(&self, view: &View<'_>, window: Window) -> Result<Option<Work>, ReadError> {
        let current = {
            let mut state = self.0.lock();
            if state.known.as_ref().is_some_and(|known| known.window == window) {
                state.work = None;
                return Ok(None);
            }
            state.work.take().filter(|work| work.window == window)
        };
        current.map_or_else(|| Work::begin(view, window), Ok).map(Some)
    }

    /// Takes the answer about the script that was asked for last.
    pub(crate) fn hear(&self, answer: Result<Vec<u8>, ApiError>) {
        let mut state = self.0.lock();
        let Some(work) = &mut state.work else { return };
        let Some((script, weight, tries)) = work.left.pop_front() else { return };
        let examined = answer.map(|body| serde_json::from_slice::<Examined>(&body));
        let signals = match examined {
            Ok(Ok(examined)) => examined.signals,
            Ok(Err(error)) => {
                tracing::error!(%error, "an answer with risk signals cannot be read");
                Vec::new()
            }
            // The server is busy, or the index changes.
            Err(_) if tries + 1 < TRIES => {
                work.left.push_back((script, weight, tries + 1));
                return;
            }
            Err(error) => {
                tracing::debug!(?error, "a script that was drawn for base rates could not be examined");
                Vec::new()
            }
        };
        for ExaminedSignal { id, state } in signals {
            // Nothing is known of what was not examined.
            if state != "not_examined" {
                work.tallies.entry(id).or_default().add(weight, state == "fired");
            }
        }
    }
}

impl Work {
    fn begin(view: &View<'_>, window: Window) -> Result<Self, ReadError> {
        let drawing = Some(Drawing::begin(view, &window)?);
        Ok(Work { window, drawing, left: VecDeque::new(), tallies: BTreeMap::new() })
    }

    /// The next step; `Nothing` if it is done.
    fn step(&mut self, view: &View<'_>) -> Result<Aside, ReadError> {
        if let Some(drawing) = &mut self.drawing {
            if drawing.goes_on(view, &self.window)? {
                return Ok(Aside::More);
            }
            let drawn = self.drawing.take().map(Drawing::into_scripts).unwrap_or_default();
            self.left = drawn.into_iter().map(|(script, weight)| (script, weight, 0)).collect();
        }
        let Some((script, ..)) = self.left.front() else { return Ok(Aside::Nothing) };
        let address = format!("scripthash:{}", hex::encode(script));
        Ok(Aside::Ask(EXAMINES, Map::from_iter([("address".to_owned(), address.into())])))
    }

    fn into_known(self) -> Known {
        let share = |(id, tally): (String, Tally)| Some((id, tally.share_ppm()?));
        Known { window: self.window, shares: self.tallies.into_iter().filter_map(share).collect() }
    }
}
