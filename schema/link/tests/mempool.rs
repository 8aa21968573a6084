//! The slot of the mempool: readers hold versions, and nobody waits for anybody.
#![allow(clippy::unwrap_used, missing_docs)]

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use cairn_domain::{FeeRate, mempool::Template};
use cairn_link::{Absent, MempoolSlot};
use cairn_model::{BlockHash, MempoolDelta, MempoolInput, MempoolOutput, MempoolTx, RemoveReason, Txid};

fn txid(number: u32) -> Txid {
    let mut id = [7; 32];
    id[..4].copy_from_slice(&number.to_be_bytes());
    Txid(id)
}

fn add(number: u32) -> MempoolDelta {
    let script: Box<[u8]> = vec![0x51, (number % 5) as u8].into();
    let input = MempoolInput {
        prev_txid: txid(1 << 31 | number),
        prev_vout: 0,
        sequence: 0,
        value: 2_000,
        script: script.clone(),
        birth: Some(1),
    };
    MempoolDelta::Add(Arc::new(MempoolTx {
        txid: txid(number),
        wtxid: txid(number),
        size: 100,
        base_size: 100,
        sigop_cost: 0,
        fee_sats: 1_000,
        version: 2,
        lock_time: 0,
        first_seen_ms: number.into(),
        inputs: [input].into(),
        outputs: [MempoolOutput { value: 1_000, script }].into(),
        raw: None,
    }))
}

fn remove(number: u32) -> MempoolDelta {
    MempoolDelta::Remove { txid: txid(number), reason: RemoveReason::Unknown }
}

fn block(height: u32) -> MempoolDelta {
    MempoolDelta::Block { height, hash: hash(height), time: height }
}

fn hash(height: u32) -> BlockHash {
    BlockHash([height as u8; 32])
}

/// A complete mempool at height 1 with transactions 0 to 9.
fn slot() -> MempoolSlot {
    let slot = MempoolSlot::default();
    let begin = [MempoolDelta::Reset { sequence: 0 }, block(1)];
    slot.apply(begin.iter().chain(&(0..10).map(add).collect::<Vec<_>>()).chain(&[MempoolDelta::Sequence(1)]));
    slot
}

#[test]
fn a_version_that_a_reader_holds_delays_nobody_and_does_not_change() {
    let slot = slot();
    let held = slot.pin();
    let version = held.version();
    // In one thread: with a lock held by the reader, this would never end.
    for number in 10..500 {
        slot.apply(&[add(number), remove(number - 10), block(2)]);
        assert_eq!(slot.pin().mempool().len(), 10, "other readers see the next version at once");
    }
    slot.set_absent(Absent::Lost);
    assert_eq!(slot.pin().absent(Some(&hash(2))), Some(Absent::Lost));
    assert_eq!((held.absent(Some(&hash(1))), held.absent(Some(&hash(2)))), (None, Some(Absent::OtherTip)));
    assert_eq!((held.mempool().len(), held.version()), (10, version));
    assert!((0..10).all(|number| held.mempool().get(&txid(number)).is_some()));
    assert!((10..500).all(|number| held.mempool().get(&txid(number)).is_none()));
}

#[test]
fn while_deltas_are_applied_readers_see_the_version_before() {
    let slot = slot();
    let deltas: Vec<MempoolDelta> = (10..20).map(add).chain([block(2)]).collect();
    let mut looks = 0;
    slot.apply(deltas.iter().inspect(|_| {
        looks += 1;
        assert_eq!((slot.pin().mempool().len(), slot.pin().absent(Some(&hash(1)))), (10, None));
    }));
    assert_eq!((looks, slot.pin().mempool().len(), slot.pin().absent(Some(&hash(2)))), (11, 20, None));
}

#[test]
fn a_reset_of_what_nobody_may_read_is_visible_at_once() {
    let slot = slot();
    slot.set_absent(Absent::Lost);
    let deltas: Vec<MempoolDelta> =
        [MempoolDelta::Reset { sequence: 5 }].into_iter().chain((30..40).map(add)).collect();
    let seen = |slot: &MempoolSlot| (slot.pin().mempool().len(), slot.pin().absent(Some(&hash(1))));
    let mut at = 0;
    slot.apply(deltas.iter().inspect(|_| {
        // The former transactions are not kept beside the new ones.
        assert_eq!(seen(&slot), if at == 0 { (10, Some(Absent::Lost)) } else { (0, Some(Absent::Loading)) });
        at += 1;
    }));
    assert_eq!(seen(&slot), (10, Some(Absent::Loading)));
    // Readers of a valid mempool see one step.
    slot.apply(&[MempoolDelta::Sequence(6), block(1)]);
    slot.apply([MempoolDelta::Reset { sequence: 9 }, add(50), MempoolDelta::Sequence(9)].iter().inspect(|_| {
        assert_eq!(seen(&slot), (10, None));
    }));
    assert_eq!(seen(&slot), (1, None));
}

#[test]
fn a_projection_is_never_of_a_later_version_and_made_once_for_each() {
    let (slot, ended) = (slot(), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            for height in 2..120 {
                slot.apply(&[add(1_000 + height), block(height)]);
                thread::yield_now();
            }
            ended.store(true, Ordering::SeqCst);
        });
        for _ in 0..2 {
            scope.spawn(|| {
                while !ended.load(Ordering::SeqCst) {
                    slot.refresh();
                }
            });
        }
        while !ended.load(Ordering::SeqCst) {
            let pinned = slot.pin();
            let stats = pinned.mempool().stats(0);
            let Some(projection) = pinned.projection() else { continue };
            assert!(projection.generation <= stats.generation);
            if projection.generation == stats.generation {
                assert_eq!((projection.count, projection.tip), (stats.count, stats.tip));
            }
        }
    });
    slot.refresh();
    // A new tip is projected at once: by one of the two that want to.
    slot.apply(&[block(121)]);
    let made = thread::scope(|scope| {
        let both = [scope.spawn(|| slot.refresh()), scope.spawn(|| slot.refresh())];
        both.map(|one| one.join().unwrap())
    });
    assert_eq!(made.iter().filter(|made| **made).count(), 1);
    // Other rules make another projection of the same version, once it is due.
    let template = Template { min_rate: FeeRate(777), ..Template::default() };
    slot.set_template(template);
    let until = Instant::now() + Duration::from_secs(60);
    while !slot.refresh() {
        assert!(Instant::now() < until, "never projected anew");
        thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(slot.projection().unwrap().template, template);
    assert!(!slot.refresh(), "it is fresh");
}
