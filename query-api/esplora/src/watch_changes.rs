//! The transactions of new blocks, and those that came to the mempool or left it, which watchers track. They are looked
//! for once for all watchers.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    sync::Arc,
};

use cairn_chain::{Pinned, Whole};
use cairn_domain::{
    mempool::{Mempool, ScriptHash},
    script_sha256,
};
use cairn_http::ApiError;
use cairn_model::{BlockHash, Height, MempoolTx, TxNum, Txid};
use serde_json::json;

use crate::tx_json::TxTexts;

/// The scripts and transactions that anybody tracks.
pub(crate) struct Targets {
    scripts: BTreeSet<ScriptHash>,
    txids: HashSet<Txid>,
}

impl Targets {
    pub(crate) fn new(scripts: BTreeSet<ScriptHash>, txids: &[Txid]) -> Self {
        Targets { scripts, txids: txids.iter().copied().collect() }
    }

    fn insert_if_tracked(&self, script: &[u8], found: &mut BTreeSet<ScriptHash>) {
        let hash = script_sha256(script);
        if self.scripts.contains(&hash) {
            found.insert(hash);
        }
    }

    /// True if the hash of a tracked script begins with these bytes.
    fn has_prefix(&self, prefix: &[u8]) -> bool {
        let mut from = [0; 32];
        from[..prefix.len()].copy_from_slice(prefix);
        self.scripts.range(from..).next().is_some_and(|hash| hash.starts_with(prefix))
    }
}

/// The transactions of a script, as JSON.
#[derive(Debug, Default)]
pub(crate) struct ScriptTxs {
    /// Those that came to the mempool.
    pub(crate) mempool: Vec<Arc<str>>,
    /// Those of a new block.
    pub(crate) confirmed: Vec<Arc<str>>,
    /// Those that left the mempool, and are in no block.
    pub(crate) removed: Vec<Arc<str>>,
}

/// The transactions of tracked scripts.
pub(crate) type Touched = BTreeMap<ScriptHash, ScriptTxs>;

/// An input that spends an output of a tracked transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Spend {
    pub(crate) vout: u32,
    pub(crate) vin: u32,
    pub(crate) by: Txid,
}

/// The tracked part of the differences between two mempools.
#[derive(Default)]
pub(crate) struct MempoolChanges {
    pub(crate) touched: Touched,
    /// Tracked transactions that came, as JSON.
    pub(crate) came: HashMap<Txid, Arc<str>>,
    /// New spends of outputs of tracked transactions.
    pub(crate) spends: HashMap<Txid, Vec<Spend>>,
    /// True if a tracked transaction came or left.
    pub(crate) has_tracked_txs: bool,
}

/// The tracked part of a new block.
pub(crate) struct NewBlock {
    pub(crate) height: Height,
    pub(crate) hash: BlockHash,
    pub(crate) touched: Touched,
}

/// A transaction that touches tracked scripts, before it is written.
struct Hit<T> {
    tx: T,
    scripts: BTreeSet<ScriptHash>,
}

/// Finds the tracked transactions of new blocks and of the mempool. `before` and `now` are the mempools to compare.
///
/// Without `is_lenient` this fails if bytes of a transaction are not at hand, so that the node brings them; otherwise
/// such a transaction is written with its id and status alone.
pub(crate) fn find(
    at: &Pinned<'_>,
    targets: &Targets,
    heights: &[Height],
    mempools: Option<(&Mempool, &Mempool)>,
    is_lenient: bool,
) -> Result<(Vec<NewBlock>, MempoolChanges), ApiError> {
    let mut blocks = Vec::new();
    for height in heights {
        let hits = block_hits(at, targets, *height)?;
        let wholes: Vec<_> = hits.iter().map(|hit| at.whole_of(&[hit.tx]).map(|mut all| all.pop())).collect();
        blocks.push((*height, hits, wholes));
    }
    let mut changes = MempoolChanges::default();
    let (came, left) = match mempools {
        Some((before, now)) => mempool_hits(at, targets, (before, now), &mut changes)?,
        None => Default::default(),
    };
    let came_whole: Vec<_> = came.iter().map(|hit| at.whole_unconfirmed([&*hit.tx]).map(|mut all| all.pop())).collect();
    // Bytes that the node has to bring are noted for all of them before this fails.
    let mut texts = Texts { writer: TxTexts::new(at), is_lenient };
    let mut found = Vec::new();
    for (height, hits, wholes) in blocks {
        let (at_height, mut touched) = (at.at(height)?, Touched::new());
        for (hit, whole) in hits.into_iter().zip(wholes) {
            let text = texts.write(whole, || {
                let txid = at.view.transactions().txid(hit.tx)?.ok_or_else(ApiError::internal)?.0;
                let status = crate::status::TxStatus::new(Some(at_height));
                Ok(json!({"txid": txid.to_string(), "status": status}).to_string())
            })?;
            add(&mut touched, &hit.scripts, &text, |txs| &mut txs.confirmed);
        }
        found.push(NewBlock { height, hash: at_height.hash, touched });
    }
    for (hit, whole) in came.into_iter().zip(came_whole) {
        let text = texts.write(whole, || Ok(brief(&hit.tx)))?;
        if targets.txids.contains(&hit.tx.txid) {
            changes.came.insert(hit.tx.txid, Arc::clone(&text));
        }
        add(&mut changes.touched, &hit.scripts, &text, |txs| &mut txs.mempool);
    }
    for hit in left {
        let text = texts.writer.write_departed(&hit.tx)?.unwrap_or_else(|| brief(&hit.tx)).into();
        add(&mut changes.touched, &hit.scripts, &text, |txs| &mut txs.removed);
    }
    Ok((found, changes))
}

