//! Tools that the tests of checkpoints share.

use std::{
    fs,
    path::{Path, PathBuf},
};

use cairn_checkpoint::{CheckpointError, Manifest, Placing, Restored, Source, Target, Trust, make, restore, verify};
use cairn_model::CancelToken;
use cairn_pipeline::Engine;
use cairn_reader::{Reader, TableSum};

use crate::world::World;

pub type Sums = Vec<(&'static str, TableSum)>;

pub fn never() -> CancelToken {
    CancelToken::never()
}

pub fn target(datadir: &Path, placing: Placing) -> Target {
    Target { datadir: datadir.to_owned(), placing, is_replica: false, beside: None, workers: 3 }
}

impl World {
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn folder(&self, name: &str) -> Source<'static> {
        Source::Folder(self.path(name))
    }

    pub fn try_make(&self, name: &str, cancel: &CancelToken) -> Result<Manifest, CheckpointError> {
        make(&self.path("data"), &self.path(name), &[], None, cancel, &|_, _| {})
    }

    pub fn make(&self, name: &str) -> Manifest {
        self.try_make(name, &never()).unwrap()
    }

    pub fn restore(&self, from: &str, to: &str, placing: Placing) -> Result<Restored, CheckpointError> {
        restore(&self.folder(from), &Trust::Any, &target(&self.path(to), placing), &never(), &|_, _| {})
    }

    pub fn sums(&self) -> Sums {
        self.engine.reader().view().unwrap().tables().checksums().unwrap()
    }
}

pub fn sums_in(datadir: &Path) -> Sums {
    Reader::open(&datadir.join("index")).unwrap().view().unwrap().tables().checksums().unwrap()
}

/// The sums of a restored index after it went on to the tip of the world's blocks.
pub fn goes_on(world: &World, datadir: &Path) -> Sums {
    let engine = Engine::open_existing(datadir).unwrap();
    let mut other = World { engine, dir: cairn_testkit::temp_dir() };
    fs::create_dir(other.dir.path().join("data")).unwrap();
    std::os::unix::fs::symlink(world.path("blocks"), other.dir.path().join("blocks")).unwrap();
    other.sync(None);
    other.sums()
}

pub fn differences(folder: &Path) -> Vec<(String, String)> {
    let found = verify(&Source::Folder(folder.to_owned()), &Trust::Any, &never(), &|_, _| {}).unwrap();
    found.differences.into_iter().map(|difference| (difference.path, difference.what)).collect()
}
