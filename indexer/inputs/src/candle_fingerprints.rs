//! Which candles of a series were there, and with what values: 4 bytes each.

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hasher},
};

use cairn_events::Quote;

use crate::report::{Gap, Gaps};

const CHUNK: usize = 1_024;
const CHUNK_SLOTS: u32 = 1_024;

/// Fingerprints by close, in chunks; 0 where there is no candle. A series of minutes from 1970 to now, the largest that
/// fits, takes 120 MB.
#[derive(Default)]
pub(crate) struct CandleFingerprints {
    chunks: BTreeMap<u32, Box<[u32]>>,
}

/// The candle that was noted before, compared with the new one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum EarlierCandle {
    Nothing,
    Same,
    Other,
}

impl CandleFingerprints {
    /// Notes a candle; `slot` is its close in units of the interval. A candle that was there before is kept.
    pub(crate) fn note(&mut self, slot: u32, quote: &Quote) -> EarlierCandle {
        let chunk = self.chunks.entry(slot / CHUNK_SLOTS).or_insert_with(|| vec![0; CHUNK].into());
        let fingerprint = fingerprint(quote);
        let at = usize::try_from(slot % CHUNK_SLOTS).unwrap_or(0);
        match chunk.get_mut(at) {
            Some(free @ 0) => {
                *free = fingerprint;
                EarlierCandle::Nothing
            }
            Some(before) if *before == fingerprint => EarlierCandle::Same,
            _ => EarlierCandle::Other,
        }
    }

    /// Returns the gaps between the first and the last; `seconds` is the interval.
    pub(crate) fn gaps(&self, seconds: u32) -> Gaps {
        let (mut gaps, mut last) = (Gaps::default(), None::<u32>);
        for (chunk, slots) in &self.chunks {
            let within = (0u32..).zip(slots.iter()).filter(|(_, fingerprint)| **fingerprint != 0);
            for slot in within.map(|(at, _)| chunk.saturating_mul(CHUNK_SLOTS).saturating_add(at)) {
                if let Some(last) = last
                    && slot - last > 1
                {
                    let missing = slot - last - 1;
                    gaps.count += 1;
                    gaps.missing += u64::from(missing);
                    if gaps.longest.is_none_or(|longest| longest.missing < missing) {
                        let (after, until) = (last.saturating_mul(seconds), slot.saturating_mul(seconds));
                        gaps.longest = Some(Gap { after, until, missing });
                    }
                }
                last = Some(slot);
            }
        }
        gaps
    }
}

/// A hash of the values, never 0. That of numbers without zeros at their end, as they are read.
fn fingerprint(quote: &Quote) -> u32 {
    let mut hasher = DefaultHasher::new();
    hasher.write(&quote.close.serialize());
    if let Some(range) = quote.range {
        for price in [range.open, range.high, range.low] {
            hasher.write(&price.serialize());
        }
    }
    hasher.write_u8(u8::from(quote.range.is_some()));
    if let Some(volume) = quote.volume {
        hasher.write(&volume.serialize());
    }
    hasher.write_u8(u8::from(quote.volume.is_some()));
    u32::try_from(hasher.finish() >> 32).unwrap_or(1).max(1)
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, btree_map::Entry};

    use proptest::prelude::*;
    use rust_decimal::Decimal;

    use super::*;

    proptest! {
        #[test]
        fn as_a_map_says(candles in prop::collection::vec((0u32..5_000, 1i64..3), 1..200)) {
            let (mut fingerprints, mut map) = (CandleFingerprints::default(), BTreeMap::new());
            for (slot, price) in candles {
                let quote = Quote { close: Decimal::new(price, 0), range: None, volume: None };
                let before = match map.entry(slot) {
                    Entry::Vacant(free) => {
                        free.insert(price);
                        EarlierCandle::Nothing
                    }
                    Entry::Occupied(old) if *old.get() == price => EarlierCandle::Same,
                    Entry::Occupied(_) => EarlierCandle::Other,
                };
                prop_assert_eq!(fingerprints.note(slot, &quote), before);
            }
            let slots: Vec<u32> = map.into_keys().collect();
            let gaps: Vec<(u32, u32)> = slots.windows(2).filter(|w| w[1] - w[0] > 1).map(|w| (w[0], w[1])).collect();
            let found = fingerprints.gaps(60);
            prop_assert_eq!(found.count, gaps.len() as u64);
            prop_assert_eq!(found.missing, gaps.iter().map(|(a, b)| u64::from(b - a - 1)).sum::<u64>());
            let longest = gaps.iter().map(|(a, b)| b - a - 1).max();
            prop_assert_eq!(found.longest.map(|gap| gap.missing), longest);
            if let Some(gap) = found.longest {
                prop_assert!(gaps.contains(&(gap.after / 60, gap.until / 60)));
            }
        }
    }
}
