//! Sanctioned addresses: many sources carry one list, and some of them without the names.

use std::collections::BTreeMap;

use cairn_domain::claims::{At, ConsensusState, Stated, consensus, listings};
use cairn_events::{Behaviour, Claim, DocumentHash, Slug};

use crate::facts::FACTS;

const AT: At = At { time: 1_795_478_400, known_until: None };

/// A claim, its source, licence and document, and when that was retrieved.
struct Said {
    claim: Claim,
    source: Slug,
    licence: Slug,
    document: DocumentHash,
    retrieved_at: u32,
}

impl Said {
    fn stated(&self) -> Stated<'_> {
        Stated {
            claim: &self.claim,
            source: &self.source,
            licence: &self.licence,
            document: &self.document,
            retrieved_at: self.retrieved_at,
            ended_at: None,
            is_contested: false,
            inherited: false,
        }
    }
}

/// All that is said of each script that some source calls sanctioned.
fn sanctioned() -> BTreeMap<Vec<u8>, Vec<Said>> {
    let mut scripts: BTreeMap<Vec<u8>, Vec<Said>> = BTreeMap::new();
    for (labels, facts) in FACTS.iter() {
        let [source, licence] = [labels.source, labels.licence].map(|slug| slug.parse::<Slug>().unwrap());
        for fact in facts {
            let said = Said {
                claim: fact.claim(),
                source: source.clone(),
                licence: licence.clone(),
                document: labels.hash(),
                retrieved_at: labels.retrieved_at,
            };
            scripts.entry(fact.script()).or_default().push(said);
        }
    }
    scripts.retain(|_, said| said.iter().any(|said| said.claim.behaviour == Some(Behaviour::Sanctioned)));
    scripts
}

#[test]
fn copies_of_one_list_confirm_nothing_and_contradict_nothing() {
    let scripts = sanctioned();
    assert_eq!(scripts.len(), 520);
    let mut states: BTreeMap<&str, usize> = BTreeMap::new();
    let mut copied = 0;
    for said in scripts.values() {
        let stated: Vec<Stated<'_>> = said.iter().map(Said::stated).collect();
        let consensus = consensus(&stated, AT);
        copied += usize::from(stated.len() > 1);
        assert!(
            matches!(consensus.state, ConsensusState::None | ConsensusState::SingleOrigin),
            "{:?}: {:?}",
            consensus.state,
            said.iter().map(|said| (said.source.as_str(), said.claim.entity.clone())).collect::<Vec<_>>()
        );
        *states.entry(consensus.state.as_str()).or_default() += 1;
    }
    assert!(copied > 400, "{copied} are on more than one of the copies");
    // Where no copy has a name, nobody is named.
    assert_eq!(states, BTreeMap::from([("none", 275), ("single_origin", 245)]));
}

#[test]
fn every_listing_names_its_authority() {
    for said in sanctioned().values() {
        let stated: Vec<Stated<'_>> = said.iter().map(Said::stated).collect();
        let listings = listings(&stated, AT);
        assert!(!listings.is_empty());
        for listing in listings {
            assert!(
                ["OFAC (US Treasury)", "French Treasury (EU listing)"].contains(&listing.authority),
                "{}",
                listing.authority
            );
        }
    }
}
