//! The identity of an index: its format, the versions of its stages, and how those of other programs are treated.

use std::path::Path;

use cairn_model::{BlockHash, Height};
use cairn_pipeline::{Driver, Engine, NoProgress, PipelineError, SyncOptions};
use cairn_reader::{ReadError, Reader, SecondaryReader, StageStatus};
use cairn_stages::{Stage, StageInfo};
use cairn_tables::{
    Table, TableInfo,
    checkpoints::{Checkpoint, Checkpoints},
    encode_key, encode_value,
    format::{FORMAT, Format, FormatVersion},
    stages::{CHAIN, COINS, SCRIPTS, SPENDS, STAGES},
};
use cairn_testkit::temp_dir;
use cairn_writer::{Batch, WriteError, Writer};
use tempfile::TempDir;

use crate::{compare::assert_equal, support::*, toys::*};

/// Changes an index as another program would have.
fn change(dir: &Path, fill: impl FnOnce(&mut Batch<'_>)) {
    let writer = Writer::open(&dir.join("index")).unwrap();
    writer
        .commit::<WriteError>(|batch| {
            fill(batch);
            Ok(())
        })
        .unwrap();
    writer.flush().unwrap();
}

fn indexed(seed: u64) -> (TempDir, TempDir, (Height, BlockHash)) {
    let blocks = temp_dir();
    write_tidy(blocks.path(), &small_chain(seed));
    let Index { engine, dir } = Index::of(blocks.path(), Driver::Bulk);
    let tip = engine.tip().unwrap().unwrap();
    (blocks, dir, tip)
}

/// The row as programs wrote it before it had fields: numbers as bincode writes them.
fn earlier_row(stage: &StageInfo, (height, hash): (Height, BlockHash)) -> Vec<u8> {
    let mut row = Vec::new();
    for number in [stage.version, height] {
        match number {
            0..=250 => row.push(number as u8),
            _ => row.extend([&[251][..], &u16::try_from(number).unwrap().to_le_bytes()].concat()),
        }
    }
    row.extend(hash.0);
    row
}

/// Value of a row, whatever it says.
fn value<T: Table>(dir: &Path, key: &T::Key) -> Option<Vec<u8>> {
    let reader = Reader::open(&dir.join("index")).unwrap();
    let tagged = encode_key::<T>(key);
    reader.view().unwrap().tables().row_bytes(&TableInfo::of::<T>(), &tagged[T::TAG.iter().len()..]).unwrap()
}

/// Stages whose checkpoint such a program could have left: it knew no dependencies.
fn of_then() -> impl Iterator<Item = &'static StageInfo> {
    STAGES.iter().filter(|stage| stage.depends_on.is_empty())
}

