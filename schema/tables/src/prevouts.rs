//! `prevouts`: the outputs that the inputs of a row of `block_log` spend, in the same order. It is a separate table,
//! because bulk indexing knows these numbers only after `block_log` is written.
//!
//! ```text
//! TxNum of the block_log row (5) → n │ n × (first TxNum + 64 − funding TxNum │ vout)
//! ```
//!
//! A row without inputs is omitted.

use std::ops::Range;

use cairn_model::{Block, Outpoint, TxNum};

use crate::{
    block_log::TXS_PER_ROW,
    codec::{DecodeError, Input, ValueCodec, put_varint},
    table::{Home, Origin, Table, Tuning, table},
};

table! {
    /// The table.
    // Rows of some 1 KB. Requests read single ones.
    pub struct Prevouts("prevouts": TxNum => PrevoutRow)
        in Home::Own(Tuning { block_size: 4 << 10, ..Tuning::PLAIN }), from Origin::Stage("chain");
}

/// The stored row: distances back from the end of the `block_log` row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PrevoutRow(pub Vec<(u64, u32)>);

impl PrevoutRow {
    /// Packs the outpoints that a `block_log` row starting at `first` spends.
    #[must_use]
    pub fn pack(first: TxNum, outpoints: impl Iterator<Item = Outpoint>) -> Self {
        let end = first.0 + TXS_PER_ROW as u64;
        PrevoutRow(outpoints.map(|o| (end - o.tx_num.0, o.vout)).collect())
    }

    /// The outpoints.
    pub fn unpack(&self, first: TxNum) -> Result<Vec<Outpoint>, DecodeError> {
        let end = first.0 + TXS_PER_ROW as u64;
        let outpoint = |&(back, vout): &(u64, u32)| {
            let tx_num = end.checked_sub(back).ok_or(DecodeError { table: Prevouts::NAME, what: "distance" })?;
            Ok(Outpoint { tx_num: TxNum(tx_num), vout })
        };
        self.0.iter().map(outpoint).collect()
    }
}

impl PrevoutRow {
    /// The outpoints of the inputs `range` of a row under the key `first`.
    pub fn unpack_some(bytes: &[u8], first: TxNum, range: Range<u32>) -> Result<Vec<Outpoint>, DecodeError> {
        let b = &mut Input::new(Prevouts::NAME, bytes);
        if b.count()? < range.end as usize {
            return Err(b.error("fewer inputs than in block_log"));
        }
        for _ in 0..range.start {
            b.skip_varint()?;
            b.skip_varint()?;
        }
        let some: Vec<(u64, u32)> =
            range.map(|_| Ok((b.varint()?, b.varint32()?))).collect::<Result<_, DecodeError>>()?;
        PrevoutRow(some).unpack(first)
    }
}

impl ValueCodec for PrevoutRow {
    fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.0.len() as u64);
        for &(back, vout) in &self.0 {
            put_varint(out, back);
            put_varint(out, vout.into());
        }
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        let n = b.count()?;
        // A loop with room for all takes a third fewer instructions than `collect`, which does not know their number.
        let mut outpoints = Vec::with_capacity(n);
        for _ in 0..n {
            outpoints.push((b.varint()?, b.varint32()?));
        }
        Ok(PrevoutRow(outpoints))
    }
}

/// The rows of a block: `emit(first TxNum, row)`.
pub fn encode_block(block: &Block, mut emit: impl FnMut(TxNum, PrevoutRow)) {
    for (i, chunk) in block.txs.chunks(TXS_PER_ROW).enumerate() {
        let (Some(first), Some(last)) = (chunk.first(), chunk.last()) else { continue };
        let inputs = &block.inputs[first.inputs.start as usize..last.inputs.end as usize];
        if !inputs.is_empty() {
            let first = block.tx_num(i * TXS_PER_ROW);
            emit(first, PrevoutRow::pack(first, inputs.iter().map(|c| c.outpoint)));
        }
    }
}
