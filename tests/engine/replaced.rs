//! Another index takes the place of the one that is served, as on a replica: what is served is one of them as a whole,
//! and nobody writes there.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use cairn_chaingen::{Chain, Everything};
use cairn_model::BlockHash;
use cairn_pipeline::{
    Driver, Engine, NoProgress, PipelineError, Repaired, finish_replacement, set_aside,
    verify::{self, RawCheck},
};
use cairn_reader::{REPLICA, Reader, SecondaryReader, freeze, mark_replica};
use cairn_testkit::temp_dir;
use tempfile::TempDir;

use crate::{compare::assert_equal, support::*};

/// A place in which now one index is and now another: a link that is replaced at once.
struct Place {
    dir: TempDir,
}

impl Place {
    fn with(index: &Path) -> Self {
        let place = Place { dir: temp_dir() };
        place.put(index);
        place
    }

    fn index(&self) -> PathBuf {
        self.dir.path().join("index")
    }

    fn put(&self, index: &Path) {
        let next = self.dir.path().join("next");
        symlink(index, &next).unwrap();
        fs::rename(next, self.index()).unwrap();
    }

    fn follow(&self, scratch: &str) -> SecondaryReader {
        SecondaryReader::open(&self.index(), &self.dir.path().join(scratch), None, 64 << 20).unwrap()
    }
}

/// A chain, one with a reorganization of its last blocks, and an index of each.
struct Two {
    chains: [Chain; 2],
    indexes: [Index; 2],
}

impl Two {
    fn new(seed: u64) -> Self {
        let blocks = temp_dir();
        let mut making = Everything::new(seed, 5, false);
        making.grow(120).unwrap();
        let before = making.chain().clone();
        making.fork(10, 11).unwrap();
        making.grow(3).unwrap();
        let after = making.into_chain();
        write_tidy(blocks.path(), &before);
        let one = Index::of(blocks.path(), Driver::Bulk);
        write_tidy(blocks.path(), &after);
        let other = Index::of(blocks.path(), Driver::Tip);
        Two { chains: [before, after], indexes: [one, other] }
    }

    fn path(&self, at: usize) -> PathBuf {
        self.indexes[at].path().join("index")
    }

    /// The hashes of a chain, by its tip.
    fn hashes(&self) -> BTreeMap<BlockHash, Vec<BlockHash>> {
        let of = |chain: &Chain| -> Vec<BlockHash> {
            chain.active().iter().map(|block| BlockHash(bitcoin::hashes::Hash::to_byte_array(block.hash()))).collect()
        };
        self.chains.iter().map(of).map(|hashes| (*hashes.last().unwrap(), hashes)).collect()
    }
}

/// The view of a reader is one of the chains as a whole, and its tables fit it.
fn assert_whole(reader: &Reader, chains: &BTreeMap<BlockHash, Vec<BlockHash>>) {
    let view = reader.view().unwrap();
    let hashes = &chains[&view.tip().hash];
    assert_eq!(view.tip().height as usize + 1, hashes.len());
    assert_eq!(view.chain().len() as usize, hashes.len());
    assert!(hashes.iter().enumerate().all(|(height, hash)| view.chain().is(height as u32, hash)));
    let audit = verify::audit(&view, &NoProgress).unwrap();
    assert!(audit.ok(), "at {}: {:#?}", audit.height, audit.checks);
}

#[test]
fn what_takes_the_place_is_served_in_both_directions() {
    let two = Two::new(31);
    let chains = two.hashes();
    // The same blocks in other files, and in fewer.
    let (copies, short) = (temp_dir(), temp_dir());
    freeze(&two.path(1), &copies.path().join("index")).unwrap();
    let blocks = temp_dir();
    write_tidy(blocks.path(), &two.chains[1]);
    let short = {
        let index = Index::up_to(blocks.path(), Driver::Auto, 40);
        freeze(&index.path().join("index"), &short.path().join("index")).unwrap();
        short
    };
    let place = Place::with(&two.path(0));
    let follower = place.follow("serve");
    let first = follower.reader();
    let tip_of = |at: usize| chains.keys().find(|tip| chains[*tip].len() == two.chains[at].active().len()).unwrap();
    let mut before = *first.view().unwrap().tip();
    let copy = copies.path().join("index");
    let places = [(two.path(1), 1), (two.path(0), 0), (copy.clone(), 1), (two.path(1), 1), (copy, 1)];
    for (round, (path, at)) in places.into_iter().enumerate() {
        place.put(&path);
        // However it looks: without a wish, with one that it has already, or for rows without a block.
        let advanced = match round % 3 {
            0 => follower.advance(None),
            1 => follower.advance(Some((before.height, before.hash))),
            _ => follower.refresh(),
        }
        .unwrap();
        assert!(advanced.replaced && advanced.reopened, "round {round}: {advanced:?}");
        assert_eq!((advanced.tip.hash, advanced.moved), (*tip_of(at), before.hash != *tip_of(at)), "round {round}");
        assert_equal(&follower.reader().view().unwrap(), &oracle_of(&two.chains[at]));
        // The second instance is opened again too, and from then on both catch up.
        let again = follower.refresh().unwrap();
        assert!(again.reopened && !again.replaced, "round {round}: {again:?}");
        let again = follower.refresh().unwrap();
        assert!(!again.reopened && !again.replaced && !again.moved, "round {round}: {again:?}");
        assert_whole(&follower.reader(), &chains);
        before = advanced.tip;
    }
    // A chain that is shorter by far.
    place.put(&short.path().join("index"));
    assert_eq!(follower.advance(None).unwrap().tip.height, 40);
    let mut oracle = oracle_of(&two.chains[1]);
    oracle.truncate(41);
    assert_equal(&follower.reader().view().unwrap(), &oracle);
    assert_eq!(follower.reader().view().unwrap().chain().len(), 41);
    place.put(&two.path(0));
    follower.advance(None).unwrap();
    assert_whole(&follower.reader(), &chains);
    // A request that began with the first index ends with it, even when its files are gone.
    let Two { indexes: [one, other], .. } = two;
    place.put(&other.path().join("index"));
    drop(one);
    assert_whole(&first, &chains);
    assert!(follower.advance(None).unwrap().replaced);
    assert_whole(&follower.reader(), &chains);
}

