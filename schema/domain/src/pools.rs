//! Which mining pool a block is from: by whom its coinbase pays, else by the tag in its coinbase.

use std::cmp::Reverse;

use aho_corasick::{AhoCorasick, BuildError};
use cairn_events::{Category, EntityName, PoolTag};

use crate::claims::{At, Stated, consensus, standings};

cairn_model::words! {
    /// Evidence by which a block belongs to a pool.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
    pub enum AttributedBy {
        /// The coinbase pays a script that claims name as the pool's.
        Payout = "payout",
        /// The coinbase has a tag that lists know as the pool's. Any miner can write any pool's tag.
        Tag = "tag",
    }
    /// The word, as answers have it.
    pub fn as_str;
}

/// The pool of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Attribution<'a> {
    /// The pool.
    pub pool: &'a EntityName,
    /// The evidence.
    pub by: AttributedBy,
    /// The pool that the tag names, if it names another than the payout.
    pub other_pool: Option<&'a EntityName>,
}

/// The pool of a block: that of its largest payout that has one, else that of its tag. `payouts` has the pool of each
/// payout, the largest first.
#[must_use]
pub fn attribute<'a>(
    payouts: impl IntoIterator<Item = Option<&'a EntityName>>,
    tagged: Option<&'a EntityName>,
) -> Option<Attribution<'a>> {
    match (payouts.into_iter().flatten().next(), tagged) {
        (Some(pool), tagged) => {
            Some(Attribution { pool, by: AttributedBy::Payout, other_pool: tagged.filter(|tagged| *tagged != pool) })
        }
        (None, Some(pool)) => Some(Attribution { pool, by: AttributedBy::Tag, other_pool: None }),
        (None, None) => None,
    }
}

/// The pool that a script is paid for, by the claims about it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PoolScript<'a> {
    /// The pool.
    pub pool: &'a EntityName,
    /// The claim that says so: the newest of the highest level.
    pub claim: Stated<'a>,
}

/// The pool that a script is paid for: of the claims that stand, those of control that name a mining pool vote, one
/// vote for each origin. `None` without one, and if no pool has three quarters of the votes.
#[must_use]
pub fn pool_of_script<'a>(stated: &[Stated<'a>], at: At) -> Option<PoolScript<'a>> {
    let is_pool = |stated: &&Stated<'a>| {
        let claim = stated.claim;
        claim.claim_type.makes_members() && claim.category == Some(Category::MiningPool) && !stated.contested()
    };
    let naming: Vec<Stated<'a>> = stated.iter().filter(is_pool).copied().collect();
    let votes = consensus(&naming, at);
    let pool = votes.first().filter(|_| !votes.is_conflicted)?;
    let standing = naming.iter().zip(standings(&naming, at));
    let stands = standing
        .filter(|(stated, standing)| *standing == crate::claims::ClaimStatus::Stands && stated.entity() == Some(pool));
    let best = stands.map(|(stated, _)| *stated).max_by_key(|stated| (stated.level(), stated.then()));
    best.map(|claim| PoolScript { pool, claim })
}

/// The tags of pools, ready to be looked for in coinbases.
#[derive(Debug)]
pub struct TagMatcher {
    /// Finds all of them in one pass; `None` if there are none.
    automaton: Option<AhoCorasick>,
    /// The best first.
    tags: Vec<PoolTag>,
}

/// The tags cannot be made ready: they are longer than lists of tags may be.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the tags of mining pools cannot be searched for: {0}")]
pub struct TagError(#[from] BuildError);

impl TagMatcher {
    /// Tags of all lists, each with when its list was retrieved, in seconds since 1970. The longest tag counts; of
    /// equally long ones that of the newest list, then by the name of the pool.
    ///
    /// # Errors
    /// Fails if there are more tags than can be searched for: some 100 MB.
    pub fn new(tags: impl IntoIterator<Item = (u32, PoolTag)>) -> Result<Self, TagError> {
        let mut tags: Vec<(u32, PoolTag)> = tags.into_iter().collect();
        tags.sort_by(|(one_at, one), (other_at, other)| {
            let order = |at: u32, tag: &PoolTag| (Reverse(tag.tag.len()), Reverse(at));
            order(*one_at, one)
                .cmp(&order(*other_at, other))
                .then_with(|| one.pool.cmp(&other.pool))
                .then_with(|| one.tag.cmp(&other.tag))
        });
        let mut seen = std::collections::HashSet::new();
        tags.retain(|(_, tag)| seen.insert(std::sync::Arc::clone(&tag.tag)));
        let tags: Vec<PoolTag> = tags.into_iter().map(|(_, tag)| tag).collect();
        let automaton = match tags.is_empty() {
            true => None,
            false => Some(AhoCorasick::new(tags.iter().map(|tag| tag.tag.as_bytes()))?),
        };
        Ok(TagMatcher { automaton, tags })
    }

    /// The tag that counts in the scriptSig of a coinbase: its bytes stand there literally. Takes some nanoseconds a
    /// byte.
    #[must_use]
    pub fn find(&self, coinbase_script: &[u8]) -> Option<&PoolTag> {
        let found = self.automaton.as_ref()?.find_overlapping_iter(coinbase_script);
        self.tags.get(found.map(|found| found.pattern().as_usize()).min()?)
    }

    /// The tags, the longest first; of one that several lists have, only that of the newest list.
    #[must_use]
    pub fn tags(&self) -> &[PoolTag] {
        &self.tags
    }
}

/// Shares of counts in millionths that add up to a million: rounded down, and the rest goes to the largest remainders;
/// among equal ones, to the first. All 0 if the counts are.
#[must_use]
pub fn shares(counts: &[u32]) -> Vec<u32> {
    const WHOLE: u64 = 1_000_000;
    let total: u64 = counts.iter().map(|count| u64::from(*count)).sum();
    if total == 0 {
        return vec![0; counts.len()];
    }
    let parts = counts.iter().map(|count| u64::from(*count) * WHOLE);
    // A part is at most a million.
    let mut shares: Vec<u32> = parts.clone().map(|part| (part / total) as u32).collect();
    let mut order: Vec<(Reverse<u64>, usize)> = parts.zip(0..).map(|(part, at)| (Reverse(part % total), at)).collect();
    order.sort_unstable();
    let left = WHOLE - shares.iter().map(|share| u64::from(*share)).sum::<u64>();
    // Fewer than there are parts.
    for (_, at) in order.into_iter().take(left as usize) {
        if let Some(share) = shares.get_mut(at) {
            *share += 1;
        }
    }
    shares
}
