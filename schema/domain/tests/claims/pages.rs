//! The evidence in pages, and the label in one line.

use cairn_domain::claims::{ClaimStatus, Confidence, Detail, card, detail, short_label};
use cairn_events::{ClaimType, EvidenceTier};

use crate::said::{DAY, FACTS, NOW, Said, control, listed, said, stated};

fn some() -> Vec<Said> {
    vec![
        control("mine", "okx"),
        control("yours", "okx").level(55).at(NOW - 400 * DAY),
        control("theirs", "okx").level(90).ended(NOW - DAY),
        listed("ofac_a", None),
        listed("gs_ofac_sdnlist", None),
        said("mine", ClaimType::ReportedAs, EvidenceTier::Community, Some("locky")).contested(),
        control("gone", "kraken").level(80).ended(NOW - 2 * DAY),
        control("later", "okx").at(NOW + DAY),
    ]
}

/// Type, entity and sources of each group of a page.
fn outline(page: &Detail<'_>) -> Vec<String> {
    let line = |group: &cairn_domain::claims::EvidenceGroup<'_>| {
        let sources: Vec<&str> = group.rows.iter().map(|row| row.stated.source.as_str()).collect();
        format!("{} {:?} {}", group.claim_type, group.entity.map(|name| name.as_str()), sources.join(" "))
    };
    page.groups.iter().map(line).collect()
}

#[test]
fn claims_are_grouped_and_those_that_stand_come_first() {
    let some = some();
    let stated = stated(&some);
    let all = detail(&stated, FACTS.at, 0, 100);
    assert_eq!(
        outline(&all),
        [
            "listed_by None gs_ofac_sdnlist ofac_a",
            "controlled_by Some(\"okx\") yours mine theirs",
            "reported_as Some(\"locky\") mine",
            "controlled_by Some(\"kraken\") gone",
        ]
    );
    assert_eq!((all.total_claims, all.total_groups, all.next), (7, 4, None));
    let okx = &all.groups[1];
    assert_eq!((okx.claims, okx.standing, okx.origins, okx.highest_level), (3, 2, 2, 55));
    assert_eq!(okx.rows[0].confidence_tier, Confidence::Low);
    assert_eq!(okx.rows[2].standing, ClaimStatus::Delisted(NOW - DAY));
    assert_eq!((all.groups[0].origins, all.groups[0].is_contested), (1, false));
    assert!(all.groups[2].is_contested);
    assert_eq!((all.groups[3].standing, all.groups[3].highest_level), (0, 0));
}

#[test]
fn groups_that_have_ended_come_last() {
    let some = [control("gone", "alpha").ended(NOW - DAY), control("mine", "beta").level(0)];
    let stated = stated(&some);
    let lines = outline(&detail(&stated, FACTS.at, 0, 10));
    assert_eq!(lines, ["controlled_by Some(\"beta\") mine", "controlled_by Some(\"alpha\") gone"]);
}

#[test]
fn pages_of_every_size_give_each_claim_once() {
    let some = some();
    let stated = stated(&some);
    let rows = |page: &Detail<'_>| -> Vec<String> {
        let rows = page.groups.iter().flat_map(|group| &group.rows);
        rows.map(|row| format!("{:?}", row.stated)).collect()
    };
    let all = rows(&detail(&stated, FACTS.at, 0, usize::MAX));
    assert_eq!(all.len(), 7);
    for limit in 1..9 {
        let (mut from, mut found) = (Some(0), Vec::new());
        while let Some(position) = from {
            let page = detail(&stated, FACTS.at, position, limit);
            assert!(rows(&page).len() <= limit && !page.groups.is_empty());
            // Numbers of a group that a page cuts are those of the whole group.
            assert!(page.groups.iter().all(|group| group.claims >= group.rows.len()));
            found.extend(rows(&page));
            from = page.next;
        }
        assert_eq!(found, all);
    }
    assert!(detail(&stated, FACTS.at, 7, 5).groups.is_empty());
    let beyond = detail(&stated, FACTS.at, usize::MAX, usize::MAX);
    assert_eq!((beyond.groups.len(), beyond.total_claims, beyond.next), (0, 7, None));
}

#[test]
fn the_short_label_is_that_of_the_card() {
    let some = some();
    let stated = stated(&some);
    let (card, short) = (card(&stated, &FACTS), short_label(&stated, FACTS.at).unwrap());
    assert_eq!((short.label, short.confidence_tier), (card.label, card.confidence_tier));
    assert_eq!(short.entity.map(ToString::to_string), Some("okx".into()));
    assert!(!short.inherited && !short.is_conflicted && !short.is_contested);
    assert_eq!(short_label(&[], FACTS.at), None);
}
