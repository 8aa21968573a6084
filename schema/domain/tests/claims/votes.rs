//! Standing, votes and membership.

use cairn_domain::claims::{
    At, Basis, ClaimStatus, Confidence, ConsensusState, confidence_tier, consensus, is_stale, membership, standings,
};
use cairn_events::{ClaimType, EvidenceTier};

use crate::said::{DAY, NOW, Said, control, listed, reported, said, stated};

fn state(said: &[Said]) -> ConsensusState {
    consensus(&stated(said), At::time(NOW)).state
}

fn first(said: &[Said]) -> Option<String> {
    consensus(&stated(said), At::time(NOW)).first().map(ToString::to_string)
}

/// The member's entity, and whether it is direct.
fn member(said: &[Said]) -> Option<(String, bool)> {
    membership(&stated(said), At::time(NOW)).map(|member| (member.entity.to_string(), member.is_direct))
}

#[test]
fn a_claim_stands_from_its_assertion_to_its_end() {
    let mut one = control("mine", "okx").at(NOW - 100).ended(NOW);
    (one.claim.valid_from, one.claim.valid_to) = (Some(NOW - 80), Some(NOW - 20));
    let at = |said: &Said, time| standings(&[said.stated()], At::time(time))[0];
    assert_eq!(at(&one, NOW - 101), ClaimStatus::NotYet);
    assert_eq!(at(&one, NOW - 81), ClaimStatus::NotYet);
    assert_eq!(at(&one, NOW - 80), ClaimStatus::Stands);
    assert_eq!(at(&one, NOW - 21), ClaimStatus::Stands);
    assert_eq!(at(&one, NOW - 20), ClaimStatus::Expired(NOW - 20));
    assert_eq!(at(&one, NOW), ClaimStatus::Delisted(NOW));
    one.claim.asserted_at = None;
    (one.retrieved_at, one.claim.valid_to) = (NOW - 60, None);
    assert_eq!(at(&one, NOW - 61), ClaimStatus::NotYet);
    assert_eq!(at(&one, NOW - 60), ClaimStatus::Stands);
}

#[test]
fn the_second_clock_hides_what_was_not_known_yet() {
    let one = control("mine", "okx").at(NOW - 900).ended(NOW - 300);
    let one = Said { retrieved_at: NOW - 600, ..one };
    let known = |until| standings(&[one.stated()], At { time: NOW - 200, known_until: Some(until) })[0];
    assert_eq!(known(NOW - 601), ClaimStatus::NotYet);
    assert_eq!(known(NOW - 600), ClaimStatus::Stands);
    assert_eq!(known(NOW - 301), ClaimStatus::Stands);
    assert_eq!(known(NOW - 300), ClaimStatus::Delisted(NOW - 300));
}

#[test]
fn older_copies_of_a_list_do_not_keep_up_what_the_list_no_longer_has() {
    let gone = listed("ofac-sdn", Some("suex")).at(NOW - 90 * DAY).ended(NOW - 20 * DAY);
    let copy = |retrieved_at| Said { retrieved_at, ..listed("ofac_a", None).at(NOW - 80 * DAY) };
    let all = [gone, copy(NOW - 20 * DAY - 1), copy(NOW - 20 * DAY), listed("fr_tresor_gels", Some("suex"))];
    let other = Said { retrieved_at: NOW - 70 * DAY, ..reported("ofac_a", "suex").at(NOW - 70 * DAY) };
    let found = |time| standings(&stated(&[&all[..], std::slice::from_ref(&other)].concat()), At::time(time));
    let delisted = ClaimStatus::Delisted(NOW - 20 * DAY);
    // A copy that was fetched later, other lists, and claims other than listings stand.
    let now = [delisted, delisted, ClaimStatus::Stands, ClaimStatus::Stands, ClaimStatus::Stands];
    assert_eq!(found(NOW), now);
    // Before it left the list, all but the youngest stood.
    assert_eq!(found(NOW - 20 * DAY - 1)[..3], [ClaimStatus::Stands; 3]);
}

#[test]
fn only_what_is_meant_to_be_is_inherited_and_a_listing_never() {
    let mut one = control("mine", "okx").level(90).inherited();
    assert_eq!(member(&[one.clone()]), Some(("okx".into(), false)));
    one.claim.is_inherited = false;
    assert_eq!(standings(&[one.stated()], At::time(NOW)), [ClaimStatus::NotInherited]);
    assert_eq!(member(&[one]), None);
    assert_eq!(standings(&[listed("ofac_a", None).inherited().stated()], At::time(NOW)), [ClaimStatus::NotInherited]);
    // A claim that the holder of a key contests does not reach the other scripts.
    let contested = control("mine", "okx").inherited().contested();
    assert_eq!(standings(&[contested.stated()], At::time(NOW)), [ClaimStatus::NotInherited]);
}

#[test]
fn claims_older_than_a_year_lose_a_word_but_not_those_of_the_chain_or_a_list() {
    let tier = |said: Said, age| confidence_tier(&said.at(NOW - age).stated(), NOW);
    assert_eq!(tier(control("mine", "okx"), 365 * DAY), Confidence::Moderate);
    assert_eq!(tier(control("mine", "okx"), 365 * DAY + 1), Confidence::Low);
    assert_eq!(tier(control("mine", "okx").level(100).inherited(), 365 * DAY + 1), Confidence::Low);
    assert_eq!(tier(listed("ofac_a", None), 4_000 * DAY), Confidence::Verified);
    for lasting in [EvidenceTier::OnchainVerified, EvidenceTier::KeySigned] {
        let one = said("mine", ClaimType::ControlledBy, lasting, Some("okx"));
        assert_eq!(tier(one, 4_000 * DAY), Confidence::Verified);
    }
    assert!(!is_stale(&control("mine", "okx").at(NOW + DAY).stated(), NOW));
}

