//! Block files as a source.

use std::path::Path;

use bitcoin::hashes::Hash;
use cairn_chaingen::corefiles::{FileOptions, Layout, write_chain};
use cairn_follow::{FollowError, Follower, Outcome, Until};
use cairn_link::{Absent, IndexSource};
use cairn_model::{BlockHash, MempoolWatch, Network, SourceKind};
use cairn_sources::{DamagedPlace, Gap, GapCause};
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
    // Its size: it is not a record any more, and the blocks behind it have lost their ancestors.
    bytes[at - 1] ^= 0x7f;
    std::fs::write(&file, bytes).unwrap();
    let alone = Scene::new();
    let follower = Follower::new(alone.open(), vec![Box::new(files(blocks.path()))]);
    match follower.follow(Until::Tip { to: None }) {
        Err(FollowError::CutShort { gap, tip }) => {
            let place = DamagedPlace { file: 0, offset: at as u64 - 8 };
            let (cause, orphan_blocks) = (Some(GapCause::Unreadable(place)), 20);
            assert_eq!(gap, Gap { after: 19, end: gap.end, orphan_blocks, cause, beyond: Some(40), certain: true });
            assert_eq!((tip, alone.height()), (Some(19), 19));
        }
        other => panic!("{other:?}"),
    }
    // Lower than the damage, nothing is missing.
    let low = Scene::new();
    let follower = Follower::new(low.open(), vec![Box::new(files(blocks.path()))]);
    assert_eq!(follower.follow(Until::Tip { to: Some(2) }).unwrap(), Outcome::Done);
    // The next source has the blocks that the damage took.
    let (healed, whole) = (Scene::new(), temp_dir());
    write(whole.path(), made.chain());
    let follower = Follower::new(healed.open(), vec![Box::new(files(blocks.path())), Box::new(files(whole.path()))]);
    assert_eq!(follower.follow(Until::Tip { to: None }).unwrap(), Outcome::Done);
    assert_eq!(healed.height(), 40);
}

/// Five files or more; the third is damaged in several ways.
#[test]
fn a_chain_that_breaks_off_is_told() {
    let (whole, made) = (temp_dir(), generator(60));
    let mut layout = Layout::tidy(FileOptions::new(Network::Regtest.to_bitcoin(), [7; 8]));
    layout.files.max_file_size = 6_000;
    let written = write_chain(whole.path(), made.chain(), &layout).unwrap();
    assert!(written.files >= 5, "{}", written.files);
    let third: Vec<_> = written.blocks.iter().filter(|(_, at)| at.file == 2).collect();
    let second = third[1].1.offset as usize;
    let name = "blk00002.dat";
    let good = std::fs::read(whole.path().join(name)).unwrap();
    let flipped = |at: usize, bits: u8| {
        let mut bad = good.clone();
        bad[at] ^= bits;
        bad
    };
    let place = format!("in blk00002.dat, offset {}", second - 8);
    type Damage<'a> = (&'a str, Box<dyn Fn(&Path) + 'a>, String);
    let damages: Vec<Damage<'_>> = vec![
        ("removed", Box::new(|_| ()), format!("{name} is missing")),
        ("empty", Box::new(|path| std::fs::write(path, []).unwrap()), format!("{name} is empty")),
        ("zeros", Box::new(|path| std::fs::write(path, [0; 5_000]).unwrap()), format!("{name} is empty")),
        (
            "a dangling link",
            Box::new(|path| std::os::unix::fs::symlink("nowhere", path).unwrap()),
            format!("{name} is a link to a file that does not exist"),
        ),
        ("a folder", Box::new(|path| std::fs::create_dir(path).unwrap()), format!("{name} is not a file")),
        (
            "truncated",
            Box::new(|path| std::fs::write(path, &good[..second + 90]).unwrap()),
            format!("truncated record {place}"),
        ),
        (
            "its second magic",
            Box::new(|path| std::fs::write(path, flipped(second - 8, 1)).unwrap()),
            format!("damaged record {place}"),
        ),
        (
            "its second size",
            Box::new(|path| std::fs::write(path, flipped(second - 1, 0x7f)).unwrap()),
            format!("damaged record {place}"),
        ),
        (
            "its second size, slightly",
            Box::new(|path| std::fs::write(path, flipped(second - 4, 0x10)).unwrap()),
            format!("damaged record {place}"),
        ),
    ];
    for (what, damage, says) in damages {
        std::fs::remove_file(whole.path().join(name)).unwrap();
        damage(&whole.path().join(name));
        let scene = Scene::new();
        let follower = Follower::new(scene.open(), vec![Box::new(files(whole.path()))]);
        let error = follower.follow(Until::Tip { to: None }).unwrap_err();
        let FollowError::CutShort { gap, tip } = &error else { panic!("{what}: {error}") };
        assert!(gap.certain && gap.orphan_blocks > 0 && error.to_string().contains(&says), "{what}: {error}");
        assert!(*tip == Some(scene.height()) && scene.height() == gap.after && gap.after < 50, "{what}: {error}");
        // Readers know that there is more, and how much.
        assert_eq!((gap.beyond, scene.slot.best_height()), (Some(60), Some(60)), "{what}");
        let status = scene.slot.source().unwrap();
        assert_eq!((status.gap, status.blocks), (Some(gap.to_string()), Some(gap.after)), "{what}");
        // The requested blocks lie before it.
        let low = Scene::new();
        let follower = Follower::new(low.open(), vec![Box::new(files(whole.path()))]);
        assert_eq!(follower.follow(Until::Tip { to: Some(2) }).unwrap(), Outcome::Done, "{what}");
        // Repaired while it is followed, it goes on.
        let mended = Scene::new();
        let follower = Follower::new(mended.open(), vec![Box::new(files(whole.path()))]);
        let following = std::thread::spawn(move || follower.follow(Until::Height(60)));
        eventually("the gap", || mended.slot.source().is_some_and(|source| source.gap.is_some()));
        let path = whole.path().join(name);
        if path.is_dir() {
            std::fs::remove_dir(&path).unwrap();
        } else {
            // A link must not be followed.
            let _ = std::fs::remove_file(&path);
        }
        std::fs::write(&path, &good).unwrap();
        assert_eq!(following.join().unwrap().unwrap(), Outcome::Done, "{what}");
        assert_eq!((mended.height(), mended.slot.best_height()), (60, Some(60)), "{what}");
        assert_eq!(mended.slot.source().unwrap().gap, None, "{what}");
    }
}

