//! The sentences of answers about claims. They say who says what, and never that something is so: no verdict, no score.

use cairn_events::{ClaimType, EntityName, EvidenceTier};
use cairn_model::date_of;

use super::{Assessment, Card, ClaimCaveat, Listing, MAX_NAMED, Stated, authority};

/// One line for a card: its listings, else what the claim says that it shows, else that none was found.
#[must_use]
pub fn headline(card: &Card<'_>, now: u32) -> String {
    let mut listed: Vec<String> = card.listings.iter().take(MAX_NAMED).map(listing).collect();
    if card.listings.len() > MAX_NAMED {
        listed.push(format!("{} more listings", card.listings.len() - MAX_NAMED));
    }
    let mut line = match (&listed[..], &card.best) {
        ([], None) => nothing(card.assessment, now),
        ([], Some(best)) => says(best, card),
        (_, Some(best)) if best.claim.claim_type != ClaimType::ListedBy => {
            format!("{}; {}", listed.join("; "), says(best, card))
        }
        _ => listed.join("; "),
    };
    if card.assessment == Assessment::Conflicted {
        line.push_str("; the claims disagree");
    }
    if card.is_contested {
        line.push_str("; contested");
    }
    line
}

fn listing(listing: &Listing<'_>) -> String {
    let name = if listing.entity_name.is_empty() {
        listing.entity.map_or("", EntityName::as_str)
    } else {
        listing.entity_name
    };
    let named = if name.is_empty() { String::new() } else { format!(" under the name {name}") };
    // A list has snapshots. A complaint or a press release has one date, and who copies it a later one.
    if listing.is_list {
        format!("listed by {} in the snapshot of {}{named}", listing.authority, date_of(listing.newest_snapshot))
    } else {
        format!("named in a record of {} as of {}{named}", listing.authority, date_of(listing.first_snapshot))
    }
}

/// Content of a claim, with its source.
fn says(stated: &Stated<'_>, card: &Card<'_>) -> String {
    let (name, source) = (card.label.value, authority(stated.source.as_str(), stated.entity().map(EntityName::as_str)));
    let said = match stated.claim.claim_type {
        ClaimType::ListedBy => format!("listed by {source} in the snapshot of {}", date_of(stated.then())),
        ClaimType::CoinbasePayoutOf => format!("named as a payout address of {name} by {source}"),
        ClaimType::ReportedAs => format!("reported as {name} ({}) by {source}", card.label.category),
        ClaimType::MentionedIn => format!("named in {source}, with {name}"),
        ClaimType::ParticipatedIn => format!("reported by {source} to have taken part in {name}"),
        ClaimType::BehavesAs => format!("reported by {source} to behave like {name}"),
        ClaimType::ObservedIn => format!("observed in {name}, reported by {source}"),
        ClaimType::ControlledBy => controlled(stated.claim.tier, name, source),
    };
    if stated.inherited { format!("in a cluster with a script that was {said}") } else { said }
}

fn controlled(tier: EvidenceTier, name: &str, source: &str) -> String {
    match tier {
        EvidenceTier::OnchainVerified => format!("attributed to {name} by what the chain shows, recorded by {source}"),
        EvidenceTier::KeySigned => format!("claimed for {name} with a signature of its key, recorded by {source}"),
        EvidenceTier::SelfDisclosed => format!("published by {name}, recorded by {source}"),
        EvidenceTier::AuthorityListed | EvidenceTier::AuthorityRecord => {
            format!("attributed to {name} in a record of {source}")
        }
        EvidenceTier::Investigated => format!("attributed to {name} by an investigation, recorded by {source}"),
        EvidenceTier::Behavioral => format!("attributed to {name} by its behaviour, reported by {source}"),
        EvidenceTier::ThirdParty | EvidenceTier::ClusterInherited | EvidenceTier::Community => {
            format!("attributed to {name} by {source}")
        }
    }
}

fn nothing(state: Assessment, now: u32) -> String {
    match state {
        Assessment::NotExamined => "not examined: the claims could not be looked up".to_owned(),
        Assessment::NoHistory => format!("no claim found as of {}; the chain has not seen this script", date_of(now)),
        Assessment::ObservedOnly => format!("no label found as of {}; only behaviour was observed", date_of(now)),
        _ => format!("no claim found as of {}", date_of(now)),
    }
}

/// Two or three sentences for a card: the evidence of the claim, the number of origins, and the meaning of a negative.
#[must_use]
pub fn explanation(card: &Card<'_>) -> String {
    let tier = card.evidence_tier.map_or("none", EvidenceTier::as_str);
    let mut text = match &card.best {
        None => "No source in use names this script.".to_owned(),
        // The source itself, also where an authority speaks through it: a copy has a date of its own.
        Some(best) => format!("Evidence: {tier}, asserted on {}, from {}.", date_of(best.then()), best.source),
    };
    // Origins that name another entity, or none, are not counted.
    match card.consensus.tallies.first().map_or(card.contributor_count, |first| first.origins) {
        0 => {}
        1 => text.push_str(" One origin says so."),
        origins => text.push_str(&format!(" {origins} independent origins say so.")),
    }
    if card.best.as_ref().is_some_and(|best| best.inherited) {
        text.push_str(" The claim concerns another script of the same cluster.");
    }
    if card.best.is_none() {
        text.push_str(" The lists in use do not have everything.");
    }
    text
}

impl ClaimCaveat<'_> {
    /// The caveat as a sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        match self {
            Self::SourceStale { source, asserted_at } => {
                format!("The claim of {source} dates from {}, more than a year ago.", date_of(*asserted_at))
            }
            Self::FeedStale { checked_at } => {
                format!("The feed of sanctions was last checked on {}, more than 48 hours ago.", date_of(*checked_at))
            }
            Self::ListNotExhaustive => {
                "The lists in use do not have everything: that nothing was found proves nothing.".to_owned()
            }
            Self::Delisted { authority, as_of } => {
                format!("The list of {authority} no longer had it as of {}.", date_of(*as_of))
            }
            Self::ClusterInherited => {
                "A claim concerns another script of the same cluster; a cluster link makes no listing.".to_owned()
            }
            Self::CommunityUnverified => "A claim comes from a community, and nobody verified it.".to_owned(),
            Self::LabelRestated { source, was, until } => format!("Until {}, {source} named {was}.", date_of(*until)),
            Self::CopyOfSameOrigin { origin, sources } => {
                format!("{sources} sources repeat one origin ({origin}); they count as one.")
            }
            Self::ConflictingClaims { entities, count } => {
                let names: Vec<&str> = entities.iter().map(|name| name.as_str()).collect();
                let more = count - names.len();
                let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                format!("Claims name different entities: {}{more}.", names.join(", "))
            }
        }
    }
}
