//! One look at everything, and all that follows from it.

use std::collections::BTreeMap;

use cairn_model::{Height, Txid};
use cairn_node::{BlockAt, NodeError};
use cairn_state::{
    AnchorLease, AnchorerReport, Batch, BatchState, Candidate, MAX_BATCH_HASHES, NewCandidate, StateError,
    WaitingTimestamps, WalletState,
};

use crate::{
    chain::Chain,
    coins::{CoinsError, choose_coins},
    decide::{BatchView, CandidateView, Place, Reason, Refusal, Step, next_step},
    error::{AnchorError, rpc},
    figures::Figures,
    funding::{Order, Unsigned, fund},
    ledger::Ledger,
    node::Node,
    proof::confirmation,
    settings::AnchorSettings,
    transaction::{ANCHOR_VSIZE, feerate_of},
    wallet::{DayFees, WalletLook, judge},
};

/// How long a process keeps the lease without renewing it, in seconds.
pub const LEASE_SECS: u64 = 60;
/// Steps for one batch in one round: more would be a mistake.
const MAX_STEPS: u32 = 12;
/// Batches that are not final. More are not made: the wallet or the chain has a problem by then.
const MAX_OPEN: usize = 100;
/// The feerate while none is recommended, in satoshis per 1,000 virtual bytes.
const UNKNOWN_FEERATE: u64 = 5_000;
/// The lowest feerate that is paid.
const LEAST_FEERATE: u64 = 1_000;
const DAY_SECS: u64 = 86_400;

/// How a round ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RoundEnd {
    /// Everything that could be done is done.
    Done,
    /// Another process anchors.
    NotHolder,
    /// The index has no block yet.
    NoChain,
}

/// Anchors the hashes of one network.
pub struct Anchorer<L, N, C> {
    ledger: L,
    node: N,
    chain: C,
    settings: AnchorSettings,
    holder: String,
    figures: Figures,
    /// Height of the index when this process first saw a transaction that is in no block.
    first_seen: BTreeMap<Txid, Height>,
    /// Height of the index when the last replacement of a batch was signed.
    replaced_at: BTreeMap<i64, Height>,
    /// The last refusal of a transaction: each is logged once.
    refused: BTreeMap<Txid, String>,
    /// The last reason why the wallet cannot be used: each is logged once.
    logged: Option<String>,
    lease: Option<AnchorLease>,
}

struct Round {
    lease: AnchorLease,
    now: u64,
    tip: BlockAt,
    feerate: u64,
    day: DayFees,
    wallet: WalletLook,
    /// The node does not answer: it is not asked again in this round, so that the round ends in time.
    is_away: bool,
    stuck: i64,
    is_fragmented: bool,
}

impl Round {
    fn day_start(&self) -> u64 {
        self.now.saturating_sub(DAY_SECS)
    }
}

impl<L: Ledger, N: Node, C: Chain> Anchorer<L, N, C> {
    /// Creates the anchorer. `holder` names it; no other process has the same name.
    pub fn new(ledger: L, node: N, chain: C, settings: AnchorSettings, holder: String, figures: Figures) -> Self {
        let (first_seen, replaced_at, refused) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let (logged, lease) = (None, None);
        Anchorer { ledger, node, chain, settings, holder, figures, first_seen, replaced_at, refused, logged, lease }
    }

    /// The stored data.
    pub fn ledger(&self) -> &L {
        &self.ledger
    }

    /// Gives the lease back, so that another process can go on at once.
    pub fn release(&mut self) -> Result<(), StateError> {
        match self.lease.take() {
            Some(lease) => self.ledger.release(&lease),
            None => Ok(()),
        }
    }

    /// Follows all batches, and makes the next one when it is due. `now` is in seconds since 1970.
    ///
    /// # Errors
    /// Fails with the first error; the work on other batches is done nevertheless, unless the lease is lost.
    pub fn round(&mut self, now: u64) -> Result<RoundEnd, AnchorError> {
        let ended = self.held(now);
        match &ended {
            Ok(_) => self.figures.failures.set(0),
            Err(_) => self.figures.failures.inc(),
        }
        ended
    }

