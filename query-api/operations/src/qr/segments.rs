//! Chooses the mode of each byte of a text so that the code has the fewest bits.

use std::array;

use qrcode::{Version, optimize::Segment, types::Mode};

/// Without the kanji mode: it means Shift JIS, so UTF-8 would decode to other characters.
const MODES: [Mode; 3] = [Mode::Byte, Mode::Alphanumeric, Mode::Numeric];

/// Costs are in sixths of a bit: three digits take 10 bits, two alphanumeric characters 11.
const SIXTHS: usize = 6;
const COSTS: [usize; 3] = [8 * SIXTHS, 33, 20];
/// Higher than the cost of any text.
const NEVER: usize = usize::MAX / 4;

/// True if a mode can encode a byte.
fn knows(mode: Mode, byte: u8) -> bool {
    match mode {
        Mode::Numeric => byte.is_ascii_digit(),
        Mode::Alphanumeric => byte.is_ascii_digit() || byte.is_ascii_uppercase() || b" $%*+-./:".contains(&byte),
        Mode::Byte | Mode::Kanji => true,
    }
}

/// The best segments for codes of a version. After each byte, it keeps for every mode the lowest cost to reach this
/// byte and continue in that mode.
pub(super) fn segments(data: &[u8], version: Version) -> Vec<Segment> {
    let heads = MODES.map(|mode| (4 + mode.length_bits_count(version)) * SIXTHS);
    let mut costs = heads;
    // For each byte and each mode to continue in: the mode of the byte.
    let mut modes: Vec<[usize; 3]> = Vec::with_capacity(data.len());
    for byte in data {
        let within: [usize; 3] =
            array::from_fn(|at| if knows(MODES[at], *byte) { costs[at] + COSTS[at] } else { NEVER });
        // A segment ends on a whole bit.
        let (ended, from) = least(&within.map(|cost| cost.next_multiple_of(SIXTHS)));
        let mut chosen = [0, 1, 2];
        for (next, head) in heads.into_iter().enumerate() {
            let changed = ended + head;
            (costs[next], chosen[next]) = if changed < within[next] { (changed, from) } else { (within[next], next) };
        }
        modes.push(chosen);
    }
    let (_, mut mode) = least(&costs.map(|cost| cost.next_multiple_of(SIXTHS)));
    let mut found: Vec<Segment> = Vec::new();
    for (at, chosen) in modes.iter().enumerate().rev() {
        mode = chosen[mode];
        match found.last_mut() {
            Some(segment) if segment.mode == MODES[mode] => segment.begin = at,
            _ => found.push(Segment { mode: MODES[mode], begin: at, end: at + 1 }),
        }
    }
    found.reverse();
    found
}

/// The lowest cost and its index.
fn least(costs: &[usize; 3]) -> (usize, usize) {
    let [a, b, c] = *costs;
    [(a, 0), (b, 1), (c, 2)].into_iter().min().unwrap_or((a, 0))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop, proptest};
    use qrcode::optimize::total_encoded_len;

    use super::*;

    /// Every way to write a text, by trying all of them.
    fn least_of_all(data: &[u8], version: Version) -> usize {
        let ways = 3_usize.pow(data.len() as u32);
        let all = (0..ways).filter_map(|way| {
            let mut found: Vec<Segment> = Vec::new();
            for (at, byte) in data.iter().enumerate() {
                let mode = MODES[way / 3_usize.pow(at as u32) % 3];
                if !knows(mode, *byte) {
                    return None;
                }
                match found.last_mut() {
                    Some(segment) if segment.mode == mode => segment.end = at + 1,
                    _ => found.push(Segment { mode, begin: at, end: at + 1 }),
                }
            }
            Some(total_encoded_len(&found, version))
        });
        all.min().unwrap_or_default()
    }

    proptest! {
        /// Repeated parts, so that a change of the mode can be worth it.
        #[test]
        fn no_other_way_is_shorter(parts in prop::collection::vec(("[0-9A:aé]", 1_usize..5), 1..5), large: bool) {
            let text: String = parts.iter().map(|(part, times)| part.repeat(*times)).collect();
            let data = text.as_bytes();
            let data = &data[..data.len().min(9)];
            let version = Version::Normal(if large { 40 } else { 1 });
            let found = segments(data, version);
            proptest::prop_assert_eq!(total_encoded_len(&found, version), least_of_all(data, version));
            // They follow one another, and leave nothing out.
            let mut at = 0;
            for segment in &found {
                proptest::prop_assert!(segment.begin == at && segment.end > at);
                at = segment.end;
            }
            proptest::prop_assert_eq!(at, data.len());
        }
    }

    #[test]
    fn modes_change_where_it_is_worth_it() {
        let modes = |text: &str| -> Vec<(Mode, usize)> {
            let all = segments(text.as_bytes(), Version::Normal(40));
            all.iter().map(|segment| (segment.mode, segment.end - segment.begin)).collect()
        };
        assert_eq!(modes("ABC01234567"), [(Mode::Alphanumeric, 11)]);
        assert_eq!(modes(&format!("ABC{}", "7".repeat(60))), [(Mode::Alphanumeric, 3), (Mode::Numeric, 60)]);
        assert_eq!(modes("bitcoin:"), [(Mode::Byte, 8)]);
        assert_eq!(modes(&format!("é{}", "A".repeat(60))), [(Mode::Byte, 2), (Mode::Alphanumeric, 60)]);
        assert_eq!(modes(""), []);
    }
}
