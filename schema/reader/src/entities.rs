//! Entities, as they are kept beside the chain.

use cairn_events::{Category, EntityName};
use cairn_model::Sats;
use cairn_tables::{
    entities::{
        EntityFacet, EntityFacets, EntityScript, EntityScripts, EntitySum, EntityTotals, FacetKind, Newest, ScriptClass,
    },
    labels::ScriptHash,
    sums::Sums,
};

use crate::{ReadError, subjects::EntityView};

/// The sums of an entity.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EntityRow {
    /// The entity.
    pub name: EntityName,
    /// Scripts that count as its own.
    pub members: u64,
    /// Members that a block has.
    pub seen: u64,
    /// Scripts whose label names it without making them members.
    pub named: u64,
    /// Members and named scripts whose label is about a natural person.
    pub persons: u64,
    /// Sum that members received.
    pub funded: Sats,
    /// Part of it that was spent.
    pub spent: Sats,
    /// Coins that members received.
    pub funded_count: u64,
    /// Their coins that were spent.
    pub spent_count: u64,
    /// Scripts attributed to it by claims about other scripts of the same clusters.
    pub inherited: Inherited,
    /// How many members and named scripts have each category in their label, ascending by category.
    pub categories: Vec<(Category, u64)>,
}

/// Scripts that count as an entity's by claims about other scripts of the same clusters, and by none of their own.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Inherited {
    /// Their number.
    pub scripts: u64,
    /// Their balance.
    pub balance: Sats,
    /// Number of their clusters.
    pub clusters: u64,
    /// Clusters of the entity by claims that are left out, since they have a suspect merge.
    pub left_out: u64,
    /// Balance of these scripts, without those that a list attributes to an entity.
    pub left_out_balance: Sats,
}

impl EntityRow {
    /// Unspent satoshis of the members.
    #[must_use]
    pub fn direct_balance(&self) -> Sats {
        self.funded.saturating_sub(self.spent)
    }

    /// Unspent satoshis of the members and of the scripts that count by their cluster.
    #[must_use]
    pub fn balance(&self) -> Sats {
        self.direct_balance().saturating_add(self.inherited.balance)
    }

    fn of(name: EntityName, sums: &Sums) -> Result<Self, ReadError> {
        let at = |position: u32| {
            let sum = u64::try_from(sums.get(position));
            sum.map_err(|_| ReadError::Broken(format!("a sum of entity {name} is below zero or too large")))
        };
        let of = |sum: EntitySum| at(sum.position());
        let mut categories = Vec::new();
        for category in Category::ALL {
            let count = at(EntitySum::of_category(*category))?;
            categories.extend(Some((*category, count)).filter(|(_, count)| *count > 0));
        }
        Ok(EntityRow {
            members: of(EntitySum::Members)?,
            seen: of(EntitySum::Seen)?,
            named: of(EntitySum::Named)?,
            persons: of(EntitySum::Persons)?,
            funded: of(EntitySum::Funded)?,
            spent: of(EntitySum::Spent)?,
            funded_count: of(EntitySum::FundedCount)?,
            spent_count: of(EntitySum::SpentCount)?,
            inherited: Inherited {
                scripts: of(EntitySum::Inherited)?,
                balance: of(EntitySum::InheritedBalance)?,
                clusters: of(EntitySum::Clusters)?,
                left_out: of(EntitySum::Suspects)?,
                left_out_balance: of(EntitySum::SuspectBalance)?,
            },
            categories,
            name,
        })
    }
}

impl EntityView<'_> {
    /// An entity's sums; `None` if no label names it. One row read.
    pub fn get(self, name: &EntityName) -> Result<Option<EntityRow>, ReadError> {
        self.view.get::<EntityTotals>(name)?.map(|sums| EntityRow::of(name.clone(), &sums)).transpose()
    }

    /// At most `limit` entities in the order of their names, from `from` (or the first) on.
    pub fn list(self, from: Option<&EntityName>, limit: usize) -> Result<Vec<EntityRow>, ReadError> {
        let rows = self.view.scan::<EntityTotals>(from)?.take(limit);
        rows.map(|row| row.and_then(|(name, sums)| EntityRow::of(name, &sums))).collect()
    }

    /// At most `limit` texts of a kind about an entity, each with the number of scripts that it rests on, ascending by
    /// text.
    pub fn facets(self, name: &EntityName, kind: FacetKind, limit: usize) -> Result<Vec<(String, u64)>, ReadError> {
        let from = EntityFacet::new(name.clone(), kind, "");
        let mut found = Vec::new();
        let is_of = |facet: &EntityFacet| (&facet.entity, facet.kind) == (name, kind);
        for row in self.view.scan_while::<EntityFacets>(from, is_of)?.take(limit) {
            let (facet, sums) = row?;
            let count = u64::try_from(sums.get(0));
            found.push((facet.text, count.map_err(|_| self.view.broken("a count of entity_facets is below zero"))?));
        }
        Ok(found)
    }

    /// At most `limit` scripts of an entity, those with the newest transaction first, after a script that an earlier
    /// call returned.
    pub fn scripts(
        self,
        name: &EntityName,
        class: ScriptClass,
        after: Option<&EntityScript>,
        limit: usize,
    ) -> Result<Vec<EntityScript>, ReadError> {
        let newest = Newest(Some(cairn_model::TxNum(cairn_model::TxNum::LIMIT - 1)));
        let first = EntityScript { entity: name.clone(), class, last: newest, script: ScriptHash([0; 32]) };
        let mut found = Vec::new();
        for row in self.view.scan::<EntityScripts>(Some(after.unwrap_or(&first)))? {
            let (script, ()) = row?;
            if found.len() == limit || (&script.entity, script.class) != (name, class) {
                break;
            }
            if after != Some(&script) {
                found.push(script);
            }
        }
        Ok(found)
    }
}
