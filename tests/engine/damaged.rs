//! Random damage to the files of an index: harmless, or found by the audit and mended by the repair. After the repair
//! the tables equal those of the index that was not damaged.
//!
//! `CAIRN_TEST_DAMAGES` sets the number of damages.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use cairn_pipeline::{
    Driver, Engine, FileBlocks, NoProgress, PipelineError, Repaired, repair, set_aside,
    verify::{RawCheck, Repair, audit_folder},
};
use cairn_reader::{ReadError, table_files_in};
use cairn_tables::{
    Family, TABLES, Table, block_log::BlockLog, checkpoints::Checkpoints, coins::Coins, encode_key,
    heights::HeightByHash, keys::HashPrefix, tx_nums::TxNums,
};
use cairn_testkit::temp_dir;
use cairn_writer::{WriteError, Writer};
use rand::{Rng, SeedableRng, seq::IndexedRandom};
use rand_chacha::ChaCha8Rng;
use tempfile::TempDir;

use crate::support::*;

pub const MEMORY: u64 = 256 << 20;

fn damages() -> u64 {
    let wanted = env::var("CAIRN_TEST_DAMAGES").ok().and_then(|n| n.parse().ok());
    wanted.unwrap_or(if long() { 500 } else { 60 })
}

/// An index of two thirds in bulk and the rest block by block, closed.
pub fn original(seed: u64) -> (TempDir, TempDir, Sums) {
    let blocks = temp_dir();
    write_tidy(blocks.path(), &small_chain(seed));
    let mut index = Index::up_to(blocks.path(), Driver::Bulk, 100);
    index.sync(blocks.path(), Driver::Tip);
    // A repair makes what follows the chain after its blocks, too.
    index.engine.follow_late(&NoProgress).unwrap();
    index.engine.settle().unwrap();
    let sums = index.sums();
    let Index { engine, dir } = index;
    drop(engine);
    (blocks, dir, sums)
}

pub fn copy(from: &Path) -> TempDir {
    let to = scratch();
    for folder in ["index", "ledger"] {
        copy_folder(&from.join(folder), &to.path().join(folder));
    }
    to
}

pub fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for file in fs::read_dir(from).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), to.join(file.file_name())).unwrap();
    }
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(dir.join("index")).unwrap().map(|file| file.unwrap().path()).collect();
    let matters = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        name.ends_with(".sst") || name.starts_with("MANIFEST") || name == "CURRENT"
    };
    files.retain(matters);
    files.sort();
    files
}

/// The largest table file of a family. No writer has the index open, so that none replaces it.
pub fn largest_file(dir: &Path, family: Family) -> Option<PathBuf> {
    let files = table_files_in(&dir.join("index")).unwrap();
    let file = files.iter().filter(|file| file.family() == family).max_by_key(|file| file.bytes());
    file.map(|file| file.path().to_owned())
}

/// Damages a file; says how.
fn damage(dir: &Path, rng: &mut ChaCha8Rng) -> String {
    // An earlier damage may have left a file empty.
    let mut files = files(dir);
    files.retain(|path| fs::metadata(path).unwrap().len() > 0);
    let path = files.choose(rng).unwrap();
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    let mut bytes = fs::read(path).unwrap();
    let at = rng.random_range(0..bytes.len());
    let what = match rng.random_range(0..6) {
        0 | 1 => {
            bytes[at] ^= 1 << rng.random_range(0..8);
            format!("a bit of byte {at}")
        }
        2 => {
            let end = (at + rng.random_range(1..64)).min(bytes.len());
            rng.fill(&mut bytes[at..end]);
            format!("bytes {at}..{end}")
        }
        3 => {
            bytes.truncate(at);
            format!("cut off at {at}")
        }
        4 => {
            fs::remove_file(path).unwrap();
            return format!("{name}: removed");
        }
        _ => {
            let other = files.choose(rng).unwrap();
            bytes = fs::read(other).unwrap();
            let mine = fs::read(path).unwrap();
            fs::write(other, mine).unwrap();
            format!("swapped with {}", other.file_name().unwrap().to_string_lossy())
        }
    };
    fs::write(path, bytes).unwrap();
    format!("{name}: {what}")
}

/// Runs the repair; indexes again if it says so.
pub fn mend(dir: &Path, blocks: &Path) -> Repaired {
    let (files, survey) = survey(blocks, cairn_model::Network::Regtest);
    let source = FileBlocks::new(&files, &survey, 8);
    let repaired = repair(dir, &facts(blocks), options(MEMORY, 20, RawCheck::Sample), &source, &NoProgress).unwrap();
    if let Repaired::Anew(_) = repaired {
        set_aside(dir, false).unwrap();
    }
    repaired
}