#[test]
fn an_index_of_before_is_read_and_brought_up_to_date() {
    let (blocks, dir, tip) = indexed(181);
    let expected = {
        let reader = Reader::open(&dir.path().join("index")).unwrap();
        Sums(reader.view().unwrap().tables().checksums().unwrap())
    };
    assert_eq!(value::<Format>(dir.path(), &()), Some(encode_value::<Format>(&FORMAT)));
    // As the last program without these rows left it.
    change(dir.path(), |batch| {
        batch.delete_row::<Format>(&());
        for stage in of_then() {
            let key = encode_key::<Checkpoints>(&stage.name.to_owned());
            batch.put(Checkpoints::FAMILY, &key, &earlier_row(stage, tip));
        }
    });
    assert_eq!(value::<Format>(dir.path(), &()), None);
    let oracle = oracle_of(&small_chain(181));
    let open = || Reader::open(&dir.path().join("index")).unwrap();
    assert_equal(&open().view().unwrap(), &oracle);
    let states = open().view().unwrap().stages().unwrap();
    assert!(states.iter().all(|state| state.status == StageStatus::Finished), "{states:?}");
    let follower = SecondaryReader::open(&dir.path().join("index"), &dir.path().join("serve"), None, 64 << 20).unwrap();
    assert_equal(&follower.reader().view().unwrap(), &oracle);

    // A writer adds the format; it rebuilds nothing, and writes checkpoints again with the next block.
    let mut index = Index { engine: Engine::open_existing(dir.path()).unwrap(), dir };
    assert_eq!(value::<Format>(index.path(), &()), Some(encode_value::<Format>(&FormatVersion::FIRST)));
    assert!(!is_cut(|| index.engine.prepare(&Cut::die(0))), "something was rebuilt");
    for stage in of_then() {
        assert_eq!(value::<Checkpoints>(index.path(), &stage.name.to_owned()).unwrap(), earlier_row(stage, tip));
    }
    index.engine.unwind(tip.0 - 1, &NoProgress).unwrap();
    index.sync(blocks.path(), Driver::Auto);
    for stage in STAGES {
        let row = value::<Checkpoints>(index.path(), &stage.name.to_owned()).unwrap();
        assert_eq!(row, encode_value::<Checkpoints>(&Checkpoint::of(stage, tip.0, tip.1)));
    }
    index.sums().assert_equal(&expected, "brought up to date");
    index.assert_sound();
    assert_eq!(follower.advance(Some(tip)).unwrap().tip.height, tip.0);
}

fn is_newer<T>(result: Result<T, ReadError>) -> bool {
    matches!(result, Err(ReadError::NewerFormat { found: 2, known: 1 }))
}

#[test]
fn a_newer_format_is_refused_before_anything_else_is_read() {
    let (blocks, dir, tip) = indexed(182);
    let path = dir.path().join("index");
    let follower = SecondaryReader::open(&path, &dir.path().join("serve"), None, 64 << 20).unwrap();
    // A program of tomorrow: no row but that of the format is what it was, and there is a family that nobody knows.
    let writer = Writer::open(&path).unwrap();
    writer.db().create_cf("tomorrow", &cairn_reader::db_options()).unwrap();
    let family = Format::FAMILY;
    let rows = writer.db().cf_handle(family.name()).unwrap();
    let all: Vec<_> = writer.db().iterator_cf(&rows, rocksdb::IteratorMode::Start).map(|row| row.unwrap().0).collect();
    let fill = |batch: &mut Batch<'_>| -> Result<(), WriteError> {
        all.iter().for_each(|key| batch.put(family, key, b"what is this"));
        batch.put_row::<Format>(&(), &FormatVersion(2));
        Ok(())
    };
    writer.commit(fill).unwrap();
    writer.flush().unwrap();
    drop(rows);
    drop(writer);

    assert!(is_newer(Reader::open(&path)));
    assert!(is_newer(SecondaryReader::open(&path, &dir.path().join("other"), None, 64 << 20)));
    let refused = |result: Result<(), PipelineError>| {
        let error = result.unwrap_err();
        let newer = ReadError::NewerFormat { found: 2, known: 1 }.to_string();
        assert!(error.to_string().contains(&newer), "{error}");
        assert!(newer.contains("format 2") && newer.contains("run the version"), "{newer}");
    };
    refused(Engine::open_existing(dir.path()).map(drop));
    refused(Engine::open(dir.path(), &facts(blocks.path())).map(drop));
    let db = Writer::open(&path).map(drop);
    assert!(matches!(db, Err(WriteError::Read(ReadError::NewerFormat { found: 2, known: 1 }))), "{db:?}");
    // Nothing was made or removed.
    let families = cairn_reader::Db::list_cf(&cairn_reader::db_options(), &path).unwrap();
    assert_eq!(families.len(), cairn_tables::Family::ALL.len() + 2, "{families:?}");
    // Who served before goes on with what it had.
    assert!(is_newer(follower.refresh()));
    assert!(is_newer(follower.advance(Some((tip.0 + 1, BlockHash([7; 32]))))));
    assert_equal(&follower.reader().view().unwrap(), &oracle_of(&small_chain(182)));
}