    fn held(&mut self, now: u64) -> Result<RoundEnd, AnchorError> {
        self.lease = self.ledger.lease(&self.holder, LEASE_SECS, now)?;
        self.figures.is_holder.set(i64::from(self.lease.is_some()));
        let Some(lease) = self.lease.clone() else { return Ok(RoundEnd::NotHolder) };
        let Some(tip) = self.chain.tip().map_err(AnchorError::Chain)? else { return Ok(RoundEnd::NoChain) };
        let spent = self.ledger.fees_since(now.saturating_sub(DAY_SECS))?;
        let day = DayFees { spent, limit: self.settings.max_sats_per_day };
        let info = self.node.wallet_info();
        let is_away = info.as_ref().is_err_and(NodeError::is_transient);
        let feerate = self.feerate(is_away);
        let wallet = judge(info, || self.node.balances(), feerate, day);
        let mut round = Round { lease, now, tip, feerate, day, wallet, is_away, stuck: 0, is_fragmented: false };
        let worked = self.work(&mut round);
        if matches!(worked, Err(AnchorError::State(StateError::LeaseLost))) {
            return worked.map(|()| RoundEnd::Done);
        }
        // Servers must hear of it also if something failed.
        let reported = self.report(&round);
        worked.and(reported).map(|()| RoundEnd::Done)
    }

    fn feerate(&self, is_away: bool) -> u64 {
        // A node that does not answer shows in the state of the wallet.
        let least = if is_away { 0 } else { self.node.min_feerate().unwrap_or_default() };
        let least = least.max(LEAST_FEERATE);
        self.chain.feerate().unwrap_or(UNKNOWN_FEERATE).max(least).min(self.settings.max_feerate)
    }

    fn work(&mut self, round: &mut Round) -> Result<(), AnchorError> {
        let open = self.ledger.open_batches()?;
        let (mut first, mut are_sent) = (None, true);
        for batch in &open {
            match self.follow(round, batch.id) {
                Ok(is_sent) => are_sent &= is_sent,
                Err(error @ AnchorError::State(StateError::LeaseLost)) => return Err(error),
                Err(error) => {
                    are_sent = false;
                    round.is_away |= matches!(&error, AnchorError::Node(error) if error.is_transient());
                    first.get_or_insert(error);
                }
            }
        }
        // The wallet does not know of a transaction that the node does not have: it would spend the same coins again.
        if are_sent && open.len() < MAX_OPEN && round.wallet.state == WalletState::Ready {
            self.anchor_next(round)?;
        }
        first.map_or(Ok(()), Err)
    }

    /// Makes a batch of the hashes that wait, if it is due and the wallet has confirmed coins.
    fn anchor_next(&mut self, round: &mut Round) -> Result<(), AnchorError> {
        let waiting = self.ledger.waiting()?;
        if self.due(&waiting).is_none_or(|due| round.now < due) {
            return Ok(());
        }
        match choose_coins(&self.node.coins()?, round.feerate) {
            Ok(_) => {}
            // Change of anchors in the mempool is money, but is spent only when a block has it.
            Err(CoinsError::Empty) => return Ok(()),
            Err(CoinsError::Fragmented) => {
                round.is_fragmented = true;
                round.wallet = WalletLook { anchors_left: Some(0), ..fragmented() };
                return Ok(());
            }
        }
        let Some(batch) = self.ledger.make_batch(&round.lease, round.now)? else { return Ok(()) };
        tracing::info!(batch = batch.id, hashes = batch.leaves, "a batch of timestamps is made");
        self.follow(round, batch.id).map(drop)
    }

    /// When the next batch is due; `None` if nothing waits.
    fn due(&self, waiting: &WaitingTimestamps) -> Option<u64> {
        let due = waiting.oldest?.saturating_add(self.settings.interval_secs.into());
        Some(if waiting.count >= MAX_BATCH_HASHES.into() { 0 } else { due })
    }

