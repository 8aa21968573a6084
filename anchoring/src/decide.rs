//! Decides what to do for a batch: a pure function of what is stored and seen.

use cairn_model::{Height, Txid};
use cairn_node::BlockAt;
use cairn_state::BatchState;

/// Confirmations from which on a batch never changes.
pub const FINAL_CONFIRMATIONS: Height = 6;

/// Where a transaction is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// In a block of the index's chain.
    Block(BlockAt),
    /// In the node's mempool.
    Mempool,
    /// In neither.
    Nowhere,
}

/// Why the node did not accept a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// Its fee is too low: for the mempool, or to replace one that spends the same coins.
    FeeTooLow,
    /// A block has spent its coins otherwise, and index and node have the same tip.
    InputsSpent,
    /// Another reason; it is sent again later.
    Other,
}

/// Why a transaction is signed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Reason {
    /// The batch has none.
    First,
    /// The one before has waited for too many blocks, and feerates have risen.
    Bump,
    /// The node refuses the one before because of its fee.
    FeeTooLow,
    /// The coins of all before are spent otherwise, in a block.
    InputsSpent,
}

impl Reason {
    /// All of them.
    pub const ALL: [Reason; 4] = [Reason::First, Reason::Bump, Reason::FeeTooLow, Reason::InputsSpent];

    /// Its name in metrics and the log.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Reason::First => "first",
            Reason::Bump => "bump",
            Reason::FeeTooLow => "fee_too_low",
            Reason::InputsSpent => "inputs_spent",
        }
    }

    /// True if the new transaction spends the coins of the one before, so that a block has at most one of them.
    #[must_use]
    pub fn replaces(self) -> bool {
        matches!(self, Reason::Bump | Reason::FeeTooLow)
    }
}

/// A stored transaction of a batch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CandidateView {
    /// Its id.
    pub txid: Txid,
    /// Its feerate in satoshis per 1,000 virtual bytes.
    pub feerate: u64,
    /// Whether a node has accepted it once.
    pub was_sent: bool,
    /// Where it is.
    pub place: Place,
    /// Blocks since this process saw it first.
    pub blocks_waited: Height,
    /// The answer when it was sent in this round; `None` if it was not sent or was accepted.
    pub refusal: Option<Refusal>,
}

/// A batch, as far as decisions need it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BatchView {
    /// Its stored state.
    pub state: BatchState,
    /// The transaction that is stored as sent last, or as the one in the block.
    pub txid: Option<Txid>,
    /// The block that is stored.
    pub block: Option<BlockAt>,
    /// Its transactions, those that were signed first before the others.
    pub candidates: Vec<CandidateView>,
}

/// The next step for a batch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// Nothing, until something changes.
    Rest,
    /// Store that this block has this transaction.
    Confirm {
        /// The transaction.
        txid: Txid,
        /// The block.
        block: BlockAt,
    },
    /// Store that no block has its transaction any more.
    Unconfirm,
    /// Store that it is final.
    Finish,
    /// Store that the node has this transaction.
    MarkSent(Txid),
    /// Send the stored bytes of this transaction.
    Send(Txid),
    /// Sign a transaction and store it.
    Sign(Reason),
}

/// Decides what to do for a batch. `tip` is the height of the index, `feerate` the one that is paid now, both as in
/// [`CandidateView`]. A transaction that waits is replaced after `bump_after_blocks`.
#[must_use]
pub fn next_step(batch: &BatchView, tip: Height, feerate: u64, bump_after_blocks: Height) -> Step {
    if matches!(batch.state, BatchState::Final | BatchState::Failed) {
        return Step::Rest;
    }
    if let Some((txid, block)) = in_block(batch) {
        let is_stored = batch.state == BatchState::Confirmed && batch.txid == Some(txid) && batch.block == Some(block);
        return match (is_stored, tip.saturating_sub(block.height).saturating_add(1) >= FINAL_CONFIRMATIONS) {
            (false, _) => Step::Confirm { txid, block },
            (true, true) => Step::Finish,
            (true, false) => Step::Rest,
        };
    }
    if batch.state == BatchState::Confirmed {
        return Step::Unconfirm;
    }
    match batch.candidates.iter().rev().find(|candidate| candidate.place == Place::Mempool) {
        Some(candidate) => in_mempool(batch, candidate, feerate, bump_after_blocks),
        None => nowhere(batch),
    }
}

/// The transaction that is in a block; of several, the stored one.
fn in_block(batch: &BatchView) -> Option<(Txid, BlockAt)> {
    let found = batch.candidates.iter().filter_map(|candidate| match candidate.place {
        Place::Block(block) => Some((candidate.txid, block)),
        _ => None,
    });
    found.min_by_key(|(txid, _)| batch.txid != Some(*txid))
}

fn in_mempool(batch: &BatchView, candidate: &CandidateView, feerate: u64, bump_after_blocks: Height) -> Step {
    if !candidate.was_sent || batch.state == BatchState::Aggregated || batch.txid != Some(candidate.txid) {
        return Step::MarkSent(candidate.txid);
    }
    // One that was signed later and is not in the mempool was to replace this one.
    match batch.candidates.last().filter(|last| last.txid != candidate.txid) {
        Some(last) => match last.refusal {
            None => Step::Send(last.txid),
            Some(Refusal::FeeTooLow) => Step::Sign(Reason::FeeTooLow),
            // Its own coins are spent, or the node dislikes it: this one stays.
            Some(Refusal::InputsSpent | Refusal::Other) => Step::Rest,
        },
        None if candidate.blocks_waited >= bump_after_blocks && feerate > candidate.feerate => Step::Sign(Reason::Bump),
        None => Step::Rest,
    }
}

/// Of the transactions that are nowhere, the newest is sent. The others spend the same coins, except for those from
/// before coins were lost; if its coins are spent in a block, each of the others is tried before a new one is signed.
fn nowhere(batch: &BatchView) -> Step {
    for candidate in batch.candidates.iter().rev() {
        match candidate.refusal {
            None => return Step::Send(candidate.txid),
            Some(Refusal::InputsSpent) => {}
            Some(Refusal::FeeTooLow) => return Step::Sign(Reason::FeeTooLow),
            Some(Refusal::Other) => return Step::Rest,
        }
    }
    Step::Sign(if batch.candidates.is_empty() { Reason::First } else { Reason::InputsSpent })
}
