//! The machine loses its power, and its disk what was not flushed: after the start the index opens by itself, at the
//! height that was committed, and goes on. Nothing that a command has said to be done is lost.

use std::{fs, path::Path};

use rand_chacha::ChaCha8Rng;

use crate::{
    killing::{After, ON_THE_WAY, Tally, choices, moment},
    lossy_disk::LossyDisk,
    machine::{End, Line, Machine, Moment, Timeline, copy},
    tip::index_of,
    world::{World, long},
};

/// Losses of power in each test; ten times as many in long tests.
const LOSSES: usize = 10;

fn losses() -> usize {
    if long() { LOSSES * 10 } else { LOSSES }
}

/// A disk, and a machine on it, with a copy of an index if one is given.
fn on_disk(start: Option<&Machine>, title: String) -> Option<(LossyDisk, Machine)> {
    let disk = LossyDisk::mount()?;
    let machine = Machine::within(&disk.path(), title);
    if let Some(start) = start {
        copy(&start.data(), &machine.data());
    }
    disk.sync();
    Some((disk, machine))
}

macro_rules! skip_disk {
    () => {
        cairn_testkit::skip!("a disk that loses power takes root, /dev/fuse, losetup and mkfs.ext4")
    };
}

/// Cuts the power at a moment of a run, or right after its end, and starts the machine again.
#[track_caller]
fn cut(machine: &Machine, disk: &mut LossyDisk, line: &Line, moment: Moment, rng: &mut ChaCha8Rng) -> End {
    let mut loss = None;
    let end = machine.kill_after(line, moment, || loss = Some(disk.cut(rng)));
    let loss = loss.unwrap_or_else(|| disk.cut(rng));
    machine.tell(loss);
    disk.restart();
    end
}

/// The time that a run takes on such a disk.
fn time_of(start: Option<&Machine>, line: &Line) -> Option<Timeline> {
    let (_disk, machine) = on_disk(start, "undisturbed".to_owned())?;
    Some(machine.timed(line))
}

/// The disk does what it is for.
#[test]
fn the_disk_loses_what_was_not_flushed() {
    let Some(mut disk) = LossyDisk::mount() else { skip_disk!() };
    let (synced, other) = (disk.path().join("synced"), disk.path().join("other"));
    fs::write(&synced, "1").unwrap();
    disk.sync();
    fs::write(&other, "2").unwrap();
    fs::write(&synced, "3").unwrap();
    disk.cut(&mut choices(1));
    disk.restart();
    assert!(matches!(fs::read_to_string(&synced).unwrap().as_str(), "1" | ""));
    assert!(!other.exists());
    // Once more, with what a program does that wants it kept.
    let file = fs::File::create(&other).unwrap();
    file.sync_all().unwrap();
    drop(file);
    fs::File::open(disk.path()).unwrap().sync_all().unwrap();
    disk.cut(&mut choices(2));
    disk.restart();
    assert!(other.exists());
}

#[test]
fn while_an_index_is_made() {
    let (world, mut tally) = (World::shared(), Tally::new("power, bulk"));
    let line = Line::index(&world.before(), None);
    let (_, sums) = index_of(&line);
    let Some(time) = time_of(None, &line) else { skip_disk!() };
    let mut seed = 130_000;
    while tally.sum() < losses() {
        seed += 1;
        let Some((mut disk, machine)) = on_disk(None, format!("seed {seed}")) else { skip_disk!() };
        let mut rng = choices(seed);
        for _ in 0..3 {
            let end = cut(&machine, &mut disk, &line, moment(&mut rng, &time, None), &mut rng);
            let after = if end == End::Finished { After::Sound } else { After::EmptyOrSound };
            after.check(&machine);
            match end {
                End::Killed(phase) => tally.hit(phase),
                End::Finished => tally.hit("at the end"),
            }
        }
        machine.ok(&line);
        machine.assert_is(&sums);
    }
    tally.print();
}

