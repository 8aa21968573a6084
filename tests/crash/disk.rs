//! A disk that is full, and then is not: a very small file system of its own.

use cairn_support::SmallDisk;

use crate::{
    killing::{After, Tally},
    machine::{Line, Machine, copy},
    tip::index_of,
    world::{World, long},
};

/// More than anything here needs.
const ROOM: u64 = 512 << 10;

/// Runs a command on a disk that has so much room beyond the index; whether it was too little.
#[track_caller]
fn short_of(start: Option<&Machine>, line: &Line, kib: u64, after: After, sums: &str) -> Option<bool> {
    let machine = Machine::new(format!("{kib} KiB of room"));
    let data = machine.data();
    let disk = SmallDisk::mount(&data, ROOM)?;
    if let Some(start) = start {
        copy(&start.data(), &data);
    }
    disk.resize(disk.used_kib() + kib);
    let output = machine.output(line);
    let full = !output.status.success();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if full {
        let errors = said.lines().filter(|line| line.starts_with("error: ")).count();
        assert_eq!((output.status.code(), errors), (Some(6), 1), "{}\n{said}", machine.story());
        assert!(said.contains("the disk is full") && !said.contains("panicked"), "{}\n{said}", machine.story());
        // Reading needs no room.
        after.check(&machine);
        // Once more: nothing worse happens. The files that the first try cleared away may even make room enough.
        let again = machine.output(line).status.code();
        assert!(matches!(again, Some(0 | 6)), "{}", machine.story());
        after.check(&machine);
    }
    disk.resize(ROOM);
    machine.ok(line);
    assert_eq!(machine.sums(), sums, "{}", machine.story());
    machine.verify();
    Some(full)
}

/// Tries more and more room until it is enough; how often it was not.
fn until_it_fits(start: Option<&Machine>, line: &Line, after: After, sums: &str) -> Option<u32> {
    let (mut kib, mut full) = (40, 0);
    while short_of(start, line, kib, after, sums)? {
        full += 1;
        kib += 150 + if long() { kib / 8 } else { kib * 2 };
    }
    Some(full)
}

#[test]
fn full_and_then_not() {
    let (world, mut tally) = (World::shared(), Tally::new("disk full"));
    let to = |to| Line::index(&world.after(), Some(to));
    let ((low, low_sums), (high, high_sums)) = (index_of(&to(300)), index_of(&to(500)));
    let Some(bulk) = until_it_fits(None, &to(500), After::EmptyOrSound, &high_sums) else {
        cairn_testkit::skip!("mounting a small file system takes root");
    };
    let cases = [
        ("bulk", Some(bulk)),
        ("tip", until_it_fits(Some(&low), &to(500), After::Sound, &high_sums)),
        ("unwind", until_it_fits(Some(&high), &Line::unwind(300), After::Sound, &low_sums)),
        ("reindex", until_it_fits(Some(&high), &Line::reindex("scripts"), After::MayLackStage, &high_sums)),
    ];
    for (name, full) in cases {
        assert!(full.unwrap() > 0, "{name}: the disk was never full");
    }
    cases.iter().for_each(|(name, full)| (0..full.unwrap()).for_each(|_| tally.hit(name)));
    tally.print();
}