pub fn assert_mended(dir: TempDir, blocks: &Path, expected: &Sums, what: &str) {
    let mut index = Index { engine: Engine::open(dir.path(), &facts(blocks)).unwrap(), dir };
    index.sync(blocks, Driver::Auto);
    index.engine.follow_late(&NoProgress).unwrap();
    index.sums().assert_equal(expected, what);
    index.assert_sound();
}

#[test]
fn random_damage_is_harmless_or_found_and_mended() {
    let (blocks, index, expected) = original(31);
    let (mut harmless, mut in_place, mut anew) = (0, 0, 0);
    for seed in 0..damages() {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let dir = copy(index.path());
        let what = format!("seed {seed}: {}", damage(dir.path(), &mut rng));
        let audit = audit_folder(&dir.path().join("index"), RawCheck::All, &NoProgress);
        let (reader, audit) = match audit {
            Ok(found) => found,
            // A list of files that ends before the first commit.
            Err(PipelineError::Read(ReadError::Empty)) if what.contains("MANIFEST") => {
                assert_mended(dir, blocks.path(), &expected, &what);
                continue;
            }
            Err(e) => panic!("{what}: {e}"),
        };
        if audit.ok() {
            let sums = Sums(reader.unwrap().view().unwrap().tables().checksums().unwrap());
            // A list of files that ends early is that of an earlier commit.
            if !what.contains("MANIFEST") {
                sums.assert_equal(&expected, &what);
            }
            harmless += 1;
        } else {
            drop(reader);
            assert!(audit.damages.iter().any(|d| d.repair.command() == Some("cairn repair")), "{what}: {audit:#?}");
            match mend(dir.path(), blocks.path()) {
                Repaired::Whole(_) => in_place += 1,
                Repaired::Anew(_) => anew += 1,
            }
        }
        assert_mended(dir, blocks.path(), &expected, &what);
    }
    println!("{harmless} harmless, {in_place} mended in place, {anew} indexed anew");
    assert!(in_place > anew, "{in_place} in place, {anew} anew");
}

/// A row with the height of a stage that cannot be read is reported, and mended.
#[test]
fn heights_of_stages_that_cannot_be_read_are_told_and_mended() {
    let (blocks, index, expected) = original(33);
    for stage in ["ages", "clusters", "wakeups"] {
        let dir = copy(index.path());
        let writer = Writer::open(&dir.path().join("index")).unwrap();
        let key = encode_key::<Checkpoints>(&stage.to_owned());
        writer
            .commit::<WriteError>(|batch| {
                batch.put(Checkpoints::FAMILY, &key, &[0xff, 1, 200, 3]);
                Ok(())
            })
            .unwrap();
        writer.flush().unwrap();
        drop(writer);
        let (_, audit) = audit_folder(&dir.path().join("index"), RawCheck::None, &NoProgress)
            .unwrap_or_else(|e| panic!("{stage}: {e}"));
        assert!(audit.damages.iter().any(|d| d.repair.command() == Some("cairn repair")), "{stage}: {audit:#?}");
        mend(dir.path(), blocks.path());
        assert_mended(dir, blocks.path(), &expected, stage);
    }
}

/// One byte in the middle of the newest file of each family that has one.
#[test]
fn every_family_is_mended_in_place() {
    let (blocks, index, expected) = original(32);
    for family in Family::ALL {
        let dir = copy(index.path());
        let Some(path) = largest_file(dir.path(), family) else { continue };
        let mut bytes = fs::read(&path).unwrap();
        let middle = bytes.len() / 4;
        bytes[middle] ^= 0x10;
        fs::write(&path, bytes).unwrap();
        let (_, audit) = audit_folder(&dir.path().join("index"), RawCheck::None, &NoProgress).unwrap();
        let owners: Vec<&str> = TABLES.iter().filter(|t| t.family == family).map(|t| t.name).collect();
        let named = audit.damages.iter().any(|d| owners.contains(&d.place.as_str()));
        assert!(named, "{}: {:#?}", family.name(), audit.damages);
        let repaired = mend(dir.path(), blocks.path());
        assert!(matches!(&repaired, Repaired::Whole(done) if !done.is_empty()), "{}: {repaired:?}", family.name());
        assert_mended(dir, blocks.path(), &expected, family.name());
    }
}

