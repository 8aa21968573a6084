//! Words that are a few typos away from another one, found in a sorted list of words by seeking.
//!
//! A typo is a letter too many, one too few, a wrong one, or two neighbours in the wrong order; no letter is part of
//! two typos. The distances of the beginnings of the word from the letters read so far are the state of an automaton.
//! If all exceed the limit, no word that begins with these letters is close enough, and one seek passes all of them.
//! [`Typos::next`] says where the next one may be.

/// Most typos that are looked for.
pub const MAX_TYPOS: u8 = 2;

/// Typos that a word of this length may have: short words are close to too many others.
#[must_use]
pub const fn typos_for(letters: usize) -> u8 {
    match letters {
        0..4 => 0,
        4..8 => 1,
        _ => 2,
    }
}

/// Words close to one.
#[derive(Clone, Debug)]
pub struct Typos {
    word: Vec<char>,
    most: u8,
    /// Letters at the beginning that must be right.
    fixed: usize,
}

/// After some letters: the distances from them of those beginnings of the word that are at most [`MAX_TYPOS`] letters
/// shorter or longer, the shortest first. All others are further away. Distances above the limit count as one above it.
type Row = [u8; BAND];

const BAND: usize = 2 * MAX_TYPOS as usize + 1;
/// Index of the beginning that is as long as the letters read.
const MIDDLE: usize = MAX_TYPOS as usize;

impl Typos {
    /// Words with at most `most` typos, at most [`MAX_TYPOS`], whose first `fixed` letters are right.
    #[must_use]
    pub fn new(word: &str, most: u8, fixed: usize) -> Self {
        Typos { most: most.min(MAX_TYPOS), fixed, word: word.chars().collect() }
    }

    fn start(&self) -> Row {
        let none = self.most + 1;
        std::array::from_fn(|place| match place.checked_sub(MIDDLE) {
            Some(length) if length <= self.word.len() => (length as u8).min(none),
            _ => none,
        })
    }

    fn is_alive(&self, row: &Row) -> bool {
        row.iter().any(|distance| *distance <= self.most)
    }

    /// The distance of a word of this length with this row, if it is close enough.
    fn distance_of(&self, row: &Row, length: usize) -> Option<u8> {
        let place = (self.word.len() + MIDDLE).checked_sub(length)?;
        row.get(place).copied().filter(|distance| *distance <= self.most)
    }

    /// The row after one more letter; `rows` are those after each of the letters `read`, and before the first.
    fn step(&self, rows: &[Row], read: &[char], letter: char) -> Row {
        let none = self.most + 1;
        let mut next = [none; BAND];
        let Some(row) = rows.last() else { return next };
        let length = read.len();
        if length < self.fixed && self.word.get(length).is_some_and(|right| *right != letter) {
            return next;
        }
        let mut left = none;
        for place in 0..BAND {
            // The beginning of the word that the place is for.
            let of = match (length + 1 + place).checked_sub(MIDDLE) {
                Some(of) if of <= self.word.len() => of,
                _ => continue,
            };
            let right = of.checked_sub(1).and_then(|at| self.word.get(at));
            let (diagonal, above) = (row.get(place).copied(), row.get(place + 1).copied().unwrap_or(none));
            let mut least = (above + 1).min(left + 1);
            if let Some((right, diagonal)) = right.zip(diagonal) {
                least = least.min(diagonal + u8::from(*right != letter));
            }
            // Two neighbours in the wrong order.
            if let (Some(before), [.., row, _], Some(last)) = (of.checked_sub(2), rows, read.last())
                && right == Some(last)
                && self.word.get(before) == Some(&letter)
            {
                least = least.min(row.get(place).copied().unwrap_or(none) + 1);
            }
            left = least.min(none);
            if let Some(cell) = next.get_mut(place) {
                *cell = left;
            }
        }
        next
    }

    /// The distance of another word, if it is close enough.
    #[must_use]
    pub fn distance(&self, other: &str) -> Option<u8> {
        let (rows, read) = self.read(other);
        let is_whole = other.chars().nth(read.len()).is_none();
        rows.last().filter(|_| is_whole).and_then(|row| self.distance_of(row, read.len()))
    }

    /// The rows of a word, as far as it is alive, and its letters so far.
    fn read(&self, other: &str) -> (Vec<Row>, Vec<char>) {
        let (mut rows, mut read) = (vec![self.start()], Vec::new());
        for letter in other.chars() {
            let row = self.step(&rows, &read, letter);
            if !self.is_alive(&row) {
                break;
            }
            rows.push(row);
            read.push(letter);
        }
        (rows, read)
    }

    /// The next word that may be close: no word between `last` and it is. `None` if no word after `last` is close. It
    /// ends with a zero if all words that begin with `last` may be close.
    #[must_use]
    pub fn next(&self, last: &str) -> Option<String> {
        let (mut rows, mut read) = self.read(last);
        // The least letter that may follow the letters read.
        let mut least = last.chars().nth(read.len()).map_or(Some('\0'), after);
        loop {
            if let Some(letter) = least.and_then(|least| self.first_letter(&rows, &read, least)) {
                rows.push(self.step(&rows, &read, letter));
                read.push(letter);
                break;
            }
            rows.pop();
            least = after(read.pop()?);
        }
        // From here on, append the least letters until the word is close or any letter may follow. Words that are close
        // end soon.
        while rows.last().is_some_and(|row| self.distance_of(row, read.len()).is_none()) {
            let Some(letter) = self.first_letter(&rows, &read, '\0').filter(|letter| *letter != '\0') else { break };
            rows.push(self.step(&rows, &read, letter));
            read.push(letter);
        }
        Some(read.into_iter().collect())
    }

