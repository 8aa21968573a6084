//! Opens a folder of block files whose network may not be known.

use std::path::Path;

use cairn_model::{ChainParams, Network};
use cairn_sources::{BlockFiles, SourceError};

/// Opens the block files in `dir`; without `chain`, on the network whose magic they start with.
///
/// # Errors
/// Fails as [`BlockFiles::open`] does. A custom signet is not found out: its challenge must be given.
pub fn open_blocks(dir: &Path, chain: Option<ChainParams>) -> Result<BlockFiles, SourceError> {
    match (chain, BlockFiles::open(dir, chain.unwrap_or_else(|| Network::Main.into()))) {
        (None, Err(SourceError::WrongNetwork { found, .. })) => BlockFiles::open(dir, found),
        (_, opened) => opened,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use cairn_chaingen::corefiles::{FileOptions, Layout, write_chain};

    use super::*;

    #[test]
    fn the_network_is_found_out_unless_it_is_given() {
        let dir = tempfile::tempdir().unwrap();
        let mut chain = cairn_chaingen::Everything::new(3, 2, false);
        chain.grow(5).unwrap();
        let layout = Layout::tidy(FileOptions::new(bitcoin::Network::Regtest, [5; 8]));
        write_chain(dir.path(), chain.chain(), &layout).unwrap();
        assert_eq!(open_blocks(dir.path(), None).unwrap().network(), Network::Regtest);
        let wrong = open_blocks(dir.path(), Some(Network::Main.into()));
        assert!(matches!(wrong, Err(SourceError::WrongNetwork { found: Network::Regtest, .. })));
    }
}
