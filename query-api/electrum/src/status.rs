//! Statuses of scripts: SHA-256 over "txid:height:" of each transaction, confirmed ones first.
//!
//! The hash after the last confirmed transaction is kept, so that a block costs only the entries that it adds. It holds
//! for as long as the block of that transaction is in the chain.

use std::{collections::HashMap, fmt::Write};

use cairn_chain::{Pinned, Script};
use cairn_domain::mempool::{Mempool, ScriptHash};
use cairn_http::ApiError;
use cairn_model::{BlockHash, Height, Sats, TxNum, Txid};
use parking_lot::Mutex;
use serde::{Serialize, Serializer};
use sha2::{Digest, Sha256};

use crate::{
    failure::{Failure, Refusal},
    subscriptions::Status,
};

/// Entries that are read at once.
const BATCH: u64 = 128;
/// Shorter histories are hashed again each time.
const WORTH_KEEPING: u64 = 16;
/// Hashes that are kept; each takes about 250 bytes.
const MAX_KEPT: usize = 65_536;

/// A transaction of a history, as the protocol writes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub(crate) struct Entry {
    #[serde(rename = "tx_hash", serialize_with = "as_text")]
    pub(crate) txid: Txid,
    /// 0 or −1 if it is unconfirmed.
    pub(crate) height: i64,
    /// Of unconfirmed ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) fee: Option<Sats>,
}

/// Writes a transaction id straight into the answer: histories have thousands.
pub(crate) fn as_text<S: Serializer>(txid: &Txid, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(txid)
}

/// Fails if a history is longer than this.
fn check_length(at: &Pinned<'_>, script: &Script, max_history: u64) -> Result<u64, Refusal> {
    let confirmed = script.totals().map_or(0, |totals| totals.tx_count);
    let all = confirmed.saturating_add(at.unconfirmed_totals(script)?.tx_count);
    if all > max_history { Err(Failure::too_large().into()) } else { Ok(all) }
}

/// The length of a script's history.
///
/// # Errors
/// Fails beyond the limit, and if its class of work has no room for it.
pub(crate) fn length(at: &Pinned<'_>, script: &Script, max_history: u64, room: u64) -> Result<u64, Refusal> {
    let all = check_length(at, script, max_history)?;
    if all > room { Err(Refusal::Larger(all)) } else { Ok(all) }
}

/// The unconfirmed transactions of a script, in the order of its status: those with confirmed inputs first, then by
/// txid as it is written.
pub(crate) fn unconfirmed(mempool: &Mempool, script: &Script, limit: u64) -> Vec<Entry> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let effects = mempool.script_txs(&script.hash, None, limit);
    let entry = |txid: Txid| Entry {
        txid,
        height: if mempool.has_unconfirmed_parents(&txid) { -1 } else { 0 },
        fee: mempool.get(&txid).map(|tx| tx.fee_sats),
    };
    let mut entries: Vec<Entry> = effects.iter().map(|effect| entry(effect.txid)).collect();
    in_order(&mut entries);
    entries
}

/// Brings unconfirmed transactions into the order of a status.
fn in_order(entries: &mut [Entry]) {
    let written = |txid: &Txid| {
        let mut bytes = txid.0;
        bytes.reverse();
        bytes
    };
    entries.sort_by_cached_key(|entry| (-entry.height, written(&entry.txid)));
}

/// The confirmed transactions of a script, oldest first, from the entry `from` on; at most [`BATCH`].
fn batch(at: &Pinned<'_>, script: &Script, from: u64) -> Result<Vec<Entry>, ApiError> {
    let Some(totals) = script.totals() else { return Ok(Vec::new()) };
    let count = BATCH.min(totals.tx_count.saturating_sub(from));
    let skip = totals.tx_count.saturating_sub(from + count);
    let mut found = at.confirmed_history(script, skip, usize::try_from(count).unwrap_or(0))?;
    found.reverse();
    let numbers: Vec<TxNum> = found.iter().map(|entry| entry.tx_num).collect();
    let txids = at.view.transactions().txids(&numbers)?;
    Ok(txids.into_iter().map(|(txid, height)| Entry { txid, height: height.into(), fee: None }).collect())
}

