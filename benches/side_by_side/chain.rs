//! The chain that all of them index.

use std::{
    fs,
    path::{Path, PathBuf},
};

use bitcoin::{Address, Block, BlockHash, Network, ScriptBuf, consensus::deserialize, hashes::Hash, hashes::sha256};
use cairn_chaingen::{
    corefiles::{FileOptions, Writer},
    mainnet::{MainnetOptions, MainnetStats, mainnet_blocks},
};

use crate::electrum::{Counted, Questions};

/// Block files as Core keeps them, and what to ask about them.
pub(crate) struct Chain {
    /// The node's data folder; the block files are in its `regtest/blocks`.
    pub(crate) node_folder: PathBuf,
    /// The same blocks framed with mainnet's magic, for programs that know no other.
    pub(crate) with_main_magic: PathBuf,
    /// The last block.
    pub(crate) tip: BlockHash,
    /// Its height.
    pub(crate) height: u64,
    /// Bytes of all blocks.
    pub(crate) bytes: u64,
    /// The script that its coinbase pays.
    script: ScriptBuf,
    /// The questions of a wallet about it.
    pub(crate) questions: Questions,
    stats: MainnetStats,
}

impl Chain {
    /// Writes it. The obfuscation key is zero, since not every program undoes one.
    pub(crate) fn make(folder: &Path, bytes: u64) -> Self {
        let node_folder = folder.join("node");
        let with_main_magic = folder.join("main-magic");
        let options = FileOptions::new(Network::Regtest, [0; 8]);
        let main_options = FileOptions { magic: Network::Bitcoin.magic().to_bytes(), undo: false, ..options.clone() };
        let mut writer = Writer::create(&node_folder.join("regtest/blocks"), options).unwrap();
        let mut main_writer = Writer::create(&with_main_magic, main_options).unwrap();
        let (mut last, mut counted) = (Vec::new(), Counted::default());
        let stats = mainnet_blocks(&MainnetOptions::new(1, bytes), |raw| {
            let location = writer.block(raw.block)?;
            if let Some(undo) = raw.undo {
                writer.undo(location.file, &raw.previous, undo)?;
            }
            main_writer.block(raw.block)?;
            counted.add(&deserialize(raw.block).expect("a block"));
            last.clear();
            last.extend_from_slice(raw.block);
            Ok(())
        })
        .unwrap();
        writer.finish().unwrap();
        main_writer.finish().unwrap();
        let last: Block = deserialize(&last).unwrap();
        Chain {
            node_folder,
            with_main_magic,
            tip: last.block_hash(),
            height: stats.total.blocks - 1,
            bytes: stats.total.bytes,
            script: last.txdata[0].output[0].script_pubkey.clone(),
            questions: counted.questions(),
            stats,
        }
    }

    pub(crate) fn described(&self) -> String {
        let total = &self.stats.total;
        format!(
            "{} blocks, {:.1} MB: {} transactions, {} inputs, {} outputs (mainnet shape, seed 1, {} empty blocks)",
            total.blocks,
            total.bytes as f64 / 1e6,
            total.txs,
            total.inputs,
            total.outputs,
            total.blocks - self.stats.body.blocks,
        )
    }

    /// Folder of the block files.
    pub(crate) fn blocks(&self) -> PathBuf {
        let folder = self.node_folder.join("regtest/blocks");
        assert!(fs::exists(folder.join("blk00000.dat")).unwrap());
        folder
    }

    /// SHA-256 of the last block's script, hexadecimal, first byte first.
    pub(crate) fn script_hash(&self) -> String {
        sha256::Hash::hash(self.script.as_bytes()).to_string()
    }

    /// The same, last byte first.
    pub(crate) fn script_hash_reversed(&self) -> String {
        let mut bytes = sha256::Hash::hash(self.script.as_bytes()).to_byte_array();
        bytes.reverse();
        hex::encode(bytes)
    }

    /// The last block's address in mainnet's form.
    pub(crate) fn main_address(&self) -> String {
        Address::from_script(&self.script, Network::Bitcoin).expect("pools mine to addresses").to_string()
    }
}
