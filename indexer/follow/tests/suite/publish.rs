//! Readers that the follower notifies know the same afterwards: a request in the writer's process and one in another.

use std::{sync::Arc, thread, time::Duration};

use cairn_follow::{Follower, Until};
use cairn_link::{
    Absent, FollowedIndex, FollowingThreads, IndexSlot, IndexSource, Publish, Publishers, SocketPublisher,
};
use cairn_model::{
    BlockHash, CancelToken, Height, MempoolDelta, MempoolInput, MempoolOutput, MempoolTx, MempoolWatch, NodeFloor,
    RemoveReason, SourceKind, SourceStatus, Txid,
};
use cairn_reader::SecondaryReader;
use cairn_testkit::temp_dir;

use crate::support::{Scene, eventually, files, generator, write};

/// The state that a request finds.
#[derive(Clone, PartialEq, Debug)]
struct Found {
    best: Option<Height>,
    source: Option<SourceStatus>,
    absent: Option<Absent>,
    mempool: Vec<MempoolDelta>,
}

fn found(index: &dyn IndexSource, tip: &BlockHash) -> Found {
    let mut mempool = index.mempool().snapshot();
    // In which order it lists transactions says nothing.
    mempool.sort_by_cached_key(|delta| format!("{delta:?}"));
    Found {
        best: index.best_height(),
        source: index.source(),
        absent: index.mempool().pin().absent(Some(tip)),
        mempool,
    }
}

/// The writer's process, and another one that reads.
struct Both {
    scene: Scene,
    tip: (Height, BlockHash),
    readers: Publishers,
    other: Other,
}

impl Both {
    fn new() -> Self {
        let (scene, blocks, made) = (Scene::new(), temp_dir(), generator(12));
        write(blocks.path(), made.chain());
        Follower::new(scene.open(), vec![Box::new(files(blocks.path()))]).follow(Until::Tip { to: None }).unwrap();
        // Another process writes from here on.
        let scene = Scene { slot: Arc::default(), ..scene };
        let tip = {
            let index = scene.open();
            index.tip().unwrap().unwrap()
        };
        let socket = SocketPublisher::open(scene.dir.path(), scene.slot.pool());
        let readers = Publishers::new(vec![Arc::<IndexSlot>::clone(&scene.slot), Arc::new(socket)]);
        let other = Other::start(&scene, "first");
        let both = Both { scene, tip, readers, other };
        both.readers.publish_source(&status(MempoolWatch::Off));
        both.agree("the beginning");
        both
    }

    fn here(&self) -> Found {
        found(self.scene.slot.as_ref(), &self.tip.1)
    }

    fn there(&self) -> Found {
        found(self.other.index.as_ref(), &self.tip.1)
    }

    /// Both come to know the same.
    fn agree(&self, after: &str) {
        eventually(&format!("both know the same after {after}: {:?}", self.here()), || self.here() == self.there());
    }
}

/// A reader in another process.
struct Other {
    index: Arc<FollowedIndex>,
    cancel: CancelToken,
    threads: Option<FollowingThreads>,
}

impl Other {
    fn start(scene: &Scene, name: &str) -> Self {
        let (dir, cancel) = (scene.dir.path(), CancelToken::new());
        let secondary = SecondaryReader::open(&dir.join("index"), &dir.join(name), None, 8 << 20).unwrap();
        let index = Arc::new(FollowedIndex::new(secondary));
        let threads = Some(index.follow(dir, &cancel).unwrap());
        Other { index, cancel, threads }
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        self.cancel.cancel();
        let joined = self.threads.take().is_none_or(FollowingThreads::join);
        assert!(joined || thread::panicking(), "a thread panicked");
    }
}

fn status(mempool: MempoolWatch) -> SourceStatus {
    let kind = if mempool == MempoolWatch::Off { SourceKind::Files } else { SourceKind::Node };
    SourceStatus { kind, mempool, reachable: mempool != MempoolWatch::Stale, at: 7, ..SourceStatus::default() }
}

fn add(number: u8) -> MempoolDelta {
    MempoolDelta::Add(Arc::new(MempoolTx {
        txid: Txid([number; 32]),
        wtxid: Txid([number; 32]),
        size: 200,
        base_size: 120,
        sigop_cost: 4,
        fee_sats: 1_000 + u64::from(number),
        version: 2,
        lock_time: 0,
        first_seen_ms: 1_700_000_000_000,
        inputs: [MempoolInput {
            prev_txid: Txid([number ^ 0x80; 32]),
            prev_vout: 0,
            sequence: 0xffff_fffd,
            value: 41_000 + u64::from(number),
            script: [0x51].as_slice().into(),
            birth: Some(1),
        }]
        .into(),
        outputs: [MempoolOutput { value: 40_000, script: [0x51].as_slice().into() }].into(),
        raw: None,
    }))
}

