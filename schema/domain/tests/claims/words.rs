//! The sentences: who says what, and no verdict.

use cairn_domain::{
    claims::{ClaimCaveat, Facts, card, explanation, headline},
    sanctions::{party, programmes, statement},
};
use cairn_events::{Behaviour, Category, ClaimType, EntityName, EvidenceTier};

use crate::said::{DAY, FACTS, NOW, Said, control, listed, reported, said, stated};

/// Words that no sentence of ours has.
const BANNED: &[&str] = &[
    "is",
    "are",
    "was",
    "clean",
    "safe",
    "cleared",
    "clear",
    "compliant",
    "compliance",
    "legitimate",
    "illicit",
    "criminal",
    "guilty",
    "score",
    "verdict",
    "trusted",
    "trustworthy",
    "risky",
    "recommend",
    "recommended",
    "owned",
    "belongs",
];

/// Banned in headlines and explanations; caveats may say that something was so of a link or a check, but give no
/// verdict.
fn banned(text: &str, allowed: &[&str]) -> Vec<String> {
    let words = text.split(|letter: char| !letter.is_alphanumeric()).map(str::to_lowercase);
    words.filter(|word| BANNED.contains(&word.as_str()) && !allowed.contains(&word.as_str())).collect()
}

fn line(said: &[Said]) -> String {
    headline(&card(&stated(said), &FACTS), NOW)
}

#[test]
fn headlines_name_who_says_it() {
    let listing = listed("ofac_amiexposed", None).at(1_774_137_600);
    assert_eq!(line(std::slice::from_ref(&listing)), "listed by OFAC (US Treasury) in the snapshot of 2026-03-22");
    let both = [listing, control("bitfinex_pub", "bitfinex").contested()];
    assert_eq!(
        line(&both),
        "listed by OFAC (US Treasury) in the snapshot of 2026-03-22; attributed to BITFINEX by bitfinex_pub; contested"
    );
    let frozen = listed("fr_tresor_gels", Some("garantex"));
    assert!(line(&[frozen]).starts_with("listed by French Treasury (EU listing) in the snapshot of 2026-03-22 under"));
    let mut record = listed("gs_fbi_dprk", Some("lazarus-group")).at(1_693_180_800);
    record.claim.tier = EvidenceTier::AuthorityRecord;
    let copy = Said { source: "dl_bitcoin_book".parse().unwrap(), ..record.clone().at(NOW - DAY) };
    assert_eq!(line(&[record, copy]), "named in a record of FBI as of 2023-08-28 under the name LAZARUS-GROUP");
    let many: Vec<Said> = (0..300).map(|place| listed(&format!("list-{place:03}"), None)).collect();
    assert!(line(&many).ends_with("; 290 more listings") && line(&many).len() < 1_000);
    let report = reported("gs_ransomwhere", "locky").flag(Behaviour::Ransomware);
    assert_eq!(line(&[report]), "reported as LOCKY (ransomware) by gs_ransomwhere");
    let own = said("htx_por", ClaimType::ControlledBy, EvidenceTier::SelfDisclosed, Some("htx"));
    assert_eq!(line(&[own.inherited()]), "in a cluster with a script that was published by HTX, recorded by htx_por");
    assert_eq!(line(&[]), "no claim found as of 2026-04-01");
    let split = [control("mine", "okx"), control("yours", "kraken")];
    assert!(line(&split).ends_with("; the claims disagree"));
}

#[test]
fn explanations_count_the_origins_that_say_so() {
    let text = |said: &[Said]| explanation(&card(&stated(said), &FACTS));
    let nameless = said("showing_the_receipts", ClaimType::ReportedAs, EvidenceTier::ThirdParty, None);
    let one = [control("mine", "okx"), nameless];
    assert_eq!(text(&one), "Evidence: third_party, asserted on 2026-03-22, from mine. One origin says so.");
    let two = [control("mine", "okx").level(90), control("yours", "okx").level(90), control("theirs", "kraken")];
    assert!(text(&two).ends_with(" 2 independent origins say so."));
    assert!(text(&[]).starts_with("No source in use names this script."));
}

