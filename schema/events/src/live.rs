//! The newest price between two candles.

use rust_decimal::Decimal;

use crate::{
    Chosen, Currency, Slug,
    codec::{self, Bytes, Malformed},
};

/// Current price of one unit of `base` in units of `quote`: the median of the sources' prices at about the same time.
/// It is replaced by the next one and enters no ledger; candles do, once they are closed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LiveQuote {
    /// The priced currency.
    pub base: Currency,
    /// Its currency.
    pub quote: Currency,
    /// The price, above zero.
    pub price: Decimal,
    /// When the sources were asked, in seconds since 1970 (UTC).
    pub at: u32,
    /// The source whose price it is; `None` for a mean of two.
    pub source: Option<Slug>,
    /// Sources that the median was taken of.
    pub sources: u16,
    /// Sources that were left out, since they are too far from the median.
    pub dropped: u16,
    /// True if two sources were left that are too far from each other.
    pub disputed: bool,
}

impl LiveQuote {
    /// Price chosen from the sources at one time.
    #[must_use]
    pub fn of(base: Currency, quote: Currency, at: u32, chosen: Chosen) -> Self {
        let Chosen { close, source, sources, dropped, disputed, .. } = chosen;
        LiveQuote { base, quote, price: close, at, source, sources, dropped, disputed }
    }

    /// Appends all but the currencies: sources │ dropped │ disputed (1) │ at │ source or an empty text │ price.
    pub fn put(&self, out: &mut Vec<u8>) {
        [self.sources, self.dropped].into_iter().for_each(|number| codec::put_varint(out, number.into()));
        out.push(u8::from(self.disputed));
        codec::put_varint(out, self.at.into());
        codec::put_text(out, self.source.as_ref().map_or("", Slug::as_str));
        codec::put_price(out, self.price);
    }

    /// Reads the bytes that [`LiveQuote::put`] appended.
    pub fn read(base: Currency, quote: Currency, b: &mut Bytes<'_>) -> Result<Self, Malformed> {
        let (sources, dropped) = (b.number()?, b.number()?);
        let disputed = match b.array()? {
            [0] => false,
            [1] => true,
            _ => return Err(Malformed("disputed")),
        };
        let at = b.number()?;
        let source = match b.text()? {
            "" => None,
            text => Some(text.parse().map_err(|_| Malformed("source"))?),
        };
        if sources == 0 {
            return Err(Malformed("sources"));
        }
        Ok(LiveQuote { base, quote, price: b.price()?, at, source, sources, dropped, disputed })
    }
}

/// Most live quotes that are kept and published: one for each pair.
pub const MAX_LIVE_QUOTES: usize = 64;

/// Live quotes in a message: their number (1), then base (5) ‖ quote (5) ‖ the rest of each. At most
/// [`MAX_LIVE_QUOTES`].
pub fn put_live_quotes(out: &mut Vec<u8>, quotes: &[LiveQuote]) {
    let quotes = &quotes[..quotes.len().min(MAX_LIVE_QUOTES)];
    out.push(quotes.len() as u8);
    for quote in quotes {
        out.extend_from_slice(&quote.base.bytes());
        out.extend_from_slice(&quote.quote.bytes());
        quote.put(out);
    }
}

/// Reads the bytes that [`put_live_quotes`] appended; nothing may follow.
pub fn read_live_quotes(bytes: &[u8]) -> Result<Vec<LiveQuote>, Malformed> {
    let mut b = Bytes::new(bytes);
    let [count] = b.array::<1>()?;
    if usize::from(count) > MAX_LIVE_QUOTES {
        return Err(Malformed("number of live quotes"));
    }
    let mut quotes = Vec::with_capacity(count.into());
    for _ in 0..count {
        let mut currency = || Currency::from_bytes(b.array()?).ok_or(Malformed("currency"));
        let (base, quote) = (currency()?, currency()?);
        quotes.push(LiveQuote::read(base, quote, &mut b)?);
    }
    if b.is_empty() { Ok(quotes) } else { Err(Malformed("too long")) }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, option, prelude::*};

    use super::*;

    fn live() -> impl Strategy<Value = LiveQuote> {
        let price = (1..1_000_000_000_000_000i64, 0..28u32).prop_map(|(n, scale)| Decimal::new(n, scale).normalize());
        let source = option::of("[a-z][a-z0-9]{0,8}".prop_map(|text| text.parse().unwrap()));
        (price, any::<u32>(), source, 1..=u16::MAX, any::<u16>(), any::<bool>()).prop_map(
            |(price, at, source, sources, dropped, disputed)| LiveQuote {
                base: Currency::BTC,
                quote: Currency::EUR,
                price,
                at,
                source,
                sources,
                dropped,
                disputed,
            },
        )
    }

    proptest! {
        #[test]
        fn messages_read_back(quotes in vec(live(), 0..9), cut in any::<usize>()) {
            let mut bytes = Vec::new();
            put_live_quotes(&mut bytes, &quotes);
            prop_assert_eq!(read_live_quotes(&bytes).unwrap(), quotes);
            prop_assert!(read_live_quotes(&bytes[..cut % bytes.len()]).is_err());
            bytes.push(0);
            prop_assert!(read_live_quotes(&bytes).is_err());
        }

        #[test]
        fn other_bytes_are_refused_or_read_back_the_same(bytes in vec(any::<u8>(), 0..80)) {
            if let Ok(quotes) = read_live_quotes(&bytes) {
                let mut again = Vec::new();
                put_live_quotes(&mut again, &quotes);
                prop_assert_eq!(again, bytes);
            }
        }
    }

    #[test]
    fn a_message_has_only_so_many() {
        let quote = LiveQuote {
            base: Currency::BTC,
            quote: Currency::USD,
            price: Decimal::ONE,
            at: 7,
            source: None,
            sources: 2,
            dropped: 0,
            disputed: false,
        };
        let mut bytes = Vec::new();
        put_live_quotes(&mut bytes, &vec![quote; MAX_LIVE_QUOTES + 1]);
        assert_eq!(read_live_quotes(&bytes).unwrap().len(), MAX_LIVE_QUOTES);
        bytes[0] += 1;
        assert!(read_live_quotes(&bytes).is_err());
    }
}
