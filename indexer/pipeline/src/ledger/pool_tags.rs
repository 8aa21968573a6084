//! Takes a document of tags of mining pools in, and takes it back.

use std::collections::HashSet;

use cairn_events::{PoolTag, Provenance, Slug};
use cairn_tables::{
    claims::ListKey,
    events::{EventRow, Events, TAGS_PER_ROW},
    pool_tags::{PoolTagKey, PoolTags},
};
use cairn_writer::Batch;

use super::{Applied, LedgerError, apply::Taking, claims::version};

/// The key of a tag.
pub(crate) fn pool_tag_key(provenance: &Provenance, list: &Slug, tag: &PoolTag) -> PoolTagKey {
    let list = ListKey { source: provenance.source.clone(), list: list.clone() };
    PoolTagKey { list, version: version(provenance), row: tag.row }
}

impl Taking<'_> {
    /// Writes the tags; returns the sequence number of the last one.
    pub(super) fn write_pool_tags(
        &self,
        batch: &mut Batch<'_>,
        list: &Slug,
        tags: &[PoolTag],
    ) -> Result<(Applied, u64), LedgerError> {
        let provenance = &self.document.provenance;
        let state = self.state(&self.hash())?;
        let own = ListKey { source: provenance.source.clone(), list: list.clone() };
        let said = self.view.pool_tags_of(&own)?.map(|of| of.tags).unwrap_or_default();
        // In whatever row it stands.
        let unplaced = |tag: &PoolTag| PoolTag { row: 0, ..tag.clone() };
        let said: HashSet<PoolTag> = said.iter().map(unplaced).collect();
        let repeats: Vec<bool> = tags.iter().map(|tag| said.contains(&unplaced(tag))).collect();
        if state.withdrawn == 0 {
            tags.iter().for_each(|tag| batch.put_row::<PoolTags>(&pool_tag_key(provenance, list, tag), tag));
        }
        let taken = self.note(batch, &repeats, state);
        let mut seq = self.seq + 1;
        for (tags, repeats) in tags.chunks(TAGS_PER_ROW).zip(repeats.chunks(TAGS_PER_ROW)) {
            let (list, repeats) = (list.clone(), repeats.to_vec());
            let row = EventRow::PoolTags { document: self.seq, list, repeats, tags: tags.to_vec() };
            batch.put_row::<Events>(&seq, &row);
            seq += tags.len() as u64;
        }
        Ok((taken, seq - 1))
    }
}

/// Removes what some tags of a document say.
pub(super) fn take_back(batch: &mut Batch<'_>, provenance: &Provenance, list: &Slug, tags: &[PoolTag]) {
    tags.iter().for_each(|tag| batch.delete_row::<PoolTags>(&pool_tag_key(provenance, list, tag)));
}
