//! Claims for tests.

use cairn_domain::claims::{At, Facts, Stated};
use cairn_events::{Behaviour, Category, Claim, ClaimType, DocumentHash, EvidenceTier, Slug};

pub(crate) const DAY: u32 = 86_400;
/// 2026-04-01.
pub(crate) const NOW: u32 = 1_775_001_600;

/// A claim with what belongs to it.
#[derive(Clone, Debug)]
pub(crate) struct Said {
    pub(crate) claim: Claim,
    pub(crate) source: Slug,
    pub(crate) licence: Slug,
    pub(crate) document: DocumentHash,
    pub(crate) retrieved_at: u32,
    pub(crate) ended_at: Option<u32>,
    pub(crate) is_contested: bool,
    pub(crate) inherited: bool,
}

impl Said {
    pub(crate) fn stated(&self) -> Stated<'_> {
        Stated {
            claim: &self.claim,
            source: &self.source,
            licence: &self.licence,
            document: &self.document,
            retrieved_at: self.retrieved_at,
            ended_at: self.ended_at,
            is_contested: self.is_contested,
            inherited: self.inherited,
        }
    }

    pub(crate) fn level(mut self, level: u8) -> Self {
        self.claim.level = level;
        self
    }

    pub(crate) fn at(mut self, time: u32) -> Self {
        self.claim.asserted_at = Some(time);
        self.retrieved_at = self.retrieved_at.max(time);
        self
    }

    pub(crate) fn flag(mut self, behaviour: Behaviour) -> Self {
        self.claim.behaviour = Some(behaviour);
        self
    }

    pub(crate) fn category(mut self, category: Category) -> Self {
        self.claim.category = Some(category);
        self
    }

    pub(crate) fn contested(mut self) -> Self {
        self.is_contested = true;
        self
    }

    pub(crate) fn inherited(mut self) -> Self {
        (self.inherited, self.claim.is_inherited) = (true, true);
        self
    }

    pub(crate) fn ended(mut self, time: u32) -> Self {
        self.ended_at = Some(time);
        self
    }
}

/// A claim of a source, ten days old, with the level of its tier.
pub(crate) fn said(source: &str, claim_type: ClaimType, tier: EvidenceTier, entity: Option<&str>) -> Said {
    let claim = Claim {
        entity: entity.map(|name| name.parse().unwrap()),
        entity_name: entity.map_or(String::new(), str::to_uppercase).into(),
        asserted_at: Some(NOW - 10 * DAY),
        ..Claim::bare(1, vec![0x51, 0x20].into(), claim_type, tier)
    };
    let (source, licence) = (source.parse().unwrap(), "mit".parse().unwrap());
    let document = DocumentHash([7; 32]);
    Said {
        claim,
        source,
        licence,
        document,
        retrieved_at: NOW - 5 * DAY,
        ended_at: None,
        is_contested: false,
        inherited: false,
    }
}

/// A claim of control by a third party, level 40.
pub(crate) fn control(source: &str, entity: &str) -> Said {
    said(source, ClaimType::ControlledBy, EvidenceTier::ThirdParty, Some(entity))
}

/// A listing.
pub(crate) fn listed(source: &str, entity: Option<&str>) -> Said {
    said(source, ClaimType::ListedBy, EvidenceTier::AuthorityListed, entity).flag(Behaviour::Sanctioned)
}

/// A report of an investigation, level 70.
pub(crate) fn reported(source: &str, entity: &str) -> Said {
    said(source, ClaimType::ReportedAs, EvidenceTier::Investigated, Some(entity))
}

pub(crate) fn stated(said: &[Said]) -> Vec<Stated<'_>> {
    said.iter().map(Said::stated).collect()
}

pub(crate) const FACTS: Facts = Facts {
    at: At { time: NOW, known_until: None },
    has_history: true,
    examined: true,
    has_signals: false,
    has_indirect_exposure: false,
    feed_checked_at: None,
};
