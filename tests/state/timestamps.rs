//! Timestamps: hashes are accepted durably and once, batches hold what waits, and only the holder of the lease writes.

use std::{collections::BTreeSet, sync::Arc};

use cairn_state::{
    AnchorLease, AnchorerReport, Batch, BatchConfirmation, BatchNodes, BatchState, BatchTree, MAX_DIGEST_BYTES,
    NewCandidate, NewTimestamp, State, StateError, TimestampSource, TimestampState, WalletState,
};
use sha2::{Digest, Sha256};

use crate::database::TestDatabase;

on_both!(
    a_hash_is_accepted_once,
    raced_hashes_are_accepted_once,
    two_processes_accept_a_hash_once,
    hashes_of_other_lengths_are_refused,
    networks_do_not_share_hashes,
    what_was_accepted_survives_the_process,
    a_lease_has_one_holder,
    only_the_holder_writes,
    a_batch_has_the_oldest_hashes,
    hashes_that_arrive_meanwhile_wait,
    a_batch_is_followed_to_its_end,
    a_reorg_takes_a_confirmation_back,
    a_batch_that_is_given_up_frees_its_hashes,
    replacements_cost_once,
    reports_are_read_back,
    damaged_rows_are_named,
);

const NETWORK: &str = "regtest";

fn hash(number: u32) -> Vec<u8> {
    Sha256::digest(number.to_be_bytes()).to_vec()
}

fn new(number: u32) -> NewTimestamp {
    NewTimestamp { network: NETWORK, hash: hash(number), source: TimestampSource::Api }
}

async fn lease(state: &State) -> AnchorLease {
    state.acquire_anchor_lease(NETWORK, "a", 60, 1_000).await.unwrap().unwrap()
}

/// A tree that has its leaves and a root of their hash.
fn tree(leaves: &[[u8; 32]]) -> BatchTree {
    let hashes = leaves.concat();
    let root = Sha256::digest(&hashes).into();
    let nodes = hashes.chunks(256 * 32).enumerate();
    let part = |(part, hashes): (usize, &[u8])| BatchNodes { level: 0, part: part as u32, hashes: hashes.to_vec() };
    BatchTree { root, nodes: nodes.map(part).collect() }
}

async fn batch(state: &State, lease: &AnchorLease, hashes: u32) -> Batch {
    for number in 0..hashes {
        state.submit_timestamp(new(number), 1_000).await.unwrap();
    }
    state.make_batch(lease, 1_000, 2_000, tree).await.unwrap().unwrap()
}

fn candidate(number: u8, fee_sats: u64) -> NewCandidate {
    NewCandidate { txid: [number; 32], raw: vec![number; 200], fee_sats, vsize: 150 }
}

fn confirmation(number: u8, height: u32) -> BatchConfirmation {
    BatchConfirmation { txid: [number; 32], height, block_hash: [number ^ 0xff; 32], proof: vec![8, number] }
}

async fn state_of(state: &State, number: u32) -> TimestampState {
    state.timestamp(NETWORK, &hash(number)).await.unwrap().unwrap().state()
}

async fn a_hash_is_accepted_once(database: &TestDatabase) {
    let state = database.open().await;
    let first = state.submit_timestamp(new(1), 1_000).await.unwrap();
    assert!(first.is_new);
    let record = &first.record;
    assert_eq!((&record.hash, record.submitted_at, &record.batch), (&hash(1), 1_000, &None));
    let commitment: [u8; 32] = Sha256::new().chain_update(hash(1)).chain_update(record.nonce).finalize().into();
    assert_eq!(record.commitment, commitment);
    // Also by the other way in, and later.
    let other = NewTimestamp { source: TimestampSource::Calendar, ..new(1) };
    let again = state.submit_timestamp(other, 9_000).await.unwrap();
    assert_eq!((again.is_new, &again.record), (false, record));
    assert_eq!(state.timestamp(NETWORK, &hash(1)).await.unwrap().as_ref(), Some(record));
    assert_eq!(state.timestamp_of_commitment(NETWORK, &commitment).await.unwrap().as_ref(), Some(record));
    assert_eq!(state.timestamp(NETWORK, &hash(2)).await.unwrap(), None);
    assert_eq!(state.timestamp_of_commitment(NETWORK, &[0; 32]).await.unwrap(), None);
    let waiting = state.waiting_timestamps(NETWORK, 10).await.unwrap();
    assert_eq!((waiting.count, waiting.oldest), (1, Some(1_000)));
    let second = state.submit_timestamp(new(2), 1_000).await.unwrap().record;
    assert_ne!(second.nonce, record.nonce, "each hash has random bytes of its own");
}

