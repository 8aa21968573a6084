//! The block files, made once for all tests here.

use std::{
    fs,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use bitcoin::Network;
use cairn_chaingen::{
    Chain, Everything,
    corefiles::{FileOptions, Layout, write_chain},
};
use tempfile::TempDir;

/// Blocks before the fork.
const BLOCKS: u32 = 1_100;
/// Blocks that the fork takes off.
pub const DEPTH: u32 = 300;
/// Blocks that come instead and on top.
pub const LENGTH: u32 = 312;

/// Whether the long parameters are asked for.
pub fn long() -> bool {
    std::env::var_os("CAIRN_TEST_LONG").is_some_and(|v| v == "1")
}

/// `count`; five times as many in long tests.
pub fn scaled(count: usize) -> usize {
    if long() { count * 5 } else { count }
}

/// Folders of block files of one chain in which everything occurs.
pub struct World {
    dir: TempDir,
    /// Height of the tip before the fork.
    pub height: u32,
}

static SHARED: Mutex<Weak<World>> = Mutex::new(Weak::new());

impl World {
    /// The one for all tests that run at the time. It goes with the last of them.
    pub fn shared() -> Arc<World> {
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        shared.upgrade().unwrap_or_else(|| {
            let world = Arc::new(World::make());
            *shared = Arc::downgrade(&world);
            world
        })
    }

    fn make() -> Self {
        let dir = cairn_testkit::temp_dir();
        let mut making = Everything::new(41, 10, false);
        making.grow(BLOCKS).unwrap();
        let world = World { dir, height: making.chain().tip().height };
        world.write("before", making.chain());
        making.fork(DEPTH, DEPTH + 2).unwrap();
        making.grow(LENGTH - DEPTH - 2).unwrap();
        world.write("after", making.chain());
        world.write("bare", making.chain());
        fs::remove_file(world.bare().join("rev00000.dat")).unwrap();
        world
    }

    fn write(&self, name: &str, chain: &Chain) {
        let options = FileOptions::new(Network::Regtest, [0x5a, 0, 0xc3, 0x11, 0xff, 0x80, 0x07, 0x3d]);
        write_chain(&self.dir.path().join(name), chain, &Layout::tidy(options)).unwrap();
    }

    /// Before the fork.
    pub fn before(&self) -> PathBuf {
        self.dir.path().join("before")
    }

    /// The same files, continued by the longer branch.
    pub fn after(&self) -> PathBuf {
        self.dir.path().join("after")
    }

    /// As `after`, without undo data.
    pub fn bare(&self) -> PathBuf {
        self.dir.path().join("bare")
    }
}
