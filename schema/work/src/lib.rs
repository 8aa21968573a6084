//! The budget of one request: rows, bytes read, bytes answered, processor time, and time. Whatever reads rows, walks or
//! writes an answer counts it here as it goes, and stops with the error when a limit is passed, when the time is over,
//! or when nobody waits any more.

mod reads;
mod turns;

use std::{
    cell::Cell,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

pub use crate::{
    reads::{MAX_TABLES, OTHER, TableReads},
    turns::{SHORT, Turns},
};

use crate::reads::Reads;
use rustix::time::{ClockId, clock_gettime};

/// Polls between two readings of the clocks.
const STRIDE: u32 = 16;
/// Bytes that count as one more poll: reading and decoding them takes some ten microseconds.
const BYTES_PER_POLL: u64 = 16 << 10;

/// Decoding this many bytes at once takes long.
const LONG: usize = 256 << 10;

/// Interval of looks, while waiting for a turn, at whether the client still waits.
const WAIT: Duration = Duration::from_millis(10);

/// Limits of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Time from now on.
    pub time: Duration,
    /// Processor time.
    pub processor: Duration,
    /// Rows of the index.
    pub rows: u64,
    /// Bytes of these rows.
    pub bytes: u64,
    /// Bytes of the answer.
    pub answer: u64,
}

impl Limits {
    /// No limits.
    pub const NONE: Limits =
        Limits { time: Duration::MAX, processor: Duration::MAX, rows: u64::MAX, bytes: u64::MAX, answer: u64::MAX };
}

/// Why work has stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Stopped {
    /// Nobody waits for the answer.
    #[error("nobody waits for the answer any more")]
    Abandoned,
    /// The answer takes longer than the request may.
    #[error("the answer took longer than the request timeout")]
    Late,
    /// It used all of its processor time.
    #[error("the answer needs more than {} ms of processor time", .0.as_millis())]
    Processor(Duration),
    /// It read as many rows of the index as it may.
    #[error("the answer needs more than {0} rows of the index")]
    Rows(u64),
    /// It read as many bytes of rows as it may.
    #[error("the answer needs more than {} MiB of rows of the index", .0 >> 20)]
    Bytes(u64),
    /// The answer has more bytes than it may have.
    #[error("the answer is larger than {} MiB", .0 >> 20)]
    Answer(u64),
    /// Other requests have the memory that it needs.
    #[error("too many large requests and answers are on their way")]
    Memory,
}

/// Counts the memory of requests.
pub trait Memory: Send {
    /// Reserves at least this many bytes for the request; true if they are available.
    fn hold(&self, bytes: u64) -> bool;
}

/// Use of a request.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Used {
    /// Processor time.
    pub processor: Duration,
    /// Rows of the index.
    pub rows: u64,
    /// Bytes of these rows.
    pub bytes: u64,
    /// Bytes of the answer.
    pub answer: u64,
}

/// Requests that need less memory are not counted.
const SMALL: u64 = 64 << 10;
/// Memory is held in steps.
const STEP: u64 = 256 << 10;

/// A part of the work, which may stop without the rest.
#[derive(Clone, Copy, Default)]
struct RunningPart {
    stopped: Option<Stopped>,
}

/// The work of one request, on one thread.
pub struct Work {
    /// Those in force: of the request, or of the part of it that is running.
    limits: Cell<Limits>,
    memory: Option<Box<dyn Memory>>,
    held: Cell<u64>,
    /// The largest row so far.
    largest: Cell<u64>,
    /// Memory kept until the answer is written.
    kept: Cell<u64>,
    started: Instant,
    ends_at: Cell<Option<Instant>>,
    gone: Arc<AtomicBool>,
    asked: Cell<u32>,
    rows: Cell<u64>,
    bytes: Cell<u64>,
    answer: Cell<u64>,
    /// Processor time of the thread when the work began on it.
    began: Cell<Option<Duration>>,
    stopped: Cell<Option<Stopped>>,
    part: Cell<Option<RunningPart>>,
    turns: Option<Arc<Turns>>,
    /// Processor time without a turn.
    short: Duration,
    has_turn: Cell<bool>,
    /// Reads by table, if the request is traced.
    reads: Option<Reads>,
}

