//! Owners of the sides of a transaction, by today's labels.

use std::collections::HashMap;

use cairn_domain::{entities::shown_category, flows};
use cairn_events::{Category, EntityName};
use cairn_reader::ScriptStanding;

use crate::{operation::prelude::*, register::is_a_person};

/// Entity that has at least half of the value of one side.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct SideOwner {
    /// Name of the entity in paths.
    entity: String,
    /// Category of the entity; `unlabeled` if no source gives one.
    category: &'static str,
    /// Part of the side's value that belongs to the entity.
    value_sats: u64,
    /// True if more than half of that value is attributed by claims about other scripts of the same clusters: an
    /// inference.
    is_inherited: bool,
    /// True if the entity counts as a natural person.
    is_person: bool,
    #[serde(skip)]
    kind: Option<Category>,
}

impl SideOwner {
    /// For the direction of a flow.
    pub(crate) fn as_owner(&self) -> flows::Owner<'_> {
        (&self.entity, self.kind)
    }
}

/// Labels of a side.
#[derive(Clone, Default, Debug)]
pub(crate) struct Verdict {
    pub(crate) owner: Option<SideOwner>,
    /// True if at least half of its value is labelled.
    pub(crate) is_labelled: bool,
}

/// Facts about entities, each read once for an answer.
#[derive(Default)]
pub(crate) struct Owners(HashMap<EntityName, (Option<Category>, bool)>);

impl Owners {
    /// Judges a side by what each script has and sends or receives.
    pub(crate) fn judge<'s>(
        &mut self,
        view: &View<'_>,
        scripts: impl Iterator<Item = (&'s ScriptStanding, Sats)>,
    ) -> Result<Verdict, ApiError> {
        let (mut all, mut labelled) = (0, 0);
        // Of each entity all, and what is inherited.
        let mut sums: HashMap<&EntityName, (Sats, Sats)> = HashMap::new();
        for (standing, sats) in scripts {
            all += u128::from(sats);
            labelled += if standing.is_labelled { u128::from(sats) } else { 0 };
            if let Some(owner) = &standing.owner {
                let sum = sums.entry(&owner.entity).or_default();
                sum.0 = sum.0.saturating_add(sats);
                sum.1 = sum.1.saturating_add(if owner.is_inherited { sats } else { 0 });
            }
        }
        let is_half = |sats: u128| sats > 0 && sats.saturating_mul(2) >= all;
        // Of two halves, the first by name.
        let most = sums.into_iter().max_by(|(a, x), (b, y)| x.0.cmp(&y.0).then_with(|| b.cmp(a)));
        let owner = match most.filter(|(_, (sats, _))| is_half((*sats).into())) {
            Some((entity, (sats, inherited))) => {
                let (kind, is_person) = self.facts(view, entity)?;
                Some(SideOwner {
                    entity: entity.to_string(),
                    category: kind.map_or("unlabeled", Category::as_str),
                    value_sats: sats,
                    is_inherited: inherited > sats / 2,
                    is_person,
                    kind,
                })
            }
            None => None,
        };
        Ok(Verdict { owner, is_labelled: is_half(labelled) })
    }

    /// The category of an entity, and whether it counts as a natural person.
    pub(crate) fn facts(&mut self, view: &View<'_>, entity: &EntityName) -> Result<(Option<Category>, bool), ApiError> {
        if let Some(known) = self.0.get(entity) {
            return Ok(*known);
        }
        let row = view.entities().get(entity)?;
        let facts = row.map_or((None, false), |row| (shown_category(&row.categories), is_a_person(&row)));
        self.0.insert(entity.clone(), facts);
        Ok(facts)
    }
}
