//! The owner of a reported address answers: the message to sign, and what a signature does.
//!
//! The message names the server, the network, the address, the report, the hash of the answer, and until when it can be
//! used (see [`crate::sealed`]), so that a signature is good for one answer to one report.

use cairn_domain::{Subject, script_sha256};
use cairn_events::SignedText;
use cairn_state::{MAX_REPLY_CHARS, Replying, ServiceSecret};
use sha2::{Digest, Sha256};

use super::{
    judged::{JudgedReport, ReportState},
    texts,
};
use crate::{
    operation::prelude::*,
    parameters::identifier::AddressParam,
    sealed::{VALID_SECS, checked, seal, verify, wrong},
};

/// Name of the key of the service.
const SECRET: &str = "report_reply";

/// State of a reply to a report.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ReplyState {
    /// Nothing is stored yet: sign `message_to_sign` with the key of the address and send it back.
    CanBeSigned,
    /// The signature is valid, and the reply is published with the report, in place of an earlier one.
    Replied,
    /// The signature is valid, but a reply to a newer message is stored.
    Superseded,
    /// The operator has erased the texts of the report, which takes no new ones.
    Erased,
    /// The signature cannot be checked: the ticket is for the operator.
    Inconclusive,
}

/// The reply to a report.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ReplyOutput {
    report_id: String,
    /// SHA-256 of the reply as it is stored, in UTF-8. Invisible characters and spaces at the ends are removed before.
    reply_sha256: String,
    state: ReplyState,
    /// Explanation of the state.
    explanation: String,
    /// The message to sign: all its lines, without a line break at the end; null if there is nothing to sign.
    message_to_sign: Option<String>,
    /// Time until which the signed message is accepted; null if there is nothing to sign.
    expires_at: Option<String>,
}

pub(crate) struct ReportReply {
    id: String,
    address: String,
    script: Vec<u8>,
    text: String,
    sha256: String,
    is_erased: bool,
}

pub(crate) struct ReplyJudgement {
    state: ReplyState,
    explanation: String,
    message: Option<(String, u32)>,
    /// The last second of the signed message, if the signature is right.
    signed_until: Option<u32>,
}

impl ReplyJudgement {
    /// True if the key of the address has signed.
    pub(crate) fn is_signed(&self) -> bool {
        self.signed_until.is_some()
    }
}

impl ReportReply {
    /// The reply to a published report about the address.
    ///
    /// # Errors
    /// 404 and 409 as for votes; 422 if the report is about another address, or if the text is too long or invalid.
    pub(crate) fn find(ctx: &Ctx<'_>, address: &AddressParam, id: &str, text: &str) -> Result<Self, ApiError> {
        let length = text.trim().chars().count();
        if length > MAX_REPLY_CHARS {
            let words = format!("has {length} characters; a reply to a report has {MAX_REPLY_CHARS} at most");
            return Err(wrong("message", words));
        }
        let text = texts::description(text, MAX_REPLY_CHARS).map_err(|fault| wrong("message", fault))?;
        let judged = JudgedReport::find(ctx, id)?;
        if judged.state() == ReportState::Pending {
            let detail = "the report is not published, so it takes no reply";
            return Err(ApiError::new(ErrorCode::ReportNotPublished, detail));
        }
        let report = judged.report;
        let Subject::Script(script) = &address.subject else {
            return Err(wrong("address", "must be the address itself: a hash has no key that can sign"));
        };
        if hex::encode(script_sha256(script)) != report.content.script_hash {
            return Err(wrong("address", "is not the address that the report is about"));
        }
        Ok(ReportReply {
            address: address.text.clone(),
            script: script.clone(),
            sha256: hex::encode(Sha256::digest(text.as_bytes())),
            text,
            is_erased: report.erased_at.is_some(),
            id: report.id,
        })
    }

    /// The message of the ticket. It does not have the text, so that the text is in one place, where it can be erased.
    pub(crate) fn ticket_message(&self) -> String {
        format!("A reply of {} characters to community report {}.", self.text.chars().count(), self.id)
    }

    fn message(&self, ctx: &Ctx<'_>, until: u32, secret: &ServiceSecret) -> Result<String, ApiError> {
        let lines = format!(
            "I answer a community report about my address.\nServer: {}\nNetwork: {}\nAddress: {}\nReport: {}\n\
             SHA-256 of the answer: {}",
            ctx.config.base_url,
            ctx.view()?.facts().network.name(),
            self.address,
            self.id,
            self.sha256,
        );
        Ok(seal(&lines, until, secret))
    }

    /// Judges the request by its signed text, if it has one.
    ///
    /// # Errors
    /// 422 if message or signature are others than those of this reply.
    pub(crate) fn judge(&self, ctx: &Ctx<'_>, signed: Option<SignedText>) -> Result<ReplyJudgement, ApiError> {
        let judgement = |state, explanation: &str| ReplyJudgement {
            state,
            explanation: explanation.to_owned(),
            message: None,
            signed_until: None,
        };
        if self.is_erased {
            return Ok(judgement(ReplyState::Erased, ERASED));
        }
        let secret = ctx.with_state(async |state| state.service_secret(SECRET).await)?;
        let Some(signed) = signed else {
            let until = ctx.now().saturating_add(VALID_SECS);
            let words = "sign message_to_sign with the key of the address (BIP 322 or BIP 137) and send the same request \
                again with signed_message and signature; without a signature only a ticket is opened";
            let message = Some((self.message(ctx, until, &secret)?, until));
            return Ok(ReplyJudgement { message, ..judgement(ReplyState::CanBeSigned, words) });
        };
        let made = |until| self.message(ctx, until, &secret);
        let (signed, until) = checked(&signed, ctx.now(), "this address, report and reply", made)?;
        Ok(match verify(&self.script, &signed)? {
            Some(why) => judgement(ReplyState::Inconclusive, &why),
            None => ReplyJudgement { signed_until: Some(until), ..judgement(ReplyState::Replied, REPLIED) },
        })
    }

    /// Stores a reply whose signature is right.
    pub(crate) fn store(&self, ctx: &Ctx<'_>, judged: ReplyJudgement) -> Result<ReplyOutput, ApiError> {
        let ReplyJudgement { mut state, mut explanation, message, signed_until } = judged;
        if let Some(until) = signed_until {
            let (id, text, now) = (&self.id, &self.text, ctx.now_ms / 1_000);
            let stored = ctx.with_state(async |state| state.reply_to_report(id, text, until.into(), now).await)?;
            let other = match stored {
                Replying::Stored => None,
                Replying::Superseded => {
                    Some((ReplyState::Superseded, "a reply to a newer message is stored; this one changes nothing"))
                }
                Replying::Erased => Some((ReplyState::Erased, ERASED)),
                Replying::Unknown => return Err(ApiError::new(ErrorCode::ReportNotFound, "the report is gone")),
            };
            if let Some((other, words)) = other {
                (state, explanation) = (other, words.to_owned());
            }
        }
        let (message_to_sign, expires_at) = message.unzip();
        Ok(ReplyOutput {
            report_id: self.id.clone(),
            reply_sha256: self.sha256.clone(),
            state,
            explanation,
            message_to_sign,
            expires_at: expires_at.map(rfc3339),
        })
    }
}

const REPLIED: &str =
    "the key of the address has signed: the reply is published with the report, which is marked as contested";
const ERASED: &str = "the operator has erased the texts of the report, and it takes no new ones";