#[test]
fn origins_vote_and_copies_do_not() {
    assert_eq!(state(&[]), ConsensusState::None);
    assert_eq!(state(&[control("gs_walletexplorer", "okx")]), ConsensusState::SingleOrigin);
    let copies = [control("gs_walletexplorer", "okx"), control("gs_chaininfo", "okx")];
    assert_eq!(state(&copies), ConsensusState::SingleOrigin);
    let two = [control("gs_walletexplorer", "okx"), control("gs_exchange_por", "okx")];
    assert_eq!(state(&two), ConsensusState::Corroborated);
    assert_eq!(consensus(&stated(&two), At::time(NOW)).tallies[0].sum, 80);
    // The highest level of an origin counts.
    let high = [control("gs_walletexplorer", "okx"), control("gs_chaininfo", "okx").level(55)];
    assert_eq!(consensus(&stated(&high), At::time(NOW)).tallies[0].sum, 55);
}

#[test]
fn three_quarters_are_a_majority() {
    let against = |level: u8| [control("mine", "okx").level(75), control("yours", "kraken").level(level)];
    assert_eq!(state(&against(25)), ConsensusState::Majority);
    assert_eq!(member(&against(25)), Some(("okx".into(), true)));
    // Below 40 the other claim does not make a member, but as a claim of control it votes.
    assert_eq!(state(&against(26)), ConsensusState::Conflicted);
    assert_eq!(member(&against(26)), None);
    let tie = [control("yours", "okx"), control("mine", "kraken")];
    assert_eq!((state(&tie), first(&tie)), (ConsensusState::Conflicted, Some("kraken".into())));
}

#[test]
fn placeholders_neither_confirm_nor_contradict() {
    let nameless = [listed("ofac_a", None), listed("gs_ofac_sdnlist", None)];
    assert_eq!(state(&nameless), ConsensusState::None);
    assert_eq!(state(&[&nameless[..], &[listed("ofac_b", Some("suex"))]].concat()), ConsensusState::SingleOrigin);
    assert_eq!(state(&[&nameless[..], &[control("mine", "okx")]].concat()), ConsensusState::SingleOrigin);
}

#[test]
fn claims_of_control_decide_where_one_makes_a_member() {
    // A report names the thief, not who controls it now.
    let both = [control("mine", "okx"), reported("theirs", "bitfinex-hack"), listed("ofac_a", Some("suex"))];
    assert_eq!((state(&both), member(&both)), (ConsensusState::SingleOrigin, Some(("okx".into(), true))));
    assert_eq!(consensus(&stated(&both), At::time(NOW)).basis, Basis::Control);
    // A weak claim of control does not keep a listing from naming whom it lists.
    let weak = [control("mine", "okx").level(10), listed("ofac_a", Some("suex"))];
    assert_eq!((state(&weak), first(&weak)), (ConsensusState::Majority, Some("suex".into())));
    assert_eq!(member(&weak), None);
    let seen = said("mine", ClaimType::ParticipatedIn, EvidenceTier::OnchainVerified, Some("whirlpool"));
    assert_eq!(state(&[seen]), ConsensusState::None);
}

#[test]
fn members_are_direct_from_40_and_inherited_from_50() {
    assert_eq!(member(&[control("mine", "okx").level(39)]), None);
    assert_eq!(member(&[control("mine", "okx").level(40)]), Some(("okx".into(), true)));
    assert_eq!(member(&[control("mine", "okx").level(83).inherited()]), None);
    assert_eq!(member(&[control("mine", "okx").level(84).inherited()]), Some(("okx".into(), false)));
    let both = [control("mine", "okx").level(100).inherited(), control("yours", "okx")];
    assert_eq!(member(&both), Some(("okx".into(), true)));
    let pool = said("pools_a", ClaimType::CoinbasePayoutOf, EvidenceTier::Investigated, Some("antpool"));
    assert_eq!(member(&[pool]), Some(("antpool".into(), true)));
    for other in [ClaimType::ReportedAs, ClaimType::MentionedIn, ClaimType::ParticipatedIn, ClaimType::ListedBy] {
        assert_eq!(member(&[said("mine", other, EvidenceTier::AuthorityListed, Some("okx"))]), None);
    }
}

#[test]
fn a_contest_takes_one_vote() {
    let others = [control("mine", "okx").level(90).contested(), control("yours", "kraken")];
    assert_eq!((state(&others), first(&others)), (ConsensusState::Contested, Some("kraken".into())));
    assert_eq!(member(&others), Some(("kraken".into(), true)));
    let alone = [control("mine", "okx").contested()];
    assert_eq!((state(&alone), first(&alone), member(&alone)), (ConsensusState::Contested, Some("okx".into()), None));
    // It does not act on listings and facts of the chain.
    let shown = said("mine", ClaimType::ControlledBy, EvidenceTier::OnchainVerified, Some("okx")).contested();
    assert_eq!(
        (state(std::slice::from_ref(&shown)), member(&[shown])),
        (ConsensusState::SingleOrigin, Some(("okx".into(), true)))
    );
    assert_eq!(state(&[listed("ofac_a", Some("suex")).contested()]), ConsensusState::SingleOrigin);
}