    /// The first letter, not before `least`, after which a close word may follow.
    fn first_letter(&self, rows: &[Row], read: &[char], least: char) -> Option<char> {
        // Letters of the word that are further away are like any that it does not have.
        let from = read.len().saturating_sub(MIDDLE + 1).min(self.word.len());
        let near = self.word.get(from..(read.len() + MIDDLE + 1).min(self.word.len())).unwrap_or_default();
        let is_alive = |letter: &char| self.is_alive(&self.step(rows, read, *letter));
        let own = near.iter().copied().filter(|letter| *letter >= least && is_alive(letter)).min();
        let mut other = Some(least);
        while let Some(letter) = other.filter(|letter| near.contains(letter)) {
            other = after(letter);
        }
        match (own, other.filter(is_alive)) {
            (Some(own), Some(other)) => Some(own.min(other)),
            (own, other) => own.or(other),
        }
    }
}

fn after(letter: char) -> Option<char> {
    (letter..=char::MAX).nth(1)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::{collection::btree_set, prelude::*};

    use super::*;

    /// The distance by its definition: of all ways to read both words to their ends, the one with the fewest typos.
    fn naive(a: &[char], b: &[char]) -> usize {
        match (a, b) {
            ([], rest) | (rest, []) => rest.len(),
            ([x, a1 @ ..], [y, b1 @ ..]) => {
                let mut least = naive(a1, b1) + usize::from(x != y);
                least = least.min(naive(a1, b) + 1).min(naive(a, b1) + 1);
                if let ([first, second, a2 @ ..], [third, fourth, b2 @ ..]) = (a, b)
                    && first == fourth
                    && second == third
                {
                    least = least.min(naive(a2, b2) + 1);
                }
                least
            }
        }
    }

    fn by_hand(word: &str, most: u8, fixed: usize, other: &str) -> Option<u8> {
        let (a, b): (Vec<char>, Vec<char>) = (word.chars().collect(), other.chars().collect());
        let fixed = fixed.min(a.len());
        // The letters at the beginning must be right as far as there are some.
        let is_right = a.iter().take(fixed).zip(&b).all(|(x, y)| x == y);
        let distance = naive(&a, &b);
        (is_right && distance <= most.into()).then_some(distance as u8)
    }

    #[test]
    fn typos_are_counted() {
        let of = |word: &str, other: &str| Typos::new(word, 2, 0).distance(other);
        for (other, distance) in [
            ("binance", Some(0)),
            ("binanc", Some(1)),
            ("bianance", Some(1)),
            ("biannce", Some(1)),
            ("inbance", Some(2)),
            ("bnnnce", Some(2)),
            ("coinbase", None),
            ("", None),
        ] {
            assert_eq!(of("binance", other), distance, "{other}");
        }
        assert_eq!(of("", "ab"), Some(2));
        assert_eq!(of("", "abc"), None);
        assert_eq!(Typos::new("binance", 2, 1).distance("inance"), None);
        assert_eq!((typos_for(3), typos_for(4), typos_for(8)), (0, 1, 2));
    }

    #[test]
    fn the_last_letter_of_all_has_no_successor() {
        assert_eq!(after('a'), Some('b'));
        assert_eq!(after('\u{d7ff}'), Some('\u{e000}'));
        assert_eq!(after(char::MAX), None);
        assert_eq!(Typos::new("a", 0, 0).next("a"), None);
        assert_eq!(Typos::new("a", 0, 0).next(""), Some("a".to_owned()));
        assert!(Typos::new("a", 1, 0).next(&char::MAX.to_string()).is_none_or(|next| next > char::MAX.to_string()));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        #[test]
        fn distances_are_those_by_hand(
            (word, other) in ("[a-c]{0,6}", "[a-d]{0,6}"), (most, fixed) in (0..=2u8, 0..3usize),
        ) {
            let expected = by_hand(&word, most, fixed, &other);
            prop_assert_eq!(Typos::new(&word, most, fixed).distance(&other), expected, "{} {}", word, other);
        }

        #[test]
        fn seeking_finds_what_a_scan_finds(
            word in "[a-cé]{0,6}", list in btree_set("[a-dé\\x{10ffff}]{0,7}", 0..300), (most, fixed) in (0..=2u8, 0..3usize),
        ) {
            let typos = Typos::new(&word, most, fixed);
            let scanned: BTreeSet<&String> = list.iter().filter(|other| typos.distance(other).is_some()).collect();
            let (mut found, mut seeks) = (BTreeSet::new(), 0);
            let mut from = Some(String::new());
            while let Some(other) = from.and_then(|from| list.range(from..).next()) {
                seeks += 1;
                if typos.distance(other).is_some() {
                    found.insert(other);
                }
                from = typos.next(other);
                prop_assert!(from.as_ref().is_none_or(|next| next > other), "{:?} after {}", from, other);
            }
            prop_assert_eq!(found, scanned);
            prop_assert!(seeks <= list.len());
        }
    }

    #[test]
    fn few_seeks_find_the_close_words_of_a_large_list() {
        // All words of four letters out of 12: 20,736.
        let mut list = BTreeSet::new();
        for at in 0..12u32.pow(4) {
            list.insert(
                (0..4)
                    .map(|digit| char::from_u32('a' as u32 + at / 12u32.pow(digit) % 12).unwrap())
                    .collect::<String>(),
            );
        }
        let typos = Typos::new("cafe", 1, 0);
        let (mut found, mut seeks, mut from) = (0, 0, Some(String::new()));
        while let Some(other) = from.and_then(|from| list.range(from..).next()) {
            seeks += 1;
            found += u32::from(typos.distance(other).is_some());
            from = typos.next(other);
        }
        // Itself, 4 x 11 with one wrong letter, and three with neighbours in the wrong order.
        assert_eq!(found, 48);
        assert!(seeks < 400, "{seeks}");
    }
}
