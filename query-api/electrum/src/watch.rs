//! Watches index and mempool, and announces changes to subscribers.
//!
//! A new block touches the scripts of its outputs and inputs, a change of the mempool those of the transactions that
//! came, went or changed their height. Only subscribed scripts among these get a new status. After a reorganization, or
//! many blocks at once, all subscribed scripts are looked at.

use std::{collections::BTreeSet, rc::Rc, sync::Arc, time::Duration};

use cairn_chain::Pinned;
use cairn_domain::{
    mempool::{Mempool, ScriptHash},
    script_sha256,
};
use cairn_http::{ApiError, Limits, Work};
use cairn_model::{BlockHash, CancelToken, Height, MempoolTx, TxNum};

use crate::{
    electrum::Electrum,
    failure::Refusal,
    subscriptions::{News, Status, TipHeader},
};

/// Longest time between two looks.
const LOOK: Duration = Duration::from_millis(250);
/// Most blocks whose transactions are read; after more, all subscribed scripts are looked at.
const MAX_BLOCKS: u32 = 12;
/// Scripts that are looked at while one view is pinned.
const SCRIPTS_AT_ONCE: usize = 500;
/// Groups of headers that are added to the tree of checkpoints in one look.
const GROUPS_AT_ONCE: u32 = 64;

/// The state that the last look has seen.
struct Seen {
    height: Height,
    hash: BlockHash,
    /// `None` if it could not be read: the next mempool is compared with nothing.
    mempool: Option<Mempool>,
}

/// The scripts that a look has to compute.
enum Touched {
    These(Vec<ScriptHash>),
    All,
}

/// The result of a look.
struct Found {
    touched: Touched,
    seen: Seen,
    has_checkpoints: bool,
}

/// Looks until cancelled. Blocks the thread.
pub(crate) fn watch(electrum: &Electrum, cancel: &CancelToken) {
    let (mut seen, mut told) = (None, None);
    while !cancel.is_cancelled() {
        let slot = electrum.chain.index().mempool();
        let mark = slot.mark();
        let may_wait = match look(electrum, seen.as_ref(), &mut told, cancel) {
            Ok((now, has_checkpoints)) => {
                seen = Some(now);
                has_checkpoints
            }
            // The next look compares with the same state.
            Err(error) => {
                tracing::debug!(error.detail, "index and mempool cannot be read for subscribers");
                true
            }
        };
        if may_wait {
            slot.wait(mark, LOOK);
        }
    }
}

/// One look: finds what changed since the last one, and announces it. True if the tree of checkpoints is complete.
/// `told` is the block that was announced last.
fn look(
    electrum: &Electrum,
    seen: Option<&Seen>,
    told: &mut Option<BlockHash>,
    cancel: &CancelToken,
) -> Result<(Seen, bool), ApiError> {
    let hub = &electrum.hub;
    let number = hub.begin_look();
    let new_tip = |at: &Pinned<'_>| tip(at).map(|tip| Some(tip).filter(|tip| *told != Some(tip.hash)));
    let found = read(electrum, |at| Ok((new_tip(at)?, find(electrum, at, seen)?)));
    let (new, found) = match found {
        Ok((new, found)) => (new, Ok(found)),
        // The chain is announced, whatever the reason is that statuses cannot be computed.
        Err(error) => (read(electrum, new_tip)?, Err(error)),
    };
    *told = new.map(|tip| tip.hash).or(*told);
    let tip = new.map(|what| News { look: number, what });
    let found = match found {
        Ok(found) => found,
        Err(error) => {
            tip.into_iter().for_each(|tip| hub.tell_tip(tip));
            return Err(error);
        }
    };
    match found.touched {
        Touched::These(scripts) => tell(electrum, &scripts, tip, cancel)?,
        Touched::All => {
            tip.into_iter().for_each(|tip| hub.tell_tip(tip));
            let mut after = None;
            loop {
                let scripts = hub.scripts_after(after.as_ref(), SCRIPTS_AT_ONCE);
                let Some(last) = scripts.last() else { break };
                after = Some(*last);
                tell(electrum, &scripts, None, cancel)?;
            }
        }
    }
    Ok((found.seen, found.has_checkpoints))
}

