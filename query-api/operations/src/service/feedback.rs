//! `POST /v1/feedback`.

use cairn_events::SignedText;
use cairn_http::{Effect, FieldError, Freshness, Location, Method};
use cairn_state::{
    CLIENT_WINDOW, MAX_MESSAGE_CHARS, MAX_OPEN_TICKETS, MAX_TEXT_CHARS, MAX_TICKETS_OF_CLIENT, NewTicket, Submission,
    Ticket, TicketKind,
};

use super::contest::{ContestOutput, ContestedClaim, Judgement, signed_text};
use crate::{
    community::reply::{ReplyJudgement, ReplyOutput, ReportReply},
    operation::prelude::*,
    parameters::identifier::AddressParam,
    values::rfc3339_ms,
};

/// Accepts feedback about labels and data.
pub(crate) struct SubmitFeedback;

/// The feedback.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(extend("x-exactly-one" = [["type", "feedback_type"], ["message", "reason"]]))]
pub(crate) struct FeedbackInput {
    /// Type of the feedback. `label_correction` and `missing_label` need an `address`.
    #[serde(rename = "type")]
    #[schemars(example = &"general")]
    kind: Option<FeedbackType>,
    /// Alias of `type`.
    feedback_type: Option<FeedbackType>,
    /// The address that the feedback is about.
    address: Option<AddressParam>,
    /// Description of what is wrong or missing. Do not send personal data or secrets.
    #[schemars(length(min = 1, max = MAX_MESSAGE_CHARS), example = "This address belongs to another exchange.")]
    message: Option<String>,
    /// Alias of `message`.
    #[schemars(length(min = 1, max = MAX_MESSAGE_CHARS))]
    reason: Option<String>,
    /// The label that you suggest.
    #[schemars(length(min = 1, max = MAX_TEXT_CHARS))]
    suggested_label: Option<String>,
    /// The category that you suggest, for example `exchange`.
    #[schemars(length(min = 1, max = MAX_TEXT_CHARS))]
    suggested_category: Option<String>,
    /// A web page with public evidence.
    #[schemars(length(min = 1, max = MAX_TEXT_CHARS), extend("pattern" = "^https?://"))]
    source_url: Option<String>,
    /// Id of the claim to correct, from an answer about the address. The answer then has a message that the holder of
    /// the address's key can sign to contest the claim at once.
    #[schemars(extend("pattern" = "^[0-9a-f]{64}:[1-9][0-9]{0,9}$"))]
    claim_id: Option<String>,
    /// Id of a published community report about `address`. The message is then the answer of the address's owner, of at
    /// most 1,000 characters: the response has a message that the holder of the address's key can sign, and the same
    /// request with the signature publishes the answer with the report.
    #[schemars(length(min = 1, max = 64))]
    report_id: Option<String>,
    /// The `message_to_sign` of an earlier answer, as it was signed.
    #[schemars(length(min = 1, max = MAX_SIGNED_CHARS))]
    signed_message: Option<String>,
    /// The signature of `signed_message` by the key of `address`. In base64: BIP 322 (simple or full, with or without
    /// its prefix) or BIP 137.
    #[schemars(length(min = 1, max = MAX_SIGNED_CHARS))]
    signature: Option<String>,
}

/// Type of feedback.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FeedbackType {
    /// A label is wrong.
    LabelCorrection,
    /// A label is missing.
    MissingLabel,
    /// Other data is wrong or missing.
    DataQuality,
    /// Anything else.
    General,
}

impl From<FeedbackType> for TicketKind {
    fn from(kind: FeedbackType) -> Self {
        match kind {
            FeedbackType::LabelCorrection => TicketKind::LabelCorrection,
            FeedbackType::MissingLabel => TicketKind::MissingLabel,
            FeedbackType::DataQuality => TicketKind::DataQuality,
            FeedbackType::General => TicketKind::General,
        }
    }
}

/// The ticket for the operator.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FeedbackOutput {
    /// Id of the ticket.
    ticket_id: String,
    /// `open`: the operator has not closed the ticket.
    state: &'static str,
    feedback_type: FeedbackType,
    /// The address that the feedback is about, as sent.
    address: Option<String>,
    /// Time at which the ticket was opened.
    received_at: String,
    /// True if an open ticket with the same content already existed; `ticket_id` is that ticket.
    already_received: bool,
    /// State of a contest by the holder of the address's key; null without a `claim_id`.
    contest: Option<ContestOutput>,
    /// State of the reply to a community report; null without a `report_id`.
    report_reply: Option<ReplyOutput>,
}

