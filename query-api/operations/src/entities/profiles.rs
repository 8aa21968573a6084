//! Profiles of entities by sources: other names, pages, jurisdictions. Kept between requests.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
};

use cairn_events::{EntityName, Profile};
use cairn_http::ApiError;
use cairn_reader::View;
use cairn_tables::{claims::ListKey, listings::Profiles};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{ledger_cache::OfLedger, values::rfc3339};

const MAX_SHOWN: usize = 8;

/// A profile, and who says it.
#[derive(Debug)]
struct StatedProfile {
    list: ListKey,
    retrieved_at: u32,
    profile: Profile,
}

/// The profiles that hold in an index.
#[derive(Debug)]
pub(crate) struct KnownProfiles {
    /// Those of an entity, what was retrieved last first.
    of: BTreeMap<EntityName, Vec<StatedProfile>>,
    /// The entity that another name stands for; `None` if several have it.
    aliases: HashMap<EntityName, Option<EntityName>>,
}

impl OfLedger for KnownProfiles {
    fn read(view: &View<'_>) -> Result<Self, ApiError> {
        let found = view.ledger().listings::<Profiles>()?;
        if found.is_cut {
            tracing::warn!("the ledger has more profiles of entities than are read");
        }
        let (mut of, mut aliases) = (BTreeMap::<EntityName, Vec<StatedProfile>>::new(), HashMap::new());
        for list in found.lists {
            for profile in list.rows {
                let texts = std::iter::once(&profile.name).chain(&profile.aliases);
                for alias in texts.filter_map(|text| EntityName::from_words(text)) {
                    let known = aliases.entry(alias).or_insert_with(|| Some(profile.entity.clone()));
                    if known.as_ref().is_some_and(|known| *known != profile.entity) {
                        *known = None;
                    }
                }
                let stated =
                    StatedProfile { list: list.list.clone(), retrieved_at: list.version.retrieved_at, profile };
                of.entry(stated.profile.entity.clone()).or_default().push(stated);
            }
        }
        of.values_mut().for_each(|stated| stated.sort_by_key(|of| Reverse(of.retrieved_at)));
        Ok(KnownProfiles { of, aliases })
    }
}

impl KnownProfiles {
    /// The one entity that sources call by this name.
    pub(super) fn alias(&self, name: &EntityName) -> Option<&EntityName> {
        self.aliases.get(name)?.as_ref()
    }

    /// Profiles of an entity by sources, and the number of those left out.
    pub(super) fn shown(&self, entity: &EntityName) -> (Vec<EntityProfile>, usize) {
        let stated = self.of.get(entity).map_or(&[][..], Vec::as_slice);
        let shown = stated.iter().take(MAX_SHOWN).map(EntityProfile::of).collect();
        (shown, stated.len().saturating_sub(MAX_SHOWN))
    }
}

/// Profile of an entity by one source, independent of its addresses.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct EntityProfile {
    /// Source of the profile.
    source: String,
    /// List of the source that has the profile.
    list: String,
    /// Time at which that list was retrieved.
    retrieved_at: String,
    /// Time at which the source wrote or changed the profile; null if unknown.
    asserted_at: Option<String>,
    /// Display name of the entity.
    name: String,
    /// Other names; at most 16.
    aliases: Vec<String>,
    /// Category; null if the source gives none that this API knows.
    category: Option<&'static str>,
    /// Home page as the source writes it, often without the scheme; null if it gives none.
    homepage: Option<String>,
    /// Countries where the entity is registered or licensed (ISO 3166-1, two letters); at most 32.
    jurisdictions: Vec<String>,
    /// Legal name of the company; null if the source gives none.
    legal_name: Option<String>,
}

impl EntityProfile {
    fn of(stated: &StatedProfile) -> Self {
        let (list, profile) = (&stated.list, &stated.profile);
        let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        EntityProfile {
            source: list.source.to_string(),
            list: list.list.to_string(),
            retrieved_at: rfc3339(stated.retrieved_at),
            asserted_at: profile.asserted_at.map(rfc3339),
            name: profile.name.to_string(),
            aliases: profile.aliases.iter().map(ToString::to_string).collect(),
            category: profile.category.map(|of| of.as_str()),
            homepage: text(&profile.homepage),
            jurisdictions: profile.jurisdictions.iter().map(ToString::to_string).collect(),
            legal_name: text(&profile.legal_name),
        }
    }
}