fn read<T>(electrum: &Electrum, read: impl FnMut(&Pinned<'_>) -> Result<T, ApiError>) -> Result<T, ApiError> {
    let work = Rc::new(Work::within(Limits::NONE));
    work.begin();
    electrum.chain.read(&work, read)
}

/// Computes statuses and announces them, with a new tip if there is one. The tip may have thousands of subscribers, so
/// those whose scripts have changed come first; it is announced even if statuses cannot be read.
fn tell(
    electrum: &Electrum,
    scripts: &[ScriptHash],
    mut tip: Option<News<TipHeader>>,
    cancel: &CancelToken,
) -> Result<(), ApiError> {
    let hub = &electrum.hub;
    for some in scripts.chunks(SCRIPTS_AT_ONCE) {
        if cancel.is_cancelled() {
            return Ok(());
        }
        let number = hub.begin_look();
        let found = statuses(electrum, some);
        if let Ok(statuses) = &found {
            hub.tell_statuses(number, statuses, tip);
        }
        tip.take().into_iter().for_each(|tip| hub.tell_tip(tip));
        found?;
    }
    tip.into_iter().for_each(|tip| hub.tell_tip(tip));
    Ok(())
}

/// The statuses of scripts at one tip.
fn statuses(electrum: &Electrum, scripts: &[ScriptHash]) -> Result<Vec<(ScriptHash, Status)>, ApiError> {
    read(electrum, |at| {
        let of = |script: &ScriptHash| match status(electrum, at, script) {
            Ok(status) => Some(Ok((*script, status))),
            Err(Refusal::Failed(error)) => Some(Err(error)),
            // Its history has become too long: who asks for it gets the reason.
            Err(Refusal::Said(_) | Refusal::Larger(_)) => None,
        };
        scripts.iter().filter_map(of).collect()
    })
}

fn status(electrum: &Electrum, at: &Pinned<'_>, script: &ScriptHash) -> Result<Status, Refusal> {
    electrum.statuses.of(at, &at.script(*script)?, electrum.max_history(), u64::MAX)
}

/// The tip of the pinned chain.
pub(crate) fn tip(at: &Pinned<'_>) -> Result<TipHeader, ApiError> {
    let (height, hash) = (at.view.tip().height, at.view.tip().hash);
    Ok(TipHeader { height, hash, header: at.header(height)?.header })
}

/// Compares the pinned state with the last one.
fn find(electrum: &Electrum, at: &Pinned<'_>, seen: Option<&Seen>) -> Result<Found, ApiError> {
    let tip = *at.view.tip();
    // Without a mempool only the tip is announced, and the memory of the last mempool is given back.
    let mempool = match at.mempool() {
        Ok(mempool) => Some(mempool),
        Err(error) if at.is_mempool_at_other_tip() => return Err(error),
        Err(_) => None,
    };
    let touched = if electrum.hub.is_idle() {
        Touched::These(Vec::new())
    } else {
        match (mempool, seen.and_then(|seen| Some((seen, seen.mempool.as_ref()?)))) {
            (None, _) => Touched::These(Vec::new()),
            // There is nothing to compare with, and the scripts may have changed since they were answered.
            (Some(_), None) => Touched::All,
            (Some(mempool), Some((seen, before))) => touched(electrum, at, seen, mempool.changes_since(before))?,
        }
    };
    if seen.is_none_or(|seen| seen.hash != tip.hash) {
        electrum.scans.tip_changed();
    }
    let has_tweaks = electrum.scans.look_at(mempool);
    let has_checkpoints = electrum.extend_checkpoints(at, tip.height.saturating_add(1), GROUPS_AT_ONCE)?;
    let has_checkpoints = has_checkpoints && has_tweaks;
    Ok(Found { touched, seen: Seen { height: tip.height, hash: tip.hash, mempool: mempool.cloned() }, has_checkpoints })
}

fn touched<'t>(
    electrum: &Electrum,
    at: &Pinned<'_>,
    seen: &Seen,
    changes: impl IntoIterator<Item = &'t Arc<MempoolTx>>,
) -> Result<Touched, ApiError> {
    let tip = at.view.tip();
    let continues =
        at.view.chain().is(seen.height, &seen.hash) && tip.height - seen.height.min(tip.height) <= MAX_BLOCKS;
    if !continues {
        return Ok(Touched::All);
    }
    let mut prefixes = BTreeSet::new();
    for height in seen.height + 1..=tip.height {
        add_block(at, height, &mut prefixes)?;
    }
    for tx in changes {
        add_unconfirmed(tx, &mut prefixes);
    }
    let significant = at.view.facts().script_prefix.min(8);
    let prefixes = prefixes.iter().map(|prefix| &prefix[..significant]);
    Ok(Touched::These(electrum.hub.scripts_with(prefixes)))
}

/// First bytes of the hash of a script.
type Prefix = [u8; 8];

/// Adds the scripts of a block's outputs and inputs.
fn add_block(at: &Pinned<'_>, height: Height, prefixes: &mut BTreeSet<Prefix>) -> Result<(), ApiError> {
    let row = at.header(height)?;
    for number in row.first_tx.0..row.first_tx.0 + u64::from(row.tx_count) {
        let tx = at.view.transactions().get(TxNum(number))?.ok_or_else(ApiError::internal)?;
        prefixes.extend(tx.outputs().iter().map(|output| prefix(tx.script(output))));
        prefixes.extend(tx.logged_inputs().iter().map(|input| input.script.prefix.0));
    }
    Ok(())
}

fn add_unconfirmed(tx: &MempoolTx, prefixes: &mut BTreeSet<Prefix>) {
    prefixes.extend(tx.outputs.iter().map(|output| prefix(&output.script)));
    prefixes.extend(tx.inputs.iter().map(|input| prefix(&input.script)));
}

fn prefix(script: &[u8]) -> Prefix {
    let mut prefix = [0; 8];
    prefix.copy_from_slice(&script_sha256(script)[..8]);
    prefix
}
