//! Fetches the bytes of transactions without a message.

use cairn_model::Txid;
use cairn_node::NodeError;

use crate::{MempoolWatcher, arrivals::Stage, body::Body};

/// Maximum number of failed requests for a single transaction's bytes, before it is skipped until the next snapshot.
const MAX_TRIES: u8 = 3;

impl MempoolWatcher {
    /// Requests the bytes of some transactions; true if any arrived.
    pub(crate) fn fetch(&mut self) -> bool {
        if !self.arrivals.has_fetch() || self.rpc.pause(self.clock.passed) > 0 {
            return false;
        }
        let txids = self.arrivals.fetch(self.batch.clamp(1, self.options.fetch_batch.max(1)));
        let outcome = self.ask(&txids);
        let failed_hard = outcome.as_ref().err().is_some_and(|error| !error.is_transient());
        match self.rpc.note(outcome, self.clock.passed) {
            Ok(answers) => {
                self.fit_batch(&answers);
                let mut any = false;
                for (txid, raw) in txids.iter().zip(answers) {
                    any |= self.fetched(txid, raw);
                }
                any
            }
            Err(_) => {
                if failed_hard {
                    self.split(&txids);
                }
                false
            }
        }
    }

    /// The answers, with the node's entry time as first-seen time for transactions without a message.
    fn ask(&mut self, txids: &[Txid]) -> Result<Vec<Option<Vec<u8>>>, NodeError> {
        let unseen = |txid: &&Txid| self.arrivals.get(txid).is_some_and(|arrival| arrival.first_seen_ms.is_none());
        let unseen: Vec<Txid> = txids.iter().filter(unseen).copied().collect();
        if !unseen.is_empty() {
            let entries = self.client.mempool_entries(&unseen)?;
            for (txid, entry) in unseen.iter().zip(entries) {
                let time = entry.map_or(u64::MAX, |entry| entry.time.saturating_mul(1000));
                if let Some(arrival) = self.arrivals.get_mut(txid) {
                    arrival.first_seen_ms = Some(time.min(self.clock.wall));
                }
            }
        }
        self.client.raw_transactions(txids)
    }

    /// Processes an answer; true if it is a transaction.
    fn fetched(&mut self, txid: &Txid, raw: Option<Vec<u8>>) -> bool {
        let Some(raw) = raw else {
            // It has left in the meantime.
            self.arrivals.remove(txid);
            self.arrivals.release(txid);
            return false;
        };
        match Body::read(raw.into()) {
            Some((of, body)) if of == *txid => {
                self.arrivals.attach(txid, body);
                true
            }
            Some(_) | None => {
                self.failed(txid, "the node sent something else");
                false
            }
        }
    }

    /// A batch failed permanently: it is too large, or one transaction in it fails.
    fn split(&mut self, txids: &[Txid]) {
        match txids {
            [] => {}
            [one] => self.failed(one, "the node does not give its bytes"),
            many => self.batch = many.len() / 2,
        }
    }

    fn failed(&mut self, txid: &Txid, why: &str) {
        let Some(arrival) = self.arrivals.get_mut(txid) else { return };
        arrival.tries = arrival.tries.saturating_add(1);
        if arrival.tries >= MAX_TRIES {
            tracing::warn!(%txid, why, "an unconfirmed transaction is left out");
            self.arrivals.set_stage(txid, Stage::Refused);
            self.arrivals.release(txid);
        }
    }

    /// Sizes the next batch so that its answer is about as long as the target.
    fn fit_batch(&mut self, answers: &[Option<Vec<u8>>]) {
        let bytes: usize = answers.iter().flatten().map(Vec::len).sum();
        let fitting = self.options.fetch_bytes.saturating_mul(answers.len().max(1)) / bytes.max(1);
        // It grows back slowly: more large transactions may follow.
        self.batch = fitting.clamp(1, self.batch.saturating_mul(2)).min(self.options.fetch_batch.max(1));
    }
}