/// All transactions of a script, in the order of its status.
pub(crate) fn history(at: &Pinned<'_>, script: &Script, length: u64) -> Result<Vec<Entry>, ApiError> {
    let confirmed = script.totals().map_or(0, |totals| totals.tx_count);
    let mut all = Vec::with_capacity(usize::try_from(length.min(1 << 16)).unwrap_or(0));
    while (all.len() as u64) < confirmed {
        let batch = batch(at, script, all.len() as u64)?;
        if batch.is_empty() {
            return Err(ApiError::internal());
        }
        all.extend(batch);
    }
    all.extend(unconfirmed(at.mempool()?, script, length));
    Ok(all)
}

fn hash(sha: &mut Sha256, text: &mut String, entries: &[Entry]) {
    text.clear();
    for Entry { txid, height, .. } in entries {
        // Writing to a text does not fail.
        let _ = write!(text, "{txid}:{height}:");
    }
    sha.update(text.as_bytes());
}

/// SHA-256 over the oldest confirmed transactions of a script.
#[derive(Clone)]
struct Midstate {
    sha: Sha256,
    /// Number of transactions.
    count: u64,
    /// The block of the last one.
    block: (Height, BlockHash),
    /// When it was used last.
    used: u64,
}

#[derive(Default)]
struct Kept {
    by_script: HashMap<ScriptHash, Midstate>,
    clock: u64,
}

/// Computes statuses, and keeps the hashes of long histories.
#[derive(Default)]
pub(crate) struct Statuses(Mutex<Kept>);

impl Statuses {
    /// The status of a script.
    ///
    /// # Errors
    /// Fails if its history is longer than `max_history`, or if the work stops: then what is hashed so far is kept.
    pub(crate) fn of(&self, at: &Pinned<'_>, script: &Script, max_history: u64, room: u64) -> Result<Status, Refusal> {
        let all = check_length(at, script, max_history)?;
        let confirmed = script.totals().map_or(0, |totals| totals.tx_count);
        let is_valid = |kept: &Midstate| kept.count <= confirmed && at.view.chain().is(kept.block.0, &kept.block.1);
        let kept = self.get(&script.hash).filter(is_valid);
        let (mut sha, mut count) = kept.map_or_else(|| (Sha256::new(), 0), |kept| (kept.sha, kept.count));
        if all - count.min(all) > room {
            return Err(Refusal::Larger(all - count));
        }
        let (mut text, mut last, begun) = (String::new(), None, count);
        let stopped = loop {
            if count >= confirmed {
                break None;
            }
            match batch(at, script, count) {
                Ok(entries) if entries.is_empty() => break Some(ApiError::internal()),
                Ok(entries) => {
                    hash(&mut sha, &mut text, &entries);
                    count += entries.len() as u64;
                    last = entries.last().map(|entry| entry.height);
                }
                Err(error) => break Some(error),
            }
        };
        if let Some(height) = last.filter(|_| count > begun && count >= WORTH_KEEPING)
            && let Some(block) = block_at(at, height)
        {
            self.put(script.hash, sha.clone(), count, block);
        }
        if let Some(error) = stopped {
            return Err(error.into());
        }
        let unconfirmed = unconfirmed(at.mempool()?, script, all);
        hash(&mut sha, &mut text, &unconfirmed);
        let is_empty = count == 0 && unconfirmed.is_empty();
        Ok((!is_empty).then(|| sha.finalize().into()))
    }

    fn get(&self, script: &ScriptHash) -> Option<Midstate> {
        let mut kept = self.0.lock();
        kept.clock += 1;
        let now = kept.clock;
        let found = kept.by_script.get_mut(script)?;
        found.used = now;
        Some(found.clone())
    }

    fn put(&self, script: ScriptHash, sha: Sha256, count: u64, block: (Height, BlockHash)) {
        let mut kept = self.0.lock();
        kept.clock += 1;
        let used = kept.clock;
        if kept.by_script.len() >= MAX_KEPT && !kept.by_script.contains_key(&script) {
            // The older half goes.
            let mut times: Vec<u64> = kept.by_script.values().map(|midstate| midstate.used).collect();
            let middle = times.len() / 2;
            let (_, middle, _) = times.select_nth_unstable(middle);
            let middle = *middle;
            kept.by_script.retain(|_, midstate| midstate.used > middle);
        }
        kept.by_script.insert(script, Midstate { sha, count, block, used });
    }
}

