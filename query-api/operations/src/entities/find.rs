//! Finds the entity that a request names: by its name for paths, else by one of those that people write.

use std::sync::Arc;

use cairn_domain::entities::nearest_names;
use cairn_events::EntityName;
use cairn_reader::EntityRow;

use super::profiles::KnownProfiles;
use crate::operation::prelude::*;
use crate::register::{Register, is_a_person};

const MAX_SUGGESTED: usize = 5;

/// How an entity was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FoundBy {
    /// By its name.
    Name,
    /// By another spelling, or another name that sources give to the entity or its addresses.
    Alias,
}

/// The entity of a request.
pub(crate) struct FoundEntity {
    pub(crate) row: EntityRow,
    pub(crate) by: FoundBy,
}

impl Ctx<'_> {
    /// All entities, from memory where they are known.
    pub(super) fn entities(&self) -> Result<Arc<Register>, ApiError> {
        let view = self.view()?;
        let reader = self.prices.reader.ok_or_else(ApiError::internal)?;
        Ok(self.register.get(reader, view, &self.work)?)
    }

    /// Profiles of entities, from memory where they are known.
    pub(super) fn profiles(&self) -> Result<Arc<KnownProfiles>, ApiError> {
        self.profiles.get(self.prices.reader.ok_or_else(ApiError::internal)?, self.view()?)
    }
}

impl FoundEntity {
    /// Looks an entity up. One row read if the name is its own.
    ///
    /// # Errors
    /// Returns 404, with near names, if no entity has the name.
    pub(crate) fn find(ctx: &Ctx<'_>, view: &View<'_>, asked: &str) -> Result<Self, ApiError> {
        let own: Option<EntityName> = asked.trim().to_lowercase().parse().ok();
        if let Some(row) = own.as_ref().map(|name| view.entities().get(name)).transpose()?.flatten() {
            return Ok(FoundEntity { row, by: FoundBy::Name });
        }
        // Natural persons are found by their exact name only.
        let spelled = EntityName::from_words(asked).filter(|name| Some(name) != own.as_ref());
        let of_alias = spelled.as_ref().map(|name| view.entities().get(name)).transpose()?.flatten();
        if let Some(row) = of_alias.filter(|row| !is_a_person(row)) {
            return Ok(FoundEntity { row, by: FoundBy::Alias });
        }
        let all = ctx.entities()?;
        let written = EntityName::from_words(asked);
        let known = written.as_ref().and_then(|name| all.alias(name)).map(|entry| &entry.name);
        if let Some(row) = known.map(|name| view.entities().get(name)).transpose()?.flatten() {
            return Ok(FoundEntity { row, by: FoundBy::Alias });
        }
        // Of the entity itself, whatever is said of its addresses.
        let profiles = ctx.profiles()?;
        let of_profile = written.as_ref().and_then(|name| profiles.alias(name));
        let row = of_profile.map(|name| view.entities().get(name)).transpose()?.flatten();
        if let Some(row) = row.filter(|row| !is_a_person(row)) {
            return Ok(FoundEntity { row, by: FoundBy::Alias });
        }
        Err(unknown(ctx, &all, written.as_ref()))
    }
}

fn unknown(ctx: &Ctx<'_>, all: &Register, asked: Option<&EntityName>) -> ApiError {
    let detail = match asked {
        _ if all.entries().is_empty() => "no entity is known: no loaded label names one".to_owned(),
        Some(name) => format!("no entity has the name {name}; /v1/entities/list has all names"),
        None => "no entity has this name; names have letters and digits: /v1/entities/list has them".to_owned(),
    };
    let names = all.entries().iter().map(|entry| entry.name.as_str());
    let near = asked.map(|asked| nearest_names(asked.as_str(), names, MAX_SUGGESTED)).unwrap_or_default();
    ctx.missing(ErrorCode::EntityNotFound, detail).with("did_you_mean", near)
}
