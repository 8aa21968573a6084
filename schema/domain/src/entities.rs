//! Figures of an entity in answers, from the sums over its scripts: a name, a category, how well it is covered, its
//! place in a list, and the names that are near one that no entity has.

use cairn_model::DAY_SECS;
use std::cmp::{Ordering, Reverse};

use cairn_events::{Category, EntityName};

/// Age in seconds up to which the holder's own complete list covers it.
pub const OWN_LIST_AGE: u32 = 90 * DAY_SECS;
/// Members from which an entity is covered substantially, if several origins name them.
pub const SUBSTANTIAL_MEMBERS: u64 = 100;
/// Origins that this needs.
pub const SUBSTANTIAL_ORIGINS: u64 = 2;
/// Members from which an entity is covered in part.
pub const PARTIAL_MEMBERS: u64 = 10;
/// An entity counts as a natural person if claims attribute at least one in N of its scripts to a natural person.
const PERSON_SHARE: u64 = 10;
/// Most edits between a name and one that is near it.
const MAX_EDITS: usize = 3;
/// Letters from which a name that begins with them is near.
const LONG_PREFIX: usize = 3;

cairn_model::words! {
    /// How well an entity is covered. It states the strength of the evidence, not the share of its scripts that is
    /// known.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
    pub enum Coverage {
        /// The holder's own list, declared complete and at most [`OWN_LIST_AGE`] old.
        Full = "full",
        /// Several origins, and a hundred members or more.
        Substantial = "substantial",
        /// Ten members or more.
        Partial = "partial",
        /// Fewer.
        SeedOnly = "seed_only",
    }
    /// The word, as answers have it.
    pub fn as_str;
}

/// Facts from which the coverage of an entity follows.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Evidence {
    /// Members.
    pub members: u64,
    /// Independent origins of the claims that make them members.
    pub origins: u64,
    /// When the newest complete document of a list of its own was retrieved, in seconds since 1970; `None` if there is
    /// none.
    pub own_list_at: Option<u32>,
}

impl Evidence {
    /// The coverage at a time, in seconds since 1970.
    #[must_use]
    pub fn coverage(&self, now: u32) -> Coverage {
        let is_new = |at: u32| now.saturating_sub(at) <= OWN_LIST_AGE;
        if self.members > 0 && self.own_list_at.is_some_and(is_new) {
            Coverage::Full
        } else if self.members >= SUBSTANTIAL_MEMBERS && self.origins >= SUBSTANTIAL_ORIGINS {
            Coverage::Substantial
        } else if self.members >= PARTIAL_MEMBERS {
            Coverage::Partial
        } else {
            Coverage::SeedOnly
        }
    }
}

/// The category that most scripts are said to have; of equal ones, the first of the vocabulary.
#[must_use]
pub fn shown_category(categories: &[(Category, u64)]) -> Option<Category> {
    let counted = categories.iter().filter(|(_, scripts)| *scripts > 0);
    counted.min_by_key(|(category, scripts)| (Reverse(*scripts), *category)).map(|(category, _)| *category)
}

/// The name that most scripts are said to have, as people write it; of equal ones, the first by its letters. An entity
/// whose sources write no name has the one for paths.
#[must_use]
pub fn shown_name<'a>(name: &'a EntityName, written: &'a [(String, u64)]) -> &'a str {
    let counted = written.iter().filter(|(text, scripts)| !text.is_empty() && *scripts > 0);
    let best = counted.min_by_key(|(text, scripts)| (Reverse(*scripts), text));
    best.map_or(name.as_str(), |(text, _)| text)
}

/// True if an entity counts as a natural person: claims attribute at least a tenth of its `scripts` to one, so that the
/// error of a single row does not suffice.
#[must_use]
pub fn is_person(persons: u64, scripts: u64) -> bool {
    persons > 0 && persons.saturating_mul(PERSON_SHARE) >= scripts
}

/// Sort order of a list of entities.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Order {
    /// The largest balance first.
    Balance,
    /// The most members first.
    Members,
    /// The newest transaction first.
    Activity,
    /// Ascending by name.
    Name,
}

impl Order {
    /// All of them.
    pub const ALL: [Order; 4] = [Order::Balance, Order::Members, Order::Activity, Order::Name];
}

/// Sort key of an entity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rank<'a> {
    /// Balance in satoshis.
    pub balance: u64,
    /// Members.
    pub members: u64,
    /// Number of the newest transaction of a member; `None` if the chain has none.
    pub last: Option<u64>,
    /// Name, unlike that of any other.
    pub name: &'a str,
}

impl Rank<'_> {
    /// The order of two entities. Equal ones sort by balance, then members, then name, so that no two are equal.
    #[must_use]
    pub fn compare(&self, other: &Self, order: Order) -> Ordering {
        let first = match order {
            Order::Balance => other.balance.cmp(&self.balance),
            Order::Members => other.members.cmp(&self.members),
            Order::Activity => other.last.cmp(&self.last),
            Order::Name => self.name.cmp(other.name),
        };
        let largest = || (other.balance, other.members).cmp(&(self.balance, self.members));
        first.then_with(largest).then_with(|| self.name.cmp(other.name))
    }
}