#[test]
fn while_blocks_are_added() {
    let (world, mut tally) = (World::shared(), Tally::new("power, blocks"));
    let (start, _) = index_of(&Line::index(&world.before(), Some(150)));
    // Through a reorganization, too.
    for (start, line) in [
        (start, Line::index(&world.before(), None)),
        (index_of(&Line::index(&world.before(), None)).0, Line::index(&world.after(), None)),
    ] {
        let (end, sums) = index_of(&line);
        let (first, last) = (start.height(), end.height());
        let Some(mut time) = time_of(Some(&start), &line) else { skip_disk!() };
        let (mut seed, enough) = (140_000 + u64::from(first), tally.sum() + losses());
        while tally.sum() < enough {
            seed += 1;
            let Some((mut disk, machine)) = on_disk(Some(&start), format!("seed {seed}")) else { skip_disk!() };
            let mut rng = choices(seed);
            for _ in 0..3 {
                let end = cut(&machine, &mut disk, &line, moment(&mut rng, &time, None), &mut rng);
                let height = After::Sound.check(&machine).unwrap();
                match height {
                    _ if end == End::Finished => {
                        assert_eq!(height, last, "{}", machine.story());
                        time.total = time.total.mul_f64(0.9);
                        tally.hit("at the end");
                    }
                    _ if height == first => tally.hit("at the start"),
                    _ => tally.hit(ON_THE_WAY),
                }
            }
            machine.ok(&line);
            machine.assert_is(&sums);
        }
    }
    assert!(tally.has(ON_THE_WAY), "no loss between two blocks");
    tally.print();
}

/// Each block that was committed is there, whenever the power fails after it.
#[test]
fn after_each_block() {
    let (world, mut tally) = (World::shared(), Tally::new("power, after a block"));
    let from = 150;
    let to = from + u32::try_from(losses()).unwrap();
    let (start, _) = index_of(&Line::index(&world.before(), Some(from)));
    let Some((mut disk, machine)) = on_disk(Some(&start), "after each block".to_owned()) else { skip_disk!() };
    let mut rng = choices(150_000);
    for height in from + 1..=to {
        machine.ok(&Line::index(&world.before(), Some(height)));
        let loss = disk.cut(&mut rng);
        machine.tell(loss);
        disk.restart();
        assert_eq!(machine.height(), height, "{}", machine.story());
        tally.hit(if loss.lost > 0 { "writes lost" } else { "nothing lost" });
    }
    machine.assert_is(&index_of(&Line::index(&world.before(), Some(to))).1);
    tally.print();
}

/// Keys and imported events exist nowhere else.
#[test]
fn after_each_word_of_the_operator() {
    let (world, mut tally) = (World::shared(), Tally::new("power, after a word"));
    let (start, _) = index_of(&Line::index(&world.before(), Some(150)));
    let Some((mut disk, machine)) = on_disk(Some(&start), "keys and prices".to_owned()) else { skip_disk!() };
    let mut rng = choices(160_000);
    let prices = cairn_testkit::temp_dir();
    for n in 0..losses() {
        machine.ok(&Line::of(&format!("keys issue --datadir data --kind key --label word-{n}")));
        let import = import(prices.path(), n);
        machine.ok(&import);
        machine.tell(disk.cut(&mut rng));
        disk.restart();
        let keys = machine.ok(&Line::of("keys list --datadir data"));
        let events = machine.ok(&Line::of("events list --datadir data --json --limit 10000"));
        for said in 0..=n {
            assert!(keys.contains(&format!("word-{said}")), "key {said} is lost\n{}\n{keys}", machine.story());
        }
        assert_eq!(events.lines().count(), n + 1, "{}\n{events}", machine.story());
        tally.hit("a key and a price");
    }
    machine.verify();
    tally.print();
}

/// Imports a price of a day of its own.
fn import(folder: &Path, n: usize) -> Line {
    let file = folder.join(format!("{n}.csv"));
    let (month, day) = (1 + n / 28, 1 + n % 28);
    fs::write(&file, format!("date,close\n2020-{month:02}-{day:02},{}\n", 7_000 + n)).unwrap();
    let words = "prices import --datadir data --licence cc0-1.0 --pair BTC/USD --interval day --source one";
    Line::of(&format!("{words} {}", file.display()))
}