impl Work {
    /// Starts a budget: wall time runs from now, CPU time from [`Work::begin`].
    #[must_use]
    pub fn within(limits: Limits) -> Self {
        Work {
            limits: Cell::new(limits),
            memory: None,
            held: Cell::new(0),
            largest: Cell::new(0),
            kept: Cell::new(0),
            started: Instant::now(),
            ends_at: Cell::new(Instant::now().checked_add(limits.time)),
            gone: Arc::default(),
            asked: Cell::new(0),
            rows: Cell::new(0),
            bytes: Cell::new(0),
            answer: Cell::new(0),
            began: Cell::new(None),
            stopped: Cell::new(None),
            part: Cell::new(None),
            turns: None,
            short: SHORT,
            has_turn: Cell::new(false),
            reads: None,
        }
    }

    /// Beyond [`SHORT`] of processor time, it waits for a turn. The `requests` that its client has at the same time
    /// share this time: many that are begun at once are long work, too.
    #[must_use]
    pub fn in_turns(mut self, turns: Arc<Turns>, requests: usize) -> Self {
        self.turns = Some(turns);
        self.short = SHORT / u32::try_from(requests.max(1)).unwrap_or(u32::MAX);
        self
    }

    /// The same, with its reads counted by table if the request is traced.
    #[must_use]
    pub fn traced(mut self, is_traced: bool) -> Self {
        self.reads = is_traced.then(Reads::default);
        self
    }

    /// Its reads by table so far; empty if the request is not traced.
    #[must_use]
    pub fn reads(&self) -> Vec<TableReads> {
        self.reads.as_ref().map(Reads::list).unwrap_or_default()
    }

    /// The same, with its memory counted there.
    #[must_use]
    pub fn held_by(mut self, memory: Box<dyn Memory>) -> Self {
        self.memory = Some(memory);
        self
    }

    /// Holds memory for the answer, whose buffer moves as it grows, for the largest row and its decoded form, and for
    /// data that is kept.
    fn hold(&self) -> Result<(), Stopped> {
        let Some(memory) = &self.memory else { return Ok(()) };
        let moving = self.answer.get().saturating_add(self.largest.get()).saturating_mul(2);
        let needed = moving.saturating_add(self.kept.get());
        if needed <= self.held.get().max(SMALL) {
            return Ok(());
        }
        let needed = needed.next_multiple_of(STEP);
        if !memory.hold(needed) {
            return self.stop(Stopped::Memory);
        }
        self.held.set(needed);
        Ok(())
    }

    /// Time since it was made: for work that can end early with a part of its answer.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Processor time counts from now on, on this thread. The work must stay on it.
    pub fn begin(&self) {
        self.began.set(Some(processor_time()));
    }

    /// A guard that ends the work when it is dropped.
    #[must_use]
    pub fn guard(&self) -> Abandon {
        Abandon(Arc::clone(&self.gone))
    }

    /// Checks if the work may continue. Cheap enough for every row.
    ///
    /// # Errors
    /// Fails if nobody waits any more, or if the time or the processor time is over. Every later poll fails as well.
    pub fn poll(&self) -> Result<(), Stopped> {
        self.poll_times(1)
    }

    fn poll_times(&self, times: u32) -> Result<(), Stopped> {
        if let Some(stopped) = self.stopped.get().or(self.part.get().and_then(|part| part.stopped)) {
            return Err(stopped);
        }
        if self.gone.load(Ordering::Relaxed) {
            return self.stop(Stopped::Abandoned);
        }
        let asked = self.asked.get().saturating_add(times);
        self.asked.set(asked);
        if asked < STRIDE {
            return Ok(());
        }
        self.asked.set(0);
        if self.ends_at.get().is_some_and(|at| Instant::now() >= at) {
            return self.stop(Stopped::Late);
        }
        let used = self.processor_time();
        let limit = self.limits.get().processor;
        if used > limit {
            return self.stop(Stopped::Processor(limit));
        }
        if used > self.short { self.wait_for_turn() } else { Ok(()) }
    }

    fn wait_for_turn(&self) -> Result<(), Stopped> {
        let Some(turns) = self.turns.as_ref().filter(|_| !self.has_turn.get()) else { return Ok(()) };
        while !turns.take(WAIT) {
            if self.gone.load(Ordering::Relaxed) {
                return self.stop(Stopped::Abandoned);
            }
            if self.ends_at.get().is_some_and(|at| Instant::now() >= at) {
                return self.stop(Stopped::Late);
            }
        }
        self.has_turn.set(true);
        Ok(())
    }

