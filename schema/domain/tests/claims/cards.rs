//! The trust card and what stands beside it.

use cairn_domain::claims::{
    Assessment, Card, ClaimCaveat, Confidence, Facts, Risk, Strength, card, contributors, historical_flags, listings,
};
use cairn_events::{Behaviour, Category, ClaimType, EvidenceTier};

use crate::said::{DAY, FACTS, NOW, Said, control, listed, reported, said, stated};

fn codes(card: &Card<'_>) -> Vec<&'static str> {
    card.caveats.iter().map(ClaimCaveat::code).collect()
}

/// State, indicator and codes of caveats.
fn outline(said: &[Said], facts: &Facts) -> (Assessment, Risk, Vec<&'static str>) {
    let stated = stated(said);
    let card = card(&stated, facts);
    (card.assessment, card.risk_indicator, codes(&card))
}

#[test]
fn a_card_without_claims_says_why() {
    let unlabeled = card(&[], &FACTS);
    assert_eq!((unlabeled.label.category, unlabeled.label.value), ("unlabeled", "unknown"));
    assert!(unlabeled.label.reason.is_some());
    assert_eq!((unlabeled.confidence, unlabeled.evidence_strength), (Confidence::Unverified, Strength::None));
    assert_eq!((unlabeled.evidence_tier, unlabeled.claim_type), (None, None));
    let negative = |state| (state, Risk::NoneObserved, vec!["list_not_exhaustive"]);
    assert_eq!(outline(&[], &FACTS), negative(Assessment::ExaminedNoMatch));
    assert_eq!(outline(&[], &Facts { has_history: false, ..FACTS }), negative(Assessment::NoHistory));
    let unexamined = Facts { examined: false, has_history: false, ..FACTS };
    assert_eq!(outline(&[], &unexamined), negative(Assessment::NotExamined));
    let seen = Facts { has_signals: true, ..FACTS };
    assert_eq!(outline(&[], &seen), (Assessment::ObservedOnly, Risk::Behavioral, vec!["list_not_exhaustive"]));
    let exposed = outline(&[], &Facts { has_indirect_exposure: true, ..seen });
    assert_eq!(exposed, (Assessment::ObservedOnly, Risk::IndirectExposure, vec!["list_not_exhaustive"]).clone());
}

#[test]
fn the_best_claim_of_the_entity_with_the_votes_is_shown() {
    let said = [
        control("mine", "okx"),
        control("bitfinex_pub", "bitfinex").level(90).category(Category::Exchange),
        said("htx_por", ClaimType::ControlledBy, EvidenceTier::KeySigned, Some("bitfinex")).level(90),
        control("gs_walletexplorer", "bitfinex"),
        listed("ofac_a", None),
    ];
    let stated = stated(&said);
    let card = card(&stated, &FACTS);
    // Of equal levels the stronger tier.
    assert_eq!(card.evidence_tier, Some(EvidenceTier::KeySigned));
    assert_eq!((card.label.value, card.label.category), ("BITFINEX", "unlabeled"));
    assert_eq!(card.label.reason, Some("the source gives no category"));
    assert_eq!((card.confidence_level, card.confidence), (90, Confidence::Verified));
    assert_eq!((card.label_count, card.contributor_count), (5, 4));
    assert_eq!(card.assessment, Assessment::Labeled);
    assert_eq!(card.risk_indicator, Risk::DirectFlag);
    assert_eq!(codes(&card), ["copy_of_same_origin", "conflicting_claims"]);
}

#[test]
fn of_equal_claims_the_newer_and_then_the_first_source_by_name_is_shown() {
    let sources = |said: &[Said]| card(&stated(said), &FACTS).best.unwrap().source.to_string();
    let equal = [control("beta", "okx"), control("alpha", "okx")];
    assert_eq!(sources(&equal), "alpha");
    assert_eq!(sources(&[control("beta", "okx").at(NOW - 9 * DAY), control("alpha", "okx")]), "beta");
}

#[test]
fn of_one_entity_a_claim_that_nobody_contests_is_shown() {
    let claims = [control("mine", "okx").level(90).contested(), control("yours", "okx")];
    let stated = stated(&claims);
    let card = card(&stated, &FACTS);
    assert_eq!(card.best.unwrap().source.as_str(), "yours");
    assert_eq!((card.assessment, card.is_contested), (Assessment::Contested, true));
}

#[test]
fn a_claim_that_names_another_labels_nothing_unless_it_is_a_listing() {
    let cluster = control("mine", "okx").level(100).inherited();
    let state = |other: Said| outline(&[cluster.clone(), other], &FACTS).0;
    assert_eq!(state(reported("yours", "locky")), Assessment::Inferred);
    assert_eq!(state(reported("yours", "okx")), Assessment::Labeled);
    assert_eq!(state(listed("ofac_a", Some("suex"))), Assessment::Labeled);
}

#[test]
fn inherited_and_weak_claims_are_inferred() {
    let cluster = [control("mine", "okx").level(100).inherited()];
    let stated = stated(&cluster);
    let card = card(&stated, &FACTS);
    assert_eq!((card.assessment, card.evidence_tier), (Assessment::Inferred, Some(EvidenceTier::ClusterInherited)));
    assert_eq!((card.confidence, card.confidence_tier), (Confidence::Verified, Confidence::Moderate));
    assert_eq!(card.evidence_strength, Strength::Weak);
    assert_eq!(codes(&card), ["list_not_exhaustive", "cluster_inherited"]);
    let weak = said("pools_a", ClaimType::CoinbasePayoutOf, EvidenceTier::Community, Some("antpool"));
    let expected = (Assessment::Inferred, Risk::NoneObserved, vec!["list_not_exhaustive", "community_unverified"]);
    assert_eq!(outline(&[weak], &FACTS), expected);
    let seen = said("mine", ClaimType::ParticipatedIn, EvidenceTier::OnchainVerified, Some("whirlpool"));
    assert_eq!(outline(&[seen], &FACTS).0, Assessment::ObservedOnly);
}

#[test]
fn the_first_state_that_holds_is_told() {
    let conflict = [control("mine", "okx"), control("yours", "kraken")];
    assert_eq!(outline(&conflict, &FACTS).0, Assessment::Conflicted);
    let contested = [conflict[0].clone().contested(), conflict[1].clone(), control("theirs", "htx")];
    assert_eq!(outline(&contested, &FACTS).0, Assessment::Contested);
    assert_eq!(outline(&contested, &Facts { examined: false, ..FACTS }).0, Assessment::NotExamined);
}

#[test]
fn a_contest_hides_no_listing() {
    let listing = listed("ofac_a", Some("suex"));
    let said = [listing.clone().contested(), control("mine", "okx").contested()];
    let stated = stated(&said);
    let card = card(&stated, &FACTS);
    assert_eq!((card.assessment, card.risk_indicator), (Assessment::Contested, Risk::DirectFlag));
    assert!(card.is_contested);
    assert_eq!(card.listings.len(), 1);
    assert_eq!(outline(&[listing.contested()], &FACTS).0, Assessment::Labeled);
}

#[test]
fn one_list_is_one_listing_with_its_first_and_newest_snapshot() {
    let mut oldest = listed("ofac_0xb10c_lists", None).at(NOW - 900 * DAY);
    oldest.claim.valid_from = Some(NOW - 950 * DAY);
    let said =
        [oldest, listed("ofac_amiexposed", None), listed("ofac_watchman_named", Some("suex")).at(NOW - 800 * DAY)];
    let stated = stated(&said);
    let found = listings(&stated, FACTS.at);
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].authority, found[0].entity_name), ("OFAC (US Treasury)", "SUEX"));
    assert_eq!((found[0].first_snapshot, found[0].newest_snapshot), (NOW - 900 * DAY, NOW - 10 * DAY));
    assert_eq!(found[0].not_before, Some(NOW - 950 * DAY));
}