async fn raced_hashes_are_accepted_once(database: &TestDatabase) {
    let state = Arc::new(database.open().await);
    // 64 clients with ten hashes each; every hash comes from two of them.
    let clients: Vec<_> = (0..64u32)
        .map(|client| {
            let state = Arc::clone(&state);
            tokio::spawn(async move {
                let mut fresh = Vec::new();
                for number in 0..10 {
                    let number = client / 2 * 10 + number;
                    let submitted = state.submit_timestamp(new(number), 1_000).await.unwrap();
                    assert_eq!(submitted.record.hash, hash(number));
                    fresh.extend(submitted.is_new.then_some(number));
                }
                fresh
            })
        })
        .collect();
    let mut fresh = Vec::new();
    for client in clients {
        fresh.extend(client.await.unwrap());
    }
    fresh.sort_unstable();
    assert_eq!(fresh, (0..320).collect::<Vec<_>>());
    assert_eq!(database.text("SELECT CAST(count(*) AS TEXT) FROM timestamp_hashes").await, "320");
}

async fn two_processes_accept_a_hash_once(database: &TestDatabase) {
    let (one, other) = (database.open().await, database.open().await);
    let mut fresh = 0;
    for number in 0..20 {
        let both = tokio::join!(one.submit_timestamp(new(number), 1), other.submit_timestamp(new(number), 1));
        let (one, other) = (both.0.unwrap(), both.1.unwrap());
        assert_eq!(one.record, other.record);
        fresh += u32::from(one.is_new) + u32::from(other.is_new);
    }
    assert_eq!(fresh, 20);
}

async fn hashes_of_other_lengths_are_refused(database: &TestDatabase) {
    let state = database.open().await;
    let of_length =
        |length| NewTimestamp { network: NETWORK, hash: vec![7; length], source: TimestampSource::Calendar };
    for length in [1, 20, MAX_DIGEST_BYTES] {
        assert!(state.submit_timestamp(of_length(length), 1).await.unwrap().is_new);
    }
    for length in [0, MAX_DIGEST_BYTES + 1] {
        assert!(matches!(state.submit_timestamp(of_length(length), 1).await, Err(StateError::Digest)));
    }
    assert!(matches!(state.submit_timestamp(new(1), u64::MAX).await, Err(StateError::Time)));
}

async fn networks_do_not_share_hashes(database: &TestDatabase) {
    let state = database.open().await;
    let of = |network| NewTimestamp { network, ..new(1) };
    let (one, other) = tokio::join!(state.submit_timestamp(of("main"), 1), state.submit_timestamp(of("signet"), 2));
    let (one, other) = (one.unwrap(), other.unwrap());
    assert!(one.is_new && other.is_new);
    assert_eq!((one.record.submitted_at, other.record.submitted_at), (1, 2));
    let lease = state.acquire_anchor_lease("main", "a", 60, 1).await.unwrap().unwrap();
    let batch = state.make_batch(&lease, 10, 1, tree).await.unwrap().unwrap();
    assert_eq!((batch.network.as_str(), batch.leaves), ("main", 1));
    let commitment = other.record.commitment;
    assert_eq!(state.timestamp_of_commitment("main", &commitment).await.unwrap(), None);
    assert_eq!(state.timestamp("signet", &hash(1)).await.unwrap().unwrap().batch, None);
}

