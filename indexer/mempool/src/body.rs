//! Bytes of transactions, before their coins are known.

use std::collections::{HashMap, VecDeque};

use bitcoin::{Transaction, consensus::deserialize, hashes::Hash};
use cairn_model::Txid;

/// A decoded transaction with its bytes.
#[derive(Clone, Debug)]
pub(crate) struct Body {
    pub(crate) tx: Transaction,
    pub(crate) raw: Box<[u8]>,
}

impl Body {
    /// Decodes a transaction and computes its txid; `None` if the bytes are not a transaction.
    pub(crate) fn read(raw: Box<[u8]>) -> Option<(Txid, Body)> {
        let tx: Transaction = deserialize(&raw).ok()?;
        let txid = Txid(tx.compute_txid().to_byte_array());
        Some((txid, Body { tx, raw }))
    }

    /// Its estimated memory: the bytes and the decoded form.
    pub(crate) fn bytes(&self) -> usize {
        let parts = self.tx.input.len() * 128 + self.tx.output.len() * 48;
        self.raw.len().saturating_mul(2).saturating_add(parts + 200)
    }
}

/// Published transactions without another announcement so far, with the time. The oldest are removed first.
#[derive(Debug, Default)]
pub(crate) struct BodyCache {
    bodies: HashMap<Txid, (u64, u64, Body)>,
    order: VecDeque<(u64, Txid)>,
    stamp: u64,
    bytes: usize,
}

impl BodyCache {
    pub(crate) fn insert(&mut self, txid: Txid, body: Body, now_ms: u64, max: usize, max_bytes: usize) {
        self.stamp += 1;
        self.bytes += body.bytes();
        if let Some((_, _, old)) = self.bodies.insert(txid, (self.stamp, now_ms, body)) {
            self.bytes -= old.bytes();
        }
        self.order.push_back((self.stamp, txid));
        while self.bodies.len() > max || self.bytes > max_bytes || self.order.len() > max.saturating_mul(2) {
            let Some((stamp, txid)) = self.order.pop_front() else { break };
            if self.bodies.get(&txid).is_some_and(|(of, ..)| *of == stamp) {
                self.take(&txid);
            }
        }
    }

    /// Removes a transaction, and returns it with the time of publication.
    pub(crate) fn take(&mut self, txid: &Txid) -> Option<(u64, Body)> {
        let (_, now_ms, body) = self.bodies.remove(txid)?;
        self.bytes -= body.bytes();
        Some((now_ms, body))
    }
}

#[cfg(test)]
mod tests {
    use bitcoin::{Amount, ScriptBuf, TxOut, absolute::LockTime, consensus::serialize, transaction::Version};

    use super::*;

    fn body(n: u64) -> (Txid, Body) {
        let output = vec![TxOut { value: Amount::from_sat(n), script_pubkey: ScriptBuf::new() }];
        let input = vec![bitcoin::TxIn::default()];
        let tx = Transaction { version: Version::TWO, lock_time: LockTime::ZERO, input, output };
        Body::read(serialize(&tx).into()).unwrap()
    }

    #[test]
    fn the_cache_is_bounded_by_number_and_bytes() {
        let mut cache = BodyCache::default();
        let one = body(0).1.bytes();
        for n in 0..50 {
            let (txid, body) = body(n);
            cache.insert(txid, body.clone(), n, 10, 5 * one);
            cache.insert(txid, body, n + 1, 10, 5 * one);
            assert!(cache.bodies.len() <= 5 && cache.bytes <= 5 * one && cache.order.len() <= 20);
        }
        assert!(cache.take(&body(40).0).is_none());
        assert_eq!(cache.take(&body(49).0).unwrap().0, 50);
        for n in 0..50 {
            cache.take(&body(n).0);
        }
        assert_eq!((cache.bytes, cache.bodies.len()), (0, 0));
    }

    #[test]
    fn garbage_is_no_transaction() {
        assert!(Body::read(Box::from([1u8, 2, 3])).is_none());
        let (_, good) = body(1);
        let longer: Vec<u8> = [&good.raw[..], &[0]].concat();
        assert!(Body::read(longer.into()).is_none());
    }
}