#[test]
fn what_a_list_no_longer_has_is_history_only() {
    let gone = listed("ofac-sdn", Some("tornado")).at(NOW - 900 * DAY).ended(NOW - 20 * DAY);
    let stated_gone = [gone.stated()];
    let card = card(&stated_gone, &FACTS);
    assert_eq!((card.assessment, card.risk_indicator), (Assessment::ExaminedNoMatch, Risk::NoneObserved));
    assert!(card.listings.is_empty());
    assert_eq!(codes(&card), ["list_not_exhaustive", "delisted"]);
    let flag = card.historical_flags[0];
    assert_eq!((flag.flag, flag.is_present, flag.occurrences), (Behaviour::Sanctioned, false, 1));
    assert_eq!((flag.first_seen, flag.last_seen), (NOW - 900 * DAY, NOW - 20 * DAY));
    // A copy from before the delisting changes nothing; one from after it has the script on the list again.
    let before = Said { retrieved_at: NOW - 30 * DAY, ..listed("ofac_amiexposed", None).at(NOW - 40 * DAY) };
    assert_eq!(outline(&[gone.clone(), before], &FACTS).1, Risk::NoneObserved);
    let (_, risk, codes) = outline(&[gone, listed("ofac_amiexposed", None)], &FACTS);
    assert_eq!((risk, codes.contains(&"delisted")), (Risk::DirectFlag, false));
}

