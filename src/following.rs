//! Opens the index of another process read-only and follows its changes.

use std::path::Path;

use cairn_link::FollowedIndex;
use cairn_model::Network;
use cairn_reader::{ReadError, Reader, SecondaryReader};

use crate::{
    config::{BlocksDir, ReadCache},
    exit::Failure,
    scratch::Scratch,
};

/// Runs `open` if something is indexed; `None` if not.
fn if_begun<T>(index: &Path, open: impl FnOnce() -> Result<T, ReadError>) -> Result<Option<T>, ReadError> {
    if !index.join("CURRENT").exists() {
        return Ok(None);
    }
    match open() {
        Err(ReadError::Empty) => Ok(None),
        other => other.map(Some),
    }
}

/// Opens the index in a data folder. If nothing is indexed yet, the index waits for the indexing process: until then
/// requests that need it get 503, and the returned network is `None`. Drop the returned folder after the index.
pub(crate) fn open(
    datadir: &Path,
    blocks: &BlocksDir,
    cache: &ReadCache,
) -> Result<(FollowedIndex, Scratch, Option<Network>), Failure> {
    let index = datadir.join("index");
    // Reports a clear error if the index cannot be used.
    drop(if_begun(&index, || Reader::open(&index))?);
    // This process may have no write access to the index folder: RocksDB's logs go elsewhere.
    let scratch = Scratch::create(datadir)?;
    let logs = scratch.path().join("db");
    let (blocks_dir, cache) = (blocks.blocks_dir.clone(), cache.cache);
    let open = {
        let index = index.clone();
        move || if_begun(&index, || SecondaryReader::open(&index, &logs, blocks_dir.clone(), cache))
    };
    let (followed, network) = match open()? {
        Some(secondary) => {
            let reader = secondary.reader();
            let (tip, network) = (*reader.view()?.tip(), reader.facts().network);
            let chain = reader.facts().chain_params();
            tracing::info!(network = %chain, height = tip.height, hash = %tip.hash, "index opened");
            drop(reader);
            (FollowedIndex::new(secondary), Some(network))
        }
        None => {
            let index = index.display();
            tracing::warn!(%index, "nothing is indexed yet: waiting for `cairn index` with the same --datadir");
            (FollowedIndex::awaited(open), None)
        }
    };
    Ok((followed, scratch, network))
}
