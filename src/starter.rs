//! Hands the prices that ship with Cairn to the index of the main network, once.

use std::path::Path;

use cairn_events::Document;
use cairn_inputs::STARTERS;
use cairn_pipeline::{Engine, INBOX, put_into_inbox};

use crate::exit::{Exit, Failure};

/// Puts those into the inbox that the ledger has neither taken nor withdrawn. The follower takes them, once there are blocks.
///
/// # Errors
/// The index cannot be read, or the disk fails.
pub(crate) fn offer(engine: &Engine, datadir: &Path) -> Result<(), Failure> {
    let is_empty = engine.tip()?.is_none();
    // What an earlier start has put there waits for the first block.
    if is_empty && datadir.join(INBOX).read_dir().is_ok_and(|mut files| files.next().is_some()) {
        return Ok(());
    }
    let mut missing: Vec<Document> = Vec::new();
    for starter in &STARTERS {
        let is_known = !is_empty && engine.reader().view()?.document(&starter.hash())?.is_some();
        if !is_known {
            let document = starter.document();
            missing.push(document.map_err(|error| Failure::new(Exit::Other, format!("{}: {error}", starter.name)))?);
        }
    }
    if !missing.is_empty() {
        put_into_inbox::<Failure>(datadir, |add| Ok(missing.iter().try_for_each(add)?))?;
        tracing::info!(documents = missing.len(), "prices that ship with Cairn: see `cairn events list`");
    }
    Ok(())
}
