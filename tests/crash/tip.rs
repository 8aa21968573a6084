//! Block by block: catching up, one block at a time, through a reorganization.

use crate::{
    killing::{After, MORE, ON_THE_WAY, Tally, choices, kill_on_the_way, moment},
    machine::{End, Line, Machine},
    world::{DEPTH, LENGTH, World, scaled},
};

/// An index at a height, or at the tip.
pub fn index_of(line: &Line) -> (Machine, String) {
    let machine = Machine::new("the start of others");
    machine.ok(line);
    let sums = machine.sums();
    (machine, sums)
}

/// From one index to another: killed up to three times on the way, sound each time.
fn on_the_way(name: &'static str, start: &Machine, line: &Line, sums: &str, seed: u64, stories: usize) -> Tally {
    let mut tally = Tally::new(name);
    let undisturbed = Machine::copy_of(start, "undisturbed");
    let mut time = undisturbed.timed(line);
    undisturbed.assert_is(sums);
    let ends = (start.height(), undisturbed.height());
    for n in 0..stories + MORE {
        if n >= stories && tally.has(ON_THE_WAY) {
            break;
        }
        let seed = seed + n as u64;
        let (machine, mut rng) = (Machine::copy_of(start, format!("seed {seed}")), choices(seed));
        kill_on_the_way(&machine, line, &mut time, [1, 3, 2][n % 3], ends, &mut rng, &mut tally);
        machine.ok(line);
        machine.assert_is(sums);
    }
    assert!(tally.has(ON_THE_WAY), "no kill between two flushes");
    tally
}

#[test]
fn catching_up() {
    let world = World::shared();
    let (start, _) = index_of(&Line::index(&world.after(), Some(150)));
    let line = Line::index(&world.after(), None);
    let (_, sums) = index_of(&line);
    let tally = on_the_way("catching up", &start, &line, &sums, 60_000, scaled(6));
    tally.print();
}

#[test]
fn reorganizing() {
    let world = World::shared();
    let (start, _) = index_of(&Line::index(&world.before(), None));
    let line = Line::index(&world.after(), None);
    let (end, sums) = index_of(&line);
    assert_eq!(end.height(), world.height - DEPTH + LENGTH);
    let tally = on_the_way("reorganizing", &start, &line, &sums, 70_000, scaled(8));
    tally.print();
}

/// A process for each block, as a follower does it; every other one is killed.
#[test]
fn one_block_at_a_time() {
    let world = World::shared();
    let mut tally = Tally::new("block by block");
    let (from, to) = (150, 150 + scaled(10) as u32);
    let (machine, _) = index_of(&Line::index(&world.after(), Some(from)));
    let line = |height: u32| Line::index(&world.after(), Some(height));
    let time = Machine::copy_of(&machine, "undisturbed").timed(&line(from + 1));
    let mut rng = choices(80_000);
    for height in from + 1..=to {
        if let End::Killed(_) = machine.kill(&line(height), moment(&mut rng, &time, None)) {
            let found = After::Sound.check(&machine).unwrap();
            assert!(found == height || found == height - 1, "{}\nat {found}", machine.story());
            tally.hit(if found == height { "after the block" } else { "before the block" });
        }
        machine.ok(&line(height));
    }
    machine.assert_is(&index_of(&line(to)).1);
    tally.print();
}
