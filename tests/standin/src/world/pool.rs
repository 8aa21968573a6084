//! The mempool from the script's side.

use std::sync::Arc;

use bitcoin::{Transaction, Txid};

use super::World;
use crate::Error;
use crate::notice::Notice;

/// A transaction in the mempool, with what a test compares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolTx {
    /// The transaction.
    pub tx: Arc<Transaction>,
    /// Its id.
    pub txid: Txid,
    /// Satoshis.
    pub fee: u64,
    /// Virtual bytes, adjusted for signature operations.
    pub vsize: u64,
    /// Weight units.
    pub weight: u64,
    /// When it entered, Unix seconds.
    pub time: u64,
    /// Unconfirmed ancestors, itself not counted.
    pub ancestors: Vec<Txid>,
    /// Unconfirmed descendants, itself not counted.
    pub descendants: Vec<Txid>,
}

impl World {
    /// Everything in the mempool, ordered by txid.
    pub fn pool(&self) -> Vec<PoolTx> {
        let pool = &self.node.pool;
        pool.entries()
            .map(|entry| PoolTx {
                tx: Arc::clone(&entry.tx),
                txid: entry.txid,
                fee: entry.fee,
                vsize: entry.vsize,
                weight: entry.weight,
                time: entry.time,
                ancestors: pool.ancestors(&entry.txid).into_iter().filter(|txid| *txid != entry.txid).collect(),
                descendants: pool.descendants(&entry.txid).into_iter().filter(|txid| *txid != entry.txid).collect(),
            })
            .collect()
    }

    /// The txids in the mempool, in order.
    pub fn pool_txids(&self) -> Vec<Txid> {
        self.node.pool.entries().map(|entry| entry.txid).collect()
    }

    /// Core's mempool sequence: one more than that of the last addition or removal.
    pub fn pool_sequence(&self) -> u64 {
        self.node.pool.sequence()
    }

    /// The template of the next block: txids in block order.
    pub fn template(&self) -> Vec<Txid> {
        self.node.template().txids
    }

    fn pooled<T>(&mut self, change: impl FnOnce(&mut Self, &mut Vec<Notice>) -> T) -> T {
        let mut notices = Vec::new();
        let result = change(self, &mut notices);
        self.publish(notices);
        result
    }

    /// Puts a transaction into the mempool, as if a peer had sent it; it may replace others.
    ///
    /// # Errors
    /// [`Error::Reject`].
    pub fn add_tx(&mut self, tx: Transaction) -> Result<Txid, Error> {
        let (tx, now) = (Arc::new(tx), self.now());
        self.pooled(|world, notices| world.node.accept_tx(&tx, now, notices)).map_err(Error::from)
    }

    /// Removes a transaction and its descendants, as eviction or expiry does.
    ///
    /// # Errors
    /// [`Error::UnknownTx`].
    pub fn evict(&mut self, txid: &Txid) -> Result<(), Error> {
        if !self.node.pool.contains(txid) {
            return Err(Error::UnknownTx(*txid));
        }
        self.pooled(|world, notices| world.node.pool.evict(txid, notices));
        Ok(())
    }

    /// Evicts what pays least until the mempool uses at most this many bytes of memory (as the stand-in counts them,
    /// see `getmempoolinfo`); the minimum fee rate rises above what was evicted.
    pub fn trim(&mut self, max_bytes: u64) {
        let policy = self.node.policy.clone();
        self.pooled(|world, notices| world.node.pool.trim(max_bytes, &policy, notices));
    }

    /// Removes everything that entered before a time (Unix seconds), with descendants, as `-mempoolexpiry` does.
    pub fn expire(&mut self, before: u64) {
        let old: Vec<Txid> =
            self.node.pool.entries().filter(|entry| entry.time < before).map(|entry| entry.txid).collect();
        self.pooled(|world, notices| world.node.pool.evict_all(old, notices));
    }

    /// Sets the minimum fee rate that evictions have led to, sat per 1000 virtual bytes; 0 means that there were none.
    /// It does not fall with time here, as it does with Core.
    pub fn set_min_fee(&mut self, rate: u64) {
        self.node.pool.set_raised_fee(rate);
    }
}
