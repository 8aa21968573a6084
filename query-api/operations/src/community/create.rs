//! `POST /v1/community/reports`.

use cairn_domain::{Subject, script_sha256};
use cairn_http::{Effect, FieldError, Freshness, Method};
use cairn_state::{
    ClientHashes, Creation, MAX_OPEN_REPORTS, MAX_REPORT_CHARS, MAX_REPORT_TXIDS, MAX_REPORTS_OF_CLIENT,
    MAX_TEXT_CHARS, NewReport, Report, Visibility,
};

use super::{
    category::ReportCategory,
    judged::{JudgedReport, descriptor, not_configured},
    purge::purge,
    texts,
};
use crate::{
    allotment::Allotment,
    client_hashes::client_hashes,
    config::ReportsModeration,
    operation::prelude::*,
    parameters::identifier::{AddressParam, TxidParam},
    values::{bip21_uri, rfc3339_ms},
};

/// Open reports that are looked up at most when a limit is reached: some may be published meanwhile.
const LOOKED_AT: u32 = 500;
const SCOPE: &str = "report";

pub(crate) struct SubmitReport;

/// The report.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct SubmitReportInput {
    /// The address that the report is about.
    address: AddressParam,
    /// Category of what is reported: a kind of entity, or a behaviour.
    category: ReportCategory,
    /// Description in your own words. It is published: do not write personal data or secrets. Invisible characters
    /// are removed.
    #[schemars(length(min = 1, max = MAX_REPORT_CHARS), example = "Asked for a deposit and never answered again.")]
    description: String,
    /// Ids of transactions that show it, confirmed or in the mempool.
    #[serde(default)]
    #[schemars(length(max = MAX_REPORT_TXIDS))]
    evidence_txids: Vec<TxidParam>,
    /// A web page with public evidence (https). The server never fetches it.
    #[schemars(length(min = 1, max = MAX_TEXT_CHARS), extend("pattern" = "^https://"))]
    evidence_url: Option<String>,
}

/// The report that waits for its payment.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SubmitReportOutput {
    /// Id of the report.
    report_id: String,
    /// Always `pending`: a report is published once its payment is confirmed.
    status: &'static str,
    /// The address that the report is about.
    address: String,
    /// Pay the amount to this address. No other report has it.
    payment_address: String,
    /// The amount, in one payment or several.
    amount_sats: Sats,
    amount_btc: Btc,
    /// URI of the payment (BIP 21).
    payment_uri: String,
    /// Time until which it should be paid. A later payment publishes the report as well.
    expires_at: String,
    /// Path of the report's status.
    status_path: String,
}

impl Operation for SubmitReport {
    const INFO: Info = Info {
        method: Method::Post,
        summary: "Report an address to the community, against a small payment that deters spam",
        description: "Stores a report about an address and returns an address to pay a small amount to. The report is \
            published by the block that confirms the payment, listed for its address, and takes votes. Until then nobody \
            else sees it. Evidence transactions must exist. A client can have 5 open reports. Reports are statements of \
            unknown people: they are always marked as unverified, and never count as more than weak evidence.",
        cost: Cost::Heavy,
        source: "service",
        freshness: &[Freshness::NOW, TIP, MEMPOOL],
        freshness_semantics: "time of the request",
        is_accepted: true,
        needs_tip: true,
        errors: &[
            ErrorCode::InvalidAddress,
            ErrorCode::WrongNetwork,
            ErrorCode::InvalidTxid,
            ErrorCode::RateLimited,
            ErrorCode::StateUnavailable,
            ErrorCode::PaymentsNotConfigured,
            ErrorCode::ReportsFull,
            ErrorCode::IndexSyncing,
        ],
        tool: Tool { effect: Effect::Adds, ..Tool::UNLISTED },
        ..Info::get("submit_report", "/v1/community/reports", "community")
    };
    type Input = SubmitReportInput;
    type Output = SubmitReportOutput;

    fn run(ctx: &Ctx<'_>, input: SubmitReportInput) -> Result<SubmitReportOutput, ApiError> {
        let descriptor = descriptor(ctx)?;
        let view = ctx.view()?;
        let new = checked(ctx, view, input)?;
        let client = client_hashes(ctx, SCOPE)?;
        let pool = ctx.pool.as_ref().ok().map(|pool| pool.mempool);
        let allotment = Allotment::ready(ctx, view, pool, descriptor, not_configured)?;
        let create = || {
            let (new, client) = (new.clone(), &client);
            let created = ctx.with_state(async |state| {
                let look = |index| allotment.look(index);
                state.create_report(new, client, descriptor.id(), ctx.now_ms / 1_000, look).await
            });
            created.map_err(|error| allotment.failure(error))
        };
        let report = match create()? {
            Creation::Created(report) => report,
            full => {
                // Reports count as open until someone has looked: those that are paid are not.
                let of_client = (full == Creation::TooManyOfClient).then_some(&client);
                let settled = settle(ctx, view, of_client)?;
                match if settled { create()? } else { full } {
                    Creation::Created(report) => report,
                    refused => return Err(refusal(ctx, &refused, &client)?),
                }
            }
        };
        allotment.remember(ctx)?;
        // The report is stored: what is left to tidy up waits for the next one.
        purge(ctx, view).unwrap_or_else(|_| tracing::warn!("unpaid reports are not deleted"));
        Ok(answer(*report))
    }
}

