//! Progress of long work: a bar on a terminal, log lines elsewhere.

use std::{
    collections::VecDeque,
    io::{self, IsTerminal, Write},
    time::{Duration, Instant},
};

use cairn_follow::round;
use cairn_model::CancelToken;
use cairn_pipeline::{Phase, Progress, ProgressStep};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use parking_lot::{Mutex, MutexGuard};
use tracing_subscriber::fmt::MakeWriter;

use crate::eta::Eta;

/// Time between two log lines of one phase.
const LINE_EVERY: Duration = Duration::from_secs(10);
/// Rates are averages over this time.
const WINDOW: Duration = Duration::from_secs(20);
/// No speed is shown before this much time has passed.
const SETTLED: Duration = Duration::from_millis(500);
/// Time between two samples of the window.
const SAMPLE_EVERY: Duration = Duration::from_millis(250);

/// Standard error for bars and log lines. They never overwrite each other.
#[derive(Clone)]
pub(crate) struct Screen {
    bars: MultiProgress,
    terminal: bool,
}

impl Screen {
    /// Standard error; bars only if it is a terminal.
    pub(crate) fn stderr() -> Self {
        let terminal = io::stderr().is_terminal();
        let target = if terminal { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        Screen { bars: MultiProgress::with_draw_target(target), terminal }
    }

    /// Runs `write` while no bar is on the screen.
    pub(crate) fn aside<T>(&self, write: impl FnOnce() -> T) -> T {
        self.bars.suspend(write)
    }
}

pub(crate) struct LogWriter(Screen);

impl Write for LogWriter {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.aside(|| io::stderr().write_all(line)).map(|()| line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

impl<'a> MakeWriter<'a> for Screen {
    type Writer = LogWriter;

    fn make_writer(&'a self) -> LogWriter {
        LogWriter(self.clone())
    }
}

/// Shows the steps of long work and holds the token that cancels it.
pub(crate) struct Reporter {
    screen: Screen,
    cancel: CancelToken,
    /// Height of the index when the work began; `None` if it was empty.
    height: Mutex<Option<u32>>,
    now: Mutex<Option<Current>>,
    eta: Mutex<Eta>,
}

struct Current {
    phase: Phase,
    done: u64,
    rate: Rate,
    last_line: Instant,
    bar: ProgressBar,
}

impl Reporter {
    /// Creates a reporter for work on an index at this height.
    pub(crate) fn new(screen: &Screen, cancel: &CancelToken, height: Option<u32>) -> Self {
        Reporter {
            screen: screen.clone(),
            cancel: cancel.clone(),
            height: Mutex::new(height),
            now: Mutex::new(None),
            eta: Mutex::default(),
        }
    }

    fn current(&self) -> MutexGuard<'_, Option<Current>> {
        self.now.lock()
    }

    fn start(&self, step: &ProgressStep) -> Current {
        let bar = self.screen.bars.add(ProgressBar::new(step.total));
        // The template is a constant. If it were invalid, indicatif's default style would be used.
        if let Ok(style) = ProgressStyle::with_template("{prefix:>8} [{bar:24}] {percent:>3}% {wide_msg}") {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_prefix(step.phase.name());
        let now = Instant::now();
        Current { phase: step.phase, done: step.done, rate: Rate::new(now, step), last_line: now, bar }
    }

    /// Returns the height of a step in phases that follow the chain.
    fn height_at(&self, step: &ProgressStep) -> Option<u64> {
        let height = *self.height.lock();
        match step.phase {
            Phase::Connect => Some(height.map_or(0, |h| u64::from(h) + 1) + step.done.saturating_sub(1)),
            Phase::Unwind => Some(u64::from(height?).saturating_sub(step.done)),
            Phase::Link | Phase::Fold => Some(step.done.saturating_sub(1)),
            _ => None,
        }
    }
}

impl Progress for Reporter {
    fn step(&self, step: ProgressStep) {
        let mut slot = self.current();
        // Work that starts again in the same phase (a survey each second, stage after stage) gets a new bar.
        if let Some(old) = slot.take_if(|c| c.phase != step.phase || c.done > step.done) {
            old.end(self.screen.terminal);
        }
        let current = slot.get_or_insert_with(|| self.start(&step));
        current.done = step.done;
        let now = Instant::now();
        let speed = current.rate.take(now, step.done, step.bytes);
        // Bulk work has an estimate over all phases; other work has only one phase.
        let in_all = self.eta.lock().left(now, &step);
        let left = if is_bulk(step.phase) { in_all } else { seconds_left(&step, speed) };
        if self.screen.terminal {
            current.bar.set_length(step.total);
            current.bar.set_position(step.done);
            current.bar.set_message(message(&step, self.height_at(&step), speed, left));
        } else if now.duration_since(current.last_line) >= LINE_EVERY {
            current.last_line = now;
            log(&step, self.height_at(&step), speed, left);
        }
    }

    fn begin(&self, height: Option<u32>) {
        self.end();
        *self.height.lock() = height;
        *self.eta.lock() = Eta::default();
    }

    /// Ends the running phase and removes its bar.
    fn end(&self) {
        if let Some(current) = self.current().take() {
            current.end(self.screen.terminal);
        }
    }

    fn cancel_token(&self) -> &CancelToken {
        &self.cancel
    }
}

impl Drop for Reporter {
    fn drop(&mut self) {
        self.end();
    }
}

impl Current {
    fn end(self, terminal: bool) {
        self.bar.finish_and_clear();
        let seconds = self.rate.start.elapsed().as_secs_f64();
        // Without a bar, log a line for each phase of at least a second.
        if !terminal && seconds >= 1.0 {
            tracing::info!(phase = self.phase.name(), done = self.done, seconds = round(seconds), "phase done");
        }
    }
}

/// Units and bytes per second.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Speed {
    units: f64,
    bytes: f64,
}

/// Measures speed over a moving window.
struct Rate {
    start: Instant,
    samples: VecDeque<(Instant, u64, u64)>,
}

impl Rate {
    /// Starts at a phase's first step, which is not 0 in resumed work.
    fn new(now: Instant, first: &ProgressStep) -> Self {
        Rate { start: now, samples: VecDeque::from([(now, first.done, first.bytes)]) }
    }

