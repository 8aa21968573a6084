//! `headers`: one row for each block of the active chain.
//!
//! ```text
//! height (4, big-endian) →
//!   hash (32) │ header (80) │ monotone time (4) │ first TxNum (5) │ transactions │ size │ weight │ fees │
//!   output sum │ coinbase output sum │ inputs │ outputs │ file + 1 (0: none) [│ offset] │ coinbase scriptSig (rest)
//! ```

use cairn_model::{Block, BlockHash, FilePos, Height, MonoTime, Sats, TxNum};

use crate::{
    codec::{DecodeError, Input, MAX_BLOCK_SIZE, ValueCodec, put_amount, put_varint},
    table::{Home, Origin, Tuning, table},
};

table! {
    /// The table.
    // Read in runs by height and one by one; hashes do not compress.
    pub struct Headers("headers": Height => HeaderRow)
        in Home::Own(Tuning { block_size: 4 << 10, ..Tuning::PLAIN }), from Origin::Stage("chain");
}

/// A block without its transactions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HeaderRow {
    /// Hash of the block: double SHA-256 of the header.
    pub hash: BlockHash,
    /// The 80 bytes of the header.
    pub header: [u8; 80],
    /// Largest header time up to this block.
    pub mono_time: MonoTime,
    /// Number of the coinbase.
    pub first_tx: TxNum,
    /// Number of transactions.
    pub tx_count: u32,
    /// Bytes, including witnesses.
    pub size: u32,
    /// Weight units.
    pub weight: u32,
    /// Fees of all transactions.
    pub fees: Sats,
    /// Sum of all outputs, including the coinbase.
    pub output_sats: Sats,
    /// Sum of the coinbase outputs.
    pub coinbase_sats: Sats,
    /// Number of inputs, without the coinbase.
    pub input_count: u32,
    /// Number of outputs.
    pub output_count: u32,
    /// File position of the raw bytes, if they are in a block file.
    pub position: Option<FilePos>,
    /// scriptSig of the coinbase.
    pub coinbase_script: Vec<u8>,
}

impl HeaderRow {
    /// The row of a block.
    #[must_use]
    pub fn of(block: &Block) -> Self {
        // Only a block that no node accepts moves more than fits; saturate rather than panic if a file holds one.
        let output_sats = block.outputs.iter().map(|o| o.value).fold(0, Sats::saturating_add);
        let coinbase = block.txs.first().map_or(&[][..], |tx| block.outputs_of(tx));
        let coinbase_sats = coinbase.iter().map(|o| o.value).fold(0, Sats::saturating_add);
        let input_sats = block.inputs.iter().map(|i| i.value).fold(0, Sats::saturating_add);
        HeaderRow {
            hash: block.hash,
            header: block.header,
            mono_time: block.mono_time,
            first_tx: block.first_tx,
            tx_count: block.txs.len() as u32,
            size: block.size,
            weight: block.weight() as u32,
            // A chain that Core accepted never has fees below zero.
            fees: input_sats.saturating_add(coinbase_sats).saturating_sub(output_sats),
            output_sats,
            coinbase_sats,
            input_count: block.inputs.len() as u32,
            output_count: block.outputs.len() as u32,
            position: block.position,
            coinbase_script: block.coinbase_script.clone(),
        }
    }

    /// A row without the position of its block: only its facts about the chain, whichever source it was made from.
    #[must_use]
    pub fn without_position(self) -> Self {
        HeaderRow { position: None, ..self }
    }

    /// The header's own time, seconds since 1970.
    #[must_use]
    pub fn time(&self) -> u32 {
        self.field(68)
    }

    /// Version field.
    #[must_use]
    pub fn version(&self) -> i32 {
        self.field(0) as i32
    }

    /// Compact target.
    #[must_use]
    pub fn bits(&self) -> u32 {
        self.field(72)
    }

    /// The nonce in the header.
    #[must_use]
    pub fn nonce(&self) -> u32 {
        self.field(76)
    }

    /// Hash of the previous block.
    #[must_use]
    pub fn previous(&self) -> BlockHash {
        let mut bytes = [0u8; 32];
        bytes.copy_from_slice(&self.header[4..36]);
        BlockHash(bytes)
    }

    /// Merkle root, protocol byte order.
    #[must_use]
    pub fn merkle_root(&self) -> [u8; 32] {
        let mut bytes = [0u8; 32];
        bytes.copy_from_slice(&self.header[36..68]);
        bytes
    }

    fn field(&self, at: usize) -> u32 {
        let h = &self.header;
        u32::from_le_bytes([h[at], h[at + 1], h[at + 2], h[at + 3]])
    }
}

impl ValueCodec for HeaderRow {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.hash.0);
        out.extend_from_slice(&self.header);
        out.extend_from_slice(&self.mono_time.to_be_bytes());
        out.extend_from_slice(&self.first_tx.to_be5());
        put_varint(out, self.tx_count.into());
        put_varint(out, self.size.into());
        put_varint(out, self.weight.into());
        put_amount(out, self.fees);
        put_amount(out, self.output_sats);
        put_amount(out, self.coinbase_sats);
        put_varint(out, self.input_count.into());
        put_varint(out, self.output_count.into());
        match self.position {
            None => out.push(0),
            Some(p) => {
                put_varint(out, u64::from(p.file) + 1);
                put_varint(out, p.offset);
            }
        }
        out.extend_from_slice(&self.coinbase_script);
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        let hash = BlockHash(b.array()?);
        let header = b.array()?;
        let mono_time = u32::from_be_bytes(b.array()?);
        let first_tx = b.tx_num()?;
        let (tx_count, size, weight) = (b.varint32()?, b.varint32()?, b.varint32()?);
        let (fees, output_sats, coinbase_sats) = (b.amount()?, b.amount()?, b.amount()?);
        let (input_count, output_count) = (b.varint32()?, b.varint32()?);
        // Readers add these up and reserve memory for the sum.
        let counts_fit = [tx_count, input_count, output_count].iter().all(|n| *n <= size);
        if !counts_fit || size > MAX_BLOCK_SIZE || first_tx.0 + u64::from(tx_count) > TxNum::LIMIT {
            return Err(b.error("counts that no block has"));
        }
        let position = match b.varint()? {
            0 => None,
            n => {
                let file = u32::try_from(n - 1).map_err(|_| b.error("file number"))?;
                Some(FilePos { file, offset: b.varint()? })
            }
        };
        let coinbase_script = b.take(b.left())?.to_vec();
        Ok(HeaderRow {
            hash,
            header,
            mono_time,
            first_tx,
            tx_count,
            size,
            weight,
            fees,
            output_sats,
            coinbase_sats,
            input_count,
            output_count,
            position,
            coinbase_script,
        })
    }
}
