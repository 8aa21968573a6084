//! Bulk indexing into an empty index.

use bitcoin::Network;
use cairn_chaingen::{
    corefiles::FileOptions,
    mainnet::{MainnetOptions, write_mainnet},
};

use crate::{
    killing::{After, MORE, Tally, choices, kill_often},
    machine::{Line, Machine, Timeline},
    phase::Phase,
    world::{World, long, scaled},
};

/// A run that nobody disturbs.
fn straight(line: &Line) -> (Timeline, String) {
    let machine = Machine::new("undisturbed");
    let time = machine.timed(line);
    let sums = machine.sums();
    machine.verify();
    (time, sums)
}

/// Stories of one to three kills, the first in each of the phases in turn; then further ones until each was met.
fn killed_in(line: &Line, phases: &[Phase], seed: u64, stories: usize, tally: &mut Tally) {
    let (time, sums) = straight(line);
    let mut tell = |seed: u64, phase: Option<Phase>, kills: usize| {
        let machine = Machine::new(format!("seed {seed}"));
        kill_often(&machine, line, &time, (phase, kills), After::EmptyOrSound, &mut choices(seed), tally);
        machine.ok(line);
        machine.assert_is(&sums);
        phases.iter().copied().find(|phase| !tally.has(phase))
    };
    for n in 0..stories {
        // Every third anywhere: the time before the first phase belongs to it.
        let phase = (n % 3 != 2).then(|| phases[(n - n / 3) % phases.len()]);
        tell(seed + n as u64, phase, [1, 2, 1, 3][n % 4]);
    }
    let mut missing = phases.first().copied();
    for n in 0..MORE {
        if missing.is_none() {
            return;
        }
        missing = tell(seed + 1_000 + n as u64, missing, 1);
    }
    panic!("no kill came in {missing:?}");
}

#[test]
fn in_every_phase() {
    let world = World::shared();
    let mut tally = Tally::new("bulk indexing");
    let phases: Vec<Phase> = Phase::OF_FILES.into_iter().filter(|phase| *phase != Phase::Coins).collect();
    killed_in(&Line::index(&world.after(), None), &phases, 10_000, scaled(20), &mut tally);
    tally.print();
}

#[test]
fn in_every_phase_without_undo_data() {
    let world = World::shared();
    let mut tally = Tally::new("bulk indexing without undo data");
    killed_in(&Line::index(&world.bare(), None).saving(), &[Phase::Coins, Phase::Fold], 20_000, scaled(6), &mut tally);
    tally.print();
}

/// Enough blocks that spills have several partitions: one index, killed again and again until it is done.
#[test]
fn with_several_partitions() {
    let dir = cairn_testkit::temp_dir();
    let mut options = MainnetOptions::new(6, if long() { 300 << 20 } else { 66 << 20 });
    options.empty_blocks = 20;
    write_mainnet(dir.path(), FileOptions::new(Network::Regtest, [7; 8]), &options).unwrap();
    let mut tally = Tally::new("bulk indexing of several partitions");
    let line = Line::index(dir.path(), None).saving();
    let (time, sums) = straight(&line);
    for seed in 30_000..30_000 + if long() { 10 } else { 1 } {
        let machine = Machine::new(format!("seed {seed}"));
        let mut rng = choices(seed);
        for phase in Phase::OF_FILES {
            kill_often(&machine, &line, &time, (Some(phase), 1), After::EmptyOrSound, &mut rng, &mut tally);
        }
        machine.ok(&line);
        machine.assert_is(&sums);
    }
    tally.print();
}

/// Killed, and then the folder holds another chain.
#[test]
fn then_the_chain_is_another() {
    let world = World::shared();
    let mut tally = Tally::new("bulk indexing before the files changed");
    let before = Line::index(&world.before(), None);
    let (time, _) = straight(&before);
    let after = Line::index(&world.after(), None);
    let (_, sums) = straight(&after);
    for n in 0..scaled(4) {
        let machine = Machine::new(format!("seed {}", 40_000 + n));
        let phase = [Phase::Fold, Phase::Commit, Phase::Tables, Phase::Ingest][n % 4];
        let rng = &mut choices(40_000 + n as u64);
        kill_often(&machine, &before, &time, (Some(phase), 1), After::EmptyOrSound, rng, &mut tally);
        machine.ok(&after);
        machine.assert_is(&sums);
    }
    tally.print();
}

/// Killed again and again while the database is made, opened, and opened again.
#[test]
fn while_opening() {
    let world = World::shared();
    let mut tally = Tally::new("opening");
    let line = Line::index(&world.after(), Some(200));
    let (time, sums) = straight(&line);
    for n in 0..scaled(3) {
        let seed = 50_000 + n as u64;
        let machine = Machine::new(format!("seed {seed}"));
        kill_often(&machine, &line, &time.early(), (None, 5), After::EmptyOrSound, &mut choices(seed), &mut tally);
        machine.ok(&line);
        machine.assert_is(&sums);
    }
    tally.print();
}
