//! The way of a hash to its end.

use cairn_anchoring::RoundEnd;
use cairn_state::{TimestampState, WalletState};

use crate::rig::Rig;

#[test]
fn a_hash_goes_through_all_states() {
    let rig = Rig::new(3);
    let mut anchorer = rig.anchorer();
    rig.submit(1);
    anchorer.round(rig.later(30)).unwrap();
    assert_eq!(rig.state_of(1), TimestampState::Pending);
    let report = rig.report();
    assert_eq!((report.wallet, report.interval_secs), (WalletState::Ready, 60));
    assert_eq!(report.next_anchor_at, Some(report.reported_at + 30));
    // 3 million less what stays, at 770 sat for an anchor.
    assert_eq!(report.anchors_left, Some(2_999_000 / 770));

    // Another hash arrives in time for the same batch.
    rig.submit(2);
    anchorer.round(rig.later(30)).unwrap();
    assert_eq!((rig.state_of(1), rig.state_of(2)), (TimestampState::Broadcast, TimestampState::Broadcast));
    assert_eq!(rig.batch_of(1), rig.batch_of(2));
    assert_eq!(rig.pool(), rig.candidates(1));
    rig.mine(1);
    anchorer.round(rig.later(5)).unwrap();
    assert_eq!(rig.state_of(1), TimestampState::Confirmed);
    rig.mine(4);
    anchorer.round(rig.later(5)).unwrap();
    assert_eq!(rig.state_of(1), TimestampState::Confirmed);
    rig.mine(1);
    anchorer.round(rig.later(5)).unwrap();
    rig.assert_final(1);
    rig.assert_final(2);
    assert_eq!(rig.report().next_anchor_at, None);
}

#[test]
fn batches_follow_each_other_while_the_first_is_unconfirmed() {
    let rig = Rig::new(2);
    let mut anchorer = rig.anchorer();
    for number in 1..=3 {
        rig.submit(number);
        anchorer.round(rig.later(60)).unwrap();
    }
    // The third needs change that no block has yet: it waits, and no other is refused for that.
    let states = [1, 2, 3].map(|number| rig.state_of(number));
    assert_eq!(states, [TimestampState::Broadcast, TimestampState::Broadcast, TimestampState::Pending]);
    assert_eq!(rig.report().wallet, WalletState::Ready);
    rig.mine(1);
    anchorer.round(rig.later(5)).unwrap();
    assert_eq!(rig.state_of(3), TimestampState::Broadcast);
    rig.mine(6);
    anchorer.round(rig.later(5)).unwrap();
    (1..=3).for_each(|number| rig.assert_final(number));
}

#[test]
fn of_two_processes_one_anchors() {
    let rig = Rig::new(2);
    let (mut one, mut other) = (rig.anchorer(), rig.anchorer());
    rig.submit(1);
    assert_eq!(one.round(rig.later(1)).unwrap(), RoundEnd::Done);
    assert_eq!(other.round(rig.later(1)).unwrap(), RoundEnd::NotHolder);
    // The holder stops without a word: the other one takes over when the lease has ended.
    assert_eq!(other.round(rig.later(59)).unwrap(), RoundEnd::Done);
    assert_eq!(one.round(rig.later(1)).unwrap(), RoundEnd::NotHolder);
    assert_eq!(rig.state_of(1), TimestampState::Broadcast);
    // One that ends gives the lease back.
    other.release().unwrap();
    assert_eq!(one.round(rig.later(1)).unwrap(), RoundEnd::Done);
    rig.mine(6);
    assert_eq!(one.round(rig.later(1)).unwrap(), RoundEnd::Done);
    rig.assert_final(1);
}
