//! Seeded stories of runs that are killed, and the count of where that was.

use std::{
    collections::BTreeMap,
    fmt::Display,
    io::Write,
    time::{Duration, Instant},
};

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::{
    machine::{End, Line, Look, Machine, Moment, Timeline},
    phase::Phase,
};

/// The states that an index may have right after a kill.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum After {
    /// Empty, or whole.
    EmptyOrSound,
    /// Whole, at some height.
    Sound,
    /// A stage may be unfinished, if it says so.
    MayLackStage,
}

impl After {
    /// Fails if it is not. Returns the height of an index that is whole.
    #[track_caller]
    pub fn check(self, machine: &Machine) -> Option<u32> {
        let look = machine.look();
        let allowed = match look {
            Look::Whole(_) => true,
            Look::Empty => self == After::EmptyOrSound,
            Look::LacksStage(_) | Look::LacksTable => self == After::MayLackStage,
        };
        assert!(allowed, "{}\n{look:?}, {self:?} was expected", machine.story());
        let Look::Whole(height) = look else { return None };
        machine.verify();
        Some(height)
    }
}

/// The random choices of a story.
pub fn choices(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

/// Part of a duration.
pub fn part_of(rng: &mut ChaCha8Rng, duration: Duration) -> Duration {
    duration.mul_f64(rng.random_range(0.0..1.0))
}

/// A moment in a phase, if one is wanted, else anywhere.
pub fn moment(rng: &mut ChaCha8Rng, time: &Timeline, phase: Option<Phase>) -> Moment {
    match phase {
        Some(phase) => Moment::In(phase, part_of(rng, time.of(phase))),
        None => Moment::After(part_of(rng, time.total)),
    }
}

/// Kills a run this many times in a row. The first time in the phase, if one is given, then anywhere.
#[track_caller]
pub fn kill_often(
    machine: &Machine,
    line: &Line,
    time: &Timeline,
    aim: (Option<Phase>, usize),
    after: After,
    rng: &mut ChaCha8Rng,
    tally: &mut Tally,
) {
    let (mut phase, kills) = aim;
    for n in 0..kills {
        let moment = moment(rng, time, phase.take());
        match machine.kill(line, moment) {
            End::Killed(phase) => tally.hit(if n == 0 { phase.to_string() } else { format!("{phase} again") }),
            End::Finished => return,
        }
        after.check(machine);
    }
}

/// Further stories, where the planned ones left out what had to be met: a machine may be busy with other things.
pub const MORE: usize = 60;

/// Kills a run that goes from height to height, up to `kills` times in a row. A run that finishes first has shown that
/// the time was measured too long.
#[track_caller]
pub fn kill_on_the_way(
    machine: &Machine,
    line: &Line,
    time: &mut Timeline,
    kills: usize,
    (first, last): (u32, u32),
    rng: &mut ChaCha8Rng,
    tally: &mut Tally,
) {
    for _ in 0..kills {
        if machine.kill(line, moment(rng, time, None)) == End::Finished {
            time.total = time.total.mul_f64(0.9);
            return;
        }
        match After::Sound.check(machine).unwrap() {
            height if height == first => tally.hit("at the start"),
            height if height == last => tally.hit("at the end"),
            _ => tally.hit(ON_THE_WAY),
        }
    }
}

/// Where a run between two heights has to be met.
pub const ON_THE_WAY: &str = "on the way";

/// Counts kills by where they were.
pub struct Tally {
    name: &'static str,
    started: Instant,
    hits: BTreeMap<String, usize>,
}

impl Tally {
    pub fn new(name: &'static str) -> Self {
        Tally { name, started: Instant::now(), hits: BTreeMap::new() }
    }

    pub fn hit(&mut self, place: impl Display) {
        *self.hits.entry(place.to_string()).or_default() += 1;
    }

    /// Number of all kills.
    pub fn sum(&self) -> usize {
        self.hits.values().sum()
    }

    pub fn has(&self, place: impl Display) -> bool {
        self.hits.contains_key(&place.to_string())
    }

    /// Prints the counts, past the harness, which shows nothing of a test that passes.
    pub fn print(&self) {
        let (kills, seconds): (usize, f64) = (self.sum(), self.started.elapsed().as_secs_f64());
        let places: Vec<String> = self.hits.iter().map(|(place, count)| format!("{place} {count}")).collect();
        let _ = writeln!(std::io::stderr(), "crash, {}: {kills} in {seconds:.1} s ({})", self.name, places.join(", "));
    }
}
