//! Transactions that may be dust pings: what campaigns are looked for among.
//!
//! ```text
//! pings  TxNum (5) → outputs of dust to scripts that the transaction does not spend from
//! ```
//!
//! Whether these scripts had a history, and who sends what, tells the late stage `dust`.

use cairn_model::TxNum;

use crate::{
    codec::{DecodeError, Input, ValueCodec, put_varint},
    table::{Home, Origin, Table, Tuning},
};

/// The table.
pub struct Pings;

impl Table for Pings {
    const NAME: &'static str = "pings";
    const HOME: Home = Home::Own(Tuning::SHORT);
    const ORIGIN: Origin = Origin::Stage("pings");
    type Key = TxNum;
    type Value = PingRow;
}

/// A transaction that may be a ping.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PingRow {
    /// Its outputs of dust to others.
    pub outputs: u64,
}

impl ValueCodec for PingRow {
    fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.outputs);
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        match b.varint()? {
            0 => Err(b.error("no output")),
            outputs => Ok(PingRow { outputs }),
        }
    }
}
