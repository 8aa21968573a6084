//! Contests of what documents say, and what they give, by hand.

use std::collections::BTreeMap;

use cairn_events::{
    Body, Claim, ClaimId, ClaimType, Contest, ContestAct, ContestParty, Document, DocumentHash, SignedText, Slug,
    StatementHash,
};
use cairn_reader::ContestOf;
use cairn_tables::{
    claims::{ListKey, ListVersion},
    contests::ContestState,
};
use rand::{Rng, seq::IndexedRandom};
use rand_chacha::ChaCha8Rng;
use sha2::{Digest, Sha256};

use crate::claims::version;

/// Somebody contests what one of the documents says, or the operator ends a contest. `None` if none says anything.
pub(crate) fn contest(rng: &mut ChaCha8Rng, documents: &[Document]) -> Option<Body> {
    let said: Vec<(&Document, &Slug, &Claim)> = documents
        .iter()
        .filter_map(|document| match &document.body {
            Body::Claims { list, rows } => Some(rows.iter().map(move |claim| (document, &list.name, claim))),
            _ => None,
        })
        .flatten()
        .collect();
    let (document, list, claim) = said.choose(rng)?;
    use ContestAct::{Contests, Redacts, Settles};
    let act = [Contests, Contests, Contests, Settles, Settles, Redacts][rng.random_range(0..6)];
    let signed = (act == Contests && rng.random())
        .then(|| SignedText { message: "I contest it".to_owned(), signature: "AA==".to_owned() });
    Some(Body::Contest(Box::new(Contest {
        script: Sha256::digest(&claim.script).into(),
        source: document.provenance.source.clone(),
        list: (*list).clone(),
        statement: claim.statement(),
        claim: ClaimId { document: document.provenance.document, row: claim.row },
        act,
        by: if signed.is_some() { ContestParty::Holder } else { ContestParty::Operator },
        reason: "it is another's".to_owned(),
        signed,
    })))
}

/// True if what a claim of a list says is blanked, by hand.
pub(crate) fn is_redacted(documents: &[Document], list: &ListKey, claim: &Claim) -> bool {
    claim.claim_type != ClaimType::ListedBy
        && documents.iter().any(|document| match &document.body {
            Body::Contest(contest) => {
                let of = (contest.act, &contest.source, &contest.list, contest.statement);
                of == (ContestAct::Redacts, &list.source, &list.list, claim.statement())
            }
            _ => false,
        })
}

/// The last act about each statement of a list about a script, by hand.
pub(crate) fn of_list(documents: &[Document], list: &ListKey, script: &[u8], at: Option<u32>) -> Vec<ContestOf> {
    let is_withdrawn = |hash: &DocumentHash| {
        documents.iter().any(|of| matches!(&of.body, Body::Withdrawal { document, .. } if document == hash))
    };
    let mut newest: BTreeMap<StatementHash, (ListVersion, ContestState)> = BTreeMap::new();
    for document in documents {
        let Body::Contest(contest) = &document.body else { continue };
        let provenance = &document.provenance;
        let is_of = (&contest.source, &contest.list) == (&list.source, &list.list)
            && contest.script[..] == Sha256::digest(script)[..];
        // A blanked statement cannot come back.
        let is_undone = contest.act != ContestAct::Redacts && is_withdrawn(&provenance.document);
        if !is_of || is_undone || at.is_some_and(|at| provenance.retrieved_at > at) {
            continue;
        }
        let new = (version(provenance), ContestState { act: contest.act, by: contest.by });
        if newest.get(&contest.statement).is_none_or(|(before, _)| *before < new.0) {
            newest.insert(contest.statement, new);
        }
    }
    newest.into_iter().map(|(statement, (version, state))| ContestOf { statement, state, version }).collect()
}
