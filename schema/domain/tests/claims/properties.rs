//! Laws of the judgement, on made claims.

use cairn_domain::claims::{
    At, ConsensusState, Facts, Risk, card, confidence_tier, consensus, contributors, detail, explanation, headline,
    membership, short_label,
};
use cairn_events::{Behaviour, Category, ClaimType, DocumentHash, EvidenceTier};
use proptest::{option, prelude::*, sample::select};

use crate::{
    oracle::{Outcome, outcome},
    said::{DAY, FACTS, NOW, Said, listed, said, stated},
};

const SOURCES: &[&str] = &[
    "ofac_a",
    "gs_ofac_sdnlist",
    "pools_mempool_v2",
    "pools_btccom",
    "dl_bitcoin_book",
    "gs_exchange_por",
    "mtgox_tracker",
    "gs_walletexplorer",
    "mine",
    "yours",
];
const ENTITIES: &[&str] = &["okx", "mt-gox", "antpool", "locky"];

fn times() -> impl Strategy<Value = u32> {
    // Around now, and around a year ago.
    prop_oneof![NOW - 3 * DAY..NOW + 3 * DAY, NOW - 370 * DAY..NOW - 360 * DAY]
}

prop_compose! {
    fn what()(
        source in select(SOURCES),
        claim_type in prop_oneof![Just(ClaimType::ControlledBy), select(ClaimType::ALL)],
        tier in select(EvidenceTier::ALL),
        entity in option::weighted(0.8, select(ENTITIES)),
        level in prop_oneof![0_u8..=100, select(&[0_u8, 10, 25, 30, 40, 75, 84, 90, 100][..])],
        category in option::of(select(Category::ALL)),
        behaviour in option::of(select(Behaviour::ALL)),
    ) -> Said {
        let mut said = said(source, claim_type, tier, entity);
        said.claim.level = level;
        (said.claim.category, said.claim.behaviour) = (category, behaviour);
        said
    }
}

prop_compose! {
    fn one()(
        mut said in what(),
        asserted in option::weighted(0.8, times()),
        retrieved in times(),
        from in option::weighted(0.2, times()),
        to in option::weighted(0.2, times()),
        ended in option::weighted(0.2, times()),
        flags in any::<[bool; 4]>(),
        document in 0_u8..3,
    ) -> Said {
        (said.claim.asserted_at, said.retrieved_at, said.ended_at) = (asserted, retrieved, ended);
        (said.claim.valid_from, said.claim.valid_to) = (from, to);
        said.inherited = flags[0] && flags[1];
        said.claim.is_inherited = flags[2] || flags[1];
        said.is_contested = flags[3] && flags[0];
        said.document = DocumentHash([document; 32]);
        said
    }
}

/// Claims with rows of their own: document and row identify a claim.
fn several() -> impl Strategy<Value = Vec<Said>> {
    let numbered = |said: Vec<Said>| {
        let row = |(place, mut said): (usize, Said)| {
            said.claim.row = place as u32 + 1;
            said
        };
        said.into_iter().enumerate().map(row).collect()
    };
    prop::collection::vec(one(), 0..10).prop_map(numbered)
}

