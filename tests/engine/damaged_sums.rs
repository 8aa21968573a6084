//! Damage to sums and ages, and to the family that small tables share.

use std::fs;

use cairn_pipeline::{
    Engine, FileBlocks, NoProgress, Repaired, SyncOptions, repair,
    verify::{RawCheck, Repair, audit_folder},
};
use cairn_tables::{
    Family, Table,
    ages::{Birth, BirthDays, SpentByAge, SpentRow, SupplyChanges},
    clusters::{ClusterDays, NET_EXTERNAL},
    daily::Daily,
    periods::Period,
    script_days::ScriptDays,
    sums::Sums,
    tx_sums::TxSums,
};
use cairn_writer::{Batch, WriteError, Writer};

use crate::{
    damaged::{MEMORY, assert_mended, copy, largest_file, mend, original},
    support::{Cut, Index, facts, is_cut, options, survey},
};

fn one_of(number: i128) -> Sums {
    Sums::of([(2, number)]).unwrap()
}

fn paid(sats: i128) -> Sums {
    Sums::of([(NET_EXTERNAL, sats)]).unwrap()
}

/// The paid sum of a day is changed in the day and in all longer periods, so that they still agree.
#[test]
fn a_day_that_paid_something_else_is_found_and_mended() {
    let (blocks, index, expected) = original(38);
    let dir = copy(index.path());
    let writer = Writer::open(&dir.path().join("index")).unwrap();
    let mut rows: Vec<(Period, Sums)> = Vec::new();
    writer
        .rows::<ClusterDays>(|key, value| {
            rows.push((ClusterDays::decode_key(key).unwrap(), ClusterDays::decode_value(value).unwrap()));
        })
        .unwrap();
    let day = rows.iter().find(|(period, sums)| period.days() == 1 && sums.get(NET_EXTERNAL) > 0).unwrap().0;
    let periods = Period::all_of(day.first_day());
    writer
        .commit::<WriteError>(|batch| {
            for (period, sums) in rows.iter_mut().filter(|(period, _)| periods.contains(period)) {
                sums.add(NET_EXTERNAL, 1).unwrap();
                batch.put_row::<ClusterDays>(period, sums);
            }
            Ok(())
        })
        .unwrap();
    writer.flush().unwrap();
    drop(writer);
    let (_, audit) = audit_folder(&dir.path().join("index"), RawCheck::None, &NoProgress).unwrap();
    let found: Vec<_> = audit.damages.iter().map(|damage| (damage.place.as_str(), damage.repair)).collect();
    assert_eq!(found, [("cluster_days", Repair::Stage("clusters"))], "{audit:#?}");
    assert!(matches!(mend(dir.path(), blocks.path()), Repaired::Whole(done) if done.len() == 1));
    assert_mended(dir, blocks.path(), &expected, "cluster_days");
}

/// Sums and ages that say something else than the journal.
#[test]
fn wrong_sums_are_found_and_mended() {
    let (blocks, index, expected) = original(36);
    type Forge = fn(&mut Batch<'_>);
    let forged: [(&str, &str, Forge); 7] = [
        ("tx_sums", "ages", |batch| batch.delete_row::<TxSums>(&cairn_model::TxNum(0))),
        ("spent_by_age", "ages", |batch| {
            let births = vec![Birth { day: 3, sats: 1, coins: 1 }];
            batch.put_row::<SpentByAge>(&1, &SpentRow { destroyed: 0, births });
        }),
        ("supply_changes", "ages", |batch| {
            batch.put_row::<SupplyChanges>(&(Period::day(14_000), BirthDays(3)), &one_of(1))
        }),
        ("daily", "ages", |batch| batch.put_row::<Daily>(&Period::day(14_000), &one_of(1))),
        ("script_days", "script_days", |batch| batch.put_row::<ScriptDays>(&Period::day(14_000), &one_of(-1))),
        // A day that is in no longer period; and one that is in all, but has no blocks.
        ("cluster_days", "clusters", |batch| batch.put_row::<ClusterDays>(&Period::day(14_000), &paid(5))),
        ("cluster_days", "clusters", |batch| {
            let periods = Period::all_of(9_000);
            periods.iter().for_each(|period| batch.put_row::<ClusterDays>(period, &paid(5)));
        }),
    ];
    for (table, stage, forge) in forged {
        let dir = copy(index.path());
        let writer = Writer::open(&dir.path().join("index")).unwrap();
        writer
            .commit::<WriteError>(|batch| {
                forge(batch);
                Ok(())
            })
            .unwrap();
        writer.flush().unwrap();
        drop(writer);
        let (_, audit) = audit_folder(&dir.path().join("index"), RawCheck::None, &NoProgress).unwrap();
        let found: Vec<_> = audit.damages.iter().map(|damage| (damage.place.as_str(), damage.repair)).collect();
        assert_eq!(found, [(table, Repair::Stage(stage))], "{audit:#?}");
        assert!(matches!(mend(dir.path(), blocks.path()), Repaired::Whole(done) if done.len() == 1), "{table}");
        assert_mended(dir, blocks.path(), &expected, table);
    }
}

/// A repair that replaced the family of small tables and died: what was lost with them is made again by whatever comes
/// next.
#[test]
fn small_tables_that_were_lost_are_made_again_although_the_repair_dies() {
    let (blocks, index, expected) = original(37);
    let (files, survey) = survey(blocks.path(), cairn_model::Network::Regtest);
    let source = FileBlocks::new(&files, &survey, 8);
    let (mut went_on, mut first) = (0, true);
    for part in [0, 1, 2, 3] {
        for after in 0.. {
            let dir = copy(index.path());
            let path = largest_file(dir.path(), Family::SHARED).unwrap();
            let mut bytes = fs::read(&path).unwrap();
            let at = 20 + bytes.len() * part / 6;
            bytes[at] ^= 0x10;
            fs::write(&path, bytes).unwrap();
            let cut = Cut::die(after);
            let died =
                is_cut(|| repair(dir.path(), &facts(blocks.path()), options(MEMORY, 0, RawCheck::None), &source, &cut));
            let what = format!("part {part}, died after {after}");
            // As `cairn index` does. While the damage is still there it may refuse, but it never goes on with rows
            // missing.
            if let Ok(engine) = Engine::open(dir.path(), &facts(blocks.path())) {
                let mut index = Index { engine, dir };
                let synced = index.engine.sync(&files, &survey, &SyncOptions::default(), &NoProgress);
                if synced.is_ok() {
                    index.engine.follow_late(&NoProgress).unwrap();
                    index.sums().assert_equal(&expected, &what);
                    index.assert_sound();
                    went_on += 1;
                }
            }
            if !died || after > 6 {
                break;
            }
            first = false;
        }
    }
    assert!(went_on > 4 && !first, "{went_on}");
}