fn answer(report: Report) -> SubmitReportOutput {
    let content = report.content;
    let amount_btc = Btc::of(content.amount_sats);
    SubmitReportOutput {
        status: "pending",
        address: content.address,
        payment_uri: bip21_uri(&report.payment_address, content.amount_sats),
        payment_address: report.payment_address,
        amount_sats: content.amount_sats,
        amount_btc,
        expires_at: rfc3339_ms(content.expires_at.saturating_mul(1_000)),
        status_path: format!("/v1/community/reports/{}/status", report.id),
        report_id: report.id,
    }
}

/// Checks what the schema cannot express, all of it.
fn checked(ctx: &Ctx<'_>, view: &View<'_>, input: SubmitReportInput) -> Result<NewReport, ApiError> {
    let mut errors: Vec<FieldError> = Vec::new();
    let description = texts::description(&input.description, MAX_REPORT_CHARS);
    let description = description.unwrap_or_else(|message| {
        errors.push(texts::field_error("description", message));
        String::new()
    });
    if let Some(Err(message)) = input.evidence_url.as_deref().map(texts::web_page) {
        errors.push(texts::field_error("evidence_url", message));
    }
    let mut evidence_txids: Vec<String> = Vec::new();
    for (at, TxidParam(txid)) in input.evidence_txids.iter().enumerate() {
        ctx.work.poll()?;
        let waits = ctx.unconfirmed().is_some_and(|pool| pool.mempool.get(txid).is_some());
        if !waits && view.transactions().by_txid(txid)?.is_none() {
            let message = format!("{txid} is neither in the chain nor in the mempool");
            errors.push(texts::field_error(format!("evidence_txids[{at}]"), message));
        }
        let text = txid.to_string();
        if !evidence_txids.contains(&text) {
            evidence_txids.push(text);
        }
    }
    if !errors.is_empty() {
        return Err(ApiError::of_fields(ErrorCode::ValidationError, errors));
    }
    let script_hash = match &input.address.subject {
        Subject::Script(script) => script_sha256(script),
        Subject::ScriptHash(hash) => *hash,
    };
    let settings = &ctx.chain.payments;
    Ok(NewReport {
        address: input.address.text,
        script_hash: hex::encode(script_hash),
        category: input.category.0.to_owned(),
        description,
        evidence_txids,
        evidence_url: input.evidence_url,
        expires_at: (ctx.now_ms / 1_000).saturating_add(settings.report_expiry_secs),
        amount_sats: settings.report_amount_sats,
        visibility: match settings.moderation {
            ReportsModeration::After => Visibility::Shown,
            ReportsModeration::Before => Visibility::Held,
        },
    })
}

/// Judges the oldest open reports, of the client or of all. True if some of them are published.
fn settle(ctx: &Ctx<'_>, view: &View<'_>, client: Option<&ClientHashes>) -> Result<bool, ApiError> {
    let now = ctx.now_ms / 1_000;
    let mut settled = false;
    for report in ctx.with_state(async |state| state.open_reports(client, now, LOOKED_AT).await)? {
        settled |= JudgedReport::new(ctx, view, report)?.payment.completed.is_some();
    }
    Ok(settled)
}

fn refusal(ctx: &Ctx<'_>, creation: &Creation, client: &ClientHashes) -> Result<ApiError, ApiError> {
    let now = ctx.now_ms / 1_000;
    let of_client = (*creation == Creation::TooManyOfClient).then_some(client);
    let open = ctx.with_state(async |state| state.open_reports(of_client, now, LOOKED_AT).await)?;
    let first = open.iter().map(|report| report.content.expires_at).min().unwrap_or(now);
    let wait = u32::try_from(first.saturating_sub(now)).unwrap_or(u32::MAX).max(1);
    Ok(match of_client {
        Some(_) => {
            let detail = format!(
                "this client has {MAX_REPORTS_OF_CLIENT} open reports; pay them, or wait until the first one expires"
            );
            ApiError::new(ErrorCode::RateLimited, detail).retryable(Some(wait))
        }
        None => {
            let detail =
                format!("{MAX_OPEN_REPORTS} reports are open; no more are accepted until some are paid or expire");
            ApiError::unavailable(ErrorCode::ReportsFull, detail, wait)
        }
    })
}