async fn what_was_accepted_survives_the_process(database: &TestDatabase) {
    let state = database.open().await;
    let record = state.submit_timestamp(new(1), 1_000).await.unwrap().record;
    // Without closing it, as if the process had been killed.
    let again = State::of(&database.state_url());
    assert_eq!(again.timestamp(NETWORK, &hash(1)).await.unwrap(), Some(record));
    drop(state);
}

async fn a_lease_has_one_holder(database: &TestDatabase) {
    let (one, other) = (database.open().await, database.open().await);
    let first = one.acquire_anchor_lease(NETWORK, "a", 60, 1_000).await.unwrap().unwrap();
    assert_eq!((first.fence, first.expires_at), (1, 1_060));
    assert_eq!(other.acquire_anchor_lease(NETWORK, "b", 60, 1_059).await.unwrap(), None);
    // Renewed: the number stays.
    let renewed = one.acquire_anchor_lease(NETWORK, "a", 60, 1_050).await.unwrap().unwrap();
    assert_eq!((renewed.fence, renewed.expires_at), (1, 1_110));
    assert_eq!(other.acquire_anchor_lease(NETWORK, "b", 60, 1_109).await.unwrap(), None);
    let taken = other.acquire_anchor_lease(NETWORK, "b", 60, 1_110).await.unwrap().unwrap();
    assert_eq!(taken.fence, 2);
    // The former holder gives back what it no longer has.
    one.release_anchor_lease(&renewed).await.unwrap();
    assert_eq!(one.acquire_anchor_lease(NETWORK, "a", 60, 1_111).await.unwrap(), None);
    other.release_anchor_lease(&taken).await.unwrap();
    assert_eq!(one.acquire_anchor_lease(NETWORK, "a", 60, 1_111).await.unwrap().unwrap().fence, 3);
    // Another network has a holder of its own.
    assert_eq!(other.acquire_anchor_lease("main", "b", 60, 1_111).await.unwrap().unwrap().fence, 1);
}

async fn only_the_holder_writes(database: &TestDatabase) {
    let state = database.open().await;
    let old = lease(&state).await;
    let made = batch(&state, &old, 2).await;
    state.add_candidate(&old, made.id, &candidate(1, 100), 2_000).await.unwrap();
    let held = state.acquire_anchor_lease(NETWORK, "b", 60, 9_000).await.unwrap().unwrap();
    state.submit_timestamp(new(7), 1_000).await.unwrap();
    let lost = [
        state.make_batch(&old, 10, 3_000, tree).await.err(),
        state.add_candidate(&old, made.id, &candidate(2, 100), 3_000).await.err(),
        state.mark_sent(&old, made.id, &[1; 32], 3_000).await.err(),
        state.confirm_batch(&old, made.id, &confirmation(1, 5), 3_000).await.err(),
        state.fail_batch(&old, made.id, "no", 3_000).await.err(),
        state.finish_batch(&old, made.id, 3_000).await.err(),
        state.unconfirm_batch(&old, made.id, 3_000).await.err(),
    ];
    assert!(lost.iter().all(|error| matches!(error, Some(StateError::LeaseLost))), "{lost:?}");
    assert_eq!(state.batch(made.id).await.unwrap().unwrap(), made, "nothing changed");
    assert_eq!(state.candidates(made.id).await.unwrap().len(), 1);
    state.mark_sent(&held, made.id, &[1; 32], 3_000).await.unwrap();
    assert_eq!(state.batch(made.id).await.unwrap().unwrap().fence, 2);
}

