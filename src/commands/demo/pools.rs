//! The demo's invented mining pools, as a document for its ledger: the tags that its miners write into coinbases.

use cairn_events::{Body, Document, DocumentHash, PoolTag, Provenance};
use sha2::{Digest, Sha256};

use super::prices::{SOURCE, slug};
use crate::exit::{Exit, Failure};

/// Tag, short name and name of each pool.
const POOLS: [(&str, &str, &str); 2] =
    [("/Stone Pool/", "stone-pool", "Stone Pool"), ("/Trailhead Mining/", "trailhead-mining", "Trailhead Mining")];

/// Returns the tags of the demo's pools as of `retrieved_at`, in seconds since 1970.
pub(super) fn document(retrieved_at: u32) -> Result<Document, Failure> {
    let mut rows = Vec::with_capacity(POOLS.len());
    let mut hasher = Sha256::new();
    for (row, (tag, pool, name)) in (1..).zip(POOLS) {
        let pool = pool.parse().map_err(|_| Failure::new(Exit::Other, format!("{pool} is not a name of a pool")))?;
        rows.push(PoolTag { row, tag: tag.into(), pool, name: name.into(), link: "".into() });
        hasher.update(tag);
    }
    let provenance = Provenance {
        source: slug(SOURCE)?,
        licence: slug("cc0-1.0")?,
        origin: "invented for the demo chain: tags of mining pools".to_owned(),
        retrieved_at,
        document: DocumentHash(hasher.finalize().into()),
    };
    Ok(Document { provenance, received_at: None, body: Body::Listing { list: slug("pools")?, rows: rows.into() } })
}
