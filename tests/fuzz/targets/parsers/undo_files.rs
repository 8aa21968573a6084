//! Undo files beside a sound block file: coins that are read fit their block.

use std::{fs, sync::LazyLock};

use cairn_model::{MAX_MONEY, Network};
use cairn_sources::{BlockFiles, SourceError, decode_undo};
use tempfile::TempDir;

use super::{bounds::within, chain::Chain};

/// Memory for windows of files, which are searched in pieces of 1 MiB.
const FREE_BYTES: u64 = 4 << 20;

static CHAIN: LazyLock<Chain> = LazyLock::new(|| Chain::new(5));

/// The content of `rev00000.dat` after a zero byte; after another, undo data for the block of that height, to which
/// its checksum is added.
pub fn run(bytes: &[u8]) {
    thread_local! {
        static FOLDER: TempDir = {
            let folder = TempDir::new().unwrap();
            fs::write(folder.path().join("blk00000.dat"), CHAIN.block_file()).unwrap();
            folder
        };
    }
    let Some((&height, rest)) = bytes.split_first() else { return };
    let content = match usize::from(height) % CHAIN.blocks.len() {
        0 => rest.to_vec(),
        height => CHAIN.undo_record(height, rest),
    };
    FOLDER.with(|folder| {
        fs::write(folder.path().join("rev00000.dat"), &content).unwrap();
        within(FREE_BYTES + 80 * content.len() as u64, || check(folder, &content)).unwrap();
    });
}

/// The block file is sound: no undo file keeps its blocks from being found.
fn check(folder: &TempDir, content: &[u8]) -> Result<(), SourceError> {
    let files = BlockFiles::open(folder.path(), Network::Regtest)?;
    let survey = files.survey(&|_| {})?;
    assert_eq!(survey.len(), CHAIN.blocks.len());
    let mut buf = Vec::new();
    for block in survey.blocks(0..u32::MAX) {
        let decoded = files.read_decoded(&block, 8, &mut buf)?;
        if let Some(place) = block.undo {
            assert!(place.offset + u64::from(place.size) + 32 <= content.len() as u64, "{place:?}");
        }
        let Ok(Some(undo)) = files.read_undo(&block, &decoded, &mut buf) else { continue };
        assert!(undo.fits(&decoded) && undo.heights_known());
        assert!(undo.coins.iter().all(|coin| coin.birth <= block.height && coin.value <= MAX_MONEY));
        let place = block.undo.unwrap();
        let raw = &content[place.offset as usize..place.offset as usize + place.size as usize];
        assert_eq!(decode_undo(raw).as_ref(), Ok(&undo));
    }
    Ok(())
}
