//! Bytes of transactions that no message brought.

use cairn_model::Txid;
use cairn_node::NodeError;

use crate::{MempoolWatcher, arrivals::Stage, body::Body};

/// Requests for the bytes of one transaction alone that may fail before it is given up until the next snapshot.
const MAX_TRIES: u8 = 3;

impl MempoolWatcher {
    /// Asks for the bytes of some transactions; whether any came.
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

    /// The answers, and first-seen times for those that no message told of: the node knows when it took them in.
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

    /// Takes in an answer; whether it is a transaction.
    fn fetched(&mut self, txid: &Txid, raw: Option<Vec<u8>>) -> bool {
        let Some(raw) = raw else {
            // It has left meanwhile.
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

    /// A batch failed, not for a reason that passes: because it is too large, or because of one transaction in it.
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

    /// Makes the next batch so large that its answer is about as long as wanted.
    fn fit_batch(&mut self, answers: &[Option<Vec<u8>>]) {
        let bytes: usize = answers.iter().flatten().map(Vec::len).sum();
        let fitting = self.options.fetch_bytes.saturating_mul(answers.len().max(1)) / bytes.max(1);
        // It grows back slowly: what was large may be followed by more of it.
        self.batch = fitting.clamp(1, self.batch.saturating_mul(2)).min(self.options.fetch_batch.max(1));
    }
}
