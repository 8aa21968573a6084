//! Effect of unconfirmed transactions on a whole wallet.

use std::collections::HashMap;

use cairn_domain::mempool::{ScriptEffect, ScriptTotals};
use cairn_http::ApiError;
use cairn_model::Txid;

use super::super::Wallet;
use crate::context::{Ctx, MempoolView};

/// Unconfirmed transactions of one script that are read, and rows of all scripts together.
const MAX_OF_SCRIPT: usize = 1_000;
const MAX_ROWS: usize = 50_000;

/// The unconfirmed transactions of a wallet.
#[derive(Default)]
pub(super) struct Pending {
    /// Each once, the latest first-seen first.
    pub(super) effects: Vec<ScriptEffect>,
    /// Their sums; transactions are each counted once, if all were read.
    pub(super) totals: ScriptTotals,
    /// False if there are too many to read.
    pub(super) is_whole: bool,
}

impl Pending {
    pub(super) fn of(ctx: &Ctx<'_>, pool: &MempoolView<'_>, wallets: &[Wallet]) -> Result<Self, ApiError> {
        let mut by_tx: HashMap<Txid, ScriptEffect> = HashMap::new();
        let (mut totals, mut rows, mut is_whole) = (ScriptTotals::default(), 0, true);
        for wallet in wallets {
            ctx.work.poll()?;
            let of_script = pool.mempool.script_totals(&wallet.script_hash);
            totals.received_sats += of_script.received_sats;
            totals.sent_sats += of_script.sent_sats;
            totals.received_count += of_script.received_count;
            totals.sent_count += of_script.sent_count;
            if of_script.tx_count == 0 {
                continue;
            }
            let most = MAX_OF_SCRIPT.min(MAX_ROWS - rows);
            is_whole &= of_script.tx_count <= most as u64;
            for effect in pool.mempool.script_txs(&wallet.script_hash, None, most) {
                rows += 1;
                match by_tx.entry(effect.txid) {
                    std::collections::hash_map::Entry::Vacant(place) => drop(place.insert(effect)),
                    std::collections::hash_map::Entry::Occupied(mut known) => {
                        let known = known.get_mut();
                        known.received_sats = known.received_sats.saturating_add(effect.received_sats);
                        known.sent_sats = known.sent_sats.saturating_add(effect.sent_sats);
                    }
                }
            }
        }
        totals.tx_count = by_tx.len() as u64;
        let mut effects: Vec<ScriptEffect> = by_tx.into_values().collect();
        effects.sort_unstable_by_key(|effect| std::cmp::Reverse((effect.first_seen_ms, effect.txid)));
        Ok(Pending { effects, totals, is_whole })
    }
}