/// The unfinished last record that every running node leaves is not damage.
#[test]
fn an_unfinished_last_record_is_no_gap() {
    let (blocks, made) = (temp_dir(), generator(40));
    let written = write(blocks.path(), made.chain());
    let last = written.blocks.iter().map(|(_, at)| at.offset as usize).max().unwrap();
    let path = blocks.path().join("blk00000.dat");
    let good = std::fs::read(&path).unwrap();
    for cut in [last - 8, last - 3, last + 40, last + 100, good.len() - 1] {
        for zeros in [0, 5_000] {
            let bytes = [&good[..cut], &vec![0; zeros]].concat();
            std::fs::write(&path, bytes).unwrap();
            let scene = Scene::new();
            let follower = Follower::new(scene.open(), vec![Box::new(files(blocks.path()))]);
            assert_eq!(follower.follow(Until::Tip { to: None }).unwrap(), Outcome::Done, "{cut}");
            assert_eq!(scene.slot.source().unwrap().gap, None, "{cut}");
        }
    }
}

/// Two blocks that arrived before their parent: a node that syncs leaves such files. Only many of them are an error.
#[test]
fn blocks_that_arrived_before_their_parents_are_no_damage() {
    for (ahead, is_gap) in [(2usize, false), (12, true)] {
        let (blocks, made) = (temp_dir(), generator(40));
        let written = write(blocks.path(), made.chain());
        let mut offsets: Vec<usize> = written.blocks.iter().map(|(_, at)| at.offset as usize - 8).collect();
        offsets.sort_unstable();
        let path = blocks.path().join("blk00000.dat");
        // The whole record of the parent is not there; what follows moves forward. The key counts from the start.
        let mut plain = std::fs::read(&path).unwrap();
        let xor = |bytes: &mut [u8]| bytes.iter_mut().for_each(|b| *b ^= 7);
        xor(&mut plain);
        let at = offsets.len() - 1 - ahead;
        plain.drain(offsets[at]..offsets[at + 1]);
        xor(&mut plain);
        std::fs::write(&path, plain).unwrap();
        let scene = Scene::new();
        let follower = Follower::new(scene.open(), vec![Box::new(files(blocks.path()))]);
        match (follower.follow(Until::Tip { to: None }), is_gap) {
            (Ok(Outcome::Done), false) => {}
            (Err(FollowError::CutShort { gap, .. }), true) => {
                assert_eq!((gap.cause, gap.orphan_blocks, gap.certain), (None, ahead as u64, false));
            }
            (other, _) => panic!("{ahead}: {other:?}"),
        }
        // While it is followed, the gap is not reported before it lasts; that there are more blocks is known.
        assert_eq!((scene.slot.source().unwrap().gap, scene.slot.best_height()), (None, Some(40)), "{ahead}");
        assert_eq!(scene.height(), 39 - ahead as u32);
    }
}

/// An index that is ahead of the files stays as it is.
#[test]
fn files_that_end_before_the_index_change_nothing() {
    let (blocks, older, made) = (temp_dir(), temp_dir(), generator(40));
    write(blocks.path(), made.chain());
    write(older.path(), generator(30).chain());
    let scene = Scene::new();
    for folder in [&blocks, &older] {
        let follower = Follower::new(scene.open(), vec![Box::new(files(folder.path()))]);
        assert_eq!(follower.follow(Until::Tip { to: None }).unwrap(), Outcome::Done);
        assert_eq!(scene.height(), 40);
    }
    assert_eq!(scene.slot.source().unwrap().blocks, Some(30));
}
