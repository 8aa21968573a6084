//! Hands the prices, labels and tags of mining pools that ship with Cairn to the index of the main network, once.

use std::path::Path;

use cairn_events::{Document, DocumentHash};
use cairn_inputs::{STARTER_LABELS, STARTER_TAGS, STARTERS, StarterError};
use cairn_pipeline::{Engine, INBOX, put_into_inbox};

use crate::{
    config::Starters,
    exit::{Exit, Failure},
};

/// A document that ships with Cairn: its name, its hash, and a function that reads it.
type Shipped = (&'static str, DocumentHash, Box<dyn Fn() -> Result<Document, StarterError>>);

/// Returns the prices, labels and tags that the settings ask for.
fn shipped(of: Starters) -> Vec<Shipped> {
    let prices = STARTERS.iter().filter(|_| of.starter_prices);
    let labels = STARTER_LABELS.iter().filter(|_| of.starter_labels);
    let tags = STARTER_TAGS.iter().filter(|_| of.starter_labels);
    let prices = prices.map(|of| -> Shipped { (of.name, of.hash(), Box::new(|| of.document())) });
    let labels = labels.map(|of| -> Shipped { (of.source, of.hash(), Box::new(|| of.document())) });
    prices.chain(labels).chain(tags.map(|of| -> Shipped { (of.name, of.hash(), Box::new(|| of.document())) })).collect()
}

/// Puts the documents into the inbox that the ledger has neither taken nor withdrawn. The follower takes them once
/// there are blocks.
pub(crate) fn offer(engine: &Engine, datadir: &Path, of: Starters) -> Result<(), Failure> {
    let is_empty = engine.tip()?.is_none();
    // Documents that an earlier start has put there wait for the first block.
    if is_empty && datadir.join(INBOX).read_dir().is_ok_and(|mut files| files.next().is_some()) {
        return Ok(());
    }
    let mut missing: Vec<Shipped> = Vec::new();
    for shipped in shipped(of) {
        let is_known = !is_empty && engine.reader().view()?.ledger().document(&shipped.1)?.is_some();
        if !is_known {
            missing.push(shipped);
        }
    }
    if !missing.is_empty() {
        put_into_inbox::<Failure>(datadir, |add| {
            for (name, _, document) in &missing {
                let document = document().map_err(|error| Failure::new(Exit::Other, format!("{name}: {error}")))?;
                add(&document)?;
            }
            Ok(())
        })?;
        tracing::info!(documents = missing.len(), "starter documents are handed in: see `cairn events list`");
    }
    Ok(())
}
