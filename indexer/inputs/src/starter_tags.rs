//! Tags of mining pools that ship with Cairn: see `starter/SOURCES.md`.
//!
//! The file has the layout of `pools-v2.json`, without the payout addresses, which are among the labels, and without
//! pools under the name or handle of a person.

use std::io::Read;

use cairn_events::{Body, Document, DocumentHash, Provenance};
use cairn_model::Network;
use flate2::read::GzDecoder;

use crate::{ClaimLayout, ClaimOptions, StarterError, StarterLabels, read_claims, starter_labels::digest};

/// The tags of one source, as they ship with Cairn.
#[derive(Clone, Copy, Debug)]
pub struct StarterTags {
    /// Name of the file.
    pub name: &'static str,
    /// The labels of the same source, with which they share publisher, licence and date.
    labels: &'static str,
    hash: DocumentHash,
    bytes: &'static [u8],
}

/// All of them.
pub const STARTER_TAGS: [StarterTags; 1] = [StarterTags {
    name: "pools_mempool_v2.json",
    labels: "pools_mempool_v2",
    hash: DocumentHash(digest("326581725405bf4b7375fae636692d3e93dcbbda7400a362a76e55f181d4b8a7")),
    bytes: include_bytes!("../starter/tags/pools_mempool_v2.json.gz"),
}];

impl StarterTags {
    /// SHA-256 of the unpacked file: by this hash the ledger knows the document.
    #[must_use]
    pub const fn hash(&self) -> DocumentHash {
        self.hash
    }

    /// The unpacked file, in the layout of pools. Reading it fails only if it is damaged: no file that ships is such.
    #[must_use]
    pub fn file(&self) -> impl Read + use<> {
        GzDecoder::new(self.bytes)
    }

    /// The labels of the same source; `None` for no tags that ship.
    #[must_use]
    pub fn labels(&self) -> Option<&'static StarterLabels> {
        crate::STARTER_LABELS.iter().find(|labels| labels.source == self.labels)
    }

    /// The file as a document.
    pub fn document(&self) -> Result<Document, StarterError> {
        let labels = self.labels().ok_or(crate::InputError::Empty)?;
        let layout = Some(ClaimLayout::Pools);
        let options = ClaimOptions { layout, ..ClaimOptions::new(labels.retrieved_at, Network::Main) };
        let report = read_claims(&mut self.file(), &options, &mut |_| ())?;
        let provenance = Provenance {
            source: labels.source.parse()?,
            licence: labels.licence.parse()?,
            origin: format!("{}, shipped with Cairn: {}; not fetched again", self.name, labels.publisher),
            retrieved_at: labels.retrieved_at,
            document: self.hash,
        };
        let list = labels.list.parse()?;
        Ok(Document { provenance, received_at: None, body: Body::Listing { list, rows: report.tags.into() } })
    }
}
