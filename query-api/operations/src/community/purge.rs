//! Deletes reports that were never paid, a while after their expiry.

use cairn_http::ApiError;
use cairn_reader::View;

use super::judged::JudgedReport;
use crate::context::Ctx;

/// Reports that one request looks at, at most.
const LOOKED_AT: u32 = 20;

/// Deletes the oldest reports that expired long ago and whose payment is not complete.
pub(super) fn purge(ctx: &Ctx<'_>, view: &View<'_>) -> Result<(), ApiError> {
    let now = ctx.now_ms / 1_000;
    for report in ctx.with_state(async |state| state.overdue_reports(now, LOOKED_AT).await)? {
        // Paid ones are remembered as such by this, and not listed again.
        let judged = JudgedReport::new(ctx, view, report)?;
        let payment = &judged.payment;
        if payment.completed.is_none() && payment.received() < payment.amount {
            let id = &judged.report.id;
            ctx.with_state(async |state| state.purge_report(id, now).await)?;
        }
    }
    Ok(())
}