/// Result of the votes in the form of the slower computation.
fn computed(said: &[Said]) -> Outcome {
    let stated = stated(said);
    let votes = consensus(&stated, At::time(NOW));
    let sums =
        votes.tallies.iter().map(|tally| (tally.entity.to_string(), u32::try_from(tally.sum).unwrap())).collect();
    let member = membership(&stated, At::time(NOW)).map(|member| (member.entity.to_string(), member.is_direct));
    Outcome { state: votes.state.as_str(), sums, member }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn the_votes_are_those_of_a_slower_computation(said in several()) {
        prop_assert_eq!(computed(&said), outcome(&stated(&said), NOW));
    }

    #[test]
    fn order_changes_nothing(said in several().prop_flat_map(|said| (Just(said.clone()), Just(said).prop_shuffle()))) {
        let (one, other) = (stated(&said.0), stated(&said.1));
        let (one, other) = (card(&one, &FACTS), card(&other, &FACTS));
        prop_assert_eq!(headline(&one, NOW), headline(&other, NOW));
        prop_assert_eq!(explanation(&one), explanation(&other));
        prop_assert_eq!(one, other);
        let (one, other) = (stated(&said.0), stated(&said.1));
        prop_assert_eq!(contributors(&one, FACTS.at), contributors(&other, FACTS.at));
        prop_assert_eq!(detail(&one, FACTS.at, 1, 4), detail(&other, FACTS.at, 1, 4));
    }

    #[test]
    fn copies_of_one_origin_change_no_vote(said in several(), which in any::<prop::sample::Index>(), name in 0_u8..3) {
        prop_assume!(!said.is_empty());
        let mut copy = said[which.index(said.len())].clone();
        // Another carrier of the same origin, where there is one for every entity.
        let family = copy.stated().origin().to_owned();
        copy.source = match family.as_str() {
            "ofac-sdn" => format!("ofac_{name}").parse().unwrap(),
            "pool-lists" => format!("pools_{name}").parse().unwrap(),
            "walletexplorer" => "gs_chaininfo".parse().unwrap(),
            _ => copy.source,
        };
        copy.document = DocumentHash([9; 32]);
        let more = [said.clone(), vec![copy]].concat();
        prop_assert_eq!(computed(&said), computed(&more));
    }

    #[test]
    fn a_carrier_of_the_same_origin_corroborates_nothing(said in what(), level in 0_u8..=100) {
        let one = Said { source: "ofac_a".parse().unwrap(), ..said };
        let other = Said { source: "gs_ofac_sdnlist".parse().unwrap(), ..one.clone() }.level(level);
        let both = [one, other];
        prop_assert_ne!(consensus(&stated(&both), At::time(NOW)).state, ConsensusState::Corroborated);
    }

    #[test]
    fn placeholders_change_no_vote(said in several(), mut nameless in one()) {
        nameless.claim.entity = None;
        // That a list no longer has it would be no vote, but end other claims.
        nameless.ended_at = None;
        let more = [said.clone(), vec![nameless]].concat();
        prop_assert_eq!(computed(&said), computed(&more));
    }

    #[test]
    fn a_contest_changes_no_listing_and_no_indicator(said in several(), source in select(&["ministry", "fr_tresor_gels"][..])) {
        let with = [said.clone(), vec![listed(source, None)]].concat();
        let contested: Vec<Said> = with.iter().cloned().map(Said::contested).collect();
        let (one, other) = (stated(&with), stated(&contested));
        let (one, other) = (card(&one, &FACTS), card(&other, &FACTS));
        prop_assert_eq!(&one.listings, &other.listings);
        prop_assert_eq!(other.risk_indicator, Risk::DirectFlag);
        prop_assert_eq!(&one.historical_flags, &other.historical_flags);
        prop_assert!(headline(&other, NOW).contains("listed by "));
    }

    #[test]
    fn what_is_inherited_has_60_at_most(said in one()) {
        let inherited = Said { inherited: true, ..said };
        prop_assert!(inherited.stated().level() <= 60);
        prop_assert!(inherited.stated().level() <= inherited.claim.level);
    }

    #[test]
    fn age_never_raises_a_tier(said in one(), now in NOW..NOW + 800 * DAY, later in 0..800 * DAY) {
        let stated = said.stated();
        prop_assert!(confidence_tier(&stated, now + later) <= confidence_tier(&stated, now));
    }

    #[test]
    fn a_card_is_consistent(said in several(), has_history in any::<bool>(), has_signals in any::<bool>()) {
        let stated = stated(&said);
        let card = card(&stated, &Facts { has_history, has_signals, ..FACTS });
        prop_assert_eq!(card.best.is_some(), card.label_count > 0);
        prop_assert_eq!(card.best.is_none(), card.label.value == "unknown" && card.label.category == "unlabeled"
            && card.claim_type.is_none());
        prop_assert!(card.contributor_count <= card.label_count);
        prop_assert!(card.consensus.origins <= card.contributor_count);
        prop_assert!(card.listings.is_empty() || card.risk_indicator == Risk::DirectFlag);
        prop_assert!(card.historical_flags.iter().all(|flag| flag.first_seen <= flag.last_seen && flag.occurrences > 0));
        let negative = card.caveats.iter().any(|caveat| caveat.code() == "list_not_exhaustive");
        prop_assert!(negative || card.risk_indicator == Risk::DirectFlag);
        let short = short_label(&stated, FACTS.at);
        prop_assert_eq!(short.map(|short| short.label), card.best.map(|_| card.label));
        prop_assert_eq!(short.is_some_and(|short| short.is_conflicted), card.consensus.is_conflicted);
        if let Some(best) = &card.best {
            prop_assert!(card.consensus.first().is_none() || best.entity() == card.consensus.first());
        }
    }
}
