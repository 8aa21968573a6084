//! The demo's invented profiles of entities, as a document for its ledger: statements of a made-up source about them,
//! independent of their addresses.

use cairn_events::{Body, Category, Document, DocumentHash, Profile, Provenance};
use sha2::{Digest, Sha256};

use super::prices::slug;
use crate::exit::{Exit, Failure};

/// Short name, name, other name, category, page and country of each.
const PROFILES: [(&str, &str, &str, Category, &str, &str); 3] = [
    ("cairn-exchange", "Cairn Exchange", "CairnX", Category::Exchange, "exchange.example", "VG"),
    ("stone-pool", "Stone Pool", "StoneP", Category::MiningPool, "stone-pool.example", "IS"),
    ("trailhead-mining", "Trailhead Mining", "Trailhead", Category::MiningPool, "trailhead.example", "CA"),
];

/// Returns the profiles as of `retrieved_at`, in seconds since 1970.
pub(super) fn document(retrieved_at: u32) -> Result<Document, Failure> {
    let mut rows = Vec::with_capacity(PROFILES.len());
    let mut hasher = Sha256::new();
    for (row, (entity, name, alias, category, homepage, country)) in (1..).zip(PROFILES) {
        let wrong = || Failure::new(Exit::Other, format!("the profile of {entity} is invalid"));
        rows.push(Profile {
            row,
            entity: entity.parse().map_err(|_| wrong())?,
            name: name.into(),
            aliases: vec![alias.into()],
            category: Some(category),
            homepage: homepage.into(),
            jurisdictions: vec![country.parse().map_err(|_| wrong())?],
            legal_name: "".into(),
            asserted_at: None,
        });
        hasher.update(format!("{entity} {alias}"));
    }
    let provenance = Provenance {
        source: slug("demo-directory")?,
        licence: slug("cc0-1.0")?,
        origin: "invented for the demo chain: profiles of entities".to_owned(),
        retrieved_at,
        document: DocumentHash(hasher.finalize().into()),
    };
    Ok(Document { provenance, received_at: None, body: Body::Listing { list: slug("actors")?, rows: rows.into() } })
}
