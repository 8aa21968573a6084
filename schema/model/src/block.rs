//! A block as the stages see it. It is flat (a few vectors, ranges instead of nested ones), because millions of them
//! pass through and allocation would cost more than decoding.

use std::ops::Range;

use crate::{BlockHash, Height, MonoTime, Outpoint, Sats, ScriptId, ScriptTemplate, TxNum, Txid};

/// File position of a block's raw bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FilePos {
    /// Number of the `blk?????.dat` file.
    pub file: u32,
    /// Offset of the block's first byte (after magic and size) in the file.
    pub offset: u64,
}

/// Facts about an input that its scripts reveal and that stages need without the raw bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct InputFlags {
    /// The spent coin is an output of a coinbase.
    pub coinbase: bool,
    /// Some signature of the input has SIGHASH_ANYONECANPAY.
    pub anyone_can_pay: bool,
    /// Template of the spent coin's script.
    pub template: ScriptTemplate,
}

/// A coin that an input spends, or that a BIP 30 duplicate overwrites.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SpentCoin {
    /// Its outpoint, by `TxNum`.
    pub outpoint: Outpoint,
    /// Its value.
    pub value: Sats,
    /// Id of its scriptPubKey.
    pub script: ScriptId,
    /// Height of the block that created it.
    pub birth: Height,
    /// Facts about coin and input.
    pub flags: InputFlags,
}

/// An output; its script is in [`Block::scripts`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OutputMeta {
    /// Its value.
    pub value: Sats,
    /// Its scriptPubKey, as a range of [`Block::scripts`].
    pub script: Range<u32>,
    /// Id of the script. Meaningless where `spendable` is false: such scripts get no id.
    pub id: ScriptId,
    /// False for outputs that never enter the coin set: OP_RETURN, oversized scripts, and the coinbase of genesis.
    pub spendable: bool,
}

/// A transaction: its inputs and outputs are ranges of the block's vectors.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TxMeta {
    /// Transaction id.
    pub txid: Txid,
    /// Serialized size in bytes, with witness.
    pub size: u32,
    /// Serialized size in bytes, without witness.
    pub base_size: u32,
    /// Its inputs, as a range of [`Block::inputs`]; empty for a coinbase.
    pub inputs: Range<u32>,
    /// Its outputs, as a range of [`Block::outputs`].
    pub outputs: Range<u32>,
}

impl TxMeta {
    /// Weight units (BIP 141).
    #[must_use]
    pub fn weight(&self) -> u64 {
        u64::from(self.base_size) * 3 + u64::from(self.size)
    }

    /// Virtual size: weight / 4, rounded up (BIP 141).
    #[must_use]
    pub fn vsize(&self) -> u64 {
        self.weight().div_ceil(4)
    }
}

/// A coin that vanished because a later coinbase had the same txid (BIP 30: mainnet 91,842 and 91,880).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Overwritten {
    /// Index within the block of the transaction that overwrote it.
    pub by: u32,
    /// The overwritten coin.
    pub coin: SpentCoin,
}

/// A connected block, resolved: each input has the coin that it spends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Block {
    /// Height on the active chain.
    pub height: Height,
    /// Hash of the header.
    pub hash: BlockHash,
    /// The 80 bytes of the header.
    pub header: [u8; 80],
    /// Monotone time: the largest header time up to this block.
    pub mono_time: MonoTime,
    /// Number of the coinbase; the others follow.
    pub first_tx: TxNum,
    /// Serialized size in bytes, with witness.
    pub size: u32,
    /// File position of the raw bytes; `None` if the block came from a node.
    pub position: Option<FilePos>,
    /// scriptSig of the coinbase (pool tags), at most 100 bytes by consensus.
    pub coinbase_script: Vec<u8>,
    /// Transactions in order.
    pub txs: Vec<TxMeta>,
    /// Coins spent, in the order of the inputs; a coinbase has none.
    pub inputs: Vec<SpentCoin>,
    /// Outputs in order.
    pub outputs: Vec<OutputMeta>,
    /// scriptPubKeys, concatenated.
    pub scripts: Vec<u8>,
    /// Coins that this block overwrote (BIP 30); empty except for two mainnet blocks.
    pub overwritten: Vec<Overwritten>,
}

impl Block {
    /// The header's own time, seconds since 1970.
    #[must_use]
    pub fn time(&self) -> u32 {
        let h = &self.header;
        u32::from_le_bytes([h[68], h[69], h[70], h[71]])
    }

    /// Hash of the previous block.
    #[must_use]
    pub fn previous(&self) -> BlockHash {
        let mut bytes = [0u8; 32];
        bytes.copy_from_slice(&self.header[4..36]);
        BlockHash(bytes)
    }

    /// Number of the transaction at `index` in the block.
    #[must_use]
    pub fn tx_num(&self, index: usize) -> TxNum {
        TxNum(self.first_tx.0 + index as u64)
    }

    /// Inputs of a transaction.
    #[must_use]
    pub fn inputs_of(&self, tx: &TxMeta) -> &[SpentCoin] {
        &self.inputs[tx.inputs.start as usize..tx.inputs.end as usize]
    }

    /// Outputs of a transaction.
    #[must_use]
    pub fn outputs_of(&self, tx: &TxMeta) -> &[OutputMeta] {
        &self.outputs[tx.outputs.start as usize..tx.outputs.end as usize]
    }

    /// scriptPubKey of an output.
    #[must_use]
    pub fn script(&self, output: &OutputMeta) -> &[u8] {
        &self.scripts[output.script.start as usize..output.script.end as usize]
    }

    /// Weight of the block (BIP 141): 80 bytes of header and the count, which weigh 4 each, and the transactions.
    #[must_use]
    pub fn weight(&self) -> u64 {
        let base: u64 = self.txs.iter().map(|t| u64::from(t.base_size)).sum();
        let total: u64 = self.txs.iter().map(|t| u64::from(t.size)).sum();
        // A damaged journal may say anything; a block that Core accepted never saturates.
        (u64::from(self.size).saturating_sub(total) + base) * 3 + u64::from(self.size)
    }
}
