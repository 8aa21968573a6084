//! `cairn repair`, killed at any moment, run again.

use std::fs;

use cairn_reader::{TableFile, table_files_in};

use crate::{
    killing::{Tally, choices, part_of},
    machine::{End, Line, Machine, Moment},
    tip::index_of,
    world::{World, scaled},
};

/// Damages a row of the table's largest file.
fn damage(machine: &Machine, table: &str) {
    let files = table_files_in(&machine.data().join("index")).unwrap();
    let file = files.iter().filter(|file| file.table() == table).max_by_key(|file| TableFile::bytes(file)).unwrap();
    let mut bytes = fs::read(file.path()).unwrap();
    let at = bytes.len() / 4;
    bytes[at] ^= 0x10;
    fs::write(file.path(), bytes).unwrap();
}

#[test]
fn repairing() {
    let world = World::shared();
    let (start, sums) = index_of(&Line::index(&world.after(), None));
    let line = Line::repair();
    let mut tally = Tally::new("repairing");
    for (n, table) in (0..).zip(["block_log", "tx_nums", "coins", "totals", "headers", "small"]) {
        let undisturbed = Machine::copy_of(&start, format!("{table}, undisturbed"));
        damage(&undisturbed, table);
        let mut time = undisturbed.timed(&line);
        undisturbed.assert_is(&sums);
        let mut killed = 0;
        for round in 0..scaled(3) + 30 {
            if round >= scaled(3) && killed > 0 {
                break;
            }
            let seed = 120_000 + n * 1_000 + round as u64;
            let (machine, mut rng) = (Machine::copy_of(&start, format!("{table}, seed {seed}")), choices(seed));
            damage(&machine, table);
            // Once or twice in a row, then the same command to its end.
            for _ in 0..1 + round % 2 {
                match machine.kill(&line, Moment::After(part_of(&mut rng, time.total))) {
                    End::Killed(_) => {
                        killed += 1;
                        tally.hit(table);
                    }
                    End::Finished => {
                        time.total = time.total.mul_f64(0.9);
                        break;
                    }
                }
            }
            machine.ok(&line);
            machine.assert_is(&sums);
            assert!(!machine.data().join("repair").exists(), "{}\nrows of the repair are left over", machine.story());
        }
        assert!(killed > 0, "{table}: no repair was killed");
    }
    tally.print();
}
