//! JSON of claims and of rows of lists, for `cairn events show` and `cairn labels show`.

use cairn_domain::address_of;
use cairn_events::{Claim, Listing, Slug};
use cairn_model::Network;
use serde::Serialize;

use crate::out::{harmless, time};

/// A claim as JSON. Texts are the source's own.
#[derive(Serialize)]
pub(super) struct ClaimRow {
    document_seq: u64,
    list: String,
    row: u32,
    /// Null if the script has no address.
    address: Option<String>,
    script: String,
    claim_type: &'static str,
    evidence_tier: &'static str,
    confidence_level: u8,
    entity: Option<String>,
    entity_name: Option<String>,
    category: Option<&'static str>,
    behaviour: Option<&'static str>,
    label: Option<String>,
    source_url: Option<String>,
    origin_url: Option<String>,
    note: Option<String>,
    asserted_at: Option<String>,
    valid_from: Option<String>,
    valid_to: Option<String>,
    may_be_inherited: bool,
    is_person: bool,
    /// True if the operator has blanked the claim: `script` then has the SHA-256 of the script.
    is_redacted: bool,
    untrusted_content: bool,
}

impl ClaimRow {
    pub(super) fn of(document_seq: u64, list: &Slug, claim: &Claim, network: Network) -> Self {
        let text = |text: &str| Some(harmless(text)).filter(|text| !text.is_empty());
        let when = |at: Option<u32>| at.map(|at| time(at.into()));
        ClaimRow {
            document_seq,
            list: list.to_string(),
            row: claim.row,
            address: address_of(&claim.script, network),
            script: hex::encode(&claim.script),
            claim_type: claim.claim_type.as_str(),
            evidence_tier: claim.tier.as_str(),
            confidence_level: claim.level,
            entity: claim.entity.as_ref().map(ToString::to_string),
            entity_name: text(&claim.entity_name),
            category: claim.category.map(|of| of.as_str()),
            behaviour: claim.behaviour.map(|of| of.as_str()),
            label: text(&claim.label),
            source_url: text(&claim.source_url),
            origin_url: text(&claim.origin_url),
            note: text(&claim.note),
            asserted_at: when(claim.asserted_at),
            valid_from: when(claim.valid_from),
            valid_to: when(claim.valid_to),
            may_be_inherited: claim.is_inherited,
            is_person: claim.is_person,
            is_redacted: claim.is_redacted,
            untrusted_content: true,
        }
    }
}

/// A row, as JSON, of a list that its publisher replaces as a whole. Texts are the source's own.
#[derive(Serialize)]
pub(super) struct ListedRow {
    document_seq: u64,
    list: String,
    row: u32,
    #[serde(flatten)]
    said: ShownContent,
    untrusted_content: bool,
}

#[derive(Serialize)]
#[serde(untagged)]
enum ShownContent {
    Tag {
        tag: String,
        pool: String,
        name: String,
        link: Option<String>,
    },
    Profile {
        entity: String,
        name: String,
        aliases: Vec<String>,
        category: Option<&'static str>,
        homepage: Option<String>,
        jurisdictions: Vec<String>,
        legal_name: Option<String>,
        asserted_at: Option<String>,
    },
}

impl ListedRow {
    /// Returns the row at an index; `None` if there is no such row.
    pub(super) fn of(document_seq: u64, list: &Slug, rows: &Listing, at: usize) -> Option<Self> {
        let text = |text: &str| Some(harmless(text)).filter(|text| !text.is_empty());
        let (row, said) = match rows {
            Listing::PoolTags(rows) => {
                let of = rows.get(at)?;
                let (tag, name, link) = (harmless(&of.tag), harmless(&of.name), text(&of.link));
                (of.row, ShownContent::Tag { tag, pool: of.pool.to_string(), name, link })
            }
            Listing::Profiles(rows) => {
                let of = rows.get(at)?;
                let said = ShownContent::Profile {
                    entity: of.entity.to_string(),
                    name: harmless(&of.name),
                    aliases: of.aliases.iter().map(|alias| harmless(alias)).collect(),
                    category: of.category.map(|of| of.as_str()),
                    homepage: text(&of.homepage),
                    jurisdictions: of.jurisdictions.iter().map(ToString::to_string).collect(),
                    legal_name: text(&of.legal_name),
                    asserted_at: of.asserted_at.map(|at| time(at.into())),
                };
                (of.row, said)
            }
        };
        Some(ListedRow { document_seq, list: list.to_string(), row, said, untrusted_content: true })
    }
}
