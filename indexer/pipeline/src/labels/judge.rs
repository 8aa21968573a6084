//! Judges all claims about a script together, for the end of time: the result does not depend on the clock, and a claim
//! with an end has no effect.

use std::sync::Arc;

use cairn_domain::claims::{At, ClaimStatus, Stated, heritable, labelling, membership, short_label, standings};
use cairn_events::{DocumentHash, EntityName, EvidenceTier, Slug};
use cairn_model::{TxNum, each_once};
use cairn_reader::{ClaimWalk, ReadError, ScriptClaims, Tie, View, root_of};
use cairn_tables::{
    claims::{ListKey, ListVersion},
    labels::{Label, Member, ScriptHash, ScriptLabel, SeenScript},
};

use super::ScriptSums;

#[derive(Debug)]
pub(crate) struct ScriptVerdict {
    /// Its label; `None` if there is none.
    pub(crate) label: Option<ScriptLabel>,
    /// The script as the chain has it.
    pub(crate) seen: Option<SeenScript>,
    pub(crate) sums: ScriptSums,
    /// Its node of the clusters, if it has one.
    pub(crate) node: Option<TxNum>,
    /// The way from the node to the root of its cluster.
    pub(crate) path: Vec<Tie>,
}

/// Judges a script by its claims, which the walk reads, and the chain. `before` is the row that it has.
pub(crate) fn judge(
    view: &View<'_>,
    claims: &mut ClaimWalk<'_>,
    hash: &ScriptHash,
    before: Option<&ScriptLabel>,
) -> Result<ScriptVerdict, ReadError> {
    let mut label = together(&claims.of(&hash.0, None)?);
    let found = match label.as_ref().or(before) {
        Some(of) => view.scripts().find(&of.script)?,
        None => None,
    };
    let seen = found.map(|of| SeenScript { ordinal: of.id.ordinal, last: of.totals.last });
    let (node, path) = match &found {
        Some(found) => {
            let of = view.clusters().of_script(found.id, view.as_of_tip())?;
            (of.node, of.path)
        }
        None => (None, Vec::new()),
    };
    label.iter_mut().for_each(|label| (label.seen, label.node) = (seen, node));
    Ok(ScriptVerdict { label, seen, sums: found.map(|of| ScriptSums::of(&of.totals)).unwrap_or_default(), node, path })
}

impl ScriptVerdict {
    /// Returns the root of its cluster, if the script has one and the part of the cluster in the sums of entities may
    /// have changed.
    pub(crate) fn root_to_judge(&self, before: Option<&ScriptLabel>) -> Option<TxNum> {
        let both = || before.into_iter().chain(&self.label);
        let names = |label: Option<&ScriptLabel>| label.is_some_and(ScriptLabel::names_somebody);
        let may_be = both().any(|label| label.is_heritable) || names(before) != names(self.label.as_ref());
        self.node.filter(|_| may_be).map(|node| root_of(node, &self.path).0)
    }
}

/// Scripts of a cluster of which the claims are read.
pub(crate) const MAX_HEIRS: usize = 16;

/// Returns the owner of the other scripts of a cluster, by the claims of `scripts` that extend to them, at a time or
/// for the end of time; `None` if the votes conflict. The first [`MAX_HEIRS`] scripts count.
pub(crate) fn owner_by(
    claims: &mut ClaimWalk<'_>,
    scripts: &[ScriptHash],
    at: Option<u32>,
) -> Result<Option<EntityName>, ReadError> {
    let mut all: Vec<ScriptClaims> = Vec::new();
    for script in scripts.iter().take(MAX_HEIRS) {
        all.push(claims.of(&script.0, at)?);
    }
    let documents: Vec<Vec<DocumentHash>> =
        all.iter().map(|said| said.lists.iter().map(|of| document(&of.version)).collect()).collect();
    let of_script = all.iter().zip(&documents).flat_map(|(said, documents)| stated(said, documents));
    let inherited: Vec<Stated<'_>> = of_script.map(|stated| Stated { inherited: true, ..stated }).collect();
    Ok(membership(&inherited, At::time(at.unwrap_or(u32::MAX))).map(|member| member.entity.clone()))
}

/// The entity that the claims of a script name at a time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum NamedEntity {
    /// Nobody: it counts by its cluster.
    Nobody,
    /// Somebody, and the entity that it counts as, if there is one.
    Somebody(Option<EntityName>),
}

