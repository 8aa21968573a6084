//! The counter of payment addresses: where it begins, and where it goes on after a restore of the database.

use std::cell::RefCell;

use crate::operation::prelude::*;
use cairn_domain::mempool::Mempool;
use cairn_payments::{KnownCounter, PaymentDescriptor, ScanError, end_of_used, index_after_restore, use_of};
use cairn_state::{IndexUse, PaymentCounter};

/// A descriptor whose counter can be used.
pub(crate) struct Allotment<'a> {
    descriptor: &'a PaymentDescriptor,
    view: &'a View<'a>,
    pool: Option<&'a Mempool>,
    /// Makes the error of a descriptor that cannot be used.
    unusable: fn() -> ApiError,
    failed: RefCell<Option<ApiError>>,
}

fn explained(error: ScanError, unusable: fn() -> ApiError) -> ApiError {
    match error {
        ScanError::Read(error) => error.into(),
        ScanError::Descriptor(error) => {
            // It has no part of the descriptor.
            tracing::error!(%error, "the payment descriptor cannot be used");
            unusable()
        }
    }
}

fn mark_failed(error: &std::io::Error) -> ApiError {
    tracing::error!(%error, "the file that remembers the next payment address cannot be used");
    let detail = "the file that remembers the next payment address cannot be used; no address was given out";
    ApiError::unavailable(ErrorCode::StateUnavailable, detail, 60)
}

impl<'a> Allotment<'a> {
    /// Makes the counter of the descriptor ready: begins it after the addresses that the chain knows, or skips those
    /// that may have been given out before a restore. `unusable` makes the error of a descriptor of another network.
    pub(crate) fn ready(
        ctx: &Ctx<'_>,
        view: &'a View<'a>,
        pool: Option<&'a Mempool>,
        descriptor: &'a PaymentDescriptor,
        unusable: fn() -> ApiError,
    ) -> Result<Self, ApiError> {
        let id = descriptor.id();
        // The file first: a request meanwhile makes the counter larger than it.
        let known = match &ctx.chain.payments.mark {
            Some(mark) => mark.read(id).map_err(|error| mark_failed(&error))?,
            None => None,
        };
        let stored = ctx.with_state(async |state| state.payment_counter(id).await)?;
        let seen = |from| end_of_used(view, pool, descriptor, from).map_err(|error| explained(error, unusable));
        let has_file = ctx.chain.payments.mark.is_some();
        if has_file && KnownCounter::is_restored(known.as_ref(), stored.as_ref()) {
            let from = stored.as_ref().map_or(0, |stored| stored.next_index);
            let remembered = known.as_ref().map_or(0, |known| known.next_index);
            let to = index_after_restore(from, remembered, seen(from.max(remembered))?);
            tracing::warn!(from, to, "the service state lacks payment addresses that may have been given out: skipped");
            let now = ctx.now_ms / 1_000;
            ctx.with_state(async |state| {
                state.begin_payment_counter(id, from).await?;
                state.skip_payment_indices(id, from, to, now).await
            })?;
        } else if stored.is_none() {
            let at = seen(0)?;
            ctx.with_state(async |state| state.begin_payment_counter(id, at).await)?;
        }
        let allotment = Allotment { descriptor, view, pool, unusable, failed: RefCell::default() };
        allotment.remember(ctx)?;
        Ok(allotment)
    }

    /// Looks up if an index can be given out. A failure is kept for [`Allotment::failure`].
    pub(crate) fn look(&self, index: u32) -> Option<IndexUse> {
        match use_of(self.view, self.pool, self.descriptor, index) {
            Ok(found) => Some(found),
            Err(error) => {
                *self.failed.borrow_mut() = Some(explained(error, self.unusable));
                None
            }
        }
    }

    /// The failure of a look-up, in place of the error that followed from it.
    pub(crate) fn failure(&self, error: ApiError) -> ApiError {
        self.failed.take().unwrap_or(error)
    }

    /// Remembers the counter in the data folder, so that a restore of the database is noticed.
    pub(crate) fn remember(&self, ctx: &Ctx<'_>) -> Result<(), ApiError> {
        let Some(mark) = &ctx.chain.payments.mark else { return Ok(()) };
        let id = self.descriptor.id();
        let stored = ctx.with_state(async |state| state.payment_counter(id).await)?;
        let PaymentCounter { run, next_index } = stored.ok_or_else(ApiError::internal)?;
        let counter = KnownCounter { descriptor: id.to_owned(), run, next_index };
        mark.remember(&counter).map_err(|error| mark_failed(&error))
    }
}
