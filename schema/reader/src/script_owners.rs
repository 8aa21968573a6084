//! Entities to which scripts belong.

use std::collections::HashMap;

use cairn_events::EntityName;
use cairn_model::{ScriptId, TxNum, each_once};
use cairn_tables::labels::ScriptLabel;

use crate::{ReadError, subjects::LabelView};

/// Entity to which a script belongs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScriptOwner {
    /// The entity.
    pub entity: EntityName,
    /// True if that follows from claims about other scripts of its cluster.
    pub is_inherited: bool,
}

/// Labels of a script.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct ScriptStanding {
    /// Entity to which it belongs; `None` if there is none.
    pub owner: Option<ScriptOwner>,
    /// True if it is labelled: by an uncontested claim of level 40 or more, or because its cluster has an owner.
    pub is_labelled: bool,
}

impl ScriptStanding {
    /// The standing of a script by its own label alone, without its cluster.
    #[must_use]
    pub fn direct(label: &ScriptLabel) -> Self {
        let owner =
            |member: &cairn_tables::labels::Member| ScriptOwner { entity: member.entity.clone(), is_inherited: false };
        ScriptStanding { owner: label.member.as_ref().map(owner), is_labelled: !label.sources.is_empty() }
    }
}

impl LabelView<'_> {
    /// Labels of scripts as of the tip, in the order of the scripts. A script that a list attributes to an entity has
    /// its own label, any other that of its cluster, unless the cluster has a suspect merge. Reads a row for each
    /// script with a label, and for the others those on the way to their clusters, together; nothing in an index
    /// without labels.
    pub fn standings(self, scripts: &[ScriptId]) -> Result<Vec<ScriptStanding>, ReadError> {
        let mut standings = vec![ScriptStanding::default(); scripts.len()];
        if scripts.is_empty() || !self.has_any()? {
            return Ok(standings);
        }
        let mut heirs = Vec::new();
        for (at, label) in self.of_ids(scripts)?.into_iter().enumerate() {
            if let Some((_, label)) = &label {
                standings[at] = ScriptStanding::direct(label);
            }
            if !label.is_some_and(|(_, label)| label.names_somebody()) {
                heirs.push(at);
            }
        }
        if heirs.is_empty() || !self.view.clusters().has_owners()? {
            return Ok(standings);
        }
        let ids: Vec<ScriptId> = heirs.iter().map(|at| scripts[*at]).collect();
        let members = self.view.clusters().of_scripts(&ids, self.view.as_of_tip())?;
        let roots = each_once(members.iter().filter_map(|member| Some(member.root?.0)));
        let mut owners: HashMap<TxNum, EntityName> = HashMap::new();
        for (root, row) in roots.iter().zip(self.view.clusters().owners_of_many(&roots)?) {
            owners.extend(
                row.filter(|row| !row.is_suspect).and_then(|row| Some((*root, row.owners.into_iter().next()?))),
            );
        }
        for (at, member) in heirs.into_iter().zip(members) {
            if let Some(entity) = member.root.and_then(|root| owners.get(&root.0)) {
                let owner = ScriptOwner { entity: entity.clone(), is_inherited: true };
                standings[at] = ScriptStanding { owner: Some(owner), is_labelled: true };
            }
        }
        Ok(standings)
    }
}
