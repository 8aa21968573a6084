//! Movements of old coins in a part of the chain, page by page, and those in the mempool.

use super::{
    movement::DormantMovement,
    source::{MinSpend, Search},
};
use crate::operation::prelude::*;
use crate::window::{Page, Window};

pub(super) fn page(
    ctx: &Ctx<'_>,
    view: &View<'_>,
    window: Window,
    least: MinSpend,
    limit: usize,
) -> Result<Page<DormantMovement>, ApiError> {
    let mut search = Search::of(view, (window.first, window.end), None, least)?;
    let next = || search.next(&ctx.work);
    Page::read(view, window, limit, next, |tx, ()| DormantMovement::confirmed(ctx, view, tx, least))
}

/// Movements in the mempool, the ones with the largest sum of old coins first, at most `limit`; and the number of all.
pub(super) fn unconfirmed(
    ctx: &Ctx<'_>,
    view: &View<'_>,
    least: MinSpend,
    limit: usize,
) -> Result<(Vec<DormantMovement>, usize), ApiError> {
    let Some(pool) = ctx.unconfirmed() else { return Ok((Vec::new(), 0)) };
    let mut found = Vec::new();
    for tx in pool.mempool.iter() {
        let inputs: Sats = tx.inputs.iter().map(|input| input.value).fold(0, u64::saturating_add);
        ctx.work.poll()?;
        if inputs < least.sats {
            continue;
        }
        found.extend(DormantMovement::unconfirmed(ctx, view, tx, least)?);
    }
    found.sort_by(|a, b| b.old_sats().cmp(&a.old_sats()).then_with(|| a.txid().cmp(b.txid())));
    let count = found.len();
    found.truncate(limit);
    Ok((found, count))
}
