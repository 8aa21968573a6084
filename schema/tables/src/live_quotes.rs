//! `live_quotes`: the newest price of each pair, between two candles. A row is replaced by the next one. It is an
//! observation: no stage owns it, and nothing is computed from it but answers about the present.
//!
//! ```text
//! 'l' ‖ base (5) ‖ quote (5) → sources │ sources left out │ disputed (1) │ at │ source │ price
//! ```

use cairn_events::{Currency, LiveQuote};

use crate::{
    codec::{DecodeError, Input, KeyCodec, ValueCodec},
    events::whole,
    table::{Home, Origin, table},
};

table! {
    /// The table.
    pub struct LiveQuotes("live_quotes": (Currency, Currency) => LiveRow)
        in Home::Shared(b'l'), from Origin::Observations;
}

/// A live quote without its currencies, which are the key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LiveRow(LiveQuote);

impl LiveRow {
    /// The row of a quote.
    #[must_use]
    pub fn of(quote: &LiveQuote) -> Self {
        LiveRow(LiveQuote { base: Currency::BTC, quote: Currency::BTC, ..quote.clone() })
    }

    /// The quote that has this key.
    #[must_use]
    pub fn with((base, quote): (Currency, Currency), LiveRow(row): Self) -> LiveQuote {
        LiveQuote { base, quote, ..row }
    }
}

impl KeyCodec for Currency {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.bytes());
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        let bytes = b.array()?;
        Currency::from_bytes(bytes).ok_or_else(|| b.error("currency"))
    }
}

impl ValueCodec for LiveRow {
    fn encode(&self, out: &mut Vec<u8>) {
        self.0.put(out);
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        whole(b, |b| LiveQuote::read(Currency::BTC, Currency::BTC, b)).map(LiveRow)
    }
}