/// At most `most` of the `names` that are near `asked`, a name that no entity has; the nearest first. A name is near if
/// one of both begins with the other, or if they differ by a few letters.
#[must_use]
pub fn nearest_names<'a>(asked: &str, names: impl Iterator<Item = &'a str>, most: usize) -> Vec<&'a str> {
    let asked = asked.to_lowercase();
    let letters = asked.chars().count();
    let allowed = MAX_EDITS.min(1 + letters / 4);
    let distance = |name: &str| {
        let begins = |text: &str, with: &str| with.len() >= LONG_PREFIX && text.starts_with(with);
        if begins(name, &asked) || begins(&asked, name) {
            return Some(1);
        }
        // The difference in length is the least number of edits; names have one byte a letter.
        let apart = name.len().abs_diff(letters);
        (apart <= allowed).then(|| strsim::levenshtein(name, &asked)).filter(|edits| *edits <= allowed)
    };
    let mut near: Vec<(usize, usize, &str)> = Vec::new();
    for name in names {
        let Some(edits) = distance(name) else { continue };
        let place = (edits, name.len(), name);
        let at = near.partition_point(|before| *before < place);
        if at < most {
            near.insert(at, place);
            near.truncate(most);
        }
    }
    near.into_iter().map(|(.., name)| name).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn coverage(members: u64, origins: u64, own_list_at: Option<u32>) -> &'static str {
        Evidence { members, origins, own_list_at }.coverage(100 * 86_400).as_str()
    }

    #[test]
    fn coverage_follows_the_evidence() {
        assert_eq!(coverage(0, 0, None), "seed_only");
        assert_eq!(coverage(9, 5, None), "seed_only");
        assert_eq!(coverage(10, 1, None), "partial");
        assert_eq!(coverage(99, 9, None), "partial");
        assert_eq!(coverage(100, 1, None), "partial");
        assert_eq!(coverage(100, 2, None), "substantial");
        assert_eq!(coverage(1, 1, Some(10 * 86_400)), "full");
        assert_eq!(coverage(1, 1, Some(10 * 86_400 - 1)), "seed_only");
        assert_eq!(coverage(1, 1, Some(u32::MAX)), "full");
        assert_eq!(coverage(0, 0, Some(u32::MAX)), "seed_only");
    }

    #[test]
    fn most_scripts_decide_name_and_category() {
        let slug: EntityName = "htx".parse().unwrap();
        let written = |all: &[(&str, u64)]| all.iter().map(|(t, n)| ((*t).to_owned(), *n)).collect::<Vec<_>>();
        assert_eq!(shown_name(&slug, &written(&[("HTX", 2), ("Huobi", 7), ("", 9)])), "Huobi");
        assert_eq!(shown_name(&slug, &written(&[("b", 2), ("a", 2)])), "a");
        assert_eq!(shown_name(&slug, &written(&[("", 3), ("x", 0)])), "htx");
        let (exchange, mixer) = (Category::Exchange, Category::Mixer);
        assert_eq!(shown_category(&[(mixer, 3), (exchange, 2)]), Some(mixer));
        assert_eq!(shown_category(&[(mixer, 3), (exchange, 3)]), Some(exchange));
        assert_eq!(shown_category(&[(mixer, 0)]), None);
    }

    #[test]
    fn a_stray_row_makes_no_person() {
        assert!(is_person(1, 1) && is_person(1, 10) && is_person(5, 7));
        assert!(!is_person(0, 0) && !is_person(0, 5) && !is_person(1, 11));
    }

    #[test]
    fn near_names_are_found() {
        let names = ["binance", "binance-us", "bitfinex", "bitstamp", "kraken", "x"];
        let near = |asked: &str, most| nearest_names(asked, names.into_iter(), most);
        assert_eq!(near("binanse", 5), ["binance"]);
        assert_eq!(near("Binanc", 5), ["binance", "binance-us"]);
        assert_eq!(near("binance-global", 5), ["binance"]);
        assert_eq!(near("binance", 1), ["binance"]);
        assert_eq!(near("bit", 5), ["bitfinex", "bitstamp"]);
        assert_eq!(near("\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}", 5), [""; 0]);
        assert_eq!(near("nobody", 5), [""; 0]);
    }

    proptest! {
        #[test]
        fn ranks_are_a_total_order(all in prop::collection::vec((0u64..3, 0u64..3, prop::option::of(0u64..3)), 1..8)) {
            let names: Vec<String> = (0..all.len()).map(|n| format!("e{n}")).collect();
            let ranks: Vec<Rank<'_>> = all.iter().zip(&names)
                .map(|((balance, members, last), name)| Rank { balance: *balance, members: *members, last: *last, name })
                .collect();
            for order in Order::ALL {
                let mut sorted = ranks.clone();
                sorted.sort_by(|a, b| a.compare(b, order));
                let keys: Vec<_> = sorted.iter().map(|rank| match order {
                    Order::Balance => i128::from(rank.balance),
                    Order::Members => i128::from(rank.members),
                    Order::Activity => rank.last.map_or(-1, i128::from),
                    Order::Name => -i128::from(rank.name[1..].parse::<u32>().unwrap()),
                }).collect();
                prop_assert!(keys.is_sorted_by(|a, b| a >= b));
                for pair in sorted.windows(2) {
                    prop_assert_eq!(pair[0].compare(&pair[1], order), Ordering::Less);
                }
            }
        }
    }
}
