//! Rebuilding stages and unwinding.

use crate::{
    killing::{After, Tally, choices, kill_often, moment},
    machine::{End, Line, Machine},
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
    for (n, stage) in ["spends", "coins", "scripts", "all"].into_iter().enumerate() {
        let line = Line::reindex(stage);
        let time = Machine::copy_of(&start, "undisturbed").timed(&line);
        for (m, phase) in [None].into_iter().chain(Phase::OF_JOURNAL.map(Some)).enumerate() {
            for round in 0..scaled(1) {
                let seed = 90_000 + (n * 1_000 + m * 100 + round) as u64;
                let machine = Machine::copy_of(&start, format!("seed {seed}"));
                let kills = 1 + (n + m) % 2;
                let rng = &mut choices(seed);
                kill_often(&machine, &line, &time, (phase, kills), After::MayLackStage, rng, &mut tally);
                if (n + m + round) % 2 == 0 {
                    machine.ok(&line);
                }
                // Even one that was interrupted in one stage and rebuilt in another is mended here.
                machine.ok(&index);
                machine.assert_is(&sums);
            }
        }
    }
    for phase in Phase::OF_JOURNAL {
        let again = format!("{phase} again");
        assert!(tally.has(phase) || tally.has(again), "no kill came in {phase}");
    }
    tally.print();
}

/// Killed while it unwinds; finished by unwinding on, or by indexing, which goes up again.
#[test]
fn unwinding() {
    let world = World::shared();
    let to = 300;
    let index = Line::index(&world.after(), None);
    let ((start, sums), (_, low)) = (index_of(&index), index_of(&Line::index(&world.after(), Some(to))));
    let last = start.height();
    let line = Line::unwind(to);
    let time = Machine::copy_of(&start, "undisturbed").timed(&line);
    let mut tally = Tally::new("unwinding");
    for n in 0..scaled(8) {
        let seed = 100_000 + n as u64;
        let (machine, mut rng) = (Machine::copy_of(&start, format!("seed {seed}")), choices(seed));
        for _ in 0..[1, 2][n / 2 % 2] {
            if machine.kill(&line, moment(&mut rng, &time, None)) == End::Finished {
                break;
            }
            match After::Sound.check(&machine).unwrap() {
                height if height == last => tally.hit("at the start"),
                height if height == to => tally.hit("at the end"),
                _ => tally.hit("on the way"),
            }
        }
        if n % 2 == 0 {
            machine.ok(&line);
            machine.assert_is(&low);
        } else {
            machine.ok(&index);
            machine.assert_is(&sums);
        }
    }
    assert!(tally.has("on the way"), "no kill between two flushes");
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
