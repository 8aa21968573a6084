//! Ages of coins: of those that a block spends, of those that a transaction spends late, and of those that are left.
//!
//! ```text
//! spent_by_age    height (4) → coin-seconds destroyed │ births…
//!   birth           day − the one before − 1 (the first: day) │ sats │ coins
//! dormant_spends  TxNum (5)  → n × (age class (1) │ sats │ coins │ coin-seconds destroyed)
//! supply_changes  'a' ‖ period: level (1) ‖ number (2) ‖ birth day / 64 (2) → sums: 2 × (birth day mod 64) → change of
//!                   unspent sats, one more → change of unspent coins
//! ```
//!
//! Days are counted from 1970-01-01 (UTC), and ages in seconds, both by monotone block time.

use cairn_model::{DAY_SECS, Height, Sats, TxNum};

use crate::{
    codec::{DecodeError, Input, ValueCodec, key_of_fields, put_amount, put_varint, put_varint128},
    periods::Period,
    sums::Sums,
    table::{Home, Origin, Tuning, table},
};

table! {
    /// Coins that a block spends, by day of birth.
    // Rows of some 3 KB, read one after the other.
    pub struct SpentByAge("spent_by_age": Height => SpentRow) in Home::Own(Tuning::PLAIN), from Origin::Stage("ages");
}

/// Coins of one day that are spent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Birth {
    /// Day of the block that made them.
    pub day: u32,
    /// Their value.
    pub sats: Sats,
    /// Their number.
    pub coins: u64,
}

/// Coins that a block spends. A block that spends nothing has no row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SpentRow {
    /// Coin-seconds destroyed: value of each coin × its age in seconds.
    pub destroyed: u128,
    /// Coins by day of birth, ascending. Never empty.
    pub births: Vec<Birth>,
}

impl ValueCodec for SpentRow {
    fn encode(&self, out: &mut Vec<u8>) {
        put_varint128(out, self.destroyed);
        let mut next = 0;
        for birth in &self.births {
            put_varint(out, u64::from(birth.day - next));
            put_amount(out, birth.sats);
            put_varint(out, birth.coins);
            next = birth.day + 1;
        }
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        let destroyed = b.varint128()?;
        let mut births = Vec::with_capacity(b.left() / 4);
        let mut next = 0u32;
        while b.left() > 0 {
            let day = next.checked_add(b.varint32()?).filter(|day| *day <= u16::MAX.into());
            let day = day.ok_or_else(|| b.error("birth day"))?;
            births.push(Birth { day, sats: b.amount()?, coins: b.some("no coin")? });
            next = day + 1;
        }
        if births.is_empty() { Err(b.error("nothing is spent")) } else { Ok(SpentRow { destroyed, births }) }
    }
}

/// Seconds of a year of 365 days, that distinguish ages of coins.
pub const YEAR: u32 = 365 * DAY_SECS;

/// Least years of the classes of coins that are spent late. A class ends where the next begins.
pub const DORMANT_YEARS: [u32; 6] = [1, 2, 3, 5, 7, 10];

/// The class of a coin of this age in seconds; `None` below a year.
#[must_use]
pub fn dormant_class(age: u32) -> Option<u8> {
    DORMANT_YEARS.iter().rposition(|years| age / YEAR >= *years).map(|class| class as u8)
}

table! {
    /// Transactions that spend coins of a year and more.
    // Some 3 % of the transactions have a row, of some 10 bytes.
    pub struct DormantSpends("dormant_spends": TxNum => DormantRow)
        in Home::Own(Tuning::SHORT), from Origin::Stage("ages");
}

/// Coins of one class of age that a transaction spends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dormant {
    /// Index into [`DORMANT_YEARS`].
    pub class: u8,
    /// Their value.
    pub sats: Sats,
    /// Their number.
    pub coins: u64,
    /// Value of each × its age in seconds.
    pub destroyed: u128,
}

/// Coins of a year and more that a transaction spends, by class, ascending. Never empty.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DormantRow(pub Vec<Dormant>);

impl ValueCodec for DormantRow {
    fn encode(&self, out: &mut Vec<u8>) {
        for dormant in &self.0 {
            out.push(dormant.class);
            put_amount(out, dormant.sats);
            put_varint(out, dormant.coins);
            put_varint128(out, dormant.destroyed);
        }
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        let mut row: Vec<Dormant> = Vec::with_capacity(DORMANT_YEARS.len());
        while b.left() > 0 {
            let class = b.byte()?;
            let rises = row.last().is_none_or(|last| last.class < class);
            if usize::from(class) >= DORMANT_YEARS.len() || !rises {
                return Err(b.error("age class"));
            }
            row.push(Dormant { class, sats: b.amount()?, coins: b.some("no coin")?, destroyed: b.varint128()? });
        }
        if row.is_empty() { Err(b.error("no coin")) } else { Ok(DormantRow(row)) }
    }
}

table! {
    /// How the unspent coins of each day of birth changed, by period.
    pub struct SupplyChanges("supply_changes": (Period, BirthDays) => Sums)
        in Home::Shared(b'a'), from Origin::Stage("ages");
}

/// Days of birth that share a row of [`SupplyChanges`].
pub const BIRTH_DAYS: u32 = 64;

/// Number of a row's first day of birth divided by [`BIRTH_DAYS`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct BirthDays(pub u16);

impl BirthDays {
    /// The row of a day of birth, and the position of its satoshis there. That of its coins is the next.
    #[must_use]
    pub fn of(day: u32) -> (Self, u32) {
        (BirthDays((day / BIRTH_DAYS) as u16), day % BIRTH_DAYS * 2)
    }

    /// The day of birth of a position, and whether the position counts coins.
    #[must_use]
    pub fn day(self, position: u32) -> (u32, bool) {
        (u32::from(self.0) * BIRTH_DAYS + position / 2, position % 2 == 1)
    }
}

key_of_fields! { BirthDays { 0 } }
