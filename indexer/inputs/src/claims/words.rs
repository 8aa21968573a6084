//! Words of TagPacks in ours: kinds of entities, abuses, and what confidence stands for.

use cairn_events::{Behaviour, Category, ClaimType, EvidenceTier};

/// Concepts of the INTERPOL taxonomy, and older words of `GraphSense`: the kind of entity, and what it is said to do.
const CONCEPTS: &[(&str, Option<Category>, Option<Behaviour>)] = &[
    ("hosted_wallet", Some(Category::WalletService), None),
    ("wallet", Some(Category::WalletService), None),
    ("custodian", Some(Category::WalletService), None),
    ("payment_service", Some(Category::PaymentProcessor), None),
    ("marketplace", Some(Category::Market), None),
    ("darknet_market", Some(Category::Market), Some(Behaviour::Darknet)),
    ("dark_web_market", Some(Category::Market), Some(Behaviour::Darknet)),
    ("mixing_service", Some(Category::Mixer), None),
    ("tumbler", Some(Category::Mixer), None),
    ("mining_service", Some(Category::MiningPool), None),
    ("pool", Some(Category::MiningPool), None),
    ("donations", Some(Category::Donation), None),
    ("ngo", Some(Category::Organization), None),
    ("company", Some(Category::Organization), None),
    ("etf", Some(Category::EtfCustodian), None),
    ("bridge", Some(Category::DefiBridge), None),
    ("private_individual", Some(Category::User), None),
    ("vendor", Some(Category::Shop), None),
    ("burn_address", Some(Category::ProtocolBurn), None),
    ("seized", Some(Category::Seizure), None),
    ("sanction", None, Some(Behaviour::Sanctioned)),
    ("sanctions", None, Some(Behaviour::Sanctioned)),
    ("ransom", None, Some(Behaviour::Ransomware)),
    ("blackmail", None, Some(Behaviour::Extortion)),
    ("fraud", None, Some(Behaviour::Scam)),
    ("investment_fraud", None, Some(Behaviour::Scam)),
    ("giveaway_scam", None, Some(Behaviour::Scam)),
    ("pyramid_scheme", None, Some(Behaviour::Ponzi)),
    ("ponzi_scheme", None, Some(Behaviour::Ponzi)),
    ("hyip", None, Some(Behaviour::Ponzi)),
    ("hack", None, Some(Behaviour::Theft)),
    ("service_hack", None, Some(Behaviour::Theft)),
    ("hacker", Some(Category::Perpetrator), Some(Behaviour::Theft)),
    ("terrorism", None, Some(Behaviour::TerrorismFinancing)),
    ("terrorist_financing", None, Some(Behaviour::TerrorismFinancing)),
    ("child_abuse", None, Some(Behaviour::Csam)),
    ("child_sexual_abuse_material", None, Some(Behaviour::Csam)),
    ("dark_web", None, Some(Behaviour::Darknet)),
    ("coin_mixing", None, Some(Behaviour::Mixing)),
];

/// The words of ours for a word of a source, and whether there is one. Words of ours stand for themselves; spaces and
/// hyphens are underscores, and capitals do not matter.
pub(super) fn words_of(text: &str) -> (Option<Category>, Option<Behaviour>, bool) {
    let letter = |letter: char| if matches!(letter, ' ' | '-') { '_' } else { letter.to_ascii_lowercase() };
    let word: String = text.trim().chars().take(64).map(letter).collect();
    if let Some((_, category, behaviour)) = CONCEPTS.iter().find(|(known, ..)| *known == word) {
        return (*category, *behaviour, true);
    }
    let (category, behaviour) = (word.parse().ok(), word.parse().ok());
    (category, behaviour, category.is_some() || behaviour.is_some())
}

/// Tier and level of TagPack's `confidence`.
pub(super) fn confidence(word: &str) -> (EvidenceTier, u8) {
    match word {
        "ownership" => (EvidenceTier::SelfDisclosed, 100),
        "service_data" => (EvidenceTier::SelfDisclosed, 90),
        "service_api" | "forensic" | "forensic_investigation" => (EvidenceTier::Investigated, 70),
        "authority_data" => (EvidenceTier::AuthorityRecord, 60),
        "trusted_provider" => (EvidenceTier::ThirdParty, 50),
        "manual_transaction" | "ledger_immanent" => (EvidenceTier::ThirdParty, 40),
        "untrusted_transaction" | "web_crawl" => (EvidenceTier::ThirdParty, 20),
        "heuristic" => (EvidenceTier::Behavioral, 10),
        _ => (EvidenceTier::Community, 5),
    }
}

/// The type of claim of a tag; the first line that fits:
///
/// | the tag | type of claim |
/// |---|---|
/// | has the confidence `authority_data` | `listed_by` |
/// | has an abuse, or is about a perpetrator or victim | `reported_as` |
/// | has the confidence `ownership`, `service_data` or `service_api` | `controlled_by` |
/// | has an actor, or a category other than user | `controlled_by` |
/// | anything else | `mentioned_in` |
pub(super) fn claim_type(
    confidence: &str,
    category: Option<Category>,
    behaviour: Option<Behaviour>,
    has_actor: bool,
) -> ClaimType {
    let is_wallet = matches!(behaviour, None | Some(Behaviour::Mixing | Behaviour::ColdWallet | Behaviour::HotWallet));
    match category {
        _ if confidence == "authority_data" => ClaimType::ListedBy,
        _ if !is_wallet => ClaimType::ReportedAs,
        Some(Category::Perpetrator | Category::Victim) => ClaimType::ReportedAs,
        _ if matches!(confidence, "ownership" | "service_data" | "service_api") => ClaimType::ControlledBy,
        None | Some(Category::User) if !has_actor => ClaimType::MentionedIn,
        _ => ClaimType::ControlledBy,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_of_ours_stands_for_itself() {
        for category in Category::ALL {
            assert_eq!(words_of(category.as_str()).0, Some(*category));
        }
        for behaviour in Behaviour::ALL {
            assert_eq!(words_of(&behaviour.as_str().replace('_', " ").to_uppercase()).1, Some(*behaviour));
        }
        assert_eq!(words_of("mixing_service"), (Some(Category::Mixer), None, true));
        assert_eq!(words_of("hosted-wallet"), (Some(Category::WalletService), None, true));
        assert_eq!(words_of("quantum_service"), (None, None, false));
    }

    #[test]
    fn what_tags_say() {
        let exchange = Some(Category::Exchange);
        assert_eq!(claim_type("authority_data", exchange, None, true), ClaimType::ListedBy);
        assert_eq!(claim_type("service_data", exchange, Some(Behaviour::Scam), true), ClaimType::ReportedAs);
        assert_eq!(claim_type("forensic", Some(Category::Perpetrator), None, true), ClaimType::ReportedAs);
        assert_eq!(claim_type("ownership", None, None, false), ClaimType::ControlledBy);
        assert_eq!(claim_type("web_crawl", exchange, None, false), ClaimType::ControlledBy);
        assert_eq!(claim_type("web_crawl", Some(Category::User), None, false), ClaimType::MentionedIn);
        assert_eq!(claim_type("web_crawl", None, None, true), ClaimType::ControlledBy);
        assert_eq!(claim_type("", None, None, false), ClaimType::MentionedIn);
    }
}
