//! What wallets hold in outputs of coinbases that cannot be spent yet.

use std::sync::{Arc, Mutex, PoisonError};

use cairn_http::ApiError;
use cairn_model::{BlockHash, Sats};
use cairn_reader::{FoundScript, View, YoungCoinbases};

use crate::context::Ctx;

/// What the young coinbases pay, kept until the tip changes: it is the same for every wallet.
#[derive(Debug, Default)]
pub(crate) struct YoungSlot(Mutex<Option<(BlockHash, Arc<YoungCoinbases>)>>);

impl YoungSlot {
    /// At the tip of a view. What is read for it does not count as the request's.
    fn of(&self, ctx: &Ctx<'_>, view: &View<'_>) -> Result<Arc<YoungCoinbases>, ApiError> {
        let tip = view.tip().hash;
        if let Some((at, known)) = &*self.0.lock().unwrap_or_else(PoisonError::into_inner)
            && *at == tip
        {
            return Ok(Arc::clone(known));
        }
        let own = ctx.prices.reader.map(|reader| reader.view()).transpose()?;
        let own = own.as_ref().filter(|own| own.tip().hash == tip);
        let known = Arc::new(own.unwrap_or(view).young_coinbases()?);
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((tip, Arc::clone(&known)));
        Ok(known)
    }
}

/// What these scripts hold that is immature.
pub(super) fn immature_sats<'s>(
    ctx: &Ctx<'_>,
    view: &View<'_>,
    scripts: impl IntoIterator<Item = (&'s [u8], &'s FoundScript)>,
) -> Result<Sats, ApiError> {
    let mut sum: Sats = 0;
    for (script, found) in scripts {
        if view.may_be_immature(found) {
            sum = sum.saturating_add(ctx.young.of(ctx, view)?.get(script).copied().unwrap_or_default());
        }
    }
    Ok(sum)
}
