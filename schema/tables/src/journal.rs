//! Journal data besides the blocks.
//!
//! ```text
//! collisions   'c' ‖ script prefix (8)  → the scripts with that prefix, in order of first appearance
//! overwritten  'o' ‖ height (4)         → coins that the block overwrote (BIP 30)
//! ```

use cairn_model::{Height, InputFlags, Outpoint, Overwritten, ScriptId, ScriptPrefix, SpentCoin, TxNum};

use crate::{
    codec::{DecodeError, Input, TEMPLATE_SHIFT, ValueCodec, put_amount, put_bytes, put_varint},
    table::{Home, Origin, table},
};

table! {
    /// Scripts that share a prefix. Only prefixes of at least two scripts have a row, so mainnet should have none.
    // The resolver writes it, which alone sees a script before it has an id.
    pub struct Collisions("collisions": ScriptPrefix => CollidingScripts)
        in Home::Shared(b'c'), from Origin::Stage("chain");
}

/// The scripts of a prefix; the index of each is its ordinal. Each with its first output, so that a reorg that removes
/// that output can take the script out again.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CollidingScripts(pub Vec<(TxNum, Vec<u8>)>);

impl ValueCodec for CollidingScripts {
    fn encode(&self, out: &mut Vec<u8>) {
        for (first, script) in &self.0 {
            out.extend_from_slice(&first.to_be5());
            put_bytes(out, script);
        }
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        let mut scripts = Vec::new();
        while b.left() > 0 {
            scripts.push((b.tx_num()?, b.bytes()?.to_vec()));
        }
        Ok(CollidingScripts(scripts))
    }
}

table! {
    /// Coins overwritten because a later coinbase had the same txid.
    pub struct OverwrittenCoins("overwritten": Height => OverwrittenRow)
        in Home::Shared(b'o'), from Origin::Stage("chain");
}

/// The coins that one block overwrote.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OverwrittenRow(pub Vec<Overwritten>);

impl ValueCodec for OverwrittenRow {
    fn encode(&self, out: &mut Vec<u8>) {
        for Overwritten { by, coin } in &self.0 {
            put_varint(out, (*by).into());
            out.extend_from_slice(&coin.outpoint.tx_num.to_be5());
            put_varint(out, coin.outpoint.vout.into());
            put_amount(out, coin.value);
            out.extend_from_slice(&coin.script.to_bytes());
            put_varint(out, coin.birth.into());
            out.push(u8::from(coin.flags.coinbase) | coin.flags.template.code() << TEMPLATE_SHIFT);
        }
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        let mut rows = Vec::new();
        while b.left() > 0 {
            let by = b.varint32()?;
            let outpoint = Outpoint { tx_num: b.tx_num()?, vout: b.varint32()? };
            let (value, script, birth) = (b.coin_amount()?, ScriptId::from_bytes(b.array()?), b.varint32()?);
            let (coinbase, template) = b.coin_flags()?;
            let flags = InputFlags { coinbase, anyone_can_pay: false, template };
            rows.push(Overwritten { by, coin: SpentCoin { outpoint, value, script, birth, flags } });
        }
        Ok(OverwrittenRow(rows))
    }
}
