//! The coin set (UTXO set) by outpoint and by script.
//!
//! ```text
//! coins            TxNum (5) ‖ vout (4)                  → amount │ script prefix (8) │ flags [│ ordinal]
//! coins_by_script  ScriptId (9) ‖ TxNum (5) ‖ vout (4)   → amount
//! flags: 1 coinbase │ template of the script (4 bits from bit 3)
//! ```

use cairn_model::{Outpoint, Sats, ScriptId, ScriptPrefix, ScriptTemplate};

use crate::{
    codec::{DecodeError, Input, TEMPLATE_SHIFT, ValueCodec, put_amount},
    table::{Home, Origin, Tuning, table},
};

table! {
    /// Coins by outpoint.
    // Each spend at the tip is a point look-up that hits, so a filter would only cost.
    pub struct Coins("coins": Outpoint => Coin) in Home::Own(Tuning::SHORT), from Origin::Stage("coins");
}

table! {
    /// Coins by script.
    // Keys of one script share 9 bytes; restart intervals already drop them, LZ4 drops the rest.
    pub struct CoinsByScript("coins_by_script": (ScriptId, Outpoint) => CoinValue)
        in Home::Own(Tuning { block_size: 8 << 10, ..Tuning::SHORT }), from Origin::Stage("coins");
}

/// An unspent output.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Coin {
    /// Value.
    pub value: Sats,
    /// Script.
    pub script: ScriptId,
    /// True if it is an output of a coinbase.
    pub coinbase: bool,
    /// Template of its script.
    pub template: ScriptTemplate,
}

impl ValueCodec for Coin {
    fn encode(&self, out: &mut Vec<u8>) {
        put_amount(out, self.value);
        out.extend_from_slice(&self.script.prefix.0);
        out.push(u8::from(self.coinbase) | self.template.code() << TEMPLATE_SHIFT);
        if self.script.ordinal != 0 {
            out.push(self.script.ordinal);
        }
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        let value = b.coin_amount()?;
        let prefix = ScriptPrefix(b.array()?);
        let (coinbase, template) = b.coin_flags()?;
        let ordinal = if b.left() > 0 { b.ordinal()? } else { 0 };
        Ok(Coin { value, script: ScriptId { prefix, ordinal }, coinbase, template })
    }
}

/// The value of a coin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CoinValue(pub Sats);

impl ValueCodec for CoinValue {
    fn encode(&self, out: &mut Vec<u8>) {
        put_amount(out, self.0);
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        Ok(CoinValue(b.coin_amount()?))
    }
}
