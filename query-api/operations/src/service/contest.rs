//! A holder contests a claim: the message to sign, and what a signature does.
//!
//! The message names the server, the network, the address, the claim, what it says, and until when it can be used
//! (see [`crate::sealed`]).

use cairn_domain::{Subject, script_sha256};
use cairn_events::{
    Body, Claim, ClaimId, Contest, ContestAct, ContestParty, Document, DocumentHash, Provenance, SignedText, Slug,
};
use cairn_http::{FieldError, Location};
use cairn_reader::ListClaims;
use cairn_state::ServiceSecret;
use sha2::{Digest, Sha256};

use crate::{
    ledger::NotTaken,
    operation::prelude::*,
    parameters::identifier::AddressParam,
    sealed::{VALID_SECS, checked, seal, verify, wrong},
};

const SECRET: &str = "contest";

/// State of a contest.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ContestState {
    /// Nothing is contested yet: sign `message_to_sign` with the key of the address and send it back.
    CanBeSigned,
    /// The signature is valid, and the claim is contested. Answers show it within about two seconds while the indexer
    /// runs.
    Contested,
    /// The statement of the claim is already contested.
    AlreadyContested,
    /// The operator has settled a contest of this statement: a signature opens a ticket and changes nothing.
    Settled,
    /// The signature cannot be checked: the ticket is for the operator.
    Inconclusive,
    /// Entries of an authority's list and facts of the chain cannot be contested here.
    Incontestable,
    /// The signature is valid, but this server cannot write to the ledger: the ticket is for the operator.
    NotWritten,
}

/// The contest of a claim.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ContestOutput {
    /// Id of the claim.
    claim_id: String,
    /// SHA-256 of the claim's statement. The contest is about this statement, in any document.
    statement_sha256: String,
    state: ContestState,
    /// Explanation of the state.
    explanation: String,
    /// The message to sign: all its lines, without a line break at the end; null if there is nothing to sign.
    message_to_sign: Option<String>,
    /// Time until which the signed message is accepted; null if there is nothing to sign.
    expires_at: Option<String>,
}

pub(super) struct ContestedClaim {
    id: ClaimId,
    address: String,
    list: ListClaims,
    claim: Claim,
}

/// The judgement of a request.
pub(super) struct Judgement {
    pub(super) state: ContestState,
    explanation: String,
    message: Option<(String, u32)>,
    /// The signed text, if the signature is right.
    pub(super) signed: Option<SignedText>,
}

impl ContestedClaim {
    /// The claim, among those that lists say of the address now.
    pub(super) fn find(ctx: &Ctx<'_>, address: &AddressParam, id: &str) -> Result<Self, ApiError> {
        let id: ClaimId =
            id.parse().map_err(|error: cairn_events::ClaimIdError| wrong("claim_id", error.to_string()))?;
        let view = ctx.view()?;
        let found = match &address.subject {
            Subject::Script(script) => view.claims().of_script(script, None)?,
            Subject::ScriptHash(hash) => view.claims().of_hash(hash, None)?,
        };
        for list in found.lists {
            if !id.document.0.starts_with(&list.version.document) || list.ended_at.is_some() {
                continue;
            }
            if let Some(claim) = list.claims.iter().find(|claim| claim.row == id.row).cloned() {
                return Ok(ContestedClaim { id, address: address.text.clone(), list, claim });
            }
        }
        let message = "no list has this claim about the address now; wallet_detail has the ids of all claims";
        Err(wrong("claim_id", message))
    }

    /// The message that contests it, with its last second, in seconds since 1970.
    fn message(&self, ctx: &Ctx<'_>, until: u32, secret: &ServiceSecret) -> Result<String, ApiError> {
        let lines = format!(
            "I contest a label of my address.\nServer: {}\nNetwork: {}\nAddress: {}\nClaim: {}\nStatement: {}",
            ctx.config.base_url,
            ctx.view()?.facts().network.name(),
            self.address,
            self.id,
            self.claim.statement(),
        );
        Ok(seal(&lines, until, secret))
    }