    /// Does all steps for a batch. Returns true if a block or the node has a transaction of it.
    fn follow(&mut self, round: &mut Round, id: i64) -> Result<bool, AnchorError> {
        let mut refusals: BTreeMap<Txid, Refusal> = BTreeMap::new();
        for _ in 0..MAX_STEPS {
            let Some(batch) = self.ledger.batch(id)? else { return Ok(true) };
            let mut candidates = self.ledger.candidates(id)?;
            // A replacement in the same second has a higher fee.
            candidates.sort_by_key(|candidate| (candidate.made_at, candidate.transaction.fee_sats));
            let view = self.view(round, &batch, &candidates, &refusals)?;
            let step = next_step(&view, round.tip.height, round.feerate, self.settings.bump_after_blocks);
            let is_sent = view.candidates.iter().any(|candidate| candidate.place != Place::Nowhere);
            if !self.act(round, &batch, &candidates, step, &mut refusals)? {
                return Ok(is_sent || matches!(batch.state, BatchState::Final | BatchState::Failed));
            }
        }
        Err(AnchorError::Batch { batch: id, what: format!("it is not settled after {MAX_STEPS} steps") })
    }

    /// Collects the facts of a batch that decisions need.
    fn view(
        &mut self,
        round: &Round,
        batch: &Batch,
        candidates: &[Candidate],
        refusals: &BTreeMap<Txid, Refusal>,
    ) -> Result<BatchView, AnchorError> {
        let txids: Vec<Txid> = candidates.iter().map(|candidate| Txid(candidate.transaction.txid)).collect();
        let blocks = self.chain.find(&txids).map_err(AnchorError::Chain)?;
        // With a transaction in a block, the node need not answer.
        let in_mempool = match blocks.iter().any(Option::is_some) || txids.is_empty() {
            true => vec![false; txids.len()],
            false if round.is_away => return Err(AnchorError::Away),
            false => self.node.in_mempool(&txids)?,
        };
        let views = candidates.iter().zip(&txids).zip(blocks.iter().zip(in_mempool));
        let view = |((candidate, &txid), (block, in_mempool)): ((&Candidate, &Txid), (&Option<BlockAt>, bool))| {
            let first = *self.first_seen.entry(txid).or_insert(round.tip.height);
            CandidateView {
                txid,
                feerate: feerate_of(candidate.transaction.fee_sats, candidate.transaction.vsize),
                was_sent: candidate.sent_at.is_some(),
                place: match (block, in_mempool) {
                    (Some(block), _) => Place::Block(*block),
                    (None, true) => Place::Mempool,
                    (None, false) => Place::Nowhere,
                },
                blocks_waited: round.tip.height.saturating_sub(first),
                refusal: refusals.get(&txid).copied(),
            }
        };
        let candidates = views.map(view).collect();
        let block = batch.confirmation.as_ref().map(|confirmation| BlockAt {
            height: confirmation.height,
            hash: cairn_model::BlockHash(confirmation.block_hash),
        });
        Ok(BatchView { state: batch.state, txid: batch.txid.map(Txid), block, candidates })
    }

    /// Does a step. Returns false if the batch is to rest until the next round.
    fn act(
        &mut self,
        round: &mut Round,
        batch: &Batch,
        candidates: &[Candidate],
        step: Step,
        refusals: &mut BTreeMap<Txid, Refusal>,
    ) -> Result<bool, AnchorError> {
        let stored = |txid: Txid| candidates.iter().find(|candidate| candidate.transaction.txid == txid.0);
        let missing = || AnchorError::Batch { batch: batch.id, what: "it lacks a transaction".to_owned() };
        let (lease, id, now) = (&round.lease, batch.id, round.now);
        match step {
            Step::Rest => return Ok(false),
            Step::Confirm { txid, block } => {
                let candidate = stored(txid).ok_or_else(missing)?;
                // The chain may have changed since the block was found: the next round sees it.
                let Some(found) = self.chain.block(block).map_err(AnchorError::Chain)? else { return Ok(false) };
                let confirmation = confirmation(batch, &candidate.transaction.raw, txid, &found)?;
                self.ledger.confirm(lease, id, &confirmation, now)?;
                tracing::info!(batch = id, %txid, height = block.height, "a block has the batch of timestamps");
            }
            Step::Unconfirm => {
                self.ledger.unconfirm(lease, id, now)?;
                tracing::warn!(batch = id, "a reorganization took the block of the batch of timestamps");
            }
            Step::Finish => {
                self.ledger.finish(lease, id, now)?;
                self.first_seen.retain(|txid, _| !candidates.iter().any(|of| of.transaction.txid == txid.0));
                self.refused.retain(|txid, _| !candidates.iter().any(|of| of.transaction.txid == txid.0));
                self.replaced_at.remove(&id);
                tracing::info!(batch = id, hashes = batch.leaves, "the batch of timestamps is final");
                return Ok(false);
            }
            Step::MarkSent(txid) => self.ledger.mark_sent(lease, id, &txid.0, now)?,
            Step::Send(txid) => {
                let candidate = stored(txid).ok_or_else(missing)?;
                match self.send(round, candidates, candidate)? {
                    None => self.ledger.mark_sent(&round.lease, id, &txid.0, now)?,
                    Some(refusal) => {
                        refusals.insert(txid, refusal);
                    }
                }
            }
            Step::Sign(reason) => return self.sign(round, batch, candidates, reason),
        }
        Ok(true)
    }