async fn a_batch_has_the_oldest_hashes(database: &TestDatabase) {
    let state = database.open().await;
    let lease = lease(&state).await;
    assert_eq!(state.make_batch(&lease, 10, 1, tree).await.unwrap(), None, "nothing waits");
    let mut expected = Vec::new();
    for number in 0..300 {
        // The later, the older.
        let record = state.submit_timestamp(new(number), 1_000 - u64::from(number)).await.unwrap().record;
        expected.push((record.submitted_at, record.commitment));
    }
    expected.sort_unstable();
    let first = state.make_batch(&lease, 290, 2_000, tree).await.unwrap().unwrap();
    assert_eq!((first.leaves, first.state, first.made_at), (290, BatchState::Aggregated, 2_000));
    let leaves: Vec<[u8; 32]> = expected.iter().take(290).map(|(_, commitment)| *commitment).collect();
    assert_eq!(first.root, tree(&leaves).root);
    let (one, two) =
        (state.batch_nodes(first.id, 0, 0).await.unwrap(), state.batch_nodes(first.id, 0, 1).await.unwrap());
    assert_eq!([one.hashes, two.hashes].concat(), leaves.concat());
    assert!(matches!(state.batch_nodes(first.id, 0, 2).await, Err(StateError::Row(_))));
    for (position, commitment) in leaves.iter().enumerate() {
        let record = state.timestamp_of_commitment(NETWORK, commitment).await.unwrap().unwrap();
        assert_eq!(record.batch.unwrap().1 as usize, position);
    }
    let second = state.make_batch(&lease, 290, 2_000, tree).await.unwrap().unwrap();
    assert_eq!((second.id, second.leaves), (first.id + 1, 10));
    assert_eq!(state.make_batch(&lease, 290, 2_000, tree).await.unwrap(), None);
    assert_eq!(state.open_batches(NETWORK).await.unwrap(), [first, second]);
    assert_eq!(state.open_batches("main").await.unwrap(), []);
}

async fn hashes_that_arrive_meanwhile_wait(database: &TestDatabase) {
    let state = Arc::new(database.open().await);
    let lease = lease(&state).await;
    let sender = Arc::clone(&state);
    let sending = tokio::spawn(async move {
        for number in 0..400 {
            sender.submit_timestamp(new(number), 1_000).await.unwrap();
        }
    });
    let mut batches = Vec::new();
    while !sending.is_finished() {
        batches.extend(state.make_batch(&lease, 50, 2_000, tree).await.unwrap());
        tokio::task::yield_now().await;
    }
    sending.await.unwrap();
    while let Some(batch) = state.make_batch(&lease, 50, 2_000, tree).await.unwrap() {
        batches.push(batch);
    }
    assert_eq!(batches.iter().map(|batch| batch.leaves).sum::<u32>(), 400);
    let mut places = BTreeSet::new();
    for number in 0..400 {
        let (batch, position) = state.timestamp(NETWORK, &hash(number)).await.unwrap().unwrap().batch.unwrap();
        assert!(places.insert((batch.id, position)));
    }
}