    /// Gives the turn back before a wait for another machine. Long work after it waits for a turn again.
    pub fn give_turn_back(&self) {
        if let Some(turns) = self.turns.as_ref().filter(|_| self.has_turn.replace(false)) {
            turns.give();
        }
    }

    /// Adds to a count, and stops the work above a limit.
    fn count(&self, of: &Cell<u64>, more: u64, limit: u64, why: fn(u64) -> Stopped) -> Result<(), Stopped> {
        of.set(of.get().saturating_add(more));
        if of.get() > limit { self.stop(why(limit)) } else { Ok(()) }
    }

    /// Counts a row that is about to be read.
    pub fn row(&self) -> Result<(), Stopped> {
        self.count(&self.rows, 1, self.limits.get().rows, Stopped::Rows)?;
        self.poll()
    }

    /// Counts a row of this table that is about to be read.
    ///
    /// # Errors
    /// As [`Work::row`].
    pub fn row_of(&self, table: &'static str) -> Result<(), Stopped> {
        if let Some(reads) = &self.reads {
            reads.row(table);
        }
        self.row()
    }

    /// Counts bytes of rows that are about to be decoded or walked. Those that are decoded twice count twice. Many at
    /// once wait for a turn, since nothing polls while they are decoded.
    pub fn read(&self, bytes: usize) -> Result<(), Stopped> {
        if let Some(reads) = &self.reads {
            reads.bytes(bytes);
        }
        self.count(&self.bytes, bytes as u64, self.limits.get().bytes, Stopped::Bytes)?;
        if bytes as u64 > self.largest.get() {
            self.largest.set(bytes as u64);
            self.hold()?;
        }
        if bytes >= LONG {
            self.wait_for_turn()?;
        }
        match u32::try_from(bytes as u64 / BYTES_PER_POLL).unwrap_or(u32::MAX) {
            0 => Ok(()),
            times => self.poll_times(times),
        }
    }

    /// Counts bytes that are kept in memory until the answer is written: rows of the answer, and decoded transactions.
    ///
    /// # Errors
    /// Fails if the work has stopped, or if other requests have the memory.
    pub fn keep(&self, bytes: usize) -> Result<(), Stopped> {
        self.kept.set(self.kept.get().saturating_add(bytes as u64));
        self.hold()
    }

    /// Counts bytes of the answer that were written.
    pub fn answered(&self, bytes: usize) -> Result<(), Stopped> {
        self.count(&self.answer, bytes as u64, self.limits.get().answer, Stopped::Answer)?;
        self.hold()?;
        self.poll()
    }

    /// Runs a part of the work with at most `1 / share` of the time, the processor time, the rows and their bytes that
    /// are left. If it needs more, only the part stops: what follows has the rest. Returns why the part stopped. Parts
    /// may have parts.
    pub fn part<T>(&self, share: u32, run: impl FnOnce() -> T) -> (T, Option<Stopped>) {
        let (limits, ends_at, outer, used) = (self.limits.get(), self.ends_at.get(), self.part.get(), self.used());
        let share = share.max(1);
        let part = |limit: u64, used: u64| used.saturating_add(limit.saturating_sub(used) / u64::from(share));
        self.limits.set(Limits {
            processor: used.processor.saturating_add(limits.processor.saturating_sub(used.processor) / share),
            rows: part(limits.rows, used.rows),
            bytes: part(limits.bytes, used.bytes),
            ..limits
        });
        self.ends_at.set(ends_at.map(|_| Instant::now() + self.left() / share));
        self.part.set(Some(RunningPart::default()));
        let result = run();
        let stopped = self.part.replace(outer).and_then(|part| part.stopped);
        self.limits.set(limits);
        self.ends_at.set(ends_at);
        (result, stopped)
    }

    /// Stops the work, or only the part that is running if it is the part's limit that is passed.
    fn stop(&self, why: Stopped) -> Result<(), Stopped> {
        let of_part = matches!(why, Stopped::Late | Stopped::Processor(_) | Stopped::Rows(_) | Stopped::Bytes(_));
        match self.part.get() {
            Some(_) if of_part => self.part.set(Some(RunningPart { stopped: Some(why) })),
            _ => self.stopped.set(Some(why)),
        }
        Err(why)
    }