#[test]
fn tables_of_a_newer_program_are_refused_to_writers_and_readers_go_on() {
    let (blocks, dir, _) = indexed(182);
    let path = dir.path().join("index");
    let writer = Writer::open(&path).unwrap();
    writer.db().create_cf("tomorrow", &cairn_reader::db_options()).unwrap();
    drop(writer);
    for open in [Engine::open_existing(dir.path()), Engine::open(dir.path(), &facts(blocks.path()))] {
        let error = open.map(drop).unwrap_err().to_string();
        assert!(error.contains("(tomorrow)") && error.contains("restore the checkpoint"), "{error}");
    }
    // The rows that it knows are as they were.
    assert_equal(&Reader::open(&path).unwrap().view().unwrap(), &oracle_of(&small_chain(182)));
}

/// Gives a stage's checkpoint another version.
fn set_version(dir: &Path, stage: &StageInfo, version: u32, (height, hash): (Height, BlockHash)) {
    let row = Checkpoint { version, ..Checkpoint::of(stage, height, hash) };
    change(dir, |batch| batch.put_row::<Checkpoints>(&stage.name.to_owned(), &row));
}

#[test]
fn tables_of_another_version_answer_nothing() {
    let (blocks, dir, tip) = indexed(183);
    let path = dir.path().join("index");
    let oracle = oracle_of(&small_chain(183));
    let script = oracle.all_totals().keys().next().unwrap().clone();
    for version in [0, SCRIPTS.version - 1, SCRIPTS.version + 1, u32::MAX] {
        set_version(dir.path(), &SCRIPTS, version, tip);
        let follower = SecondaryReader::open(&path, &dir.path().join("serve"), None, 64 << 20).unwrap();
        for reader in [follower.reader(), Reader::open(&path).unwrap().into()] {
            let view = reader.view().unwrap();
            let error = view.scripts().find(script.as_bytes()).map(drop).unwrap_err();
            let expected = matches!(error, ReadError::StageVersion { stage: "scripts", found, .. } if found == version);
            assert!(expected, "{error:?}");
            let advice =
                if version > SCRIPTS.version { "run the version of Cairn" } else { "`cairn index` rebuilds them" };
            assert!(error.to_string().contains(advice), "{error}");
            assert_eq!(view.unfinished().unwrap(), ["scripts"]);
            let statuses: Vec<_> = view.stages().unwrap().iter().map(|state| state.status).collect();
            let others = StageStatus::Finished;
            let expected = STAGES.iter().map(|s| if s.name == "scripts" { StageStatus::OtherVersion } else { others });
            assert_eq!(statuses, expected.collect::<Vec<_>>());
            // Questions that need other stages are answered.
            assert!(view.transactions().spenders(cairn_model::TxNum(1)).is_ok());
            assert!(view.require(&SPENDS).is_ok() && view.require(&COINS).is_ok());
        }
    }
    // The journal is what everything else is made from: nothing is answered at all.
    set_version(dir.path(), &CHAIN, CHAIN.version + 1, tip);
    let refused = Reader::open(&path).unwrap().view().map(drop);
    assert!(
        matches!(refused, Err(ReadError::StageVersion { stage: "chain", found, expected })
        if found == expected + 1 && expected == CHAIN.version),
        "{refused:?}"
    );
    assert!(refused.unwrap_err().to_string().contains("run the version of Cairn"));
    assert!(SecondaryReader::open(&path, &dir.path().join("serve"), None, 64 << 20).is_err());
    set_version(dir.path(), &CHAIN, CHAIN.version, tip);
    // A writer rebuilds the stage.
    let mut index = Index { engine: Engine::open_existing(dir.path()).unwrap(), dir };
    index.sync(blocks.path(), Driver::Auto);
    index.view(|view| assert_equal(view, &oracle));
    index.assert_sound();
}

