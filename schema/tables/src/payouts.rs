//! `payouts`: whom the coinbase of each block pays.
//!
//! ```text
//! 'p' ‖ height (4) → spendable outputs │ n × (value │ SHA-256 of the script (32))     the largest, 8 at most
//! ```
//!
//! Claims are keyed by the whole hash of a script, so a look-up of one needs no other row: an id of 9 bytes would save
//! 20 MB of some 45 MB for the whole main chain, and cost a read of the log for each script. Outputs that nobody can
//! spend are left out: those of the witness commitment, of merged mining, and of genesis.

use cairn_model::{Height, Sats};

use crate::{
    codec::{DecodeError, Input, MAX_BLOCK_SIZE, ValueCodec, put_amount, put_varint},
    table::{Home, Origin, table},
};

/// Most outputs that a row has.
pub const MAX_PAYOUTS: usize = 8;

table! {
    /// The table.
    pub struct Payouts("payouts": Height => PayoutsRow) in Home::Shared(b'p'), from Origin::Stage("payouts");
}

/// An output of a coinbase.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Payout {
    /// Its value.
    pub value: Sats,
    /// SHA-256 of its script.
    pub script: [u8; 32],
}

/// The outputs of a coinbase that can be spent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PayoutsRow {
    /// How many there are.
    pub outputs: u32,
    /// The [`MAX_PAYOUTS`] largest, the largest first; of equal values, in the order of the outputs.
    pub largest: Vec<Payout>,
}

impl ValueCodec for PayoutsRow {
    fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.outputs.into());
        for payout in &self.largest {
            put_amount(out, payout.value);
            out.extend_from_slice(&payout.script);
        }
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        let outputs = b.varint32()?;
        if outputs > MAX_BLOCK_SIZE {
            return Err(b.error("counts that no block has"));
        }
        let count = MAX_PAYOUTS.min(outputs as usize);
        let mut largest: Vec<Payout> = Vec::with_capacity(count);
        for _ in 0..count {
            let payout = Payout { value: b.amount()?, script: b.array()? };
            if largest.last().is_some_and(|before| before.value < payout.value) {
                return Err(b.error("order of payouts"));
            }
            largest.push(payout);
        }
        Ok(PayoutsRow { outputs, largest })
    }
}