#[test]
fn flags_come_from_claims_that_stand_and_not_from_victims_or_weak_reports() {
    let risk = |said: Said| outline(&[said], &FACTS).1;
    assert_eq!(risk(reported("mine", "locky").flag(Behaviour::Ransomware)), Risk::DirectFlag);
    assert_eq!(risk(reported("mine", "locky").flag(Behaviour::Ransomware).level(10)), Risk::Behavioral);
    assert_eq!(risk(reported("mine", "locky").flag(Behaviour::Ransomware).inherited()), Risk::IndirectExposure);
    assert_eq!(risk(control("mine", "okx").flag(Behaviour::ColdWallet)), Risk::NoneObserved);
    assert_eq!(risk(reported("mine", "zaif").flag(Behaviour::Theft).category(Category::Victim)), Risk::NoneObserved);
    assert_eq!(risk(control("mine", "state").flag(Behaviour::Theft).category(Category::Seizure)), Risk::NoneObserved);
    // A flag without a label: the label is a negative.
    let behaves = said("mine", ClaimType::BehavesAs, EvidenceTier::Investigated, None).flag(Behaviour::Mixing);
    let expected = (Assessment::ObservedOnly, Risk::DirectFlag, vec!["list_not_exhaustive"]);
    assert_eq!(outline(&[behaves], &FACTS), expected);
    let said = [
        reported("gs_ransomware_paquet", "locky").flag(Behaviour::Ransomware),
        reported("gs_ransomwhere", "locky").flag(Behaviour::Ransomware).at(NOW - 30 * DAY),
        reported("unit42_samsa", "locky").flag(Behaviour::Ransomware),
        control("mine", "locky").flag(Behaviour::ColdWallet),
    ];
    let stated = stated(&said);
    let flags = historical_flags(&stated, FACTS.at);
    assert_eq!((flags.len(), flags[0].occurrences, flags[0].is_present), (1, 2, true));
    assert_eq!((flags[0].first_seen, flags[0].last_seen), (NOW - 30 * DAY, NOW - 5 * DAY));
}

#[test]
fn old_claims_old_feeds_and_changed_labels_have_caveats() {
    let old = control("mine", "okx").at(NOW - 366 * DAY);
    let before = control("mine", "kraken").at(NOW - 900 * DAY).ended(NOW - 366 * DAY);
    let feed = Facts { feed_checked_at: Some(NOW - 2 * DAY - 1), ..FACTS };
    let (_, _, codes) = outline(&[old.clone(), before], &feed);
    assert_eq!(codes, ["source_stale", "feed_stale", "list_not_exhaustive", "label_restated"]);
    let feed = Facts { feed_checked_at: Some(NOW - 2 * DAY), ..FACTS };
    assert_eq!(outline(&[old.at(NOW - 365 * DAY)], &feed).2, ["list_not_exhaustive"]);
}

#[test]
fn names_in_a_caveat_are_bounded() {
    let said: Vec<Said> = (0..500).map(|place| control(&format!("s{place}"), &format!("e{place:03}"))).collect();
    let stated = stated(&said);
    let card = card(&stated, &FACTS);
    let named = card.caveats.iter().find_map(|caveat| match caveat {
        ClaimCaveat::ConflictingClaims { entities, count } => Some((entities.len(), *count)),
        _ => None,
    });
    assert_eq!(named, Some((10, 500)));
}

#[test]
fn contributors_are_counted_by_origin() {
    let said = [
        control("gs_walletexplorer", "okx").category(Category::Exchange),
        control("gs_chaininfo", "okx").category(Category::Exchange).at(NOW - 7 * DAY),
        listed("ofac_a", None),
        control("yours", "okx").category(Category::Exchange).level(90).inherited(),
        control("gone", "okx").ended(NOW - DAY),
    ];
    let stated = stated(&said);
    let found = contributors(&stated, FACTS.at);
    let origins: Vec<_> = found.origins.iter().map(|one| (one.origin, one.claims, one.highest_level)).collect();
    assert_eq!(origins, [("ofac-sdn", 1, 100), ("yours", 1, 54), ("walletexplorer", 2, 40)]);
    assert_eq!(found.origins[2].newest, NOW - 7 * DAY);
    assert_eq!((found.origins[2].sources.len(), found.origins[1].inherited), (2, 1));
    let kinds: Vec<_> = found.categories.iter().map(|one| (one.category, one.origins, one.claims)).collect();
    assert_eq!(kinds, [("exchange", 2, 3), ("sanctioned", 1, 1)]);
}
