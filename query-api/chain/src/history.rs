//! The history of a script: confirmed and unconfirmed.

use cairn_domain::mempool::{ScriptEffect, ScriptHash, ScriptTotals};
use cairn_http::ApiError;
use cairn_model::{Sats, TxNum, Txid};
use cairn_reader::FoundScript;
use cairn_tables::totals::Totals;

use crate::pinned::Pinned;

/// A script, by the SHA-256 of its bytes, with what the chain knows of it.
#[derive(Clone, Debug)]
pub struct Script {
    /// SHA-256(scriptPubKey), first byte first.
    pub hash: ScriptHash,
    /// `None` if no block has it.
    pub found: Option<FoundScript>,
}

/// A confirmed transaction of a script.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    /// Its number in the chain.
    pub tx_num: TxNum,
    /// Sum of its outputs to the script.
    pub received: Sats,
    /// Sum of its inputs from the script.
    pub sent: Sats,
}

impl Script {
    /// Sums over its confirmed transactions; `None` if no block has it.
    #[must_use]
    pub fn totals(&self) -> Option<&Totals> {
        self.found.as_ref().map(|found| &found.totals)
    }
}

impl Pinned<'_> {
    /// A script by the SHA-256 of its bytes.
    pub fn script(&self, hash: ScriptHash) -> Result<Script, ApiError> {
        let found = self.view.scripts().find_hash(&hash)?.map(|(found, _)| found);
        Ok(Script { hash, found })
    }

    /// Confirmed transactions of a script, newest first, after skipping the `skip` newest; at most `limit`.
    pub fn confirmed_history(&self, script: &Script, skip: u64, limit: usize) -> Result<Vec<Entry>, ApiError> {
        let Some(found) = &script.found else { return Ok(Vec::new()) };
        let entries = self.view.scripts().history(found, skip, limit)?;
        Ok(entries.iter().map(|e| Entry { tx_num: e.tx_num, received: e.received, sent: e.sent }).collect())
    }

    /// The number of confirmed transactions of a script that are not older than `txid`: what a page after it skips.
    /// `None` if the transaction is not confirmed, or not of the script.
    pub fn skip_until(&self, script: &Script, txid: &Txid) -> Result<Option<u64>, ApiError> {
        let Some(found) = &script.found else { return Ok(None) };
        let Some(tx) = self.view.transactions().by_txid(txid)? else { return Ok(None) };
        let [before, with] = [tx.tx_num, TxNum(tx.tx_num.0 + 1)];
        let [before, with] = self.view.scripts().sums_before_each(found, [before, with])?;
        let is_of_script = with.tx_count > before.tx_count;
        Ok(is_of_script.then(|| found.totals.tx_count.saturating_sub(before.tx_count)))
    }

    /// Effect of all unconfirmed transactions on a script.
    pub fn unconfirmed_totals(&self, script: &Script) -> Result<ScriptTotals, ApiError> {
        Ok(self.mempool()?.script_totals(&script.hash))
    }

    /// Unconfirmed transactions of a script, newest first; at most `limit`.
    pub fn unconfirmed_history(&self, script: &Script, limit: usize) -> Result<Vec<ScriptEffect>, ApiError> {
        Ok(self.mempool()?.script_txs(&script.hash, None, limit))
    }
}
