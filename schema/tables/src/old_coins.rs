//! Old coins that are spent: sums by day and longer period, and the transactions that move many of them.
//!
//! ```text
//! dormant_days   'C' ‖ period: level (1) ‖ number (2) → sums by position:
//!                  3 × age class, see `DORMANT_YEARS` → satoshis, one more → coins, two more → coin-seconds destroyed
//!                  18  transactions of `old_movements`, 19  satoshis of their coins of five years and more
//! old_movements  'M' ‖ TxNum (5) → coins │ sats │ coin-seconds destroyed     of coins of five years and more: 10 BTC at least
//! ```
//!
//! Ages and days go by monotone block time.

use cairn_model::{Sats, TxNum};

use crate::{
    codec::{DecodeError, Input, ValueCodec, put_amount, put_varint, put_varint128},
    periods::Period,
    sums::Sums,
    table::{Home, Origin, table},
};

table! {
    /// Sums over the coins of a year and more that are spent.
    pub struct DormantDays("dormant_days": Period => Sums) in Home::Shared(b'C'), from Origin::Stage("ages");
}

/// Positions of sums of each class of age.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum OldSum {
    /// Value in satoshis.
    Sats = 0,
    /// Number of coins.
    Coins = 1,
    /// Value of each × its age in seconds.
    Destroyed = 2,
}

impl OldSum {
    /// Its position for a class of age.
    #[must_use]
    pub const fn position(self, class: u8) -> u32 {
        class as u32 * 3 + self as u32
    }
}

/// Position of the number of transactions of [`OldMovements`].
pub const MOVEMENTS: u32 = 18;
/// Position of the value of their coins of five years and more.
pub const MOVED_SATS: u32 = 19;

table! {
    /// Transactions whose coins of five years and more are worth 10 BTC or more together.
    pub struct OldMovements("old_movements": TxNum => MovementRow) in Home::Shared(b'M'), from Origin::Stage("ages");
}

/// Such coins of a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MovementRow {
    /// Their number.
    pub coins: u64,
    /// Their value.
    pub sats: Sats,
    /// Value of each × its age in seconds.
    pub destroyed: u128,
}

impl ValueCodec for MovementRow {
    fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.coins);
        put_amount(out, self.sats);
        put_varint128(out, self.destroyed);
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        let row = MovementRow { coins: b.varint()?, sats: b.amount()?, destroyed: b.varint128()? };
        if row.coins > 0 && row.sats > 0 { Ok(row) } else { Err(b.error("no coin")) }
    }
}