fn add(
    touched: &mut Touched,
    scripts: &BTreeSet<ScriptHash>,
    text: &Arc<str>,
    list: impl Fn(&mut ScriptTxs) -> &mut Vec<Arc<str>>,
) {
    for script in scripts {
        list(touched.entry(*script).or_default()).push(Arc::clone(text));
    }
}

/// An unconfirmed transaction without its bytes.
fn brief(tx: &MempoolTx) -> String {
    json!({"txid": tx.txid.to_string(), "fee": tx.fee_sats, "status": {"confirmed": false}}).to_string()
}

/// Writes transactions.
struct Texts<'a, 'p> {
    writer: TxTexts<'a, 'p>,
    is_lenient: bool,
}

impl Texts<'_, '_> {
    fn write(
        &mut self,
        whole: Result<Option<Whole>, ApiError>,
        brief: impl FnOnce() -> Result<String, ApiError>,
    ) -> Result<Arc<str>, ApiError> {
        let text = match whole {
            Ok(Some(whole)) => self.writer.write(&whole)?,
            Ok(None) => return Err(ApiError::internal()),
            Err(_) if self.is_lenient => brief()?,
            Err(error) => return Err(error),
        };
        Ok(text.into())
    }
}

/// Transactions of a block that touch tracked scripts.
fn block_hits(at: &Pinned<'_>, targets: &Targets, height: Height) -> Result<Vec<Hit<TxNum>>, ApiError> {
    let mut hits = Vec::new();
    if targets.scripts.is_empty() {
        return Ok(hits);
    }
    let significant = at.view.facts().script_prefix.min(8);
    let row = at.header(height)?;
    for number in row.first_tx.0..row.first_tx.0 + u64::from(row.tx_count) {
        let tx = at.view.transactions().get(TxNum(number))?.ok_or_else(ApiError::internal)?;
        let mut scripts = BTreeSet::new();
        for output in tx.outputs() {
            targets.insert_if_tracked(tx.script(output), &mut scripts);
        }
        let is_candidate = |prefix: &[u8; 8]| targets.has_prefix(&prefix[..significant]);
        if tx.logged_inputs().iter().any(|input| is_candidate(&input.script.prefix.0)) {
            for coin in at.view.transactions().inputs(&tx)? {
                // A prefix is a hint: the script itself decides.
                if is_candidate(&coin.script.prefix.0) {
                    let script = at.view.transactions().script_at(coin.outpoint)?;
                    targets.insert_if_tracked(&script, &mut scripts);
                }
            }
        }
        if !scripts.is_empty() {
            hits.push(Hit { tx: TxNum(number), scripts });
        }
    }
    Ok(hits)
}

/// Transactions that came, and those that left without being confirmed.
type MempoolHits = (Vec<Hit<Arc<MempoolTx>>>, Vec<Hit<Arc<MempoolTx>>>);

/// Transactions that came or left, and touch tracked scripts or are tracked. Spends are noted in `changes`.
fn mempool_hits(
    at: &Pinned<'_>,
    targets: &Targets,
    (before, now): (&Mempool, &Mempool),
    changes: &mut MempoolChanges,
) -> Result<MempoolHits, ApiError> {
    let (mut came, mut left) = (Vec::new(), Vec::new());
    if targets.scripts.is_empty() && targets.txids.is_empty() {
        return Ok((came, left));
    }
    let mut known = HashSet::new();
    for tx in now.changes_since(before) {
        let (is_here, was_here) = (now.get(&tx.txid).is_some(), before.get(&tx.txid).is_some());
        if is_here == was_here || !known.insert(tx.txid) {
            continue;
        }
        let is_tracked = targets.txids.contains(&tx.txid);
        changes.has_tracked_txs |= is_tracked;
        let mut scripts = BTreeSet::new();
        for output in &tx.outputs {
            targets.insert_if_tracked(&output.script, &mut scripts);
        }
        for (vin, input) in (0..).zip(&tx.inputs) {
            targets.insert_if_tracked(&input.script, &mut scripts);
            if is_here && targets.txids.contains(&input.prev_txid) {
                let spend = Spend { vout: input.prev_vout, vin, by: tx.txid };
                changes.spends.entry(input.prev_txid).or_default().push(spend);
            }
        }
        if is_here && (is_tracked || !scripts.is_empty()) {
            came.push(Hit { tx: Arc::clone(tx), scripts });
        } else if !scripts.is_empty() && at.view.transactions().by_txid(&tx.txid)?.is_none() {
            left.push(Hit { tx: Arc::clone(tx), scripts });
        }
    }
    came.sort_by_key(|hit| (hit.tx.first_seen_ms, hit.tx.txid));
    Ok((came, left))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_found_by_prefix() {
        let targets = Targets::new(BTreeSet::from([[5; 32], [255; 32]]), &[]);
        assert!(targets.has_prefix(&[5]) && targets.has_prefix(&[5; 8]) && targets.has_prefix(&[255; 8]));
        assert!(!targets.has_prefix(&[4]) && !targets.has_prefix(&[5, 6]) && !targets.has_prefix(&[6]));
    }
}
