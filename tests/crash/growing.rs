//! A follower that is killed while the files grow under it.

use std::{
    fs,
    io::Write,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use rand::Rng;

use crate::{
    killing::{After, Tally, choices},
    machine::{End, Line, Machine, Moment, copy},
    tip::index_of,
    world::{World, scaled},
};

/// Appends to the files what they lack, in pieces that end anywhere, as a node's writes do.
fn grow(folder: &Path, longer: &Path, pieces: usize, seed: u64, stop: &AtomicBool) {
    let mut rng = choices(seed);
    let tail = |name: &str| {
        let (old, new) = (fs::read(folder.join(name)).unwrap(), fs::read(longer.join(name)).unwrap());
        assert!(new.starts_with(&old), "{name} is no continuation");
        new[old.len()..].to_vec()
    };
    // Blocks come before their undo data, at times.
    let mut tails = ["blk00000.dat", "rev00000.dat"].map(|name| (name, tail(name)));
    for left in (1..=pieces).rev() {
        for (name, tail) in &mut tails {
            let size = if left == 1 { tail.len() } else { rng.random_range(0..=tail.len() * 2 / left).min(tail.len()) };
            let piece: Vec<u8> = tail.drain(..size).collect();
            fs::OpenOptions::new().append(true).open(folder.join(*name)).unwrap().write_all(&piece).unwrap();
        }
        if stop.load(Ordering::Relaxed) {
            return;
        }
        thread::sleep(Duration::from_millis(250));
    }
}

#[test]
fn a_follower_of_growing_files() {
    let world = World::shared();
    let (start, _) = index_of(&Line::index(&world.before(), None));
    let (_, sums) = index_of(&Line::index(&world.after(), None));
    let mut tally = Tally::new("a follower");
    for n in 0..scaled(2) {
        let seed = 120_000 + n as u64;
        let (machine, mut rng) = (Machine::copy_of(&start, format!("seed {seed}")), choices(seed));
        let folder = cairn_testkit::temp_dir();
        copy(&world.before(), folder.path());
        let line = Line::follow(folder.path());
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            let growing = scope.spawn(|| grow(folder.path(), &world.after(), 12, seed, &stop));
            while !growing.is_finished() {
                let delay = Duration::from_millis(rng.random_range(300..1_800));
                assert!(matches!(machine.kill(&line, Moment::After(delay)), End::Killed(_)));
                After::Sound.check(&machine);
                tally.hit("while files grow");
            }
            stop.store(true, Ordering::Relaxed);
        });
        machine.ok(&Line::index(&world.after(), None));
        machine.assert_is(&sums);
    }
    tally.print();
}
