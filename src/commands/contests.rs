//! `cairn labels dispute` and `resolve`, and the JSON of contests.

use cairn_domain::script_sha256;
use cairn_events::{Body, Claim, ClaimId, Contest, ContestAct, ContestParty, Document, DocumentHash, Provenance, Slug};
use cairn_reader::{ClaimDocument, ContestOf, View};
use cairn_tables::events::EventRow;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::{
    db::open,
    operator::{now, operator},
    submit::submit,
};
use crate::{
    cli::LabelsContest,
    exit::{Exit, Failure},
    out::{harmless, print, time},
};

/// The last contest of a claim's statement, as JSON. A holder's words are untrusted.
#[derive(Serialize)]
pub(super) struct ContestRow {
    /// `contests` or `settles`.
    act: &'static str,
    /// `operator` or `holder`.
    by: &'static str,
    at: String,
    /// Sequence number of the event.
    seq: u64,
    reason: String,
}

impl ContestRow {
    pub(super) fn find(view: &View<'_>, of: &ContestOf) -> Result<Self, Failure> {
        let lacks = || Failure::new(Exit::Index, "the ledger lacks a contest").hint("run `cairn repair`");
        let (seq, contest) = view.claims().contest(&of.version)?.ok_or_else(lacks)?;
        Ok(ContestRow {
            act: of.state.act.as_str(),
            by: of.state.by.as_str(),
            at: time(of.version.retrieved_at.into()),
            seq,
            reason: harmless(&contest.reason),
        })
    }
}

/// A contest, as `cairn events show` prints it. Contains everything that a check of its signature needs.
#[derive(Serialize)]
pub(super) struct ShownContest {
    seq: u64,
    kind: &'static str,
    document: String,
    retrieved_at: String,
    received_at: String,
    act: &'static str,
    by: &'static str,
    reason: String,
    source: String,
    list: String,
    claim_id: String,
    statement: String,
    script_sha256: String,
    signed_message: Option<String>,
    signature: Option<String>,
}

impl ShownContest {
    pub(super) fn of(seq: u64, (provenance, received_at): (&Provenance, u32), of: &Contest) -> Self {
        ShownContest {
            seq,
            kind: "contest",
            document: provenance.document.to_string(),
            retrieved_at: time(provenance.retrieved_at.into()),
            received_at: time(received_at.into()),
            act: of.act.as_str(),
            by: of.by.as_str(),
            reason: harmless(&of.reason),
            source: of.source.to_string(),
            list: of.list.to_string(),
            claim_id: of.claim.to_string(),
            statement: of.statement.to_string(),
            script_sha256: hex::encode(of.script),
            signed_message: of.signed.as_ref().map(|signed| signed.message.clone()),
            signature: of.signed.as_ref().map(|signed| signed.signature.clone()),
        }
    }
}

/// Contests the statement of a claim, ends a contest, or blanks the claim.
pub(super) fn contest(args: &LabelsContest, act: ContestAct) -> Result<Exit, Failure> {
    let datadir = args.index.datadir()?;
    let (contest, at) = {
        let reader = open(datadir)?;
        let view = reader.view()?;
        let (document, list, claim) = find(&view, &args.claim)?;
        if act == ContestAct::Redacts && !claim.is_redactable() {
            let what = "a claim of an authority's list, or one that is blanked already, cannot be blanked";
            return Err(Failure::new(Exit::Other, what).hint("ask the publisher of the list"));
        }
        if act == ContestAct::Contests && claim.is_incontestable() {
            let what = "a claim of an authority's list, or one that the chain shows, cannot be contested here";
            return Err(Failure::new(Exit::Other, what).hint("ask the publisher of the list"));
        }
        let script = script_sha256(&claim.script);
        let statement = claim.statement();
        let (others, _) = view.claims().contests_of(&script, None)?;
        let same = others.iter().filter(|(key, _)| key.statement == statement && key.list.list == list);
        // For two contests in one second the hashes decide which is later: this one must be later.
        let at = same.map(|(key, _)| key.version.retrieved_at.saturating_add(1)).max().unwrap_or(0).max(now());
        let contest = Contest {
            script,
            source: document.provenance.source,
            list,
            statement,
            claim: args.claim,
            act,
            by: ContestParty::Operator,
            reason: args.reason.clone(),
            signed: None,
        };
        (contest, at)
    };
    let document = document_of(contest, at, operator()?);
    document.check().map_err(|error| Failure::usage(error.to_string()))?;
    let exit = submit(datadir, &args.state, "cairn labels", |add| Ok(add(&document)?))?.tell()?;
    let what = match act {
        ContestAct::Contests => "contested",
        ContestAct::Settles => "no longer contested",
        ContestAct::Redacts => {
            "blanked, also where later files of the list repeat it; copies and exports from before have it"
        }
    };
    print(&format!("the statement of claim {} is {what}\n", args.claim))?;
    Ok(exit)
}

/// Creates the document of a contest at a time.
fn document_of(contest: Contest, retrieved_at: u32, operator: Slug) -> Document {
    let mut hasher = Sha256::new();
    hasher.update(b"contest");
    hasher.update(contest.statement.0);
    hasher.update([contest.act.code()]);
    hasher.update(retrieved_at.to_be_bytes());
    hasher.update(contest.claim.to_string());
    hasher.update(&contest.reason);
    let provenance = Provenance {
        source: operator.clone(),
        licence: operator,
        origin: "cairn labels".to_owned(),
        retrieved_at,
        document: DocumentHash(hasher.finalize().into()),
    };
    Document { provenance, received_at: None, body: Body::Contest(Box::new(contest)) }
}

/// Finds a claim of the ledger, with its document and list.
fn find(view: &View<'_>, id: &ClaimId) -> Result<(ClaimDocument, Slug, Claim), Failure> {
    let none = |what: String| Failure::new(Exit::Other, what).hint("`cairn labels show ADDRESS` prints ids of claims");
    let seq = view.ledger().document(&id.document)?.unwrap_or_default().seq;
    let event = view.ledger().event(seq)?.filter(|(first, _)| *first == seq);
    let Some((_, EventRow::Document { received_at, provenance, .. })) = event else {
        return Err(none(format!("the ledger has no document {}", id.document)));
    };
    let Some((_, EventRow::Claims { list, .. })) = view.ledger().event(seq + 1)? else {
        return Err(none(format!("document {} has no claims", id.document)));
    };
    let document = ClaimDocument { seq, received_at, provenance };
    let mut place = 0;
    loop {
        let claims = view.claims().of_document(&document, place)?;
        let is_past = claims.last().is_none_or(|last| last.row >= id.row);
        place += claims.len() as u64;
        match claims.into_iter().find(|claim| claim.row == id.row) {
            Some(claim) => return Ok((document, list.name, claim)),
            None if is_past => return Err(none(format!("document {} has no claim in row {}", id.document, id.row))),
            None => {}
        }
    }
}
