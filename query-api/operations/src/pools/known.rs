//! The tags of mining pools that the ledger has, ready to be looked for: kept from request to request, since they change only
//! when a document comes in.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use cairn_domain::pools::TagMatcher;
use cairn_events::{EntityName, PoolTag};
use cairn_http::ApiError;
use cairn_reader::{Reader, View};

/// The tags of an index.
#[derive(Debug)]
pub(crate) struct KnownTags {
    /// The sequence number of the input event up to which they are known.
    seq: u64,
    /// Finds them.
    pub(crate) matcher: TagMatcher,
    /// Places of the tags of each pool in [`TagMatcher::tags`].
    by_pool: BTreeMap<EntityName, Vec<usize>>,
    /// True if there are more tags than are used.
    pub(crate) is_cut: bool,
}

impl KnownTags {
    fn read(view: &View<'_>) -> Result<Self, ApiError> {
        let found = view.pool_tags()?;
        let tags = found.lists.into_iter().flat_map(|of| {
            let at = of.version.retrieved_at;
            of.tags.into_iter().map(move |tag| (at, tag))
        });
        let matcher = TagMatcher::new(tags).map_err(|error| {
            tracing::error!(%error, "tags of mining pools");
            ApiError::internal()
        })?;
        let mut by_pool: BTreeMap<EntityName, Vec<usize>> = BTreeMap::new();
        for (at, tag) in matcher.tags().iter().enumerate() {
            by_pool.entry(tag.pool.clone()).or_default().push(at);
        }
        Ok(KnownTags { seq: view.tip().seq, matcher, by_pool, is_cut: found.is_cut })
    }

    /// The tags of a pool, the longest first.
    pub(crate) fn of(&self, pool: &EntityName) -> impl Iterator<Item = &PoolTag> {
        let places = self.by_pool.get(pool).map_or(&[][..], Vec::as_slice);
        places.iter().filter_map(|at| self.matcher.tags().get(*at))
    }

    /// All pools that have a tag, ascending by name.
    pub(crate) fn pools(&self) -> impl Iterator<Item = &EntityName> {
        self.by_pool.keys()
    }
}

/// Keeps the tags of the index that was last asked about.
#[derive(Debug, Default)]
pub(crate) struct TagSlot(Mutex<Option<(Weak<Reader>, Arc<KnownTags>)>>);

impl TagSlot {
    /// The tags of a view, which is one of this reader. They are read again only after a document came in, or of another
    /// reader; those rows do not count as the request's.
    pub(crate) fn of(&self, reader: &Arc<Reader>, view: &View<'_>) -> Result<Arc<KnownTags>, ApiError> {
        let seq = view.tip().seq;
        if let Some((of, known)) = &*self.0.lock().unwrap_or_else(PoisonError::into_inner)
            && known.seq == seq
            && std::ptr::eq(of.as_ptr(), Arc::as_ptr(reader))
        {
            return Ok(Arc::clone(known));
        }
        let own = reader.view()?;
        // Another document may have come in since.
        let known = Arc::new(KnownTags::read(if own.tip().seq == seq { &own } else { view })?);
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((Arc::downgrade(reader), Arc::clone(&known)));
        Ok(known)
    }
}
