//! `spenders`: the inputs that spend the outputs of a transaction.
//!
//! ```text
//! funding TxNum (5) → n × (vout │ spender TxNum − funding TxNum │ vin), ascending vout
//! ```
//!
//! A transaction without spent outputs has no row.

use cairn_model::TxNum;

use crate::{
    codec::{DecodeError, Input, ValueCodec, put_varint},
    table::{Home, Origin, Tuning, table},
};

table! {
    /// The table.
    // Unspent transactions have no row; the filter spares their look-up.
    pub struct Spenders("spenders": TxNum => SpenderRow)
        in Home::Own(Tuning { filter_bits: 10, ..Tuning::SHORT }), from Origin::Stage("spends");
}

/// One spent output.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Spender {
    /// The output.
    pub vout: u32,
    /// TxNum of the spender minus TxNum of the funding transaction; at least 1.
    pub distance: u64,
    /// The input that spends it.
    pub vin: u32,
}

/// The spent outputs, by ascending vout.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SpenderRow(pub Vec<Spender>);

/// Bytes of a spent output in a row, at least.
const LEAST_BYTES: usize = 3;

impl ValueCodec for SpenderRow {
    fn encode(&self, out: &mut Vec<u8>) {
        for s in &self.0 {
            put_varint(out, s.vout.into());
            put_varint(out, s.distance);
            put_varint(out, s.vin.into());
        }
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        let mut rows: Vec<Spender> = Vec::with_capacity(b.left() / LEAST_BYTES);
        while b.left() > 0 {
            let spender = Spender { vout: b.varint32()?, distance: b.varint()?, vin: b.varint32()? };
            if !(1..TxNum::LIMIT).contains(&spender.distance) {
                return Err(b.error("distance"));
            }
            if rows.last().is_some_and(|last| last.vout >= spender.vout) {
                return Err(b.error("outputs out of order"));
            }
            rows.push(spender);
        }
        Ok(SpenderRow(rows))
    }
}
