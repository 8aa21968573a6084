//! Movements of old coins in a part of the chain, page by page, and those in the mempool.

use cairn_http::ApiError;
use cairn_model::{Height, Sats, TxNum};
use cairn_reader::View;

use super::{
    movement::{DormantMovement, Least},
    source::{self, Search, Step},
    window::{Place, Window},
};
use crate::context::Ctx;

/// A page of movements.
pub(super) struct Page {
    /// The newest first.
    pub(super) movements: Vec<DormantMovement>,
    /// Where the next page begins; `None` at the end.
    pub(super) next: Option<Place>,
    /// The page covers the blocks from this height on.
    pub(super) covered_from: Height,
    /// True if so much was looked through that the page has fewer rows than were asked for.
    pub(super) is_cut: bool,
}

/// Movements of a window, from a place on.
pub(super) fn page(
    ctx: &Ctx<'_>,
    view: &View<'_>,
    (window, from): (Window, Option<Place>),
    (age, sats): Least,
    limit: usize,
) -> Result<Page, ApiError> {
    let end = from.map_or(window.end, |from| from.tx_num.min(window.end));
    let mut search = Search::of(view, (window.first, end), None, source::Least { age, sats })?;
    let mut page = Page { movements: Vec::new(), next: None, covered_from: window.since, is_cut: false };
    let stop = |last: TxNum| (Some(Place { tx_num: last, vin: 0 }), view.chain().height_of(last).unwrap_or_default());
    let mut last = end;
    loop {
        match search.next(&ctx.work)? {
            Step::End => return Ok(page),
            Step::Enough(tx) => {
                (page.next, page.covered_from) = stop(tx);
                page.is_cut = true;
                return Ok(page);
            }
            // There may be no further one, which the next page says.
            Step::Tx(_) if page.movements.len() == limit => {
                (page.next, page.covered_from) = stop(last);
                return Ok(page);
            }
            Step::Tx(tx) => {
                page.movements.extend(DormantMovement::confirmed(ctx, view, tx, (age, sats))?);
                last = tx;
            }
        }
    }
}

/// Movements in the mempool, the ones with the largest sum of old coins first, at most so many, and how many there are.
pub(super) fn unconfirmed(
    ctx: &Ctx<'_>,
    view: &View<'_>,
    least: Least,
    limit: usize,
) -> Result<(Vec<DormantMovement>, usize), ApiError> {
    let Some(pool) = ctx.unconfirmed() else { return Ok((Vec::new(), 0)) };
    let mut found = Vec::new();
    for tx in pool.mempool.iter() {
        let inputs: Sats = tx.inputs.iter().map(|input| input.value).fold(0, u64::saturating_add);
        ctx.work.poll()?;
        if inputs < least.1 {
            continue;
        }
        found.extend(DormantMovement::unconfirmed(ctx, view, tx, least)?);
    }
    found.sort_by(|a, b| b.old_sats().cmp(&a.old_sats()).then_with(|| a.txid().cmp(b.txid())));
    let count = found.len();
    found.truncate(limit);
    Ok((found, count))
}