    /// Adds a count and returns the speed; `None` until there are enough samples.
    fn take(&mut self, now: Instant, done: u64, bytes: u64) -> Option<Speed> {
        let newest = self.samples.back().map(|s| s.0);
        if newest.is_none_or(|at| now.duration_since(at) >= SAMPLE_EVERY) {
            self.samples.push_back((now, done, bytes));
            while self.samples.len() > 2 && self.samples.get(1).is_some_and(|s| now.duration_since(s.0) > WINDOW) {
                self.samples.pop_front();
            }
        }
        let (at, done_then, bytes_then) = *self.samples.front()?;
        let time = now.duration_since(at);
        let per_second = |count: u64| count as f64 / time.as_secs_f64();
        (time >= SETTLED).then(|| Speed {
            units: per_second(done.saturating_sub(done_then)),
            bytes: per_second(bytes.saturating_sub(bytes_then)),
        })
    }
}

fn unit(phase: Phase) -> &'static str {
    match phase {
        Phase::Survey | Phase::Export => "files",
        Phase::Link | Phase::Coins | Phase::Fold | Phase::Connect | Phase::Unwind | Phase::Late => "blocks",
        Phase::Join | Phase::Tables | Phase::Ingest | Phase::Labels => "parts",
        Phase::Verify => "KiB",
    }
}

fn is_bulk(phase: Phase) -> bool {
    matches!(phase, Phase::Link | Phase::Join | Phase::Coins | Phase::Fold | Phase::Tables | Phase::Ingest)
}

fn seconds_left(step: &ProgressStep, speed: Option<Speed>) -> Option<u64> {
    let speed = speed?;
    // Bytes predict the remaining time better, if they are known.
    let (left, rate) = match step.of_bytes {
        0 => (step.total.saturating_sub(step.done), speed.units),
        of_bytes => (of_bytes.saturating_sub(step.bytes), speed.bytes),
    };
    (rate > 0.0).then(|| (left as f64 / rate).round() as u64)
}

/// Returns the text after a bar.
fn message(step: &ProgressStep, height: Option<u64>, speed: Option<Speed>, left: Option<u64>) -> String {
    let unit = unit(step.phase);
    let mut parts = vec![format!("{}/{} {unit}", step.done, step.total)];
    parts.extend(height.map(|height| format!("height {height}")));
    if let Some(speed) = speed {
        parts.push(format!("{:.0} {unit}/s", speed.units));
        if step.bytes > 0 {
            parts.push(format!("{:.1} MB/s", speed.bytes / 1e6));
        }
    }
    parts.extend(left.map(|seconds| format!("{} left", clock(seconds))));
    parts.join(", ")
}

/// Logs the same facts as `message`.
fn log(step: &ProgressStep, height: Option<u64>, speed: Option<Speed>, left: Option<u64>) {
    let rate = speed.map(|s| round(s.units));
    let megabytes = speed.filter(|_| step.bytes > 0).map(|s| round(s.bytes / 1e6));
    tracing::info!(
        phase = step.phase.name(),
        height,
        done = step.done,
        total = step.total,
        unit = unit(step.phase),
        per_second = rate,
        mb_per_second = megabytes,
        eta_seconds = left,
        "progress"
    );
}

/// Formats seconds as 45s, 3m10s or 2h05m.
pub(crate) fn clock(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h{:02}m", seconds / 3_600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speed_follows_the_window() {
        let start = Instant::now();
        let first = ProgressStep { phase: Phase::Fold, done: 40, total: 10_000, bytes: 500, of_bytes: 0 };
        let mut rate = Rate::new(start, &first);
        assert_eq!(rate.take(start + Duration::from_millis(1), 45, 600), None);
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        assert_eq!(rate.take(at(10), 140, 1_500), Some(Speed { units: 10.0, bytes: 100.0 }));
        // A minute of ten times that speed: the slow start is forgotten.
        let mut last = None;
        for second in 11..=70 {
            last = rate.take(at(second), 140 + (second - 10) * 100, 1_500);
        }
        let units = last.map_or(0.0, |s| s.units);
        assert!((units - 100.0).abs() < 1.0, "{units}");
    }

    #[test]
    fn the_bar_says_where_and_how_long() {
        let step = ProgressStep { phase: Phase::Connect, done: 50, total: 150, bytes: 1, of_bytes: 0 };
        let speed = Some(Speed { units: 2.0, bytes: 3_400_000.0 });
        let left = seconds_left(&step, speed);
        assert_eq!(
            message(&step, Some(1_049), speed, left),
            "50/150 blocks, height 1049, 2 blocks/s, 3.4 MB/s, 50s left"
        );
        assert_eq!(
            message(&ProgressStep { phase: Phase::Join, done: 1, total: 2, bytes: 0, of_bytes: 0 }, None, None, None),
            "1/2 parts"
        );
    }

    #[test]
    fn clocks() {
        assert_eq!([clock(59), clock(60), clock(3_661)], ["59s", "1m00s", "1h01m"]);
    }
}
