//! The deltas of the stage `scripts`: a coin that a script received or sent.

use cairn_model::{Sats, ScriptTemplate, SpentCoin};
use cairn_tables::{
    DecodeError, ValueCodec,
    codec::{Input, put_amount, put_varint},
    pings::PingRow,
};

/// A coin that a script received or sent: kind + 16 × template of the script, then 1, 4 or 5 │ vout │ amount, or 2 or 3
/// │ amount, or 9 or 13 │ vout │ amount │ ping of one script.
pub(super) struct CoinMove {
    pub(super) template: ScriptTemplate,
    pub(super) action: CoinAction,
    pub(super) sats: Sats,
}

pub(super) enum CoinAction {
    Received {
        vout: u32,
        by: Payer,
        /// The coin is dust that may be a ping, unless the script spends in the same transaction, or has no history.
        ping: Option<PingRow>,
    },
    Sent {
        /// The transaction shows that the script has the owner of other scripts that it spends from.
        cospent: bool,
    },
}

/// The transaction that a coin is received by.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Payer {
    Coinbase,
    /// A large transfer that is not a CoinJoin.
    Large,
    Other,
}

impl CoinMove {
    pub(super) fn sent(coin: &SpentCoin, cospent: bool) -> Self {
        CoinMove { template: coin.flags.template, action: CoinAction::Sent { cospent }, sats: coin.value }
    }
}

const RECEIVED: u8 = 1;
const SENT: u8 = 2;
const COSPENT: u8 = 3;
const MINED: u8 = 4;
const LARGE: u8 = 5;
/// Added to one of the codes of receipts.
const PINGED: u8 = 8;

impl ValueCodec for CoinMove {
    fn encode(&self, out: &mut Vec<u8>) {
        let kind = match self.action {
            CoinAction::Received { by: Payer::Other, .. } => RECEIVED,
            CoinAction::Received { by: Payer::Coinbase, .. } => MINED,
            CoinAction::Received { by: Payer::Large, .. } => LARGE,
            CoinAction::Sent { cospent: false } => SENT,
            CoinAction::Sent { cospent: true } => COSPENT,
        };
        let ping = if let CoinAction::Received { ping, .. } = &self.action { ping.as_ref() } else { None };
        out.push(kind | ping.map_or(0, |_| PINGED) | self.template.code() << 4);
        if let CoinAction::Received { vout, .. } = self.action {
            put_varint(out, vout.into());
        }
        put_amount(out, self.sats);
        ping.inspect(|ping| ping.encode(out));
    }

    #[inline]
    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        let head = b.byte()?;
        let template = ScriptTemplate::from_code(head >> 4).ok_or_else(|| b.error("template"))?;
        let is_pinged = head & PINGED != 0;
        let by = match head & 0x7 {
            RECEIVED => Payer::Other,
            // A coinbase pings nobody.
            MINED if !is_pinged => Payer::Coinbase,
            LARGE => Payer::Large,
            kind @ (SENT | COSPENT) if !is_pinged => {
                return Ok(CoinMove {
                    template,
                    action: CoinAction::Sent { cospent: kind == COSPENT },
                    sats: b.amount()?,
                });
            }
            _ => return Err(b.error("a delta of unknown kind")),
        };
        let (vout, sats) = (b.varint32()?, b.amount()?);
        let ping = if is_pinged { Some(PingRow::decode(b)?) } else { None };
        Ok(CoinMove { template, action: CoinAction::Received { vout, by, ping }, sats })
    }
}
