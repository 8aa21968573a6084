//! Claims about the scripts on a trace.

use std::{cmp::Reverse, collections::BTreeMap, rc::Rc};

use cairn_domain::{
    address_of,
    claims::{ClaimStatus, LABELS_FROM, Stated, Strength, authority, is_flag, standings},
    dust::is_service,
    risk::{ClaimRef, is_sanction},
};
use cairn_events::{Category, ClaimType, EntityName};
use cairn_http::ApiError;
use cairn_model::Network;
use cairn_reader::{ClaimDocument, ScriptClaims};
use cairn_tables::claims::ListVersion;

use super::{moment::Moment, parameters::counts};

/// The claims that are grouped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// By category: behaviours that are flags, and kinds of entities.
    Risk,
    /// By list of an authority.
    Sanctions,
}

/// A direct claim that stands, with its source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct DirectClaim {
    /// Document and row.
    pub(crate) id: String,
    pub(crate) source: String,
    /// The source's name in sentences.
    pub(crate) authority: String,
    /// The origin that the source repeats: copies have one together.
    pub(crate) origin: String,
    pub(crate) claim_type: ClaimType,
    /// True if it is of a list of sanctions.
    pub(crate) is_sanction: bool,
    /// Confidence, 0 to 100.
    pub(crate) level: u8,
    pub(crate) strength: Strength,
    /// The entity in paths.
    pub(crate) entity: Option<String>,
    /// Category by which risk is grouped: a flag, else the kind of entity.
    pub(crate) category: Option<&'static str>,
    /// True if `category` is a flag.
    pub(crate) is_flag: bool,
    pub(crate) entity_category: Option<Category>,
    /// When it was asserted, else when a document first had it, in seconds since 1970.
    pub(crate) since: u32,
    /// Date that the list gives for its entry: it was not on the list before.
    pub(crate) not_before: Option<u32>,
}

impl DirectClaim {
    /// The group of the claim; `None` if it has none of this kind.
    pub(crate) fn group(&self, kind: Kind) -> Option<&str> {
        match kind {
            Kind::Risk => self.category,
            Kind::Sanctions => self.is_sanction.then_some(self.origin.as_str()),
        }
    }

    /// True if it makes its script a source, unless a request chooses groups.
    pub(crate) fn counts(&self, kind: Kind) -> bool {
        match kind {
            Kind::Risk => self.is_flag || self.entity_category.is_some_and(counts),
            Kind::Sanctions => true,
        }
    }

    /// The claim, as a signal names it.
    pub(crate) fn reference(&self) -> ClaimRef {
        ClaimRef { claim_id: self.id.clone(), level: self.level, strength: self.strength }
    }

    /// True if the claim names a service as the owner.
    pub(crate) fn is_service(&self) -> bool {
        self.entity_category.is_some_and(is_service)
    }
}

/// A script with claims that stand.
#[derive(Debug)]
pub(crate) struct ClaimedScript {
    /// Its address, else `scripthash:` with its SHA-256.
    pub(crate) address: String,
    /// Flags before kinds of entities, then the highest level first.
    pub(crate) claims: Vec<DirectClaim>,
}

pub(crate) type DocumentOf<'d> = &'d mut dyn FnMut(&ListVersion) -> Result<ClaimDocument, ApiError>;

struct Listed<'c> {
    stated: Stated<'c>,
    first_at: u32,
}

