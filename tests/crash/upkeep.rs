//! Rebuilding stages and unwinding.

use cairn_tables::stages::{CHAIN, STAGES};

use crate::{
    killing::{After, MORE, ON_THE_WAY, Tally, choices, kill_often, kill_on_the_way},
    machine::{Line, Machine, Timeline},
    phase::Phase,
    tip::index_of,
    world::{World, scaled},
};

/// Killed while a stage is rebuilt; finished by rebuilding again, or by indexing, which finds the stage unfinished.
#[test]
fn reindexing_every_stage() {
    let world = World::shared();
    let index = Line::index(&world.after(), None);
    let (start, sums) = index_of(&index);
    let mut tally = Tally::new("reindexing");
    let mut tell = |seed: u64, stage: &str, time: &Timeline, phase: Option<Phase>, kills: usize| {
        let (machine, line) = (Machine::copy_of(&start, format!("seed {seed}")), Line::reindex(stage));
        kill_often(&machine, &line, time, (phase, kills), After::MayLackStage, &mut choices(seed), &mut tally);
        if seed.is_multiple_of(2) {
            machine.ok(&line);
        }
        // Even one that was interrupted in one stage and rebuilt in another is mended here.
        machine.ok(&index);
        machine.assert_is(&sums);
        Phase::OF_JOURNAL.into_iter().find(|phase| !tally.has(phase))
    };
    let time = |stage: &str| Machine::copy_of(&start, "undisturbed").timed(&Line::reindex(stage));
    let mut missing = None;
    let rebuildable = STAGES.iter().map(|stage| stage.name).filter(|name| *name != CHAIN.name);
    for (n, stage) in (0..).zip(rebuildable.chain(["all"])) {
        let time = time(stage);
        for (m, phase) in (0..).zip([None].into_iter().chain(Phase::OF_JOURNAL.map(Some))) {
            for round in 0..scaled(1) {
                let seed = 90_000 + n * 1_000 + m * 101 + round as u64;
                missing = tell(seed, stage, &time, phase, 1 + (n + m) as usize % 2);
            }
        }
    }
    let scripts = time("scripts");
    for n in 0..MORE {
        let Some(phase) = missing else { break };
        missing = tell(99_000 + n as u64, "scripts", &scripts, Some(phase), 1);
    }
    assert!(missing.is_none(), "no kill came in {missing:?}");
    tally.print();
}

/// Killed while it unwinds; finished by unwinding on, or by indexing, which goes up again.
#[test]
fn unwinding() {
    let world = World::shared();
    let to = 300;
    let index = Line::index(&world.after(), None);
    let ((start, sums), (_, low)) = (index_of(&index), index_of(&Line::index(&world.after(), Some(to))));
    let ends = (start.height(), to);
    let line = Line::unwind(to);
    let mut time = Machine::copy_of(&start, "undisturbed").timed(&line);
    let mut tally = Tally::new("unwinding");
    let stories = scaled(8);
    for n in 0..stories + MORE {
        if n >= stories && tally.has(ON_THE_WAY) {
            break;
        }
        let seed = 100_000 + n as u64;
        let (machine, mut rng) = (Machine::copy_of(&start, format!("seed {seed}")), choices(seed));
        kill_on_the_way(&machine, &line, &mut time, [1, 2][n / 2 % 2], ends, &mut rng, &mut tally);
        if n % 2 == 0 {
            machine.ok(&line);
            machine.assert_is(&low);
        } else {
            machine.ok(&index);
            machine.assert_is(&sums);
        }
    }
    assert!(tally.has(ON_THE_WAY), "no kill between two flushes");
    tally.print();
}

/// Killed while it unwinds an index whose stage is unfinished: that is mended first.
#[test]
fn unwinding_what_lacks_a_stage() {
    let world = World::shared();
    let to = 1_000;
    let (start, _) = index_of(&Line::index(&world.after(), None));
    let (_, low) = index_of(&Line::index(&world.after(), Some(to)));
    let reindex = Line::reindex("scripts");
    let rebuilding = Machine::copy_of(&start, "undisturbed").timed(&reindex);
    let unwind = Line::unwind(to);
    let mut tally = Tally::new("unwinding with an unfinished stage");
    for n in 0..scaled(3) {
        let seed = 110_000 + n as u64;
        let (machine, rng) = (Machine::copy_of(&start, format!("seed {seed}")), &mut choices(seed));
        let aim = (Some(Phase::OF_JOURNAL[n % 4]), 1);
        kill_often(&machine, &reindex, &rebuilding, aim, After::MayLackStage, rng, &mut tally);
        kill_often(&machine, &unwind, &rebuilding, (None, 1), After::MayLackStage, rng, &mut tally);
        machine.ok(&unwind);
        machine.assert_is(&low);
    }
    tally.print();
}

/// Killed between its commit and the removal of its working files: the next command that writes removes them.
#[test]
fn files_left_behind() {
    let world = World::shared();
    let (start, sums) = index_of(&Line::index(&world.after(), Some(200)));
    let (_, low) = index_of(&Line::index(&world.after(), Some(190)));
    for line in [Line::unwind(190), Line::index(&world.after(), Some(200))] {
        let machine = Machine::copy_of(&start, "files of an earlier process");
        let bulk = machine.data().join("bulk");
        std::fs::create_dir(&bulk).unwrap();
        std::fs::write(bulk.join("lane-totals.000.spill"), [1; 99]).unwrap();
        machine.ok(&line);
        machine.assert_is(if machine.height() == 190 { &low } else { &sums });
    }
}
