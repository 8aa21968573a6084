//! The state of a report: a function of its stored row, the chain and the mempool.

use std::sync::Arc;

use cairn_payments::{Completion, Payment, PaymentDescriptor};
use cairn_state::{PublishingBlock, Report, Visibility};

use crate::{operation::prelude::*, values::rfc3339_ms};

/// State of a report.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum ReportState {
    /// Its payment is not confirmed, or its operator does not show it.
    Pending,
    /// It is listed, and takes votes.
    Published,
}

/// The answer of the holder of the address's key.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "CommunityReply")]
pub(super) struct ReplyRow {
    /// Untrusted text; null if the operator has erased it.
    pub(super) text: Option<String>,
    /// Time at which the server received it.
    pub(super) replied_at: String,
}

pub(super) struct JudgedReport {
    pub(super) report: Report,
    pub(super) payment: Payment,
}

impl JudgedReport {
    /// Judges a report, and remembers the block that completes its payment if that is another one than before.
    pub(super) fn new(ctx: &Ctx<'_>, view: &View<'_>, report: Report) -> Result<Self, ApiError> {
        ctx.work.poll()?;
        let pool = ctx.pool.as_ref().ok().map(|pool| pool.mempool);
        let payment = Payment::look(view, pool, &report.payment_script, report.content.amount_sats)?;
        if let Some(Completion { height, hash, .. }) = &payment.completed {
            let block = PublishingBlock { height: *height, hash: hash.clone() };
            if report.published_in.as_ref() != Some(&block) {
                // The chain says what is published: this row only remembers it, so the answer does not need it.
                let noted = ctx.with_state(async |state| state.note_publication(&report.id, &block).await);
                noted.unwrap_or_else(|_| tracing::warn!("the block that publishes a report is not remembered"));
            }
        }
        Ok(JudgedReport { report, payment })
    }

    /// Finds the report with this id, and judges it.
    ///
    /// # Errors
    /// 404 for an unknown id; 503 for an unknown id where no descriptor is set, as such a server takes no reports.
    pub(super) fn find(ctx: &Ctx<'_>, id: &str) -> Result<Self, ApiError> {
        let view = ctx.view()?;
        match ctx.with_state(async |state| state.report(id).await)? {
            Some(report) => JudgedReport::new(ctx, view, report),
            None => {
                descriptor(ctx)?;
                Err(ApiError::new(ErrorCode::ReportNotFound, "no community report has this id"))
            }
        }
    }

    pub(super) fn state(&self) -> ReportState {
        match &self.payment.completed {
            Some(_) if self.report.content.visibility == Visibility::Shown => ReportState::Published,
            _ => ReportState::Pending,
        }
    }

    /// The reply, while the report is published.
    pub(super) fn reply(&self) -> Option<ReplyRow> {
        let reply = self.report.reply.as_ref().filter(|_| self.state() == ReportState::Published)?;
        Some(ReplyRow { text: reply.text.clone(), replied_at: rfc3339_ms(reply.replied_at.saturating_mul(1_000)) })
    }

    /// Why the texts of the report are missing.
    pub(super) fn text_removed(&self) -> Option<&'static str> {
        self.report.erased_at.map(|_| "erased_on_request")
    }

    /// True if the payment was completed by a block after the report had expired.
    pub(super) fn is_late(&self) -> bool {
        self.payment.completed.as_ref().is_some_and(|done| done.time > self.report.content.expires_at)
    }

    /// True if the payment is not complete, and the time for it has passed.
    pub(super) fn is_expired(&self, now: u64) -> bool {
        self.payment.completed.is_none() && now > self.report.content.expires_at
    }

    /// One sentence about the state, if it is not the usual one.
    pub(super) fn note(&self, now: u64) -> Option<String> {
        let (payment, report) = (&self.payment, &self.report);
        match (report.content.visibility, &payment.completed, &report.published_in) {
            (Visibility::Hidden, ..) => Some("The operator has hidden the report.".to_owned()),
            (Visibility::Held, Some(_), _) => {
                Some("The payment is confirmed. The operator has not decided yet about showing the report.".to_owned())
            }
            (Visibility::Shown, Some(_), _) if self.is_late() => {
                Some("The payment came after the report had expired. It is published all the same.".to_owned())
            }
            (Visibility::Shown, Some(_), _) => None,
            (_, None, Some(block)) => Some(format!(
                "A reorganization removed block {}, which had completed the payment. The report is published again, with \
                 its votes, as soon as a block completes it again.",
                block.height
            )),
            (_, None, None) if payment.is_underpaid() => Some(format!(
                "{} satoshis are missing. Further payments to the same address add up.",
                payment.amount.saturating_sub(payment.received())
            )),
            (_, None, None) if payment.received() >= payment.amount => {
                Some("The payment is not confirmed yet.".to_owned())
            }
            (_, None, None) if self.is_expired(now) => {
                Some("The report has expired. It is published all the same if it is paid.".to_owned())
            }
            (_, None, None) => None,
        }
    }
}

/// The descriptor that payment addresses come from.
///
/// # Errors
/// 503 `payments_not_configured` if none is set.
pub(super) fn descriptor<'a>(ctx: &Ctx<'a>) -> Result<&'a Arc<PaymentDescriptor>, ApiError> {
    ctx.chain.payments.descriptor.as_ref().ok_or_else(not_configured)
}

/// 503 `payments_not_configured`.
pub(super) fn not_configured() -> ApiError {
    let detail = "this server has no descriptor for payments, so it takes no reports; the operator can set one of this \
        network (setting payments_descriptor: --payments-descriptor or CAIRN_PAYMENTS_DESCRIPTOR)";
    ApiError::unavailable(ErrorCode::PaymentsNotConfigured, detail, 3_600).with("setting", "payments_descriptor")
}
