//! Puts a pack together: section by section, each within its share of the work.

use std::collections::BTreeMap;

use bitcoin::hashes::{Hash, sha256};
use cairn_domain::evidence::FORMAT;
use cairn_model::{day_of, last_second};
use cairn_tables::events::EventRow;
use serde_json::{Map, Value};

use super::{
    input::EvidencePackInput,
    pack::{Pack, PackParameters, PackTip, Sections},
    proofs::{Proving, prove},
    seal::seal,
    section::SectionStatus,
    sections::SECTIONS,
};
use crate::definitions::{DEFINITIONS, EVIDENCE_PACK};
use crate::operation::prelude::*;

/// Limits of every pack.
const CAVEATS: [&str; 4] = [
    "Labels are statements of their sources, not facts about the owner.",
    "Facts that are missing here were not found in the data that this index has; they may exist elsewhere.",
    "The pack covers confirmed transactions up to its newest block; a reorganization may replace the newest ones.",
    "The digest and the signature show who stated this and that nothing was changed, not that it is complete.",
];

/// Members and data that no digest covers.
const NEVER_COVERED: [&str; 6] = ["_meta", "signature", "proofs", "mempool", "price", "base_rate"];

pub(super) fn assemble(ctx: &Ctx<'_>, input: &EvidencePackInput) -> Result<Pack, ApiError> {
    let view = ctx.view()?;
    let time = time_of_claims(view)?;
    let mut computed = BTreeMap::new();
    let mut rest: u32 = SECTIONS.iter().map(|line| line.weight).sum();
    let (first, later): (Vec<_>, Vec<_>) = SECTIONS.iter().partition(|line| line.goes_first);
    for line in first.into_iter().chain(later) {
        computed.insert(line.name, ctx.as_if_at(time, || line.compute(ctx, input, rest))?);
        rest = rest.saturating_sub(line.weight);
    }
    let (mut sections, mut covers, mut others) = (Map::new(), Vec::new(), NEVER_COVERED.to_vec());
    let mut definitions = BTreeMap::from([(EVIDENCE_PACK, version(EVIDENCE_PACK))]);
    for line in SECTIONS {
        let section = computed.remove(line.name).ok_or_else(ApiError::internal)?;
        if section.status == SectionStatus::Ok {
            covers.push(line.name);
            definitions.extend(line.definitions.iter().map(|id| (*id, version(id))));
        } else {
            others.push(line.name);
        }
        sections.insert(line.name.to_owned(), serde_json::to_value(section)?);
    }
    let sections = Value::Object(sections);
    let proving = if input.proofs { prove(ctx, &sections)? } else { Proving::NotAsked };
    let (proofs, proofs_reason, proofs_omitted) = match proving {
        Proving::NotAsked => (None, Some("proofs_false"), None),
        Proving::Unavailable(reason) => (None, Some(reason), None),
        Proving::Made(proofs, omitted) => (Some(proofs), None, Some(omitted)),
    };
    let tip = view.tip();
    let pack = Pack {
        format: FORMAT,
        address: input.address.text.clone(),
        network: view.network().name(),
        tip: PackTip { height: tip.height, hash: tip.hash.to_string(), time: rfc3339(tip.mono_time) },
        ledger_seq: tip.seq,
        labels_as_of: rfc3339(time),
        parameters: PackParameters {
            depth: input.depth,
            tx_limit: input.tx_limit.get(),
            include_graph: input.include_graph,
            include_risk_check: input.include_risk_check,
            proofs: input.proofs,
        },
        definitions,
        sections: Sections(sections),
        digest_covers: covers,
        not_covered: others,
        caveats: CAVEATS.to_vec(),
        untrusted_content: true,
        definition: EVIDENCE_PACK,
        digest_sha256: None,
        digest_reason: None,
        signature: None,
        signature_reason: None,
        proofs,
        proofs_reason,
        proofs_omitted,
    };
    let is_settled = view.unfinished()?.is_empty() && view.labels().are_settled()?;
    seal(pack, is_settled, ctx.chain.evidence.key.as_deref())
}

/// The time for which claims count. It follows from the tip and the ledger alone, so that it is the same on every
/// machine: the end of the day of the newest block or of the newest input event.
fn time_of_claims(view: &View<'_>) -> Result<u32, ApiError> {
    let newest = match retrieved_at(view, view.tip().seq)? {
        Ok(time) => time,
        Err(document) => retrieved_at(view, document)?.unwrap_or_default(),
    };
    Ok(last_second(day_of(newest.max(view.tip().mono_time))))
}

/// When the document of an event was retrieved; otherwise the event that is its document.
fn retrieved_at(view: &View<'_>, seq: u64) -> Result<Result<u32, u64>, ApiError> {
    Ok(match view.ledger().event(seq)? {
        None => Ok(0),
        Some((_, row)) => match row {
            EventRow::Document { provenance, .. }
            | EventRow::Withdrawal { provenance, .. }
            | EventRow::Contest { provenance, .. } => Ok(provenance.retrieved_at),
            EventRow::Quotes { document, .. }
            | EventRow::Claims { document, .. }
            | EventRow::Listing { document, .. } => Err(document),
        },
    })
}

/// Version of a definition: the beginning of a hash of its page.
fn version(id: &str) -> String {
    let page = DEFINITIONS.iter().find(|page| page.id == id);
    let text = page.map_or_else(String::new, |page| format!("{}\n{}", page.title, page.text.join("\n")));
    sha256::Hash::hash(text.as_bytes()).to_string().chars().take(16).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_definition_of_a_section_has_a_page() {
        let ids = SECTIONS.iter().flat_map(|line| line.definitions.iter().copied());
        for id in ids.chain([EVIDENCE_PACK]) {
            assert!(DEFINITIONS.iter().any(|page| page.id == id), "{id}");
        }
        assert_ne!(version(EVIDENCE_PACK), version("claims"));
    }
}
