//! One quote from the quotes of several sources for the same candle.

use rust_decimal::Decimal;

use crate::{Quote, Range, Slug};

/// The quote that holds for a candle.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Chosen {
    /// The median of the sources' closes; of two sources, their mean.
    pub close: Decimal,
    /// The other prices, where the close is one source's.
    pub range: Option<Range>,
    /// The source of the close; `None` for a mean of two.
    pub source: Option<Slug>,
    /// Sources that the median was taken of.
    pub sources: u16,
    /// Sources that were left out, since they are too far from the median.
    pub dropped: u16,
    /// True if two sources were left that are too far from each other.
    pub disputed: bool,
}

/// A source is left out if it is farther from the median of all than this part of it: 1/20, or 5 %.
const FAR: u32 = 20;

/// The quote that holds, from those of all sources; the order does not matter, and no source may be named twice. `None`
/// if there is no source.
#[must_use]
pub fn choose(quotes: &[(Slug, Quote)]) -> Option<Chosen> {
    let mut sorted: Vec<&(Slug, Quote)> = quotes.iter().collect();
    // Equal closes are sorted by name.
    sorted.sort_by(|a, b| a.1.close.cmp(&b.1.close).then_with(|| a.0.cmp(&b.0)));
    let all = median(&sorted)?;
    let is_near = |close: Decimal| is_within(close, all);
    let kept: Vec<&(Slug, Quote)> = match sorted.len() {
        3.. => sorted.iter().copied().filter(|(_, quote)| is_near(quote.close)).collect(),
        _ => sorted.clone(),
    };
    // Four sources of which two and two agree leave none near their median.
    let kept = if kept.is_empty() { sorted.clone() } else { kept };
    let close = median(&kept)?;
    let of = kept.iter().find(|(_, quote)| quote.close == close);
    let ends = (kept.first()?.1.close, kept.last()?.1.close);
    Some(Chosen {
        close: close.normalize(),
        range: of.and_then(|(_, quote)| quote.range),
        source: of.map(|(source, _)| source.clone()),
        sources: u16::try_from(kept.len()).unwrap_or(u16::MAX),
        dropped: u16::try_from(sorted.len() - kept.len()).unwrap_or(u16::MAX),
        disputed: !is_within(ends.0, close) || !is_within(ends.1, close),
    })
}

/// True if a price is near another one.
fn is_within(price: Decimal, of: Decimal) -> bool {
    let far = of / Decimal::from(FAR);
    (price - of).abs() <= far
}

fn median(sorted: &[&(Slug, Quote)]) -> Option<Decimal> {
    let at = |n: usize| sorted.get(n).map(|(_, quote)| quote.close);
    match sorted.len() {
        0 => None,
        count if count % 2 == 1 => at(count / 2),
        count => {
            let (low, high) = (at(count / 2 - 1)?, at(count / 2)?);
            // Half of the distance does not overflow.
            Some((low + (high - low) / Decimal::TWO).normalize())
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn quote(close: u32) -> Quote {
        Quote { close: Decimal::new(close.into(), 2), range: None, volume: None }
    }

    fn of(closes: &[u32]) -> Option<Chosen> {
        let names = closes.iter().enumerate().map(|(n, close)| (format!("s{n:03}").parse().unwrap(), quote(*close)));
        choose(&names.collect::<Vec<_>>())
    }

    fn cents(closes: &[u32]) -> (Decimal, u16, u16, bool) {
        let chosen = of(closes).unwrap();
        (chosen.close * Decimal::from(100), chosen.sources, chosen.dropped, chosen.disputed)
    }

    #[test]
    fn outliers_are_left_out() {
        assert_eq!(of(&[]), None);
        assert_eq!(cents(&[100]), (100.into(), 1, 0, false));
        assert_eq!(cents(&[100, 102]), (101.into(), 2, 0, false));
        assert_eq!(cents(&[100, 200]), (150.into(), 2, 0, true));
        assert_eq!(cents(&[100, 101, 900]), (Decimal::new(1005, 1), 2, 1, false));
        assert_eq!(cents(&[1, 100, 101, 102, 900]), (101.into(), 3, 2, false));
        assert_eq!(cents(&[100, 101, 200, 201]), (Decimal::new(1505, 1), 4, 0, true));
    }

    #[test]
    fn it_names_the_source_whose_close_it_is() {
        let range = Range { open: 1.into(), high: 3.into(), low: 1.into() };
        let with = |close| Quote { range: Some(range), ..quote(close) };
        let quotes =
            [("b".parse().unwrap(), with(100)), ("a".parse().unwrap(), with(101)), ("c".parse().unwrap(), with(99))];
        let chosen = choose(&quotes).unwrap();
        assert_eq!((chosen.source.unwrap().as_str(), chosen.range), ("b", Some(range)));
        assert_eq!(choose(&quotes[..2]).unwrap().source, None);
    }

    proptest! {
        #[test]
        fn the_order_does_not_matter(mut closes in prop::collection::vec(1u32..2_000, 1..9), turn in 0usize..9) {
            let named = |closes: &[(usize, u32)]| -> Vec<(Slug, Quote)> {
                closes.iter().map(|(n, close)| (format!("s{n}").parse().unwrap(), quote(*close))).collect()
            };
            closes.dedup();
            let mut numbered: Vec<(usize, u32)> = closes.iter().copied().enumerate().collect();
            let chosen = choose(&named(&numbered)).unwrap();
            let turn = turn % numbered.len();
            numbered.rotate_left(turn);
            prop_assert_eq!(&choose(&named(&numbered)).unwrap(), &chosen);
            numbered.reverse();
            prop_assert_eq!(&choose(&named(&numbered)).unwrap(), &chosen);
            // By hand: it lies between the least and the greatest, and the numbers add up.
            let (least, most) = (closes.iter().min().unwrap(), closes.iter().max().unwrap());
            prop_assert!(chosen.close >= Decimal::new((*least).into(), 2) && chosen.close <= Decimal::new((*most).into(), 2));
            prop_assert_eq!(usize::from(chosen.sources + chosen.dropped), closes.len());
        }
    }
}