async fn a_batch_is_followed_to_its_end(database: &TestDatabase) {
    let state = database.open().await;
    let lease = lease(&state).await;
    let id = batch(&state, &lease, 3).await.id;
    assert_eq!(state_of(&state, 0).await, TimestampState::Aggregated);
    assert!(!state.finish_batch(&lease, id, 2_001).await.unwrap(), "no block has it");
    assert!(state.add_candidate(&lease, id, &candidate(1, 100), 2_001).await.unwrap());
    assert!(!state.add_candidate(&lease, id, &candidate(1, 100), 2_002).await.unwrap(), "stored already");
    state.mark_sent(&lease, id, &[1; 32], 2_003).await.unwrap();
    assert!(state.add_candidate(&lease, id, &candidate(2, 300), 2_004).await.unwrap());
    assert_eq!(state_of(&state, 1).await, TimestampState::Broadcast);
    let stored = state.candidates(id).await.unwrap();
    assert_eq!(stored.iter().map(|one| &one.transaction).collect::<Vec<_>>(), [&candidate(1, 100), &candidate(2, 300)]);
    assert_eq!(stored.iter().map(|one| one.sent_at).collect::<Vec<_>>(), [Some(2_003), None]);
    assert!(state.confirm_batch(&lease, id, &confirmation(2, 50), 2_005).await.unwrap());
    let confirmed = state.batch(id).await.unwrap().unwrap();
    assert_eq!((confirmed.state, confirmed.txid), (BatchState::Confirmed, Some([2; 32])));
    assert_eq!(confirmed.confirmation, Some(confirmation(2, 50)));
    // A late message of the node does not undo the block.
    state.mark_sent(&lease, id, &[1; 32], 2_006).await.unwrap();
    assert_eq!(state.batch(id).await.unwrap().unwrap().confirmation, Some(confirmation(2, 50)));
    assert!(!state.fail_batch(&lease, id, "no", 2_006).await.unwrap(), "a block has it");
    assert!(state.finish_batch(&lease, id, 2_007).await.unwrap());
    assert_eq!(state_of(&state, 2).await, TimestampState::Final);
    assert_eq!(state.candidates(id).await.unwrap().len(), 1, "the others are gone");
    // Nothing changes a final one.
    assert!(!state.confirm_batch(&lease, id, &confirmation(1, 60), 2_008).await.unwrap());
    assert!(!state.unconfirm_batch(&lease, id, 2_008).await.unwrap());
    assert!(!state.fail_batch(&lease, id, "no", 2_008).await.unwrap());
    assert!(!state.add_candidate(&lease, id, &candidate(3, 1), 2_008).await.unwrap());
    assert_eq!(state.batch(id).await.unwrap().unwrap().confirmation, Some(confirmation(2, 50)));
    assert!(!state.submit_timestamp(new(2), 3_000).await.unwrap().is_new);
    assert_eq!(state.open_batches(NETWORK).await.unwrap(), []);
}

async fn a_reorg_takes_a_confirmation_back(database: &TestDatabase) {
    let state = database.open().await;
    let lease = lease(&state).await;
    let id = batch(&state, &lease, 1).await.id;
    state.add_candidate(&lease, id, &candidate(1, 100), 2_000).await.unwrap();
    state.mark_sent(&lease, id, &[1; 32], 2_000).await.unwrap();
    assert!(!state.unconfirm_batch(&lease, id, 2_001).await.unwrap(), "not confirmed");
    assert!(state.confirm_batch(&lease, id, &confirmation(1, 50), 2_001).await.unwrap());
    assert!(state.unconfirm_batch(&lease, id, 2_002).await.unwrap());
    let back = state.batch(id).await.unwrap().unwrap();
    assert_eq!((back.state, back.txid, back.confirmation), (BatchState::Broadcast, Some([1; 32]), None));
    // Straight from one block to another.
    assert!(state.confirm_batch(&lease, id, &confirmation(1, 51), 2_003).await.unwrap());
    assert!(state.confirm_batch(&lease, id, &confirmation(1, 52), 2_004).await.unwrap());
    assert_eq!(state.batch(id).await.unwrap().unwrap().confirmation, Some(confirmation(1, 52)));
}

async fn a_batch_that_is_given_up_frees_its_hashes(database: &TestDatabase) {
    let state = database.open().await;
    let lease = lease(&state).await;
    let first = batch(&state, &lease, 2).await;
    let before = state.timestamp(NETWORK, &hash(0)).await.unwrap().unwrap();
    assert!(state.fail_batch(&lease, first.id, "the coins were spent\nelsewhere", 3_000).await.unwrap());
    assert!(!state.fail_batch(&lease, first.id, "again", 3_001).await.unwrap());
    let failed = state.batch(first.id).await.unwrap().unwrap();
    assert_eq!((failed.state, failed.failure.as_deref()), (BatchState::Failed, Some("the coins were spentelsewhere")));
    assert_eq!(state_of(&state, 0).await, TimestampState::Failed);
    // Only the hash that is handed in again waits, with the nonce that its client knows.
    let again = state.submit_timestamp(new(0), 4_000).await.unwrap();
    assert_eq!((again.is_new, again.record.state(), again.record.submitted_at), (true, TimestampState::Pending, 4_000));
    assert_eq!((again.record.nonce, again.record.commitment), (before.nonce, before.commitment));
    assert_eq!(state_of(&state, 1).await, TimestampState::Failed);
    assert!(!state.submit_timestamp(new(0), 4_001).await.unwrap().is_new);
    let second = state.make_batch(&lease, 10, 5_000, tree).await.unwrap().unwrap();
    assert_eq!((second.id, second.leaves), (first.id + 1, 1));
    assert_eq!(state_of(&state, 0).await, TimestampState::Aggregated);
}

