//! Decisions without anything around them.

use cairn_anchoring::{BatchView, CandidateView, Place, Reason, Refusal, Step, next_step};
use cairn_model::{BlockHash, Txid};
use cairn_node::BlockAt;
use cairn_state::BatchState;

const BLOCK: BlockAt = BlockAt { height: 100, hash: BlockHash([9; 32]) };

fn candidate(number: u8, place: Place) -> CandidateView {
    CandidateView { txid: Txid([number; 32]), feerate: 5_000, was_sent: true, place, blocks_waited: 0, refusal: None }
}

fn batch(state: BatchState, candidates: Vec<CandidateView>) -> BatchView {
    let txid = candidates.last().map(|candidate| candidate.txid);
    let block = (state == BatchState::Confirmed).then_some(BLOCK);
    BatchView { state, txid, block, candidates }
}

fn step(batch: &BatchView) -> Step {
    next_step(batch, 104, 5_000, 2)
}

#[test]
fn a_batch_without_transactions_gets_one() {
    assert_eq!(step(&batch(BatchState::Aggregated, Vec::new())), Step::Sign(Reason::First));
}

#[test]
fn stored_bytes_are_sent_before_anything_is_signed() {
    let stored = CandidateView { was_sent: false, ..candidate(1, Place::Nowhere) };
    assert_eq!(step(&batch(BatchState::Aggregated, vec![stored.clone()])), Step::Send(Txid([1; 32])));
    let sent = CandidateView { place: Place::Mempool, ..stored };
    assert_eq!(step(&batch(BatchState::Aggregated, vec![sent])), Step::MarkSent(Txid([1; 32])));
}

#[test]
fn blocks_come_first() {
    let in_block = candidate(1, Place::Block(BLOCK));
    let both = vec![in_block.clone(), candidate(2, Place::Nowhere)];
    assert_eq!(step(&batch(BatchState::Broadcast, both.clone())), Step::Confirm { txid: Txid([1; 32]), block: BLOCK });
    let stored = BatchView { txid: Some(Txid([1; 32])), ..batch(BatchState::Confirmed, both) };
    assert_eq!(step(&stored), Step::Rest);
    assert_eq!(next_step(&stored, 105, 5_000, 2), Step::Finish);
    // Another block has it after a reorganization.
    let elsewhere = BlockAt { height: 101, hash: BlockHash([8; 32]) };
    let moved = batch(BatchState::Confirmed, vec![candidate(1, Place::Block(elsewhere))]);
    assert_eq!(step(&moved), Step::Confirm { txid: Txid([1; 32]), block: elsewhere });
    let gone = batch(BatchState::Confirmed, vec![candidate(1, Place::Nowhere)]);
    assert_eq!(step(&gone), Step::Unconfirm);
    for state in [BatchState::Final, BatchState::Failed] {
        assert_eq!(step(&batch(state, vec![candidate(1, Place::Nowhere)])), Step::Rest);
    }
}

#[test]
fn fees_rise_only_after_blocks_and_with_the_market() {
    let waiting = |blocks_waited| {
        batch(BatchState::Broadcast, vec![CandidateView { blocks_waited, ..candidate(1, Place::Mempool) }])
    };
    assert_eq!(next_step(&waiting(1), 104, 9_000, 2), Step::Rest);
    assert_eq!(next_step(&waiting(2), 104, 5_000, 2), Step::Rest);
    assert_eq!(next_step(&waiting(2), 104, 9_000, 2), Step::Sign(Reason::Bump));
}

#[test]
fn refusals_lead_to_a_replacement_only_for_a_reason() {
    let refused = |refusal| {
        let candidates =
            [1, 2].map(|number| CandidateView { refusal: Some(refusal), ..candidate(number, Place::Nowhere) });
        step(&batch(BatchState::Broadcast, candidates.to_vec()))
    };
    assert_eq!(refused(Refusal::Other), Step::Rest);
    assert_eq!(refused(Refusal::FeeTooLow), Step::Sign(Reason::FeeTooLow));
    assert_eq!(refused(Refusal::InputsSpent), Step::Sign(Reason::InputsSpent));
    // The older one may spend other coins: it is tried first.
    let newer = CandidateView { refusal: Some(Refusal::InputsSpent), ..candidate(2, Place::Nowhere) };
    let both = batch(BatchState::Broadcast, vec![candidate(1, Place::Nowhere), newer]);
    assert_eq!(step(&both), Step::Send(Txid([1; 32])));
}
