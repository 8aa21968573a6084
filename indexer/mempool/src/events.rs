//! Messages about the node's mempool.

use cairn_model::Txid;
use cairn_node::Topic;

use crate::{MempoolWatcher, arrivals::Stage, body::Body, options::ms, queue::News};

/// Blocks use sequence numbers without a message, one for each transaction. No valid jump is as large as this.
const MAX_JUMP: u64 = 1 << 32;

impl MempoolWatcher {
    /// Processes queued events, up to the limit of a step.
    pub(crate) fn listen(&mut self) {
        for _ in 0..self.options.event_batch.max(1) {
            let Some((heard_ms, news)) = self.queue.pop() else { break };
            match news {
                News::Accepted { txid, sequence } => {
                    self.hears_sequence = true;
                    if self.is_news(&txid, sequence, true) {
                        self.accepted(txid, heard_ms);
                    }
                }
                News::Removed { txid, sequence } => {
                    self.hears_sequence = true;
                    if self.is_news(&txid, sequence, false) {
                        self.removed(&txid);
                    }
                }
                News::Body(raw) => self.published(raw, heard_ms),
                News::Tip(hash) => {
                    self.chain.node = Some(hash);
                    self.compare_tips();
                }
                News::TakenOff(hash) => {
                    if self.chain.tip.is_some_and(|tip| tip.hash == hash) {
                        self.chain.node = None;
                        self.chain.apart = true;
                    }
                }
                News::Gap(topic) => self.gap(topic),
            }
        }
        if self.queue.take_overflow() {
            tracing::warn!("too many mempool messages: the queue is full");
            self.sync.gaps_open += 1;
            self.sync.broken = true;
        }
    }

    /// True if a change is new. Its number then becomes the last known one.
    fn is_news(&mut self, txid: &Txid, sequence: u64, added: bool) -> bool {
        if !self.sync.started {
            return false;
        }
        if sequence.saturating_sub(self.sync.next) > MAX_JUMP {
            self.gap(Topic::Sequence);
            return false;
        }
        if sequence >= self.sync.next {
            self.sync.next = sequence.saturating_add(1);
            return true;
        }
        // A snapshot was faster: this message announces its correction.
        if self.sync.unexplained.get(txid) == Some(&added) {
            self.sync.unexplained.remove(txid);
            for corrections in [&mut self.sync.last, &mut self.sync.total] {
                let count = if added { &mut corrections.added } else { &mut corrections.removed };
                *count = count.saturating_sub(1);
            }
        }
        false
    }

    fn accepted(&mut self, txid: Txid, heard_ms: u64) {
        self.order += 1;
        let order = self.order;
        if let Some(entry) = self.pool.entry_mut(&txid) {
            entry.order = order;
            self.departures.remove(&txid);
        } else if let Some(arrival) = self.arrivals.get_mut(&txid) {
            arrival.order = order;
        } else {
            self.expect(txid, order, Some(heard_ms));
        }
    }

    fn removed(&mut self, txid: &Txid) {
        self.bodies.take(txid);
        if self.arrivals.remove(txid).is_some() {
            self.arrivals.release(txid);
        } else if self.pool.contains(txid) {
            self.departures.insert(*txid, self.clock.passed);
        }
    }

    /// The node has a transaction that readers do not have. `heard_ms` is the time of the message.
    pub(crate) fn expect(&mut self, txid: Txid, order: u64, heard_ms: Option<u64>) {
        if self.pool.len() + self.arrivals.len() >= self.options.max_transactions {
            if self.sync.too_many == 0 {
                tracing::warn!("the node has more transactions than the limit");
            }
            self.sync.too_many += 1;
            return;
        }
        let kept = self.kept.get(&txid);
        let published = self.bodies.take(&txid);
        let seen = kept.map(|tx| tx.first_seen_ms).or_else(|| self.remembered.first_seen(&txid));
        let seen = seen.or_else(|| published.as_ref().map(|(ms, _)| *ms).into_iter().chain(heard_ms).min());
        let body = match published {
            Some((_, body)) => Some(body),
            // It may come from a disk: it is read like any other.
            None => {
                kept.and_then(|tx| tx.raw.clone()).and_then(Body::read).filter(|(of, _)| *of == txid).map(|(_, b)| b)
            }
        };
        self.arrivals.insert(txid, order, seen, self.clock.passed);
        // A snapshot is of our chain, so the transaction is not confirmed, whatever was stored.
        if heard_ms.is_some() && self.remembered.is_confirmed(&txid) {
            self.arrivals.set_stage(&txid, Stage::Confirmed);
        } else if let Some(body) = body {
            self.arrivals.attach(&txid, body);
        }
        // Those that wait for it need not be excused any more.
        self.arrivals.release(&txid);
    }

    /// A transaction was published, because it entered the mempool or because a block contains it.
    fn published(&mut self, raw: Box<[u8]>, heard_ms: u64) {
        let Some((txid, body)) = Body::read(raw) else {
            tracing::warn!("a published transaction cannot be decoded");
            return;
        };
        if self.pool.contains(&txid) || body.tx.is_coinbase() {
            return;
        }
        if let Some(arrival) = self.arrivals.get(&txid) {
            let room = self.arrivals.body_bytes() + body.bytes() <= self.options.max_pending_bytes;
            if arrival.stage() == Stage::Fetch && room {
                self.arrivals.attach(&txid, body);
            }
            return;
        }
        if !self.hears_sequence && !self.remembered.is_confirmed(&txid) {
            let soon = self.clock.passed.saturating_add(ms(self.options.hold));
            self.sync.hint = Some(self.sync.hint.map_or(soon, |hint| hint.min(soon)));
        }
        let (max, max_bytes) = (self.options.max_cached_bodies, self.options.max_cached_bytes);
        self.bodies.insert(txid, body, heard_ms, max, max_bytes);
    }

    fn gap(&mut self, topic: Topic) {
        match topic {
            Topic::Sequence => {
                self.hears_sequence = true;
                self.sync.gaps_open += 1;
                self.sync.broken = true;
            }
            // Bytes that did not come are asked for. If they are the only source of arrivals, these arrivals are lost.
            Topic::RawTx if self.hears_sequence => self.sync.gaps_repaired += 1,
            Topic::RawTx => {
                self.sync.gaps_open += 1;
                self.sync.hint = Some(self.clock.passed);
            }
            // Not ours: the follower of the chain looks.
            Topic::HashBlock | Topic::RawBlock => {}
        }
    }

    /// True if the node's last reported tip is ours.
    pub(crate) fn compare_tips(&mut self) {
        if let (Some(ours), Some(node)) = (self.chain.tip, self.chain.node) {
            self.chain.apart = ours.hash != node;
        }
    }
}
