//! `totals`: sums per script. The script itself is not stored here; its first output has it.
//!
//! ```text
//! ScriptId (9) →
//!   funded │ spent │ funded count │ spent count │ 16 × transactions + template │ first TxNum (5) │ first vout │ last − first
//!   [│ last − TxNum of the newest history row's first entry]          only above 128 transactions
//! ```

use cairn_model::{Outpoint, Sats, ScriptId, ScriptTemplate, TxNum};

use crate::{
    codec::{DecodeError, Input, ValueCodec, put_amount, put_varint},
    history::ENTRIES_PER_ROW,
    table::{Home, Origin, Tuning, table},
};

table! {
    /// The table.
    // Every output at the tip asks whether its script is known; new ones are the common case.
    pub struct TotalsTable("totals": ScriptId => Totals)
        in Home::Own(Tuning { filter_bits: 10, filter_prefix: 8, ..Tuning::SHORT }), from Origin::Stage("scripts");
}

/// Bits of a template's code.
const TEMPLATE_BITS: u32 = 4;

/// Sums over all confirmed transactions of a script.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Totals {
    /// Sum of the coins it received.
    pub funded: Sats,
    /// Sum of its coins that were spent (or overwritten, BIP 30).
    pub spent: Sats,
    /// Number of coins it received.
    pub funded_count: u64,
    /// Number of its coins that were spent (or overwritten).
    pub spent_count: u64,
    /// Number of transactions that fund it or spend from it: the entries of its history.
    pub tx_count: u64,
    /// Its first output.
    pub first: Outpoint,
    /// Its newest transaction.
    pub last: TxNum,
    /// First entry of the newest row of its history, which is that row's key.
    pub tail: TxNum,
    /// Its template.
    pub template: ScriptTemplate,
}

impl Totals {
    /// Its balance.
    #[must_use]
    pub fn balance(&self) -> Sats {
        self.funded - self.spent
    }

    /// Number of its unspent coins.
    #[must_use]
    pub fn coin_count(&self) -> u64 {
        self.funded_count - self.spent_count
    }
}

impl ValueCodec for Totals {
    fn encode(&self, out: &mut Vec<u8>) {
        put_amount(out, self.funded);
        put_amount(out, self.spent);
        put_varint(out, self.funded_count);
        put_varint(out, self.spent_count);
        put_varint(out, self.tx_count << TEMPLATE_BITS | u64::from(self.template.code()));
        out.extend_from_slice(&self.first.tx_num.to_be5());
        put_varint(out, self.first.vout.into());
        put_varint(out, self.last.0 - self.first.tx_num.0);
        if self.tx_count > ENTRIES_PER_ROW {
            put_varint(out, self.last.0 - self.tail.0);
        }
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        let (funded, spent) = (b.amount()?, b.amount()?);
        let (funded_count, spent_count, packed) = (b.varint()?, b.varint()?, b.varint()?);
        let tx_count = packed >> TEMPLATE_BITS;
        let template = ScriptTemplate::from_code((packed & 0xf) as u8).ok_or_else(|| b.error("template"))?;
        let first = Outpoint { tx_num: b.tx_num()?, vout: b.varint32()? };
        let last = first.tx_num.0.checked_add(b.varint()?).ok_or_else(|| b.error("last"))?;
        let tail = if tx_count > ENTRIES_PER_ROW {
            let tail = last.checked_sub(b.varint()?).filter(|tail| *tail > first.tx_num.0);
            tail.ok_or_else(|| b.error("tail"))?
        } else {
            first.tx_num.0
        };
        if spent > funded
            || spent_count > funded_count
            || !(1..TxNum::LIMIT).contains(&tx_count)
            || last >= TxNum::LIMIT
        {
            return Err(b.error("sums that cannot be"));
        }
        let (last, tail) = (TxNum(last), TxNum(tail));
        Ok(Totals { funded, spent, funded_count, spent_count, tx_count, first, last, tail, template })
    }
}