/// The claims of a script that stand and count at a moment: about the script itself, uncontested, of level 40 at least.
pub(crate) fn direct_claims(
    hash: &[u8; 32],
    said: &ScriptClaims,
    moment: &Moment,
    network: Network,
    document_of: DocumentOf<'_>,
) -> Result<Option<Rc<ClaimedScript>>, ApiError> {
    let documents = documents(said, document_of)?;
    let listed = listed(said, &documents, false);
    let stated: Vec<Stated<'_>> = listed.iter().map(|of| of.stated).collect();
    let standing = standings(&stated, moment.at());
    let mut claims = Vec::new();
    for (of, status) in listed.iter().zip(standing) {
        if status == ClaimStatus::Stands && of.stated.level() >= LABELS_FROM && !of.stated.contested() {
            claims.push(direct_claim(of));
        }
    }
    let Some(first) = listed.first().filter(|_| !claims.is_empty()) else { return Ok(None) };
    claims.sort_by_key(|claim| (!claim.is_flag, Reverse(claim.level), claim.since, claim.id.clone()));
    let address = address_of(&first.stated.claim.script, network);
    let address = address.unwrap_or_else(|| format!("scripthash:{}", hex::encode(hash)));
    Ok(Some(Rc::new(ClaimedScript { address, claims })))
}

/// True if claims about a script make other scripts of its cluster a service's.
pub(crate) fn extends_service(
    said: &ScriptClaims,
    moment: &Moment,
    document_of: DocumentOf<'_>,
) -> Result<bool, ApiError> {
    let documents = documents(said, document_of)?;
    let stated: Vec<Stated<'_>> = listed(said, &documents, true).into_iter().map(|of| of.stated).collect();
    let standing = standings(&stated, moment.at());
    let extends = |(of, status): (&Stated<'_>, ClaimStatus)| {
        status == ClaimStatus::Stands && of.makes_member() && of.claim.category.is_some_and(is_service)
    };
    Ok(stated.iter().zip(standing).any(extends))
}

fn documents(
    said: &ScriptClaims,
    document_of: DocumentOf<'_>,
) -> Result<BTreeMap<ListVersion, ClaimDocument>, ApiError> {
    let mut documents = BTreeMap::new();
    for of in &said.lists {
        documents.insert(of.version, document_of(&of.version)?);
    }
    Ok(documents)
}

fn listed<'c>(
    said: &'c ScriptClaims,
    documents: &'c BTreeMap<ListVersion, ClaimDocument>,
    inherited: bool,
) -> Vec<Listed<'c>> {
    let mut all = Vec::new();
    for of in &said.lists {
        let Some(ClaimDocument { provenance, .. }) = documents.get(&of.version) else { continue };
        all.extend(of.claims.iter().filter(|claim| !claim.is_redacted).map(|claim| Listed {
            stated: Stated {
                claim,
                source: &provenance.source,
                licence: &provenance.licence,
                document: &provenance.document,
                retrieved_at: provenance.retrieved_at,
                ended_at: of.ended_at,
                is_contested: of.is_contested(claim),
                inherited,
            },
            first_at: of.first_at,
        }));
    }
    all
}

fn direct_claim(of: &Listed<'_>) -> DirectClaim {
    let (stated, claim) = (&of.stated, of.stated.claim);
    let entity = stated.entity().map(EntityName::as_str);
    let is_harmed = matches!(claim.category, Some(Category::Victim | Category::Seizure));
    let flag = claim.behaviour.filter(|behaviour| is_flag(*behaviour) && !is_harmed).map(|flag| flag.as_str());
    // A list of an authority flags, whatever else it says.
    let listed = (claim.claim_type == ClaimType::ListedBy && !is_harmed).then_some("sanctioned");
    let flag = flag.or(listed);
    DirectClaim {
        id: format!("{}:{}", stated.document, claim.row),
        source: stated.source.to_string(),
        authority: authority(stated.source.as_str(), entity).to_owned(),
        origin: stated.origin().to_owned(),
        claim_type: claim.claim_type,
        is_sanction: is_sanction(claim),
        level: stated.level(),
        strength: Strength::of(Some(stated.tier())),
        entity: entity.map(str::to_owned),
        category: flag.or(claim.category.map(|category| category.as_str())),
        is_flag: flag.is_some(),
        entity_category: claim.category,
        since: claim.asserted_at.unwrap_or(of.first_at),
        not_before: claim.valid_from,
    }
}
