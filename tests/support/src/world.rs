//! Folders of small chains, and the program in them.

use std::{fs, io::Write, path::PathBuf, process::Command};

use assert_cmd::assert::Assert;
use bitcoin::Network;
use cairn_chaingen::{
    Chain, Everything,
    corefiles::{FileOptions, Layout, write_chain},
};
use tempfile::TempDir;

use crate::{program::Program, running::Running};

/// Key of the obfuscation of the block files.
pub const KEY: [u8; 8] = [0x6b, 0x01, 0xff, 0x00, 0x42, 0x17, 0x99, 0xc3];

/// A folder with block files in `blocks`; the program runs in it, with its index in `data`.
pub struct World {
    program: Program,
    dir: TempDir,
}

impl World {
    /// An empty folder.
    pub fn empty(program: Program) -> Self {
        World { program, dir: cairn_testkit::temp_dir() }
    }

    /// A folder with the files of a chain.
    pub fn with(program: Program, chain: &Chain) -> Self {
        let world = World::empty(program);
        world.write(chain);
        world
    }

    /// A small chain of this many blocks.
    pub fn small(program: Program, blocks: u32) -> Self {
        World::with(program, grown(blocks).chain())
    }

    /// A path in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Writes the files of a chain.
    pub fn write(&self, chain: &Chain) {
        write_chain(&self.path("blocks"), chain, &layout()).unwrap();
    }

    /// Appends to the files what a longer form of the same chain adds, as a node does: undo data first, so that no
    /// block is seen without.
    pub fn append(&self, longer: &Chain) {
        let other = World::with(self.program, longer);
        for name in ["blocks/rev00000.dat", "blocks/blk00000.dat"] {
            let (old, new) = (fs::read(self.path(name)).unwrap(), fs::read(other.path(name)).unwrap());
            assert!(new.starts_with(&old), "{name} does not continue the old one");
            let mut file = fs::OpenOptions::new().append(true).open(self.path(name)).unwrap();
            file.write_all(&new[old.len()..]).unwrap();
        }
    }

    /// The program, with this folder as the current one.
    pub fn command(&self, line: &str) -> Command {
        let mut command = self.program.command();
        command.current_dir(self.dir.path()).args(line.split_whitespace());
        command
    }

    /// Runs a command line to its end.
    pub fn run(&self, line: &str) -> Assert {
        Assert::new(self.command(line).output().unwrap()).append_context("command", line.to_owned())
    }

    /// Indexes the files once.
    pub fn index(&self) {
        self.run("index --network regtest --datadir data --blocks-dir blocks --once").success();
    }

    /// Runs a command; returns its output.
    pub fn stdout(&self, line: &str) -> String {
        String::from_utf8(self.run(line).success().get_output().stdout.clone()).unwrap()
    }

    /// Starts a command that goes on.
    pub fn start(&self, line: &str) -> Running {
        Running::start(self.command(line))
    }
}

/// How the files are laid out.
pub fn layout() -> Layout {
    Layout::tidy(FileOptions::new(Network::Regtest, KEY))
}

/// A generator after this many blocks.
pub fn grown(blocks: u32) -> Everything {
    let mut generator = Everything::new(11, 4, false);
    generator.grow(blocks).unwrap();
    generator
}
