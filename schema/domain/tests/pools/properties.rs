//! Tags, attributions and shares against definitions by hand.

use std::cmp::Reverse;

use cairn_domain::pools::{AttributedBy, TagMatcher, attribute, shares};
use cairn_events::{EntityName, PoolTag};
use proptest::{collection::vec, option, prelude::*};

use crate::tag;

/// The tag that counts, by trying all of them.
fn by_hand<'t>(tags: &'t [(u32, PoolTag)], script: &[u8]) -> Option<&'t PoolTag> {
    let stands = |tag: &PoolTag| script.windows(tag.tag.len()).any(|part| part == tag.tag.as_bytes());
    let found = tags.iter().filter(|(_, tag)| stands(tag));
    let order = |(at, tag): &&(u32, PoolTag)| (Reverse(tag.tag.len()), Reverse(*at), tag.pool.clone(), tag.tag.clone());
    found.min_by_key(order).map(|(_, tag)| tag)
}

fn pool() -> impl Strategy<Value = EntityName> {
    "[a-c]".prop_map(|name| name.parse().unwrap())
}

proptest! {
    #[test]
    fn the_tag_that_counts_is_that_of_a_naive_search(
        tags in vec((0..3u32, "[ab/é]{1,4}", "[a-c]"), 0..12),
        script in vec(prop_oneof![Just(b'a'), Just(b'b'), Just(b'/'), Just(0xc3), Just(0xa9), any::<u8>()], 0..40),
    ) {
        let tags: Vec<_> = (1..).zip(tags).map(|(row, (at, text, pool))| (at, tag(row, &text, &pool))).collect();
        let matcher = TagMatcher::new(tags.clone()).unwrap();
        let found = matcher.find(&script).map(|tag| (&tag.tag, &tag.pool));
        prop_assert_eq!(found, by_hand(&tags, &script).map(|tag| (&tag.tag, &tag.pool)));
    }

    #[test]
    fn payouts_come_before_tags(payouts in vec(option::of(pool()), 0..9), tagged in option::of(pool())) {
        let found = attribute(payouts.iter().map(Option::as_ref), tagged.as_ref());
        let paid = payouts.iter().flatten().next();
        prop_assert_eq!(found.map(|of| of.pool), paid.or(tagged.as_ref()));
        prop_assert_eq!(found.map(|of| of.by == AttributedBy::Payout), found.map(|_| paid.is_some()));
        let differs = paid.is_some() && tagged.is_some() && paid != tagged.as_ref();
        prop_assert_eq!(found.and_then(|of| of.other_pool), tagged.as_ref().filter(|_| differs));
    }

    #[test]
    fn shares_add_up(counts in vec(prop_oneof![0..5u32, any::<u32>()], 1..40)) {
        let found = shares(&counts);
        let total: u64 = counts.iter().map(|count| u64::from(*count)).sum();
        prop_assert_eq!(found.iter().map(|share| u64::from(*share)).sum::<u64>(), if total == 0 { 0 } else { 1_000_000 });
        for (share, count) in found.iter().zip(&counts) {
            let exact = (u64::from(*count) * 1_000_000).checked_div(total).unwrap_or(0);
            prop_assert!((exact..=exact + 1).contains(&u64::from(*share)));
        }
    }
}

#[test]
fn the_longest_tag_counts_then_that_of_the_newest_list() {
    let tags = [(1, tag(1, "/pool/", "one")), (2, tag(1, "/pool/", "two")), (3, tag(2, "/pool", "three"))];
    let matcher = TagMatcher::new(tags).unwrap();
    assert_eq!(matcher.find(b"xx/pool/yy").unwrap().pool.as_str(), "two");
    assert_eq!(matcher.find(b"xx/pool").unwrap().pool.as_str(), "three");
    assert!(matcher.find(b"xx/Pool/").is_none() && matcher.find(b"").is_none());
    assert_eq!(matcher.tags().len(), 2, "a tag that two lists have counts once");
    assert!(TagMatcher::new([]).unwrap().find(b"/pool/").is_none());
}

/// Ten thousand tags that share their beginnings, and a scriptSig that has most of them begun.
#[test]
fn many_tags_take_little_time() {
    let tags = (0..10_000).map(|n| (0, tag(n + 1, &format!("{}{n}", "a".repeat(n as usize % 90)), "pool")));
    let matcher = TagMatcher::new(tags).unwrap();
    let began = std::time::Instant::now();
    for _ in 0..1_000 {
        assert!(matcher.find(&[b'a'; 100]).is_none());
    }
    assert!(began.elapsed().as_millis() < 2_000, "{:?}", began.elapsed());
}