/// Maximum length of a signed message and of a signature, in characters.
const MAX_SIGNED_CHARS: usize = 2_000;

impl Operation for SubmitFeedback {
    const INFO: Info = Info {
        method: Method::Post,
        summary: "Report a wrong or missing label, or another problem with the data",
        description: "Opens a ticket for the operator of this server and returns its id. Feedback is not published and \
            does not change any answer: labels change only if the operator accepts the evidence. Only the holder of an \
            address's key can do more: if the request has the `claim_id` of a claim, the answer has a message to sign. \
            The same request with the signature marks the claim's statement as contested at once, until the operator \
            decides. With the `report_id` of a community report, the message is the answer of the address's owner, and the \
            signature publishes it with the report. If an open ticket has the same content, that ticket is returned. A client can open 20 tickets in \
            24 hours.",
        cost: Cost::Heavy,
        source: "service",
        freshness: &[Freshness::NOW],
        freshness_semantics: "time of the request",
        errors: &[
            ErrorCode::InvalidAddress,
            ErrorCode::WrongNetwork,
            ErrorCode::RateLimited,
            ErrorCode::StateUnavailable,
            ErrorCode::FeedbackFull,
            ErrorCode::IndexSyncing,
            ErrorCode::ReportNotFound,
            ErrorCode::ReportNotPublished,
            ErrorCode::PaymentsNotConfigured,
        ],
        tool: Tool::reads(
            "the user wants to report a wrong label, a missing label or wrong data to the operator",
            "accusing somebody in public, or requesting data",
        )
        .with_effect(Effect::Adds),
        ..Info::get("submit_feedback", "/v1/feedback", "service")
    };
    type Input = FeedbackInput;
    type Output = FeedbackOutput;

    fn run(ctx: &Ctx<'_>, mut input: FeedbackInput) -> Result<FeedbackOutput, ApiError> {
        let text = input.message.take().or(input.reason.take());
        let (Some(kind), Some(message)) = (input.kind.or(input.feedback_type), text) else {
            // Validation of the input ensures that both are given.
            return Err(ApiError::internal());
        };
        let about = SignedAbout::find(ctx, &input, kind, &message)?;
        let signed = signed_text(input.signed_message, input.signature)?;
        if signed.is_some() && matches!(about, SignedAbout::Nothing) {
            return Err(ApiError::validation(Location::Body, "claim_id", "or report_id is required with a signature"));
        }
        let judged = about.judge(ctx, signed)?;
        let address = input.address.map(|address| address.text);
        let reason = message.trim().to_owned();
        let new = NewTicket {
            kind: kind.into(),
            address: address.clone(),
            message: about.ticket_message().unwrap_or_else(|| reason.clone()),
            suggested_label: input.suggested_label,
            suggested_category: input.suggested_category,
            source_url: input.source_url,
            claim_id: input.claim_id,
            is_signed: judged.is_signed(),
        };
        check(&new)?;
        let (ticket, already_received) = open_ticket(ctx, new)?;
        let (contest, report_reply) = match (about, judged) {
            (SignedAbout::Claim(claim), Judged::Claim(judged)) => (Some(claim.hand_in(ctx, judged, &reason)), None),
            (SignedAbout::Report(reply), Judged::Report(judged)) => (None, Some(reply.store(ctx, judged)?)),
            _ => (None, None),
        };
        Ok(FeedbackOutput {
            ticket_id: ticket.id,
            state: ticket.state.name(),
            feedback_type: kind,
            address,
            received_at: rfc3339_ms(ticket.created_at.saturating_mul(1_000)),
            already_received,
            contest,
            report_reply,
        })
    }
}

/// Subject of a signature in a request.
enum SignedAbout {
    Nothing,
    Claim(Box<ContestedClaim>),
    Report(Box<ReportReply>),
}

/// The judgement of that subject.
enum Judged {
    Nothing,
    Claim(Judgement),
    Report(ReplyJudgement),
}