/// The block of the chain at a height, if it can be read: the work may have stopped.
fn block_at(at: &Pinned<'_>, height: i64) -> Option<(Height, BlockHash)> {
    let height = Height::try_from(height).ok()?;
    Some((height, at.header(height).ok()?.hash))
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    fn entry(txid: &str, height: i64) -> Entry {
        Entry { txid: txid.parse().unwrap(), height, fee: None }
    }

    /// The example of the specification.
    #[test]
    fn the_status_is_that_of_the_example() {
        let mut entries = [
            entry("bb4c8ab438c13b89ca80d1d5bee25b0b6b7f55673f4d801998ba97db161d9e85", -1),
            entry("e02a1dadfa83b996b24175df807b271ea5d02937ef5b35c195fac1e1bdc3198f", 0),
            entry("80b19848aed792565ab7c5a79b7c2a00fbf985741579396ebe0ab6098e607311", 0),
        ];
        in_order(&mut entries);
        assert_eq!(entries.map(|entry| entry.height), [0, 0, -1]);
        let confirmed = [
            entry("a6c9c361bd0bc536d6a22648efbf8f9b200e425ef6c3a7a9669dc444c532a347", 2472),
            entry("9c42f84b2fcdaff676ba25d9d4941741cc0d1a01cce0c23fdc4c0b2afa38431c", 2473),
            entry("770f2d4371b3fabb902dd9a103e2dd005fcd3971181078fca4a2a1d6ff127b30", 2473),
        ];
        let (mut sha, mut text) = (Sha256::new(), String::new());
        hash(&mut sha, &mut text, &confirmed);
        hash(&mut sha, &mut text, &entries);
        let status = hex::encode(sha.finalize());
        assert_eq!(status, "78e96c6562cafa71c115503b9411fdfdc595a45031e2ab76ff75162fe1b0590d");
    }

    proptest! {
        /// A hash in batches, continued from a copy, is the one of the whole text.
        #[test]
        fn batches_hash_as_the_whole(
            txids in vec((any::<[u8; 32]>(), 0i64..1_000_000), 0..40),
            cut in any::<prop::sample::Index>(),
        ) {
            let entries: Vec<_> =
                txids.iter().map(|(txid, height)| Entry { txid: Txid(*txid), height: *height, fee: None }).collect();
            let whole: String = entries.iter().map(|e| format!("{}:{}:", e.txid, e.height)).collect();
            let (first, second) = entries.split_at(cut.index(entries.len() + 1));
            let (mut sha, mut text) = (Sha256::new(), String::new());
            hash(&mut sha, &mut text, first);
            let mut copy = sha.clone();
            hash(&mut copy, &mut text, second);
            prop_assert_eq!(copy.finalize(), Sha256::digest(whole.as_bytes()));
        }

        /// The order of unconfirmed transactions is that of their heights, then of their txids as text.
        #[test]
        fn unconfirmed_ones_are_ordered_as_text(txids in vec((any::<[u8; 32]>(), -1i64..=0), 0..30)) {
            let mut entries: Vec<_> =
                txids.iter().map(|(txid, height)| Entry { txid: Txid(*txid), height: *height, fee: None }).collect();
            let mut expected = entries.clone();
            expected.sort_by_key(|entry| (-entry.height, entry.txid.to_string()));
            in_order(&mut entries);
            prop_assert_eq!(entries, expected);
        }
    }

    #[test]
    fn the_older_half_of_the_hashes_goes() {
        let statuses = Statuses::default();
        let script = |n: usize| {
            let mut script = [0; 32];
            script[..8].copy_from_slice(&n.to_be_bytes());
            script
        };
        for n in 0..MAX_KEPT {
            statuses.put(script(n), Sha256::new(), 1, (0, BlockHash::default()));
        }
        assert!(statuses.get(&script(0)).is_some());
        statuses.put(script(MAX_KEPT), Sha256::new(), 1, (0, BlockHash::default()));
        let kept = statuses.0.lock().by_script.len();
        assert!((MAX_KEPT / 2 - 1..=MAX_KEPT / 2 + 1).contains(&kept), "{kept}");
        assert!(statuses.get(&script(0)).is_some() && statuses.get(&script(1)).is_none());
        assert!(statuses.get(&script(MAX_KEPT)).is_some());
    }
}