/// Returns the entity that the script's label would have named at `time`.
pub(crate) fn named_at(claims: &mut ClaimWalk<'_>, script: &[u8; 32], time: u32) -> Result<NamedEntity, ReadError> {
    let (said, at) = (claims.of(script, Some(time))?, At::time(time));
    let documents: Vec<DocumentHash> = said.lists.iter().map(|of| document(&of.version)).collect();
    let stated: Vec<Stated<'_>> = stated(&said, &documents).collect();
    let is_named =
        short_label(&stated, at).is_some_and(|short| short.best.claim.entity.is_some() && short.best.level() > 0);
    let member = || membership(&stated, at).map(|member| member.entity.clone());
    Ok(if is_named { NamedEntity::Somebody(member()) } else { NamedEntity::Nobody })
}

/// The claims of a script, as they are judged; `documents` are those of its lists.
fn stated<'s>(said: &'s ScriptClaims, documents: &'s [DocumentHash]) -> impl Iterator<Item = Stated<'s>> {
    said.lists.iter().zip(documents).flat_map(|(of, document)| {
        of.claims.iter().map(move |claim| Stated {
            claim,
            source: &of.list.source,
            // No judgement asks for it, and it would take reads.
            licence: &of.list.source,
            document,
            retrieved_at: of.version.retrieved_at,
            ended_at: of.ended_at,
            is_contested: of.is_contested(claim),
            inherited: false,
        })
    })
}

/// The document of a version. The ledger has no two documents whose hashes begin alike, so these bytes distinguish
/// them, and sort in the same order.
fn document(version: &ListVersion) -> DocumentHash {
    let mut hash = [0; 32];
    hash.iter_mut().zip(version.document).for_each(|(to, byte)| *to = byte);
    DocumentHash(hash)
}

/// Returns the label that follows from the claims. Claims that were not read, because there are too many, do not count:
/// the claims alone decide which these are.
fn together(said: &ScriptClaims) -> Option<ScriptLabel> {
    let documents: Vec<DocumentHash> = said.lists.iter().map(|of| document(&of.version)).collect();
    let lists: Vec<&ListKey> = said.lists.iter().flat_map(|of| of.claims.iter().map(|_| &of.list)).collect();
    let stated: Vec<Stated<'_>> = stated(said, &documents).collect();
    let at = At::time(u32::MAX);
    let label = short_label(&stated, at).map(|short| {
        let (best, claim) = (short.best, short.best.claim);
        Label {
            claim_type: claim.claim_type,
            tier: best.tier(),
            level: best.level(),
            category: claim.category,
            behaviour: claim.behaviour,
            then: best.then(),
            entity: claim.entity.clone(),
            name: Arc::clone(&claim.entity_name),
            words: Arc::clone(&claim.label),
            is_conflicted: short.is_conflicted,
            is_contested: short.is_contested,
            is_person: claim.is_person,
        }
    });
    let member = member(&stated, &lists, at);
    let script = Arc::clone(&stated.first()?.claim.script);
    let sources = sources(&stated, at);
    let is_heritable = heritable(&stated, at);
    let is_there = label.is_some() || member.is_some() || is_heritable;
    is_there.then(|| ScriptLabel { label, member, sources, is_heritable, ..ScriptLabel::bare(script) })
}

/// The sources that label the script, ascending.
fn sources(stated: &[Stated<'_>], at: At) -> Vec<Slug> {
    each_once(labelling(stated, at).iter().map(|stated| stated.source.clone()))
}

/// The entity that the script counts as; `lists` are those of the claims.
fn member(stated: &[Stated<'_>], lists: &[&ListKey], at: At) -> Option<Member> {
    let entity = membership(stated, at)?.entity;
    let mut member = Member { entity: entity.clone(), level: 0, origins: Vec::new(), own_lists: Vec::new() };
    for ((stated, list), standing) in stated.iter().zip(lists).zip(standings(stated, at)) {
        if standing != ClaimStatus::Stands || stated.entity() != Some(entity) || !stated.makes_member() {
            continue;
        }
        member.level = member.level.max(stated.level());
        member.origins.push(stated.origin().into());
        if matches!(stated.tier(), EvidenceTier::SelfDisclosed | EvidenceTier::KeySigned) {
            member.own_lists.push((*list).clone());
        }
    }
    member.origins.sort_unstable();
    member.origins.dedup();
    member.own_lists.sort_unstable();
    member.own_lists.dedup();
    Some(member)
}
