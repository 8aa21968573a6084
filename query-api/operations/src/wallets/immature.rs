//! Holdings of wallets in outputs of coinbases that cannot be spent yet.

use crate::operation::prelude::*;
use cairn_reader::FoundScript;

/// The sum of the immature outputs of these scripts.
pub(super) fn immature_sats<'s>(
    ctx: &Ctx<'_>,
    view: &View<'_>,
    scripts: impl IntoIterator<Item = (&'s [u8], &'s FoundScript)>,
) -> Result<Sats, ApiError> {
    let mut sum: Sats = 0;
    for (script, found) in scripts {
        if view.scripts().may_be_immature(found) {
            let young = ctx.young.get(ctx.prices.reader, view)?;
            sum = sum.saturating_add(young.get(script).copied().unwrap_or_default());
        }
    }
    Ok(sum)
}