    /// Sends the stored bytes. Returns why the node refuses them; `None` if it has them now, or a block has them.
    fn send(
        &mut self,
        round: &Round,
        candidates: &[Candidate],
        candidate: &Candidate,
    ) -> Result<Option<Refusal>, AnchorError> {
        const VERIFY: i64 = -25;
        const REJECTED: i64 = -26;
        const IN_CHAIN: i64 = -27;
        let of = &candidate.transaction;
        // The fee was within the limits when it was signed.
        let max_feerate = feerate_of(of.fee_sats, of.vsize).saturating_add(1_000);
        let error = match self.node.send(&of.raw, max_feerate) {
            Ok(_) => return Ok(None),
            Err(error) => error,
        };
        let txid = Txid(of.txid);
        let refusal = match rpc(&error) {
            // The index does not have the block yet, or it is a block of another branch.
            Some((IN_CHAIN, _)) => Refusal::Other,
            Some((VERIFY, words)) if !words.contains("exceeds maximum") && self.knows_all(round, candidates)? => {
                Refusal::InputsSpent
            }
            Some((REJECTED, words)) if is_fee(words) => Refusal::FeeTooLow,
            Some((VERIFY | REJECTED, _)) => Refusal::Other,
            _ => return Err(error.into()),
        };
        let error = error.to_string();
        if self.refused.insert(txid, error.clone()).is_none_or(|before| before != error) {
            tracing::warn!(%txid, error, ?refusal, "the node does not take a transaction of timestamps");
        }
        Ok(Some(refusal))
    }

    /// True if the index has the node's tip, and no transaction of the batch is in a block: coins that are spent then
    /// are spent by something else.
    fn knows_all(&self, round: &Round, candidates: &[Candidate]) -> Result<bool, AnchorError> {
        let txids: Vec<Txid> = candidates.iter().map(|candidate| Txid(candidate.transaction.txid)).collect();
        let node_tip = self.node.tip()?;
        let ours = self.chain.tip().map_err(AnchorError::Chain)?;
        let is_current = ours == Some(round.tip) && node_tip == round.tip.hash;
        Ok(is_current && self.chain.find(&txids).map_err(AnchorError::Chain)?.iter().all(Option::is_none))
    }

