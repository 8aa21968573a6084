//! Transactions that move much, and those that gather many coins: what alerts and scanners look through.
//!
//! ```text
//! large_transfers  TxNum (5) → 0 or 1 (CoinJoin) │ sats     paid to scripts that it does not spend from
//! consolidations   TxNum (5) → inputs │ outputs │ sats      what the inputs bring
//! large_change     TxNum (5) → sats                         of the first: paid to clusters that it spends from
//! ```
//!
//! Large is 100 BTC and more. A row of `large_change` stands beside one of `large_transfers` that is not a CoinJoin, if
//! some of that stays with clusters that the transaction spends from, as they are with it. The sum paid to others is
//! the difference. The stage `clusters` writes it, the others need no more than the block.

use cairn_model::{Sats, TxNum};

use crate::{
    codec::{DecodeError, Input, ValueCodec, put_amount, put_varint},
    table::{Home, Origin, Tuning, table},
};

table! {
    /// Transactions that pay 100 BTC or more to scripts that they do not spend from.
    pub struct LargeTransfers("large_transfers": TxNum => LargeRow)
        in Home::Own(Tuning::SHORT), from Origin::Stage("transfers");
}

/// Sum that such a transaction pays.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LargeRow {
    /// To scripts that it does not spend from.
    pub sats: Sats,
    /// True if it has the form of a CoinJoin.
    pub coinjoin: bool,
}

/// An amount that is not zero.
fn some_sats(b: &mut Input<'_>) -> Result<Sats, DecodeError> {
    match b.amount()? {
        0 => Err(b.error("no amount")),
        sats => Ok(sats),
    }
}

impl ValueCodec for LargeRow {
    fn encode(&self, out: &mut Vec<u8>) {
        out.push(self.coinjoin.into());
        put_amount(out, self.sats);
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        let coinjoin = b.flag_of("a transfer of unknown kind")?;
        Ok(LargeRow { sats: some_sats(b)?, coinjoin })
    }
}

table! {
    /// Transactions that gather many coins in few.
    pub struct Consolidations("consolidations": TxNum => GatheredRow)
        in Home::Own(Tuning::SHORT), from Origin::Stage("transfers");
}

/// Coins that such a transaction gathers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GatheredRow {
    /// Number of inputs.
    pub inputs: u32,
    /// Number of outputs, which are fewer.
    pub outputs: u32,
    /// Sum of the inputs.
    pub sats: Sats,
}

impl ValueCodec for GatheredRow {
    fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.inputs.into());
        put_varint(out, self.outputs.into());
        put_amount(out, self.sats);
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        let row = GatheredRow { inputs: b.varint32()?, outputs: b.varint32()?, sats: b.amount()? };
        if row.inputs > row.outputs { Ok(row) } else { Err(b.error("it gathers nothing")) }
    }
}

table! {
    /// Sums that large transfers pay to clusters that they spend from.
    pub struct LargeChange("large_change": TxNum => ChangeRow)
        in Home::Own(Tuning::SHORT), from Origin::Stage("clusters");
}

/// Sum that stays with clusters that a transaction spends from, without the part that goes back to scripts that it
/// spends from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChangeRow(pub Sats);

impl ValueCodec for ChangeRow {
    fn encode(&self, out: &mut Vec<u8>) {
        put_amount(out, self.0);
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        some_sats(b).map(ChangeRow)
    }
}
