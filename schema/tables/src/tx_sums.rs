//! `tx_sums`: what each transaction moved, in the rows of `block_log`: lists of transactions need no other row for fee
//! and volume.
//!
//! ```text
//! TxNum of the block_log row (5) → n × (fee │ sum of the inputs)          both 0 for a coinbase
//! ```

use cairn_model::{Block, Sats, TxNum};

use crate::{
    block_log::TXS_PER_ROW,
    codec::{DecodeError, Input, ValueCodec, put_amount},
    table::{Home, Origin, Tuning, table},
};

table! {
    /// The table.
    // Rows of some 400 bytes: packed amounts, which do not compress.
    pub struct TxSums("tx_sums": TxNum => TxSumsRow)
        in Home::Own(Tuning { block_size: 4 << 10, ..Tuning::PLAIN }), from Origin::Stage("ages");
}

/// Sums of one transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TxSum {
    /// Fee; 0 for a coinbase.
    pub fee: Sats,
    /// Sum of the coins that it spends.
    pub inputs: Sats,
}

/// The transactions of a row of `block_log`, in its order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TxSumsRow(pub Vec<TxSum>);

/// The rows of a block: the row's first transaction, and the row.
pub fn rows_of(block: &Block) -> impl Iterator<Item = (TxNum, TxSumsRow)> + '_ {
    block.txs.chunks(TXS_PER_ROW).enumerate().map(|(chunk, txs)| {
        let moved = txs.iter().enumerate().map(|(i, tx)| {
            let inputs: Sats = block.inputs_of(tx).iter().map(|coin| coin.value).sum();
            let outputs: Sats = block.outputs_of(tx).iter().map(|output| output.value).sum();
            // The first transaction of a block makes money.
            let fee = if chunk + i == 0 { 0 } else { inputs.saturating_sub(outputs) };
            TxSum { fee, inputs }
        });
        (block.tx_num(chunk * TXS_PER_ROW), TxSumsRow(moved.collect()))
    })
}

impl ValueCodec for TxSumsRow {
    fn encode(&self, out: &mut Vec<u8>) {
        for moved in &self.0 {
            put_amount(out, moved.fee);
            put_amount(out, moved.inputs);
        }
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        let mut row = Vec::with_capacity(TXS_PER_ROW);
        while b.left() > 0 {
            if row.len() == TXS_PER_ROW {
                return Err(b.error("more transactions than a row has"));
            }
            let moved = TxSum { fee: b.amount()?, inputs: b.amount()? };
            if moved.fee > moved.inputs {
                return Err(b.error("a fee above the inputs"));
            }
            row.push(moved);
        }
        if row.is_empty() { Err(b.error("no transaction")) } else { Ok(TxSumsRow(row)) }
    }
}