    /// Signs a transaction and stores it. Returns false if that is not possible now.
    fn sign(
        &mut self,
        round: &mut Round,
        batch: &Batch,
        candidates: &[Candidate],
        reason: Reason,
    ) -> Result<bool, AnchorError> {
        let height = round.tip.height;
        // At most one replacement in each block: fees must not rise by the second.
        if reason.replaces() && self.replaced_at.get(&batch.id) == Some(&height) {
            round.stuck += i64::from(reason == Reason::FeeTooLow);
            return Ok(false);
        }
        let order = Order {
            root: &batch.root,
            reason,
            before: candidates,
            feerate: round.feerate,
            max_feerate: self.settings.max_feerate,
            day: round.day,
            day_start: round.day_start(),
        };
        let (signed, fee_sats) = match fund(&self.node, &order)? {
            Ok(funded) => funded,
            Err(why) => {
                self.is_unsigned(round, batch, reason, &why);
                return Ok(false);
            }
        };
        let new = NewCandidate { txid: signed.txid.0, raw: signed.raw, fee_sats, vsize: signed.vsize };
        self.ledger.add_candidate(&round.lease, batch.id, &new, round.now)?;
        round.day.spent = self.ledger.fees_since(round.day_start())?;
        if reason.replaces() {
            self.replaced_at.insert(batch.id, height);
        }
        self.figures.transactions.with_label_values(&[reason.name()]).inc();
        let (txid, why) = (signed.txid, reason.name());
        if reason == Reason::InputsSpent {
            tracing::warn!(
                batch = batch.id, %txid, fee_sats,
                "the coins of a batch of timestamps were spent otherwise: it is anchored again with other coins"
            );
        } else {
            tracing::info!(batch = batch.id, %txid, fee_sats, reason = why, "a transaction of timestamps is signed");
        }
        Ok(true)
    }

    fn is_unsigned(&mut self, round: &mut Round, batch: &Batch, reason: Reason, why: &Unsigned) {
        match why {
            Unsigned::Fragmented => {
                round.is_fragmented = true;
                round.wallet = WalletLook { anchors_left: Some(0), ..fragmented() };
            }
            Unsigned::Limit(_) => {
                let left = round.wallet.anchors_left;
                round.wallet =
                    WalletLook { anchors_left: left, ..WalletLook::unusable(WalletState::Limit, why.to_string()) };
            }
            Unsigned::NoCoins | Unsigned::TooDear { .. } => {}
        }
        // A batch that waits for its first transaction shows by its age.
        round.stuck += i64::from(reason != Reason::First);
        tracing::debug!(batch = batch.id, reason = reason.name(), %why, "no transaction of timestamps is signed");
    }

    /// Publishes the state of the wallet, for servers and in metrics.
    fn report(&mut self, round: &Round) -> Result<(), AnchorError> {
        let (waiting, open) = (self.ledger.waiting()?, self.ledger.open_batches()?);
        let unconfirmed = open.iter().filter(|batch| batch.state != BatchState::Confirmed).map(|batch| batch.made_at);
        let oldest = unconfirmed.chain(waiting.oldest).min();
        let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let figures = &self.figures;
        figures.oldest.set(oldest.map_or(0, |oldest| number(round.now.saturating_sub(oldest))));
        figures.waiting.set(number(waiting.count));
        figures.open_batches.set(number(open.len() as u64));
        figures.anchors_left.set(round.wallet.anchors_left.map_or(-1, i64::from));
        figures.stuck.set(round.stuck);
        figures.is_fragmented.set(i64::from(round.is_fragmented));
        figures.fees_of_day.set(number(round.day.spent));
        figures.wallet_is(round.wallet.state);
        if self.logged != round.wallet.reason {
            self.logged.clone_from(&round.wallet.reason);
            match &self.logged {
                Some(reason) => {
                    let state = round.wallet.state.name();
                    tracing::warn!(state, reason, "the wallet cannot pay for anchors: no more hashes are accepted");
                }
                None => tracing::info!("the wallet can pay for anchors"),
            }
        }
        let report = AnchorerReport {
            wallet: round.wallet.state,
            anchors_left: round.wallet.anchors_left,
            anchor_vsize: ANCHOR_VSIZE,
            interval_secs: self.settings.interval_secs,
            next_anchor_at: self.due(&waiting).map(|due| due.max(round.now)),
            reported_at: round.now,
        };
        Ok(self.ledger.report(&round.lease, &report)?)
    }
}

fn fragmented() -> WalletLook {
    WalletLook::unusable(WalletState::Empty, format!("wallet_fragmented: {}", CoinsError::Fragmented))
}

/// True for refusals because of the fee, also against one in the mempool that spends the same coins.
fn is_fee(words: &str) -> bool {
    ["fee not met", "insufficient fee", "txn-mempool-conflict", "mempool full"].iter().any(|of| words.contains(of))
}