    /// Judges the request by its signed text, if it has one.
    pub(super) fn judge(&self, ctx: &Ctx<'_>, signed: Option<SignedText>) -> Result<Judgement, ApiError> {
        let plain = |state, explanation: &str| {
            Ok(Judgement { state, explanation: explanation.to_owned(), message: None, signed: None })
        };
        if self.claim.is_incontestable() {
            let words = "a contest changes neither the list of an authority nor facts of the chain; ask the publisher \
                of the list";
            return plain(ContestState::Incontestable, words);
        }
        let last = self.list.contest_of(&self.claim).map(|of| of.state.act);
        if last == Some(ContestAct::Contests) {
            return plain(
                ContestState::AlreadyContested,
                "the statement of the claim is contested, and answers show it",
            );
        }
        let secret = ctx.with_state(async |state| state.service_secret(SECRET).await)?;
        let Some(signed) = signed else {
            if last.is_some() {
                let words = "the operator has settled a contest of this statement; the ticket is for the operator";
                return plain(ContestState::Settled, words);
            }
            let until = ctx.now().saturating_add(VALID_SECS);
            let message = self.message(ctx, until, &secret)?;
            let words = "sign message_to_sign with the key of the address (BIP 322 or BIP 137) and send the same request \
                again with signed_message and signature; without a signature only the ticket is opened";
            let explanation = words.to_owned();
            let message = Some((message, until));
            return Ok(Judgement { state: ContestState::CanBeSigned, explanation, message, signed: None });
        };
        let made = |until| self.message(ctx, until, &secret);
        let (signed, _) = checked(&signed, ctx.now(), "this address and claim", made)?;
        let (state, explanation, signed) = match verify(&self.claim.script, &signed)? {
            Some(why) => (ContestState::Inconclusive, why, None),
            None if last.is_some() => {
                let words = "the operator has settled a contest of this statement; the ticket records that you signed";
                (ContestState::Settled, words.to_owned(), Some(signed))
            }
            None => {
                let words = "the key of the address has signed: the statement of the claim is contested until the \
                    operator settles the contest";
                (ContestState::Contested, words.to_owned(), Some(signed))
            }
        };
        Ok(Judgement { state, explanation, message: None, signed })
    }

    /// Hands a right signature in; what became of it.
    pub(super) fn hand_in(&self, ctx: &Ctx<'_>, judged: Judgement, reason: &str) -> ContestOutput {
        let Judgement { mut state, mut explanation, message, signed } = judged;
        if let Some(signed) = signed.filter(|_| state == ContestState::Contested) {
            let taken = self.document(ctx, signed, reason).zip(ctx.ledger).map(|(of, ledger)| ledger.hand_in(&of));
            let why_not = match taken {
                Some(Ok(())) => None,
                Some(Err(NotTaken::Full)) => Some("too many documents wait for the ledger"),
                Some(Err(NotTaken::Unwritable)) | None => Some("this server cannot write to the ledger"),
            };
            if let Some(why) = why_not {
                state = ContestState::NotWritten;
                explanation = format!("the key of the address has signed, but {why}; the ticket informs the operator");
            }
        }
        let (message_to_sign, expires_at) = message.unzip();
        ContestOutput {
            claim_id: self.id.to_string(),
            statement_sha256: self.claim.statement().to_string(),
            state,
            explanation,
            message_to_sign,
            expires_at: expires_at.map(rfc3339),
        }
    }

    /// Returns the document for the ledger; `None` only if the names that it needs are invalid.
    fn document(&self, ctx: &Ctx<'_>, signed: SignedText, reason: &str) -> Option<Document> {
        let holder: Slug = "holder".parse().ok()?;
        let mut hash = Sha256::new();
        for part in ["contest", &signed.message, &signed.signature, reason] {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        let provenance = Provenance {
            source: holder.clone(),
            licence: holder,
            origin: "POST /v1/feedback".to_owned(),
            retrieved_at: ctx.now(),
            document: DocumentHash(hash.finalize().into()),
        };
        let contest = Contest {
            script: script_sha256(&self.claim.script),
            source: self.list.list.source.clone(),
            list: self.list.list.list.clone(),
            statement: self.claim.statement(),
            claim: self.id,
            act: ContestAct::Contests,
            by: ContestParty::Holder,
            // A ticket may be longer than an event, and have tabs.
            reason: reason.lines().map(|line| cairn_events::claim::plain(line, 1_000)).fold(
                String::new(),
                |all, line| {
                    if all.len() + line.len() > 1_500 || line.is_empty() { all } else { format!("{all}{line}\n") }
                },
            ),
            signed: Some(signed),
        };
        let document = Document { provenance, received_at: None, body: Body::Contest(Box::new(contest)) };
        document.check().is_ok().then_some(document)
    }
}

/// Returns the signed text; message and signature come together or not at all.
pub(super) fn signed_text(message: Option<String>, signature: Option<String>) -> Result<Option<SignedText>, ApiError> {
    match (message, signature) {
        (Some(message), Some(signature)) => Ok(Some(SignedText { message, signature })),
        (None, None) => Ok(None),
        (message, _) => {
            let (has, lacks) =
                if message.is_some() { ("signed_message", "signature") } else { ("signature", "signed_message") };
            let field = FieldError {
                location: Location::Body,
                name: lacks.to_owned(),
                message: format!("is required with {has}"),
                allowed: None,
                example: None,
            };
            Err(ApiError::of_fields(ErrorCode::ValidationError, vec![field]))
        }
    }
}