/// Rows whose checksums hold and that say something else than the journal.
#[test]
fn wrong_rows_are_found_and_mended() {
    let (blocks, index, expected) = original(33);
    let tx_nums = (HashPrefix([7; 8]), cairn_model::TxNum(3));
    let heights = (HashPrefix([9; 8]), 5);
    type Forge = Box<dyn Fn(&mut cairn_writer::Batch<'_>)>;
    let forged: [(&str, Repair, Forge); 3] = [
        ("tx_nums", Repair::LookUp, Box::new(move |batch| batch.put_row::<TxNums>(&tx_nums, &()))),
        ("height_by_hash", Repair::LookUp, Box::new(move |batch| batch.put_row::<HeightByHash>(&heights, &()))),
        (
            "spenders",
            Repair::Stage("spends"),
            Box::new(|batch| {
                batch.put(cairn_tables::spenders::Spenders::FAMILY, &[0, 0, 0, 0, 0], &[0, 1, 0]);
            }),
        ),
    ];
    for (table, expected_repair, forge) in forged {
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
        let found = audit.damages.iter().find(|d| d.place == table).unwrap_or_else(|| panic!("{table}: {audit:#?}"));
        assert_eq!(found.repair, expected_repair);
        assert!(matches!(mend(dir.path(), blocks.path()), Repaired::Whole(done) if !done.is_empty()), "{table}");
        assert_mended(dir, blocks.path(), &expected, table);
    }
    // A coin that is gone.
    let dir = copy(index.path());
    let writer = Writer::open(&dir.path().join("index")).unwrap();
    let mut first = None;
    writer.rows::<Coins>(|key, _| first = first.take().or_else(|| Some(key.to_vec()))).unwrap();
    let first = Coins::decode_key(&first.unwrap()).unwrap();
    writer
        .commit::<WriteError>(|batch| {
            batch.delete(Coins::FAMILY, &encode_key::<Coins>(&first));
            Ok(())
        })
        .unwrap();
    writer.flush().unwrap();
    drop(writer);
    let (_, audit) = audit_folder(&dir.path().join("index"), RawCheck::None, &NoProgress).unwrap();
    assert!(audit.damages.iter().any(|d| d.repair == Repair::Stage("coins")), "{audit:#?}");
    mend(dir.path(), blocks.path());
    assert_mended(dir, blocks.path(), &expected, "a coin that is gone");
}

/// A wrong flag in the journal about the witness of an input: no other row shows it, only the block file does.
#[test]
fn a_wrong_flag_is_found_by_comparing_every_block() {
    let (blocks, index, expected) = original(35);
    let dir = copy(index.path());
    let writer = Writer::open(&dir.path().join("index")).unwrap();
    let mut wrong = None;
    writer
        .rows::<BlockLog>(|key, value| {
            let (first, mut row) = (BlockLog::decode_key(key).unwrap(), BlockLog::decode_value(value).unwrap());
            if let (None, false, Some(input)) = (&wrong, row.height == 100, row.txs.inputs.first_mut()) {
                input.flags.anyone_can_pay ^= true;
                wrong = Some((first, row));
            }
        })
        .unwrap();
    let (first, row) = wrong.unwrap();
    writer
        .commit::<WriteError>(|batch| {
            batch.put_row::<BlockLog>(&first, &row);
            Ok(())
        })
        .unwrap();
    writer.flush().unwrap();
    drop(writer);
    let audit = |check| audit_folder(&dir.path().join("index"), check, &NoProgress).unwrap().1;
    assert!(audit(RawCheck::Sample).ok());
    let found = audit(RawCheck::All);
    let [damage] = &found.damages[..] else { panic!("{found:#?}") };
    assert_eq!((damage.height, damage.repair), (Some(row.height), Repair::Blocks));
    let (files, survey) = survey(blocks.path(), cairn_model::Network::Regtest);
    let source = FileBlocks::new(&files, &survey, 8);
    let repaired =
        repair(dir.path(), &facts(blocks.path()), options(MEMORY, 20, RawCheck::All), &source, &NoProgress).unwrap();
    assert!(matches!(&repaired, Repaired::Whole(done) if !done.is_empty()), "{repaired:?}");
    assert_mended(dir, blocks.path(), &expected, "a wrong flag");
}

/// A repair that dies at any step leaves an index with which the next command goes on.
#[test]
fn a_repair_that_dies_is_finished_later() {
    let (blocks, index, expected) = original(34);
    let (files, survey) = survey(blocks.path(), cairn_model::Network::Regtest);
    let source = FileBlocks::new(&files, &survey, 8);
    for table in ["tx_nums", "coins", "block_log"] {
        for after in 0.. {
            let dir = copy(index.path());
            let family = Family::ALL.into_iter().find(|family| family.name() == table).unwrap();
            let path = largest_file(dir.path(), family).unwrap();
            let mut bytes = fs::read(&path).unwrap();
            let at = bytes.len() / 4;
            bytes[at] ^= 0x10;
            fs::write(&path, bytes).unwrap();
            let cut = Cut::die(after * 40);
            let died = is_cut(|| {
                repair(dir.path(), &facts(blocks.path()), options(MEMORY, 0, RawCheck::Sample), &source, &cut)
            });
            let repaired = mend(dir.path(), blocks.path());
            assert!(matches!(repaired, Repaired::Whole(_)), "{table}, {after}: {repaired:?}");
            assert_mended(dir, blocks.path(), &expected, &format!("{table}, died after {after}"));
            if !died {
                assert!(after > 0, "{table} was never cut");
                break;
            }
        }
    }
}