    /// Why it has stopped.
    #[must_use]
    pub fn stopped(&self) -> Option<Stopped> {
        self.stopped.get()
    }

    /// Remaining time.
    #[must_use]
    pub fn left(&self) -> Duration {
        self.ends_at.get().map_or(Duration::MAX, |at| at.saturating_duration_since(Instant::now()))
    }

    /// True if half of the time, of the processor time, of the rows or of their bytes is used: work that has several
    /// parts begins no further one, which might not fit.
    #[must_use]
    pub fn is_half_used(&self) -> bool {
        let Limits { time, processor, rows, bytes, .. } = self.limits.get();
        let used = self.used();
        self.elapsed() >= time / 2
            || used.processor >= processor / 2
            || used.rows >= rows / 2
            || used.bytes >= bytes / 2
    }

    /// Its use so far.
    #[must_use]
    pub fn used(&self) -> Used {
        Used {
            processor: self.processor_time(),
            rows: self.rows.get(),
            bytes: self.bytes.get(),
            answer: self.answer.get(),
        }
    }

    fn processor_time(&self) -> Duration {
        self.began.get().map_or(Duration::ZERO, |began| processor_time().saturating_sub(began))
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        self.give_turn_back();
    }
}

impl fmt::Debug for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Work").field("limits", &self.limits.get()).field("used", &self.used()).finish_non_exhaustive()
    }
}

/// Processor time of this thread.
fn processor_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec.try_into().unwrap_or(0), now.tv_nsec.try_into().unwrap_or(0))
}

/// Ends the work when it is dropped.
#[derive(Debug)]
pub struct Abandon(Arc<AtomicBool>);

impl Drop for Abandon {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_ends_when_its_time_is_over() {
        let work = Work::within(Limits { time: Duration::ZERO, ..Limits::NONE });
        let polls = (0..=STRIDE).take_while(|_| work.poll().is_ok()).count();
        assert!(polls < STRIDE as usize && work.left() == Duration::ZERO);
        assert_eq!((work.poll(), work.stopped()), (Err(Stopped::Late), Some(Stopped::Late)));
        let work = Work::within(Limits::NONE);
        work.begin();
        assert!((0..1000).all(|_| work.poll().is_ok()));
        assert_eq!(work.left(), Duration::MAX);
    }

    #[test]
    fn work_ends_when_nobody_waits() {
        let work = Work::within(Limits::NONE);
        let waits = work.guard();
        assert_eq!(work.poll(), Ok(()));
        drop(waits);
        assert_eq!(work.poll(), Err(Stopped::Abandoned));
        assert_eq!(work.row(), Err(Stopped::Abandoned));
    }

    #[test]
    fn rows_and_bytes_are_counted() {
        let limits = Limits { rows: 3, bytes: 100, answer: 10, ..Limits::NONE };
        let work = Work::within(limits);
        assert!((0..3).all(|_| work.row().is_ok()));
        assert_eq!(work.row(), Err(Stopped::Rows(3)));
        let work = Work::within(limits);
        assert_eq!((work.read(60), work.read(40), work.answered(10)), (Ok(()), Ok(()), Ok(())));
        assert_eq!(work.used(), Used { bytes: 100, answer: 10, ..Used::default() });
        assert_eq!(work.read(1), Err(Stopped::Bytes(100)));
        assert_eq!(work.answered(1), Err(Stopped::Answer(10)));
    }

    #[test]
    fn half_of_each_limit_counts() {
        assert!(!Work::within(Limits::NONE).is_half_used());
        assert!(Work::within(Limits { time: Duration::ZERO, ..Limits::NONE }).is_half_used());
        let work = Work::within(Limits { rows: 4, bytes: 100, ..Limits::NONE });
        assert!(work.row().is_ok() && !work.is_half_used());
        assert!(work.row().is_ok() && work.is_half_used());
        let work = Work::within(Limits { rows: 4, bytes: 100, ..Limits::NONE });
        assert!(work.read(49).is_ok() && !work.is_half_used());
        assert!(work.read(1).is_ok() && work.is_half_used());
    }

