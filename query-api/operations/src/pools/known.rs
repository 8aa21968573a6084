//! The tags of mining pools that the ledger has, ready to be looked for. Kept from request to request.

use std::collections::BTreeMap;

use cairn_domain::pools::TagMatcher;
use cairn_events::{EntityName, PoolTag};
use cairn_http::ApiError;
use cairn_reader::View;
use cairn_tables::listings::PoolTags;

use crate::ledger_cache::OfLedger;

#[derive(Debug)]
pub(crate) struct KnownTags {
    pub(crate) matcher: TagMatcher,
    /// Places of the tags of each pool in [`TagMatcher::tags`].
    by_pool: BTreeMap<EntityName, Vec<usize>>,
    /// True if there are more tags than are used.
    pub(crate) is_cut: bool,
}

impl OfLedger for KnownTags {
    fn read(view: &View<'_>) -> Result<Self, ApiError> {
        let found = view.ledger().listings::<PoolTags>()?;
        let tags = found.lists.into_iter().flat_map(|of| {
            let at = of.version.retrieved_at;
            of.rows.into_iter().map(move |tag| (at, tag))
        });
        let matcher = TagMatcher::new(tags).map_err(|error| {
            tracing::error!(%error, "tags of mining pools");
            ApiError::internal()
        })?;
        let mut by_pool: BTreeMap<EntityName, Vec<usize>> = BTreeMap::new();
        for (at, tag) in matcher.tags().iter().enumerate() {
            by_pool.entry(tag.pool.clone()).or_default().push(at);
        }
        Ok(KnownTags { matcher, by_pool, is_cut: found.is_cut })
    }
}

impl KnownTags {
    /// The tags of a pool, the longest first.
    pub(crate) fn tags_of(&self, pool: &EntityName) -> impl Iterator<Item = &PoolTag> {
        let places = self.by_pool.get(pool).map_or(&[][..], Vec::as_slice);
        places.iter().filter_map(|at| self.matcher.tags().get(*at))
    }

    /// All pools that have a tag, ascending by name.
    pub(crate) fn pools(&self) -> impl Iterator<Item = &EntityName> {
        self.by_pool.keys()
    }
}