fn remove(number: u8) -> MempoolDelta {
    MempoolDelta::Remove { txid: Txid([number; 32]), reason: RemoveReason::Evicted }
}

#[test]
fn the_same_is_known_after_every_call() {
    let both = Both::new();
    let (tip, readers) = (both.tip, &both.readers);
    let block = MempoolDelta::Block { height: tip.0, hash: tip.1, time: 1 };
    let floor =
        MempoolDelta::NodeFloor(NodeFloor { mempool_min_fee: 1, min_relay_fee: 1, max_bytes: 300, usage_bytes: 3 });
    readers.publish_best_height(Some(20));
    both.agree("a best height");
    assert_eq!(both.there().absent, Some(Absent::NotWatched));
    readers.publish_mempool(&[MempoolDelta::Reset { sequence: 0 }]);
    both.agree("a reset");
    assert_eq!(both.there().absent, Some(Absent::Loading));
    readers.publish_source(&status(MempoolWatch::Loading));
    both.agree("loading");
    readers.publish_mempool(&[add(1), add(2), floor, block.clone(), MempoolDelta::Sequence(9)]);
    both.agree("a whole mempool");
    assert_eq!((both.there().absent, both.there().mempool.len()), (None, 6));
    readers.publish_source(&status(MempoolWatch::Synced));
    both.agree("synced");
    readers.publish_tip(Some(tip));
    readers.publish_mempool(&[remove(1), add(3), MempoolDelta::Sequence(10)]);
    both.agree("a change");
    // The node is silent: what is known does not count, and counts again when it is back.
    readers.publish_source(&status(MempoolWatch::Stale));
    both.agree("silence");
    assert_eq!(both.there().absent, Some(Absent::Lost));
    readers.publish_source(&status(MempoolWatch::Synced));
    both.agree("an answer");
    assert_eq!((both.there().absent, both.there().mempool.len()), (None, 6));
    readers.publish_best_height(None);
    both.agree("no best height");
}

#[test]
fn only_this_process_sees_what_is_not_on_disk() {
    let both = Both::new();
    let (tip, readers) = (both.tip, &both.readers);
    let block = MempoolDelta::Block { height: tip.0, hash: tip.1, time: 1 };
    readers.publish_mempool(&[MempoolDelta::Reset { sequence: 0 }, add(1), add(2), MempoolDelta::Sequence(3)]);
    both.agree("a whole mempool");
    let before = both.there();
    readers.publish_connected(&[remove(1), block]);
    // Later changes wait as well: they come after the block.
    readers.publish_mempool(&[add(3), MempoolDelta::Sequence(4)]);
    assert_ne!(both.here().mempool, before.mempool);
    // News that comes by another way is known there, and still nothing of the block.
    readers.publish_best_height(Some(99));
    eventually("the best height", || both.there().best == Some(99));
    thread::sleep(Duration::from_millis(50));
    assert_eq!(both.there().mempool, before.mempool);
    readers.publish_tip(Some(tip));
    both.agree("the block is on disk");
    assert_eq!(both.there().absent, None);
    readers.publish_mempool(&[add(4), MempoolDelta::Sequence(5)]);
    both.agree("nothing is held any more");
}

/// Chance decides which news each reader gets; a reader that comes late gets the same from the present state.
#[test]
fn random_calls() {
    for seed in 1..=6u64 {
        let both = Both::new();
        let (tip, readers) = (both.tip, &both.readers);
        let mut state = seed;
        let mut random = |below: u64| {
            // Xorshift: numbers that repeat with the seed.
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % below
        };
        readers.publish_mempool(&[MempoolDelta::Reset { sequence: 0 }]);
        for step in 0..40u64 {
            let number = random(8) as u8 + 1;
            match random(7) {
                0 => readers.publish_best_height((number > 1).then_some(number.into())),
                1 => readers.publish_source(&status(
                    [MempoolWatch::Loading, MempoolWatch::Synced, MempoolWatch::Stale][random(3) as usize],
                )),
                2 => readers.publish_mempool(&[add(number), MempoolDelta::Sequence(step)]),
                3 => readers.publish_mempool(&[remove(number)]),
                4 => readers.publish_mempool(&[MempoolDelta::Sequence(step)]),
                5 => readers.publish_mempool(&[]),
                _ => {
                    let block = MempoolDelta::Block { height: tip.0, hash: tip.1, time: step as u32 };
                    readers.publish_connected(&[remove(number), block]);
                    readers.publish_tip(Some(tip));
                }
            }
            both.agree(&format!("step {step} of seed {seed}"));
        }
        let late = Other::start(&both.scene, "late");
        eventually("the late reader knows as much", || {
            let (late, here) = (found(late.index.as_ref(), &tip.1), both.here());
            (late.best, &late.source, late.mempool) == (here.best, &here.source, here.mempool)
        });
    }
}
