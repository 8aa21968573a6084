//! Dust pings: what campaigns are looked for among.
//!
//! ```text
//! pings  TxNum (5) → number of scripts × 2 + (1 if marked)
//! ```
//!
//! A row has the scripts that a transaction pays dust and does not spend from, and that an earlier transaction paid. A
//! transaction without such a script has no row. The late stage `dust` finds the groups of pings.

use cairn_model::TxNum;

use crate::{
    codec::{DecodeError, Input, ValueCodec, put_varint},
    table::{Home, Origin, Tuning, table},
};

table! {
    /// The table.
    pub struct Pings("pings": TxNum => PingRow) in Home::Own(Tuning::SHORT), from Origin::Stage("pings");
}

/// A ping.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PingRow {
    /// Scripts with a history that it pays dust.
    pub scripts: u32,
    /// It has an OP_RETURN, which is the mark of no protocol.
    pub is_marked: bool,
}

impl ValueCodec for PingRow {
    fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, u64::from(self.scripts) << 1 | u64::from(self.is_marked));
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        let head = b.varint()?;
        let scripts = u32::try_from(head >> 1).map_err(|_| b.error("too many scripts"))?;
        if scripts == 0 { Err(b.error("no script")) } else { Ok(PingRow { scripts, is_marked: head & 1 == 1 }) }
    }
}
