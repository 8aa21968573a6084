//! Scripts that spend after two years: what large holders that wake up are looked for among.
//!
//! ```text
//! returns  TxNum (5) → number of scripts
//! ```
//!
//! A row has the scripts that a transaction spends more than nothing from, and that spent nothing more before, or were
//! first paid if they never spent, 730 days before or earlier: by the days of monotone block time since 1970-01-01
//! (UTC), so that the hour of the day does not count. A transaction without such a script has no row.

use cairn_model::TxNum;

use crate::{
    codec::{DecodeError, Input, ValueCodec, put_varint},
    table::{Home, Origin, Tuning, table},
};

/// Days between two spends of a script from which the later one counts.
pub const RETURN_DAYS: u32 = 730;

table! {
    /// The table.
    pub struct Returns("returns": TxNum => ReturnRow) in Home::Own(Tuning::SHORT), from Origin::Stage("returns");
}

/// Scripts of a transaction that return.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReturnRow {
    /// How many.
    pub scripts: u64,
}

impl ValueCodec for ReturnRow {
    fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.scripts);
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        Ok(ReturnRow { scripts: b.some("no script")? })
    }
}
