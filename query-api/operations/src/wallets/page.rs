//! Selects the transactions of a page. The list has two parts: first the unconfirmed transactions, the latest
//! first-seen first, then the confirmed ones, newest first.
//!
//! A cursor in the confirmed part counts from the oldest transaction, so new blocks do not move its page. A cursor in
//! the unconfirmed part names the last transaction shown. The next page continues with transactions first seen before
//! it, and then with the newest confirmed one. A transaction that confirms between two pages may therefore appear
//! twice, but is never omitted: it was shown before the cursor, or is in one of the parts that follow.
//!
//! This requires that first-seen times do not change. A restart loses the times that were not stored yet, the newest
//! ones. So the list continues after a cursor only if its transaction is known with the same time, because then the
//! older ones have kept their times too. Otherwise the unconfirmed part starts again.

use cairn_domain::mempool::ScriptEffect;
use cairn_http::ApiError;
use cairn_model::{RemoveReason, Txid};
use cairn_reader::View;
use cairn_tables::history::HistoryEntry;

use super::Wallet;
use crate::{
    context::{Ctx, MempoolView},
    vocabulary::cursor::{Cursors, KEY_DIGITS},
};

/// Largest offset; a cursor reaches further.
const MAX_OFFSET: u64 = 10_000;

/// The cursors of a list, which differ between its two parts.
struct PartCursors<'v> {
    unconfirmed: Cursors<'v>,
    confirmed: Cursors<'v>,
}

impl<'v> PartCursors<'v> {
    /// They depend on the script alone: the currency of values may change between pages.
    fn new(ctx: &Ctx<'_>, view: &'v View<'v>, wallet: &Wallet) -> Self {
        let fingerprint = ctx.fingerprint().only("address", &wallet.script_hash);
        let confirmed = Cursors::new(view, &fingerprint);
        PartCursors { unconfirmed: Cursors::new(view, &fingerprint.with(b"unconfirmed")), confirmed }
    }
}

/// First-seen time and id of an unconfirmed transaction: the sort key of the unconfirmed part.
type Key = (u64, Txid);

#[derive(Clone, Copy)]
enum PageStart {
    /// After this many entries of the whole list.
    Offset(u64),
    /// After this unconfirmed transaction; `shown` entries precede the page.
    Behind { key: Key, shown: u64 },
    /// In the confirmed part, at the newest of this many oldest transactions.
    Older(u64),
}

pub(super) struct Page {
    /// Its unconfirmed transactions; they are first.
    pub(super) unconfirmed: Vec<ScriptEffect>,
    pub(super) confirmed: Vec<HistoryEntry>,
    /// All unconfirmed transactions of the script; `None` without a mempool.
    pub(super) unconfirmed_total: Option<u64>,
    /// All confirmed transactions of the script.
    pub(super) confirmed_total: u64,
    /// Number of transactions before the page.
    pub(super) offset: u64,
    /// Offset of the next page; `None` at the end, and above the maximum offset.
    pub(super) next_offset: Option<u64>,
    pub(super) next_cursor: Option<String>,
}

