//! A full disk: said as such, nothing half-written, the index opens, and with more room the work goes on.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use cairn_pipeline::{Driver, Engine, NoProgress, PipelineError, SyncOptions};
use cairn_reader::Reader;
use cairn_testkit::{skip, temp_dir};
use tempfile::TempDir;

use crate::{interrupted::SMALL, support::*};

/// A file system of its own, in memory, that goes with the value.
struct Disk {
    _dir: TempDir,
    path: PathBuf,
}

fn run(program: &str, args: &[&str]) -> bool {
    Command::new(program).args(args).output().is_ok_and(|output| output.status.success())
}

impl Disk {
    /// `None` where mounting is not allowed.
    fn of(kilobytes: u64) -> Option<Self> {
        let dir = temp_dir();
        let path = dir.path().join("disk");
        std::fs::create_dir(&path).unwrap();
        let size = format!("size={kilobytes}k");
        run("mount", &["-t", "tmpfs", "-o", &size, "tmpfs", path.to_str().unwrap()]).then(|| Disk { _dir: dir, path })
    }

    fn resize(&self, kilobytes: u64) {
        let options = format!("remount,size={kilobytes}k");
        assert!(run("mount", &["-o", &options, self.path.to_str().unwrap()]));
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        run("umount", &["-l", self.path.to_str().unwrap()]);
    }
}

fn try_sync(datadir: &Path, blocks: &Path, driver: Driver) -> Result<(), PipelineError> {
    let mut engine = Engine::open(datadir, &facts(blocks))?;
    engine.set_bulk_sizes(SMALL);
    let options = SyncOptions { driver, ..SyncOptions::default() };
    sync_with(&mut engine, blocks, &options, &NoProgress).map(drop)
}

const ENOUGH: u64 = 256 << 10;

#[test]
fn a_full_disk_is_said_and_the_work_goes_on() {
    let blocks = temp_dir();
    let chain = small_chain(101);
    write_tidy(blocks.path(), &chain);
    let expected = Index::of(blocks.path(), Driver::Bulk).sums();
    let (mut full, mut half) = (0, 0);
    for driver in [Driver::Bulk, Driver::Tip] {
        // From too little for an empty database to enough for everything.
        for kilobytes in (64..3_000).step_by(if long() { 32 } else { 256 }) {
            let Some(disk) = Disk::of(kilobytes) else { skip!("no file system can be mounted here") };
            let what = format!("{driver:?} on {kilobytes} kB");
            match try_sync(&disk.path, blocks.path(), driver) {
                Ok(()) => break,
                Err(e) => assert!(e.is_disk_full(), "{what}: {e:?}"),
            }
            full += 1;
            // Reading what was committed needs no room.
            if let Ok(reader) = Reader::open(&disk.path.join("index")) {
                match reader.view() {
                    Ok(view) => {
                        half += 1;
                        let audit = cairn_pipeline::verify::audit(&view, &NoProgress).unwrap();
                        assert!(audit.ok(), "{what}: {:#?}", audit.checks);
                    }
                    Err(e) => assert!(matches!(e, cairn_reader::ReadError::Empty), "{what}: {e:?}"),
                }
            }
            // Still full: said again, if it cannot go on.
            if let Err(e) = try_sync(&disk.path, blocks.path(), driver) {
                assert!(e.is_disk_full(), "{what}, again: {e:?}");
            }
            disk.resize(ENOUGH);
            try_sync(&disk.path, blocks.path(), driver).unwrap_or_else(|e| panic!("{what}, with more room: {e:?}"));
            let engine = Engine::open_existing(&disk.path).unwrap();
            let sums = Sums(engine.reader().view().unwrap().tables().checksums().unwrap());
            sums.assert_equal(&expected, &what);
        }
    }
    assert!(full > 4, "the disk was full {full} times, the index half-way {half} times");
}

#[test]
fn a_disk_that_fills_up_while_the_index_is_in_use() {
    let blocks = temp_dir();
    let chain = small_chain(102);
    write_tidy(blocks.path(), &chain);
    let whole = Index::of(blocks.path(), Driver::Bulk).sums();
    let start = Index::up_to(blocks.path(), Driver::Bulk, 120).sums();
    let Some(disk) = Disk::of(ENOUGH) else { skip!("no file system can be mounted here") };
    let mut engine = Engine::open(&disk.path, &facts(blocks.path())).unwrap();
    let to = SyncOptions { to: Some(120), ..SyncOptions::default() };
    sync_with(&mut engine, blocks.path(), &to, &NoProgress).unwrap();
    // Somebody else takes the rest.
    let file = std::fs::File::create(disk.path.join("somebody-elses")).unwrap();
    let mut piece = vec![0u8; 1 << 20];
    while !piece.is_empty() {
        if std::io::Write::write_all(&mut &file, &piece).is_err() {
            piece.truncate(piece.len() / 2);
        }
    }
    let error = sync_with(&mut engine, blocks.path(), &SyncOptions::default(), &NoProgress).unwrap_err();
    assert!(error.is_disk_full(), "{error:?}");
    let error = engine.unwind(100, &NoProgress).unwrap_err();
    assert!(error.is_disk_full(), "{error:?}");
    for stage in rebuildable() {
        let error = engine.reindex(&[stage], &NoProgress).unwrap_err();
        assert!(error.is_disk_full(), "{error:?}");
    }
    drop(engine);
    let reader = Reader::open(&disk.path.join("index")).unwrap();
    Sums(reader.view().unwrap().tables().checksums().unwrap()).assert_equal(&start, "what was committed before");
    drop(reader);
    // A file that is open keeps its room.
    drop(file);
    std::fs::remove_file(disk.path.join("somebody-elses")).unwrap();
    let mut engine = Engine::open_existing(&disk.path).unwrap();
    sync(&mut engine, blocks.path(), Driver::Auto);
    Sums(engine.reader().view().unwrap().tables().checksums().unwrap()).assert_equal(&whole, "with room again");
}
