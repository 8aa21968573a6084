//! Compares blocks of the journal with the raw blocks in the block files.

use cairn_model::{Block, Height};
use cairn_reader::View;
use cairn_sources::{Decoded, decode_block};
use cairn_tables::{Table, block_log::BlockLog};

use super::damage::{Damage, Repair};

/// Blocks between two that a sample compares.
const SAMPLE: u32 = 100;

/// Which blocks are compared with the block files: transactions, outputs, and the witnesses with the block's
/// commitment to them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RawCheck {
    /// None.
    #[default]
    None,
    /// Each hundredth.
    Sample,
    /// All that are in block files.
    All,
}

impl RawCheck {
    /// Whether the block at a height is compared.
    pub(crate) fn wants(self, view: &View<'_>, height: Height) -> bool {
        match self {
            RawCheck::None => false,
            RawCheck::Sample => height.is_multiple_of(SAMPLE) || height == view.tip().height,
            RawCheck::All => true,
        }
    }

    /// Returns the damage of a block, if it is one to compare.
    pub(crate) fn compare(self, view: &View<'_>, block: &Block) -> Option<Damage> {
        let wanted = self.wants(view, block.height);
        let (raw, position) = (view.raw().filter(|_| wanted)?, block.position?);
        let file = |what: String| Damage {
            place: format!("blk{:05}.dat, offset {}", position.file, position.offset),
            height: Some(block.height),
            what,
            repair: Repair::BlockFile,
        };
        let bytes = match raw.read(position, 0, block.size as usize) {
            Ok(bytes) => bytes,
            // Without the file, of a pruned node for example, there is nothing to compare with.
            Err(error) if !error.path.exists() => return None,
            Err(error) => return Some(file(error.to_string())),
        };
        let decoded = match decode_block(&bytes, view.facts().script_prefix) {
            Ok(decoded) => decoded,
            Err(error) => return Some(file(error.to_string())),
        };
        if decoded.hash != block.hash {
            return Some(file(format!("block {} is not there", block.hash)));
        }
        // The block file proves itself by its hashes, so what differs is the journal.
        let what = differs(block, &decoded)?.to_owned();
        Some(Damage { place: BlockLog::NAME.to_owned(), height: Some(block.height), what, repair: Repair::Blocks })
    }
}

fn differs(block: &Block, raw: &Decoded) -> Option<&'static str> {
    let sizes = |tx: &cairn_model::TxMeta| (tx.txid, tx.size, tx.base_size, tx.inputs.len(), tx.outputs.len());
    if !block.txs.iter().map(sizes).eq(raw.txs.iter().map(sizes)) {
        return Some("its transactions differ from those of the block file");
    }
    let outputs = block.outputs.iter().map(|o| (o.value, block.script(o)));
    if !outputs.eq(raw.outputs.iter().map(|o| (o.value, raw.script(o)))) {
        return Some("its outputs differ from those of the block file");
    }
    let inputs = block.inputs.iter().map(|i| (i.outpoint.vout, i.flags.anyone_can_pay));
    if !inputs.eq(raw.prevouts.iter().zip(&raw.flags).map(|(p, f)| (p.vout, f.anyone_can_pay))) {
        return Some("its inputs differ from those of the block file");
    }
    (block.coinbase_script != raw.coinbase_script).then_some("its coinbase differs from that of the block file")
}