/// The requested page of at most `limit` transactions.
pub(super) fn page(
    ctx: &Ctx<'_>,
    view: &View<'_>,
    wallet: &Wallet,
    limit: u32,
    offset: u32,
    cursor: Option<&str>,
) -> Result<Page, ApiError> {
    let (pool, limit) = (ctx.unconfirmed(), limit as usize);
    let cursors = PartCursors::new(ctx, view, wallet);
    let start = match cursor {
        None => PageStart::Offset(offset.into()),
        Some(token) => read(token, &cursors)?,
    };
    let unconfirmed_total = pool.map(|pool| pool.mempool.script_totals(&wallet.script_hash).tx_count);
    let waiting = unconfirmed_total.unwrap_or(0);
    let confirmed_total = wallet.found.map_or(0, |f| f.totals.tx_count);

    // Read one more than fits, to learn if there are more.
    let (mut unconfirmed, before) = match start {
        PageStart::Behind { key, shown } => {
            let (after, shown) = if pool.is_some_and(|pool| knows(pool, &key)) {
                (Some(key), shown)
            } else {
                if pool.is_some() {
                    ctx.warn(
                        "cursor_restarted",
                        "the cursor's transaction has left the mempool; the list of unconfirmed transactions starts again",
                    );
                }
                (None, 0)
            };
            let rows = pool.map(|pool| pool.mempool.script_txs(&wallet.script_hash, after, limit + 1));
            (rows.unwrap_or_default(), Some(shown))
        }
        // The maximum offset bounds the walk.
        PageStart::Offset(skip) if skip < waiting => {
            let skip = usize::try_from(skip).unwrap_or(usize::MAX);
            let reach = skip.saturating_add(limit + 1);
            let rows = pool.map(|pool| pool.mempool.script_txs(&wallet.script_hash, None, reach));
            (rows.unwrap_or_default().into_iter().skip(skip).collect(), None)
        }
        PageStart::Offset(_) | PageStart::Older(_) => (Vec::new(), None),
    };
    let more_unconfirmed = unconfirmed.len() > limit;
    unconfirmed.truncate(limit);

    let skip = match start {
        PageStart::Offset(offset) => offset.saturating_sub(waiting),
        PageStart::Behind { .. } => 0,
        PageStart::Older(left) => confirmed_total.saturating_sub(left),
    };
    let confirmed = match &wallet.found {
        Some(found) if unconfirmed.len() < limit => view.scripts().history(found, skip, limit - unconfirmed.len())?,
        _ => Vec::new(),
    };
    let reached = skip.saturating_add(confirmed.len() as u64);

    let offset = match (start, before) {
        (PageStart::Offset(offset), _) => offset,
        // Counting them would require a walk.
        (_, Some(shown)) if more_unconfirmed => shown,
        (_, Some(_)) => waiting.saturating_sub(unconfirmed.len() as u64),
        (_, None) => waiting.saturating_add(skip),
    };
    let next = offset.saturating_add((unconfirmed.len() + confirmed.len()) as u64);
    let next_cursor = match unconfirmed.last() {
        Some(last) if more_unconfirmed => Some(behind(last, next, &cursors.unconfirmed)),
        _ if reached < confirmed_total => Some(cursors.confirmed.token(confirmed_total - reached)),
        _ => None,
    };
    Ok(Page {
        unconfirmed,
        confirmed,
        unconfirmed_total,
        confirmed_total,
        offset,
        next_offset: next_cursor.is_some().then_some(next).filter(|next| *next <= MAX_OFFSET),
        next_cursor,
    })
}

/// True if a transaction is known with this first-seen time, in the mempool or meanwhile in a block.
fn knows(pool: &MempoolView<'_>, (first_seen_ms, txid): &Key) -> bool {
    let confirmed = || {
        let departed = pool.mempool.departed(txid)?;
        matches!(departed.reason, RemoveReason::Confirmed { .. }).then_some(departed.first_seen_ms)
    };
    pool.mempool.get(txid).map(|tx| tx.first_seen_ms).or_else(confirmed) == Some(*first_seen_ms)
}

/// Cursor of the page after an unconfirmed transaction.
fn behind(last: &ScriptEffect, shown: u64, cursors: &Cursors<'_>) -> String {
    let head = cursors.token(shown);
    format!("{head}-{:016x}{}", last.first_seen_ms, hex::encode(last.txid.0))
}

/// Reads a cursor of either kind.
fn read(token: &str, PartCursors { unconfirmed, confirmed }: &PartCursors<'_>) -> Result<PageStart, ApiError> {
    let Some((head, key)) = token.split_once('-') else {
        return Ok(PageStart::Older(confirmed.read(token)?));
    };
    let shown = unconfirmed.read(head)?;
    let key = key_of(key).ok_or_else(|| unconfirmed.no_fit())?;
    Ok(PageStart::Behind { key, shown })
}

fn key_of(text: &str) -> Option<Key> {
    let bytes = (text.len() == KEY_DIGITS).then(|| hex::decode(text).ok())??;
    let (time, txid) = bytes.split_first_chunk::<8>()?;
    Some((u64::from_be_bytes(*time), Txid(txid.try_into().ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn keys_are_read_or_refused(text in "[0-9a-fé]{0,90}", time: u64, txid: [u8; 32]) {
            proptest::prop_assert_eq!(key_of(&text).is_some(), text.len() == 80 && !text.contains('é'));
            let key = format!("{time:016x}{}", hex::encode(txid));
            proptest::prop_assert_eq!(key_of(&key), Some((time, Txid(txid))));
        }
    }
}
