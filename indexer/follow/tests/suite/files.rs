//! Block files as a source.

use bitcoin::hashes::Hash;
use cairn_follow::{FollowError, Follower, Outcome, Until};
use cairn_link::{Absent, IndexSource};
use cairn_model::{BlockHash, MempoolWatch, SourceKind};
use cairn_testkit::temp_dir;

use crate::support::{Scene, Told, append, eventually, files, generator, write};

#[test]
fn readers_are_told_what_the_files_hold() {
    let (scene, blocks, made) = (Scene::new(), temp_dir(), generator(40));
    write(blocks.path(), made.chain());
    let follower = Follower::new(scene.open(), vec![Box::new(files(blocks.path()))]);
    assert_eq!(follower.follow(Until::Tip { to: None }).unwrap(), Outcome::Done);
    let tip = BlockHash(made.chain().tip().hash().to_byte_array());
    let told = scene.recorder.told();
    let [Told::Best(Some(40)), Told::Source(status), Told::Tip(Some((40, hash)))] = &told[..] else {
        panic!("{told:?}")
    };
    assert_eq!(*hash, tip);
    assert_eq!((status.kind, status.mempool), (SourceKind::Files, MempoolWatch::Off));
    assert_eq!((status.reachable, status.blocks), (true, Some(40)));
    assert_eq!((scene.height(), scene.slot.best_height(), scene.slot.source()), (40, Some(40), Some(status.clone())));
    assert_eq!(scene.slot.mempool().pin().absent(Some(&tip)), Some(Absent::NotWatched));
}

#[test]
fn a_height_is_waited_for() {
    let (scene, blocks, mut made) = (Scene::new(), temp_dir(), generator(40));
    write(blocks.path(), made.chain());
    let follower = Follower::new(scene.open(), vec![Box::new(files(blocks.path()))]);
    let following = std::thread::spawn(move || follower.follow(Until::Height(50)));
    eventually("the first blocks", || scene.recorder.told().iter().any(|t| matches!(t, Told::Tip(_))));
    made.grow(20).unwrap();
    append(blocks.path(), made.chain());
    assert_eq!(following.join().unwrap().unwrap(), Outcome::Done);
    assert_eq!((scene.height(), scene.slot.best_height()), (50, Some(60)));
}

#[test]
fn cancelled_while_it_waits() {
    let (scene, blocks, made) = (Scene::new(), temp_dir(), generator(20));
    write(blocks.path(), made.chain());
    let follower = Follower::new(scene.open(), vec![Box::new(files(blocks.path()))]);
    let following = std::thread::spawn(move || follower.follow(Until::Cancelled));
    eventually("the blocks", || scene.recorder.told().iter().any(|t| matches!(t, Told::Tip(_))));
    scene.cancel.cancel();
    assert_eq!(following.join().unwrap().unwrap(), Outcome::Cancelled);
    assert_eq!(scene.height(), 20);
}

/// A block in the middle is damaged: what lies before it is indexed, and the last source says what is missing.
#[test]
fn damage_is_told_by_the_last_source_alone() {
    let (blocks, made) = (temp_dir(), generator(40));
    let written = write(blocks.path(), made.chain());
    let victim = made.chain().active()[20].hash();
    let at = written.blocks.iter().find(|(hash, _)| *hash == victim).unwrap().1.offset as usize;
    let file = blocks.path().join("blk00000.dat");
    let mut bytes = std::fs::read(&file).unwrap();
    // Its size: it is no record any more, and the blocks behind it have lost their ancestors.
    bytes[at - 1] ^= 0x7f;
    std::fs::write(&file, bytes).unwrap();
    let alone = Scene::new();
    let follower = Follower::new(alone.open(), vec![Box::new(files(blocks.path()))]);
    match follower.follow(Until::Tip { to: None }) {
        Err(FollowError::CutShort { place, tip }) => {
            assert_eq!(place, format!("blk00000.dat, offset {}", at - 8));
            assert_eq!((tip, alone.height()), (Some(19), 19));
        }
        other => panic!("{other:?}"),
    }
    // Lower than the damage, nothing is missing.
    let low = Scene::new();
    let follower = Follower::new(low.open(), vec![Box::new(files(blocks.path()))]);
    assert_eq!(follower.follow(Until::Tip { to: Some(2) }).unwrap(), Outcome::Done);
    // What the damage took, the next source has.
    let (healed, whole) = (Scene::new(), temp_dir());
    write(whole.path(), made.chain());
    let follower = Follower::new(healed.open(), vec![Box::new(files(blocks.path())), Box::new(files(whole.path()))]);
    assert_eq!(follower.follow(Until::Tip { to: None }).unwrap(), Outcome::Done);
    assert_eq!(healed.height(), 40);
}
