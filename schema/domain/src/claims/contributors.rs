//! How deep the claims of a script go: their origins, and the kinds that they name.

use std::collections::{BTreeMap, BTreeSet};

use cairn_events::{Behaviour, Category};

use super::{At, Stated, standing::standing_claims};

/// Contribution of one origin.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OriginDepth<'a> {
    /// The origin.
    pub origin: &'a str,
    /// The sources that repeat it, ascending.
    pub sources: BTreeSet<&'a str>,
    /// How many claims.
    pub claims: usize,
    /// How many of them are inherited.
    pub inherited: usize,
    /// The highest level, 0 to 100, after inheritance.
    pub highest_level: u8,
    /// When the newest was asserted, in seconds since 1970.
    pub newest: u32,
}

/// How often a kind is named.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CategoryShare<'a> {
    /// The word of the category, else of the behaviour, else `unlabeled`.
    pub category: &'a str,
    /// How many origins name it.
    pub origins: usize,
    /// How many claims.
    pub claims: usize,
}

/// Origins that contribute claims about a script.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Contributors<'a> {
    /// The origins, by the highest level first, then by name.
    pub origins: Vec<OriginDepth<'a>>,
    /// The kinds; the one that most origins name first, then by word.
    pub categories: Vec<CategoryShare<'a>>,
}

/// The origins of the claims that stand, and the kinds that they name.
#[must_use]
pub fn contributors<'a>(stated: &[Stated<'a>], at: At) -> Contributors<'a> {
    let mut depths: BTreeMap<&str, OriginDepth<'a>> = BTreeMap::new();
    let mut kinds: BTreeMap<&'static str, (BTreeSet<&str>, usize)> = BTreeMap::new();
    for one in standing_claims(stated, at) {
        let origin = one.origin();
        let depth = depths.entry(origin).or_insert_with(|| OriginDepth {
            origin,
            sources: BTreeSet::new(),
            claims: 0,
            inherited: 0,
            highest_level: 0,
            newest: 0,
        });
        depth.sources.insert(one.source.as_str());
        depth.claims += 1;
        depth.inherited += usize::from(one.inherited);
        depth.highest_level = depth.highest_level.max(one.level());
        depth.newest = depth.newest.max(one.then());
        let kind = one.claim.category.map(Category::as_str).or(one.claim.behaviour.map(Behaviour::as_str));
        let (origins, claims) = kinds.entry(kind.unwrap_or("unlabeled")).or_default();
        origins.insert(origin);
        *claims += 1;
    }
    let mut origins: Vec<OriginDepth<'a>> = depths.into_values().collect();
    origins.sort_by_key(|depth| std::cmp::Reverse(depth.highest_level));
    let share = |(category, (origins, claims)): (&'static str, (BTreeSet<&str>, usize))| CategoryShare {
        category,
        origins: origins.len(),
        claims,
    };
    let mut categories: Vec<CategoryShare<'a>> = kinds.into_iter().map(share).collect();
    categories.sort_by_key(|share| std::cmp::Reverse(share.origins));
    Contributors { origins, categories }
}
