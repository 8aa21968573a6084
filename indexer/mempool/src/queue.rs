//! Events that are received and not yet processed.

use std::collections::VecDeque;

use cairn_model::{BlockHash, Txid};
use cairn_node::{NodeEvent, Topic};

use crate::MempoolOptions;

/// An event that concerns the mempool.
#[derive(Debug)]
pub(crate) enum News {
    Tip(BlockHash),
    /// The node disconnected this block.
    TakenOff(BlockHash),
    /// A transaction entered the mempool.
    Accepted {
        txid: Txid,
        sequence: u64,
    },
    /// A transaction left it.
    Removed {
        txid: Txid,
        sequence: u64,
    },
    /// A transaction was published.
    Body(Box<[u8]>),
    /// Messages of a topic may be missing.
    Gap(Topic),
}

/// The queue. Events beyond its limits are dropped, and the loss is recorded.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    news: VecDeque<(u64, News)>,
    bytes: usize,
    overflowed: bool,
}

impl Queue {
    /// Queues an event received at `now_ms`.
    pub(crate) fn push(&mut self, event: &NodeEvent, now_ms: u64, options: &MempoolOptions) {
        let news = match event {
            NodeEvent::Tip(hash)
            | NodeEvent::Block { hash, .. }
            | NodeEvent::Connected(hash)
            | NodeEvent::Polling { best: hash } => News::Tip(*hash),
            NodeEvent::Disconnected(hash) => News::TakenOff(*hash),
            NodeEvent::Accepted { txid, mempool_sequence } => {
                News::Accepted { txid: *txid, sequence: *mempool_sequence }
            }
            NodeEvent::Removed { txid, mempool_sequence } => News::Removed { txid: *txid, sequence: *mempool_sequence },
            NodeEvent::Tx(raw) => {
                // Bytes without room can be requested later.
                if self.bytes.saturating_add(raw.len()) > options.max_queue_bytes {
                    return;
                }
                self.bytes += raw.len();
                News::Body((**raw).into())
            }
            NodeEvent::Gap(gap) => News::Gap(gap.topic),
        };
        if self.news.len() < options.max_queue_events {
            self.news.push_back((now_ms, news));
            return;
        }
        match news {
            News::Body(raw) => self.bytes -= raw.len(),
            News::Tip(_) | News::TakenOff(_) => {}
            News::Accepted { .. } | News::Removed { .. } | News::Gap(_) => self.overflowed = true,
        }
    }

    /// The oldest event, with the time at which it was received.
    pub(crate) fn pop(&mut self) -> Option<(u64, News)> {
        let next = self.news.pop_front()?;
        if let News::Body(raw) = &next.1 {
            self.bytes -= raw.len();
        }
        Some(next)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.news.is_empty()
    }

    /// True if events were lost since the last call.
    pub(crate) fn take_overflow(&mut self) -> bool {
        std::mem::take(&mut self.overflowed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepted(sequence: u64) -> NodeEvent {
        NodeEvent::Accepted { txid: Txid([1; 32]), mempool_sequence: sequence }
    }

    #[test]
    fn a_full_queue_knows_what_it_lost() {
        let options = MempoolOptions { max_queue_events: 2, ..MempoolOptions::default() };
        let mut queue = Queue::default();
        for sequence in 0..2 {
            queue.push(&accepted(sequence), 5, &options);
        }
        // A lost tip does not matter: it is requested anyway.
        queue.push(&NodeEvent::Tip(BlockHash::default()), 5, &options);
        assert!(!queue.take_overflow());
        queue.push(&accepted(2), 5, &options);
        assert!(queue.take_overflow() && !queue.take_overflow());
        let mut numbers = Vec::new();
        while let Some((5, News::Accepted { sequence, .. })) = queue.pop() {
            numbers.push(sequence);
        }
        assert_eq!(numbers, [0, 1]);
        assert!(queue.is_empty());
    }
}