/// The indexes take each other's place at any moment while it looks and while requests read.
#[test]
fn no_moment_of_the_exchange_makes_an_error_or_a_mixture() {
    let two = Two::new(32);
    let chains = two.hashes();
    let place = Place::with(&two.path(0));
    let follower = place.follow("serve");
    let done = AtomicBool::new(false);
    let rounds = if long() { 400 } else { 60 };
    thread::scope(|scope| {
        let exchanging = scope.spawn(|| {
            let mut at = 0;
            while !done.load(Ordering::Relaxed) {
                at = 1 - at;
                place.put(&two.path(at));
                thread::sleep(Duration::from_millis(at as u64 * 7 + 3));
            }
            place.put(&two.path(1));
        });
        let reading = scope.spawn(|| {
            let mut reads = 0;
            while !done.load(Ordering::Relaxed) {
                assert_whole(&follower.reader(), &chains);
                reads += 1;
            }
            reads
        });
        let (mut replaced, mut round, began) = (0, 0, Instant::now());
        // Which of the two it meets is a matter of chance.
        while round < rounds || replaced < 2 {
            assert!(began.elapsed() < Duration::from_secs(120), "{replaced} exchanges seen in {round} rounds");
            round += 1;
            let advanced = if round % 2 == 0 { follower.advance(None) } else { follower.refresh() };
            replaced += u32::from(advanced.unwrap().replaced);
            // Another one that opens at this moment.
            if round % 10 == 0 {
                assert_whole(&place.follow(&format!("other{round}")).reader(), &chains);
            }
        }
        done.store(true, Ordering::Relaxed);
        exchanging.join().unwrap();
        assert!(reading.join().unwrap() > 0);
    });
    follower.advance(None).unwrap();
    assert_equal(&follower.reader().view().unwrap(), &oracle_of(&two.chains[1]));
}

#[test]
fn nothing_writes_to_a_replica() {
    let blocks = temp_dir();
    write_tidy(blocks.path(), &small_chain(33));
    let Index { engine, dir } = Index::of(blocks.path(), Driver::Bulk);
    drop(engine);
    let facts = facts(blocks.path());
    mark_replica(dir.path(), "s3://bucket/cairn").unwrap();
    let refused = |error: PipelineError| {
        let said = error.to_string();
        assert!(matches!(error, PipelineError::Replica { .. }), "{said}");
        assert!(said.contains("a replica of s3://bucket/cairn"), "{said}");
    };
    refused(Engine::open(dir.path(), &facts).map(drop).unwrap_err());
    refused(Engine::open_existing(dir.path()).map(drop).unwrap_err());
    refused(finish_replacement(dir.path(), 64 << 20).unwrap_err());
    refused(set_aside(dir.path(), false).unwrap_err());
    let (files, survey) = survey(blocks.path(), facts.network);
    let source = cairn_pipeline::FileBlocks::new(&files, &survey, facts.script_prefix);
    let repair = || -> Result<Repaired, PipelineError> {
        let raw = RawCheck::None;
        cairn_pipeline::repair(dir.path(), &facts, options(64 << 20, 60, raw), &source, &NoProgress)
    };
    refused(repair().unwrap_err());
    // An empty folder that waits for its first copy is one, too.
    let empty = temp_dir();
    mark_replica(empty.path(), "s3://bucket/cairn").unwrap();
    refused(Engine::open(empty.path(), &facts).map(drop).unwrap_err());
    assert!(!empty.path().join("index").exists());
    // Reading is what it is for, and only the mark decides.
    Reader::open(&dir.path().join("index")).unwrap();
    fs::remove_file(dir.path().join(REPLICA)).unwrap();
    assert_eq!(repair().unwrap(), Repaired::Whole(Vec::new()));
    Engine::open_existing(dir.path()).unwrap();
}
