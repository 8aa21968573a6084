//! Random damage to block files and undo files: it changes nothing, or it is an error that says where. Never is a chain
//! silently shorter.
//!
//! `CAIRN_TEST_DAMAGES` sets the number of damages.

use std::{collections::BTreeMap, env, fs, os::unix::fs::symlink, path::PathBuf, process::Output};

use cairn_chaingen::{
    EverythingOptions,
    corefiles::{Layout, write_chain},
    everything,
};
use cairn_support::{World, layout};
use rand::{Rng, SeedableRng, seq::IndexedRandom};
use rand_chacha::ChaCha8Rng;
use tempfile::TempDir;

use crate::CAIRN;

const INDEX: &str = "index --network regtest --datadir data --blocks-dir blocks --once";

fn damages() -> u64 {
    let wanted = env::var("CAIRN_TEST_DAMAGES").ok().and_then(|n| n.parse().ok());
    wanted.unwrap_or(if env::var_os("CAIRN_TEST_LONG").is_some_and(|v| v == "1") { 500 } else { 60 })
}

/// Files of the folder with their bytes.
type Files = BTreeMap<String, Vec<u8>>;

/// Damages a file; says how.
fn damage(files: &Files, rng: &mut ChaCha8Rng) -> (Files, String) {
    let mut damaged = files.clone();
    let names: Vec<&String> = files.keys().filter(|name| name.as_str() != "xor.dat").collect();
    let name = *names.choose(rng).unwrap();
    let bytes = damaged.get_mut(name).unwrap();
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
            damaged.remove(name);
            "removed".to_owned()
        }
        _ => {
            let other = *names.choose(rng).unwrap();
            damaged.insert(name.clone(), files[other].clone());
            damaged.insert(other.clone(), files[name].clone());
            format!("swapped with {other}")
        }
    };
    (damaged, format!("{name}: {what}"))
}

struct Folder {
    world: World,
    /// The index, in memory if there is any: what this test waits for is mostly the disk.
    _data: TempDir,
    good: Files,
    /// The last block file, whose end a node may be writing.
    last: String,
}

impl Folder {
    fn new() -> Self {
        let world = World::empty(CAIRN);
        let mut files = layout().files;
        files.max_file_size = 40_000;
        let options = EverythingOptions { blocks: 150, max_txs: 8, forks: vec![1, 5], showpieces: false };
        let chain = everything(51, &options).unwrap();
        let written = write_chain(&world.path("blocks"), &chain, &Layout::tidy(files)).unwrap();
        assert!(written.files >= 4, "{}", written.files);
        let read = |entry: std::io::Result<fs::DirEntry>| {
            let entry = entry.unwrap();
            (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap())
        };
        let good: Files = fs::read_dir(world.path("blocks")).unwrap().map(read).collect();
        let memory = TempDir::with_prefix_in("cairn-test-", "/dev/shm");
        let data = memory.unwrap_or_else(|_| cairn_testkit::temp_dir());
        symlink(data.path(), world.path("data")).unwrap();
        let last = good.keys().filter(|name| name.starts_with("blk")).max().unwrap().clone();
        Folder { world, _data: data, good, last }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.world.path("blocks").join(name)
    }

    /// Makes the folder have these files. Only what differs is written.
    fn put(&self, before: &Files, files: &Files) {
        for name in before.keys().filter(|name| !files.contains_key(*name)) {
            fs::remove_file(self.path(name)).unwrap();
        }
        for (name, bytes) in files.iter().filter(|(name, bytes)| before.get(*name) != Some(bytes)) {
            fs::write(self.path(name), bytes).unwrap();
        }
    }

    fn index(&self) -> Output {
        self.world.command(INDEX).output().unwrap()
    }

    /// Removes the index.
    fn forget(&self) {
        for part in ["index", "bulk"] {
            let _ = fs::remove_dir_all(self.world.path("data").join(part));
        }
    }

    fn sums(&self) -> String {
        self.world.stdout("db checksum --datadir data")
    }
}

fn height_of(sums: &str) -> u32 {
    sums.split("height ").nth(1).unwrap().split_whitespace().next().unwrap().parse().unwrap()
}

#[test]
fn damaged_block_files_are_harmless_or_told() {
    let folder = Folder::new();
    assert!(folder.index().status.success());
    let expected = folder.sums();
    let full = height_of(&expected);
    let (mut harmless, mut told, mut at_the_end, mut witnesses) = (0, 0, 0, 0);
    for seed in 0..damages() {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let (damaged, what) = damage(&folder.good, &mut rng);
        let what = format!("seed {seed}: {what}");
        folder.put(&folder.good, &damaged);
        folder.forget();
        let output = folder.index();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!said.contains("panicked"), "{what}: {said}");
        match output.status.code() {
            Some(0) => {
                let sums = folder.sums();
                if sums == expected {
                    harmless += 1;
                } else {
                    assert!(
                        damaged.contains_key(&folder.last),
                        "{what}: the undo file tells of the block file: {said}"
                    );
                    // The end of the last file cannot be distinguished from a copy of an earlier time. All other ends
                    // can.
                    let height = height_of(&sums);
                    assert!(height < full && what.contains(&folder.last), "{what}: height {height}: {said}");
                    let without = "unfinished=0";
                    let seen = said.contains("damaged records")
                        || !said.contains(without)
                        || ["cut off", "removed"].iter().any(|how| what.contains(how));
                    assert!(seen, "{what}: {said}");
                    at_the_end += 1;
                }
            }
            Some(3 | 4) => {
                let error = said.lines().find(|line| line.starts_with("error: ")).unwrap_or_default();
                let file = ["blk", "rev"].iter().any(|kind| error.contains(&format!("{kind}000")));
                // If the first file is not usable at all, there is no chain, so no height, and perhaps no file to name.
                let no_chain = ["no file contains the genesis", "the first block file is number 1", "magic", "XORed"];
                let no_chain = no_chain.iter().any(|word| error.contains(word));
                assert!((file && error.contains("height ")) || no_chain, "{what}: no file or no height: {error}");
                told += 1;
                witnesses += u32::from(error.contains("witness commitment"));
            }
            code => panic!("{what}: {code:?}: {said}"),
        }
        // With the files as they were, the next run makes of it what it should be.
        folder.put(&damaged, &folder.good);
        let output = folder.index();
        assert!(output.status.success(), "{what}: {}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(folder.sums(), expected, "{what}");
    }
    println!("{harmless} harmless, {told} told ({witnesses} in witnesses), {at_the_end} at the end of the last file");
    assert!(harmless > 0 && told > at_the_end, "{harmless} harmless, {told} told, {at_the_end} at the end");
}
