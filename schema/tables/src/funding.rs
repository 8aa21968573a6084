//! `funding`: what made the largest coin of each transaction, in the rows of `block_log`: whoever goes back along the
//! largest inputs reads neither transactions nor what they spend.
//!
//! ```text
//! TxNum of the block_log row (5) → n × TxNum distance to what made the largest coin     0 for a coinbase
//! ```

use cairn_model::{Block, SpentCoin, TxNum};

use crate::{
    block_log::TXS_PER_ROW,
    codec::{DecodeError, Input, ValueCodec, put_varint},
    table::{Home, Origin, Table, Tuning, table},
};

table! {
    /// The table.
    // Rows of some 150 bytes, which hardly compress.
    pub struct Funding("funding": TxNum => FundingRow)
        in Home::Own(Tuning { block_size: 4 << 10, ..Tuning::PLAIN }), from Origin::Stage("funding");
}

/// For each transaction of a row of `block_log`, in that order: its distance in transactions from the one that made its
/// largest coin; 0 for a coinbase.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FundingRow(pub Vec<u64>);

/// The transaction that made the largest coin; of equal ones, the first.
#[must_use]
pub fn funding(coins: &[SpentCoin]) -> Option<TxNum> {
    let largest = coins.iter().enumerate().max_by(|(i, a), (j, b)| a.value.cmp(&b.value).then(j.cmp(i)));
    largest.map(|(_, coin)| coin.outpoint.tx_num)
}

/// The rows of a block: the row's first transaction, and the row.
pub fn rows_of(block: &Block) -> impl Iterator<Item = (TxNum, FundingRow)> + '_ {
    block.txs.chunks(TXS_PER_ROW).enumerate().map(|(chunk, txs)| {
        let distance = |(i, tx)| {
            let funding = funding(block.inputs_of(tx));
            funding.map_or(0, |funding| block.tx_num(chunk * TXS_PER_ROW + i).0.saturating_sub(funding.0))
        };
        (block.tx_num(chunk * TXS_PER_ROW), FundingRow(txs.iter().enumerate().map(distance).collect()))
    })
}

impl FundingRow {
    /// The distance of one transaction, without the others. `None` if the row is shorter.
    pub fn find(bytes: &[u8], at: usize) -> Result<Option<u64>, DecodeError> {
        let mut b = Input::new(Funding::NAME, bytes);
        for _ in 0..at {
            if b.left() == 0 {
                return Ok(None);
            }
            b.skip_varint()?;
        }
        if b.left() == 0 { Ok(None) } else { b.varint().map(Some) }
    }
}

impl ValueCodec for FundingRow {
    fn encode(&self, out: &mut Vec<u8>) {
        self.0.iter().for_each(|distance| put_varint(out, *distance));
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        let mut row = Vec::with_capacity(TXS_PER_ROW);
        while b.left() > 0 {
            if row.len() == TXS_PER_ROW {
                return Err(b.error("more transactions than a row has"));
            }
            row.push(b.varint()?);
        }
        if row.is_empty() { Err(b.error("no transaction")) } else { Ok(FundingRow(row)) }
    }
}