#[test]
fn no_sentence_gives_a_verdict() {
    let mut lines = Vec::new();
    let mut check = |said: &[Said], facts: &Facts| {
        let stated = stated(said);
        let card = card(&stated, facts);
        // "was" only stands before what somebody did: "was published by".
        for text in [headline(&card, NOW), explanation(&card)] {
            assert_eq!(banned(&text, &["was"]), Vec::<String>::new(), "{text}");
            assert!(!text.is_empty());
            lines.push(text);
        }
    };
    for claim_type in ClaimType::ALL {
        for tier in EvidenceTier::ALL {
            let one = said("mine", *claim_type, *tier, Some("okx")).category(Category::Exchange);
            check(std::slice::from_ref(&one), &FACTS);
            check(&[one.clone().inherited()], &FACTS);
            check(&[one.clone().contested(), control("yours", "kraken"), control("theirs", "htx")], &FACTS);
            check(&[said("mine", *claim_type, *tier, None)], &FACTS);
        }
    }
    for (examined, has_history, has_signals) in [(false, true, false), (true, false, false), (true, true, true)] {
        check(&[], &Facts { examined, has_history, has_signals, ..FACTS });
    }
    lines.sort();
    lines.dedup();
    assert!(lines.len() > 40, "{}", lines.len());
}

#[test]
fn every_caveat_has_its_code_and_a_sentence_without_a_verdict() {
    let (one, two): (EntityName, EntityName) = ("okx".parse().unwrap(), "htx".parse().unwrap());
    let caveats = [
        ClaimCaveat::SourceStale { source: "mine", asserted_at: NOW - 400 * DAY },
        ClaimCaveat::FeedStale { checked_at: NOW - 3 * DAY },
        ClaimCaveat::ListNotExhaustive,
        ClaimCaveat::Delisted { authority: "OFAC (US Treasury)", as_of: NOW },
        ClaimCaveat::ClusterInherited,
        ClaimCaveat::CommunityUnverified,
        ClaimCaveat::LabelRestated { source: "mine", was: &one, until: NOW },
        ClaimCaveat::CopyOfSameOrigin { origin: "ofac-sdn", sources: 5 },
        ClaimCaveat::ConflictingClaims { entities: vec![&one, &two], count: 3 },
    ];
    for caveat in &caveats {
        // "was" says when a feed was checked, or that nothing was found.
        let sentence = caveat.sentence();
        assert_eq!(banned(&sentence, &["was"]), Vec::<String>::new(), "{sentence}");
        assert!(sentence.ends_with('.') && caveat.code().contains(['_', 'd']), "{sentence}");
    }
    let named = caveats[8].sentence();
    assert_eq!(named, "Claims name different entities: okx, htx and 1 more.");
}

#[test]
fn statements_of_lists_of_sanctions_give_no_verdict() {
    let mut row = listed("ofac-sdn", None).claim;
    (row.entity_name, row.note) = ("ACME".into(), "SDN uid 12, programmes CYBER2, DPRK3".into());
    let of = party(&row);
    assert_eq!((of.uid, of.name), ("12", "ACME"));
    assert_eq!(programmes(&row).collect::<Vec<_>>(), ["CYBER2", "DPRK3"]);
    let text = statement("OFAC (US Treasury)", NOW, &of);
    assert_eq!(text, "listed by OFAC (US Treasury) in the snapshot of 2026-04-01 under the name ACME");
    assert_eq!(banned(&text, &[]), Vec::<String>::new());
    // Other notes name no party, and a placeholder is the name that the list has.
    for note in ["", "SDN uid", "SDN uid twelve", "uid 12, programmes A"] {
        (row.entity_name, row.label, row.note) = ("".into(), "Unknown".into(), note.into());
        assert_eq!((party(&row).uid, party(&row).name, programmes(&row).count()), ("", "Unknown", 0), "{note}");
    }
}