    #[test]
    fn a_part_stops_without_the_rest() {
        let work = Work::within(Limits { rows: 100, bytes: 1_000, ..Limits::NONE });
        assert!((0..20).all(|_| work.row().is_ok()));
        // A quarter of the 80 rows that are left.
        let (rows, stopped) = work.part(4, || (0..100).take_while(|_| work.row().is_ok()).count());
        assert_eq!((rows, stopped), (20, Some(Stopped::Rows(40))));
        assert_eq!((work.poll(), work.stopped()), (Ok(()), None));
        // A part of a part stops alone as well.
        let (inner, outer) = work.part(2, || {
            let (_, inner) = work.part(10, || while work.row().is_ok() {});
            assert_eq!(work.poll(), Ok(()));
            inner
        });
        assert!(matches!(inner, Some(Stopped::Rows(_))) && outer.is_none());
        let ((), stopped) = work.part(2, || assert_eq!(work.read(600), Err(Stopped::Bytes(500))));
        assert_eq!((stopped, work.poll()), (Some(Stopped::Bytes(500)), Ok(())));
        // The limits of the request hold again.
        while work.row().is_ok() {}
        assert_eq!(work.stopped(), Some(Stopped::Rows(100)));
    }

    #[test]
    fn nobody_waits_for_a_part_either() {
        let work = Work::within(Limits::NONE);
        let waits = work.guard();
        let (result, stopped) = work.part(2, || {
            drop(waits);
            work.poll()
        });
        assert_eq!((result, stopped), (Err(Stopped::Abandoned), None));
        assert_eq!((work.poll(), work.stopped()), (Err(Stopped::Abandoned), Some(Stopped::Abandoned)));
    }

    #[test]
    fn a_part_has_its_share_of_the_time() {
        let work = Work::within(Limits { time: Duration::from_secs(60), ..Limits::NONE });
        let (left, stopped) = work.part(4, || work.left());
        assert!(left <= Duration::from_secs(15) && stopped.is_none(), "{left:?}");
        assert!(work.left() > Duration::from_secs(50));
    }

    #[test]
    fn processor_time_is_of_the_thread() {
        let limit = Duration::from_millis(20);
        let work = Work::within(Limits { processor: limit, ..Limits::NONE });
        work.begin();
        std::thread::sleep(limit * 3);
        // Sleep does not count as work.
        assert!((0..100).all(|_| work.poll().is_ok()));
        let mut sum = 0u64;
        while work.poll().is_ok() {
            sum = (0..1_000u64).fold(sum, |sum, n| sum.rotate_left(3) ^ n);
        }
        assert_eq!(work.stopped(), Some(Stopped::Processor(limit)), "{sum}");
        assert!(work.used().processor > limit);
    }

    #[test]
    fn memory_is_held_for_large_answers_and_rows() {
        struct Room(u64);
        impl Memory for Room {
            fn hold(&self, bytes: u64) -> bool {
                bytes <= self.0
            }
        }
        let work = || Work::within(Limits::NONE).held_by(Box::new(Room(1 << 20)));
        let small = Work::within(Limits::NONE).held_by(Box::new(Room(0)));
        assert_eq!((small.answered(20 << 10), small.read(10 << 10)), (Ok(()), Ok(())));
        assert_eq!(small.answered(10 << 10), Err(Stopped::Memory));
        let answering = work();
        assert_eq!(answering.answered(512 << 10), Ok(()));
        assert_eq!(answering.answered(1), Err(Stopped::Memory));
        let reading = work();
        // One after the other, not all at once.
        assert!((0..100).all(|_| reading.read(500 << 10).is_ok()));
        assert_eq!(reading.read(600 << 10), Err(Stopped::Memory));
        assert_eq!((reading.poll(), reading.stopped()), (Err(Stopped::Memory), Some(Stopped::Memory)));
        let keeping = work();
        // Kept memory adds up, and stays while the answer is written.
        assert!((0..4).all(|_| keeping.keep(192 << 10).is_ok()));
        assert_eq!((keeping.answered(128 << 10), keeping.answered(1)), (Ok(()), Err(Stopped::Memory)));
    }

    #[test]
    fn many_bytes_are_many_polls() {
        let work = Work::within(Limits { time: Duration::ZERO, ..Limits::NONE });
        assert_eq!(work.read(1), Ok(()));
        assert_eq!(work.read(1 << 20), Err(Stopped::Late));
    }
}