async fn replacements_cost_once(database: &TestDatabase) {
    let state = database.open().await;
    let lease = lease(&state).await;
    let first = batch(&state, &lease, 1).await.id;
    for (number, fee, at) in [(1, 100, 2_000), (2, 250, 2_100), (3, 300, 1_000)] {
        state.add_candidate(&lease, first, &candidate(number, fee), at).await.unwrap();
    }
    state.submit_timestamp(new(9), 1_000).await.unwrap();
    let second = state.make_batch(&lease, 10, 2_000, tree).await.unwrap().unwrap().id;
    state.add_candidate(&lease, second, &candidate(4, 70), 2_200).await.unwrap();
    assert_eq!(state.anchor_fees_since(NETWORK, 0).await.unwrap(), 370);
    assert_eq!(state.anchor_fees_since(NETWORK, 2_000).await.unwrap(), 320);
    assert_eq!(state.anchor_fees_since(NETWORK, 2_200).await.unwrap(), 70);
    assert_eq!(state.anchor_fees_since("main", 0).await.unwrap(), 0);
}

async fn reports_are_read_back(database: &TestDatabase) {
    let state = database.open().await;
    assert_eq!(state.anchorer_report(NETWORK).await.unwrap(), None);
    let lease = lease(&state).await;
    for (wallet, left, next) in [
        (WalletState::Ready, Some(7), Some(1_600)),
        (WalletState::WalletMissing, None, None),
        (WalletState::Locked, None, None),
        (WalletState::Empty, Some(0), None),
        (WalletState::Limit, Some(3), Some(2_000)),
    ] {
        let report = AnchorerReport {
            wallet,
            anchors_left: left,
            anchor_vsize: 154,
            interval_secs: 600,
            next_anchor_at: next,
            reported_at: 1_000,
        };
        state.report_anchorer(&lease, &report).await.unwrap();
        assert_eq!(state.anchorer_report(NETWORK).await.unwrap(), Some(report));
    }
    assert_eq!(state.anchorer_report("main").await.unwrap(), None);
}

async fn damaged_rows_are_named(database: &TestDatabase) {
    let state = database.open().await;
    let lease = lease(&state).await;
    batch(&state, &lease, 2).await;
    let read = async || state.timestamp(NETWORK, &hash(0)).await.err().map(|error| error.to_string());
    assert_eq!(read().await, None);
    for (damage, mend, words) in [
        ("UPDATE timestamp_hashes SET position = 9", "UPDATE timestamp_hashes SET position = 0", "position"),
        ("UPDATE timestamp_hashes SET position = NULL", "UPDATE timestamp_hashes SET position = 0", "half"),
        ("UPDATE timestamp_hashes SET batch = 77", "UPDATE timestamp_hashes SET batch = 1", "does not exist"),
        (
            "UPDATE timestamp_batches SET state = 'final'",
            "UPDATE timestamp_batches SET state = 'aggregated'",
            "contradicts",
        ),
        ("UPDATE timestamp_batches SET height = 7", "UPDATE timestamp_batches SET height = NULL", "lacks a part"),
    ] {
        database.execute(damage).await;
        assert!(read().await.is_some_and(|error| error.contains(words)), "{damage}");
        database.execute(mend).await;
        assert_eq!(read().await, None, "{mend}");
    }
}
