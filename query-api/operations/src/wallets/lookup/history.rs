//! The transactions of a whole wallet, and its balance by day.

use cairn_events::Currency;
use cairn_tables::history::HistoryEntry;

use super::{
    super::{
        Wallet,
        transactions::{Movement, rows},
        union::Union,
    },
    pending::Pending,
};
use crate::{operation::prelude::*, vocabulary::cursor::Cursors};

const SESSION: &str = "transaction pages after the first need a wallet session or a key, except for showcase addresses";

/// A page of the wallet's transactions.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "WalletTransactionPage")]
pub(super) struct TransactionPage {
    /// Number of confirmed transactions of the wallet, each counted once.
    total: u64,
    /// Number of unconfirmed transactions that the first page leaves out; null without a mempool, or if there are too
    /// many to count.
    unconfirmed_omitted: Option<u64>,
    /// Code of the currency of prices and values.
    currency: String,
    /// Transactions per page.
    limit: u32,
    /// Cursor of the next page; null at the end.
    next_cursor: Option<String>,
    /// Transactions. The first page begins with the unconfirmed ones, the latest first-seen first; then the confirmed
    /// ones, newest first.
    transactions: Vec<Movement>,
}

/// Which page is asked for.
pub(super) struct Page<'a> {
    /// Name of what a session gives access to.
    pub(super) gate: &'static str,
    pub(super) limit: u32,
    pub(super) cursor: Option<&'a str>,
    /// The descriptors and keys, which cursors are bound to.
    pub(super) wallet: &'a [&'a [u8]],
}

impl TransactionPage {
    /// A cursor names the last transaction of its page, so that a block, or an address that is found later, moves
    /// nothing.
    pub(super) fn of(
        (ctx, view): (&Ctx<'_>, &View<'_>),
        (wallets, union, pending): (&[Wallet], &Union, Option<&Pending>),
        entries: &[HistoryEntry],
        (page, currency): (&Page<'_>, Currency),
    ) -> Result<Self, ApiError> {
        // Other parts of the answer, and their parameters, may change between pages.
        let none = ctx.fingerprint().only("wallet", b"");
        let fingerprint = page.wallet.iter().fold(none, |list, text| list.with(text));
        let cursors = Cursors::new(view, &fingerprint).in_body();
        let before = match page.cursor {
            None => None,
            Some(token) => {
                union.need_session(ctx, page.gate, SESSION)?;
                Some(cursors.read(token)?)
            }
        };
        let limit = page.limit as usize;
        let waiting: &[_] = pending.filter(|_| before.is_none()).map_or(&[], |pending| &pending.effects);
        let shown = &waiting[..waiting.len().min(limit)];
        let older = entries.partition_point(|entry| before.is_none_or(|before| entry.tx_num.0 < before));
        let start = older.saturating_sub(limit - shown.len());
        let confirmed: Vec<HistoryEntry> = entries[start..older].iter().rev().copied().collect();
        let next = if confirmed.is_empty() { older } else { start };
        let position = confirmed.last().map_or_else(|| before.unwrap_or(view.tip().tx_end.0), |entry| entry.tx_num.0);
        Ok(TransactionPage {
            total: entries.len() as u64,
            unconfirmed_omitted: pending
                .filter(|pending| pending.is_whole)
                .map(|pending| (pending.effects.len() - pending.effects.len().min(limit)) as u64),
            currency: currency.to_string(),
            limit: page.limit,
            next_cursor: (next > 0).then(|| cursors.token(position)),
            transactions: rows(ctx, view, (wallets, currency), (shown, &confirmed))?,
        })
    }
}