impl SignedAbout {
    fn find(ctx: &Ctx<'_>, input: &FeedbackInput, kind: FeedbackType, message: &str) -> Result<Self, ApiError> {
        let error = |name: &str, message: &str| Err(ApiError::validation(Location::Body, name, message));
        match (&input.claim_id, &input.report_id, &input.address) {
            (Some(_), Some(_), _) => error("report_id", "cannot be used with claim_id"),
            (Some(id), None, Some(address)) if kind == FeedbackType::LabelCorrection => {
                Ok(SignedAbout::Claim(Box::new(ContestedClaim::find(ctx, address, id)?)))
            }
            (Some(_), None, _) => error("claim_id", "needs an address and the type label_correction"),
            (None, Some(id), Some(address)) => {
                Ok(SignedAbout::Report(Box::new(ReportReply::find(ctx, address, id, message)?)))
            }
            (None, Some(_), None) => error("report_id", "needs the address that the report is about"),
            (None, None, _) => Ok(SignedAbout::Nothing),
        }
    }

    fn judge(&self, ctx: &Ctx<'_>, signed: Option<SignedText>) -> Result<Judged, ApiError> {
        Ok(match self {
            SignedAbout::Nothing => Judged::Nothing,
            SignedAbout::Claim(claim) => Judged::Claim(claim.judge(ctx, signed)?),
            SignedAbout::Report(reply) => Judged::Report(reply.judge(ctx, signed)?),
        })
    }

    /// The message of the ticket, if it is not that of the request.
    fn ticket_message(&self) -> Option<String> {
        match self {
            SignedAbout::Report(reply) => Some(reply.ticket_message()),
            _ => None,
        }
    }
}

impl Judged {
    fn is_signed(&self) -> bool {
        match self {
            Judged::Nothing => false,
            Judged::Claim(judged) => judged.signed.is_some(),
            Judged::Report(judged) => judged.is_signed(),
        }
    }
}

/// Opens a ticket. True if an open one had the same content.
fn open_ticket(ctx: &Ctx<'_>, new: NewTicket) -> Result<(Ticket, bool), ApiError> {
    let client = ctx.client();
    let now = ctx.now_ms / 1_000;
    match ctx.with_state(async |state| state.submit(new, client.as_deref(), now).await)? {
        Submission::Received(ticket) => Ok((ticket, false)),
        Submission::Known(ticket) => Ok((ticket, true)),
        Submission::TooManyOfClient => {
            let hours = CLIENT_WINDOW / 3_600;
            let detail = format!("this client has opened {MAX_TICKETS_OF_CLIENT} tickets in the last {hours} hours");
            Err(ApiError::new(ErrorCode::RateLimited, detail).retryable(Some(3_600)))
        }
        Submission::Full => {
            let detail =
                format!("{MAX_OPEN_TICKETS} tickets are open; no more are accepted until the operator closes some");
            Err(ApiError::unavailable(ErrorCode::FeedbackFull, detail, 3_600))
        }
    }
}

/// Checks that the schema cannot express.
fn check(new: &NewTicket) -> Result<(), ApiError> {
    let mut errors = Vec::new();
    let mut error = |name: &str, message: &str| {
        let (name, message) = (name.to_owned(), message.to_owned());
        errors.push(FieldError { location: Location::Body, name, message, allowed: None, example: None });
    };
    if matches!(new.kind, TicketKind::LabelCorrection | TicketKind::MissingLabel) && new.address.is_none() {
        error("address", "is required for this type of feedback");
    }
    if new.message.is_empty() {
        error("message", "contains only white space");
    }
    if new.message.contains(|c: char| c.is_control() && c != '\n' && c != '\t') {
        error("message", "contains control characters other than line breaks and tabs");
    }
    let others = [
        ("suggested_label", &new.suggested_label),
        ("suggested_category", &new.suggested_category),
        ("source_url", &new.source_url),
    ];
    for (name, text) in others {
        if text.as_ref().is_some_and(|text| text.contains(char::is_control)) {
            error(name, "contains control characters");
        }
    }
    let web = |url: &str| {
        ["http://", "https://"]
            .iter()
            .any(|scheme| url.strip_prefix(scheme).is_some_and(|rest| rest.contains(|c: char| c.is_alphanumeric())))
    };
    if new.source_url.as_ref().is_some_and(|url| !web(url) || url.contains(char::is_whitespace)) {
        error("source_url", "is not an http or https URL");
    }
    if errors.is_empty() { Ok(()) } else { Err(ApiError::of_fields(ErrorCode::ValidationError, errors)) }
}