/// A server goes on with what it has while a writer of another version takes over, and then says so.
#[test]
fn a_server_notices_that_another_version_writes() {
    let (_blocks, dir, tip) = indexed(184);
    let path = dir.path().join("index");
    let follower = SecondaryReader::open(&path, &dir.path().join("serve"), None, 64 << 20).unwrap();
    set_version(dir.path(), &SPENDS, 9, tip);
    let reader = follower.reader();
    assert!(reader.view().unwrap().require(&SPENDS).is_ok(), "it has not looked yet");
    drop(reader);
    follower.refresh().unwrap();
    let reader = follower.reader();
    let refused = reader.view().unwrap().require(&SPENDS);
    assert!(matches!(refused, Err(ReadError::StageVersion { stage: "spends", found: 9, .. })), "{refused:?}");
}

/// More stages than a word has bits: each is distinguished, however often it is asked for. Their checkpoints do not
/// count as rows of a request.
#[test]
fn any_number_of_stages_is_remembered() {
    let (_blocks, dir, (height, hash)) = indexed(185);
    let stages: Vec<StageInfo> = (0..200)
        .map(|n| {
            let name: &'static str = Box::leak(format!("stage-{n}").into_boxed_str());
            StageInfo { name, version: n, depends_on: &[], tables: &[] }
        })
        .collect();
    change(dir.path(), |batch| {
        for stage in stages.iter().filter(|stage| stage.version % 3 != 0) {
            batch.put_row::<Checkpoints>(&stage.name.to_owned(), &Checkpoint::of(stage, height, hash));
        }
    });
    let reader = Reader::open(&dir.path().join("index")).unwrap();
    let view = reader.view().unwrap();
    let start = view.rows_read();
    for _ in 0..3 {
        for stage in &stages {
            let finished = view.require(stage);
            assert_eq!(finished.is_ok(), stage.version % 3 != 0, "{}", stage.name);
            assert!(finished.is_ok() || matches!(finished, Err(ReadError::Unfinished(name)) if name == stage.name));
        }
        assert_eq!(view.rows_read(), start);
    }
}

/// A stage that reads another's tables is rebuilt with another version of it, even if that version's tables are at the
/// tip.
#[test]
fn a_stage_is_rebuilt_with_what_it_depends_on() {
    let blocks = temp_dir();
    write_tidy(blocks.path(), &small_chain(186));
    let dir = scratch();
    let open = |version: u32| {
        let base = Record { version }.info();
        let mut stages = cairn_stages::all();
        stages.push(Box::new(Record { version }));
        stages.push(Box::new(Dependent { on: Box::leak(Box::new([&*Box::leak(Box::new(base))])) }) as Box<dyn Stage>);
        Engine::open_with(dir.path(), Some(&facts(blocks.path())), stages).unwrap()
    };
    let dependencies = |engine: &Engine| {
        let (stage, checkpoint) = engine.stages().unwrap().pop().unwrap();
        assert_eq!(stage.name, "toy-dependent");
        checkpoint.unwrap().dependencies
    };
    let sum = |engine: &Engine| engine.reader().view().unwrap().tables().checksum(&DEPENDENT).unwrap();
    let mut engine = open(1);
    sync(&mut engine, blocks.path(), Driver::Bulk);
    assert_eq!(dependencies(&engine), [("toy-record".to_owned(), 1)]);
    let expected = sum(&engine);
    assert!(expected.rows > 0);
    drop(engine);
    // A wrong row in its tables stays while nothing makes the engine look, and is gone once the stage was rebuilt.
    change(dir.path(), |batch| batch.put(DEPENDENT.family, b"Ywrong", b"row"));
    for (version, rebuilt) in [(1, false), (2, true)] {
        let mut engine = open(version);
        sync_with(&mut engine, blocks.path(), &SyncOptions::default(), &NoProgress).unwrap();
        assert_eq!(sum(&engine) == expected, rebuilt, "version {version}");
        assert_eq!(dependencies(&engine), [("toy-record".to_owned(), version)]);
        drop(engine);
    }
}
