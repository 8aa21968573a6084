//! Takes a document in that is a whole list, of tags of mining pools or of profiles, and takes it back.

use std::collections::HashSet;

use cairn_events::{Listed, Listing, Provenance, Slug};
use cairn_tables::{
    claims::ListKey,
    events::{EventRow, Events},
    listings::{ListingKey, ListingTable, PoolTags, Profiles},
};
use cairn_writer::Batch;

use super::{Applied, LedgerError, claims::version, taking::Taking};

pub(crate) fn listing_key(provenance: &Provenance, list: &Slug, row: u32) -> ListingKey {
    let list = ListKey { source: provenance.source.clone(), list: list.clone() };
    ListingKey { list, version: version(provenance), row }
}

impl Taking<'_> {
    /// Writes the rows of a list; returns the sequence number of the last one.
    pub(super) fn write_listing(
        &self,
        batch: &mut Batch<'_>,
        list: &Slug,
        rows: &Listing,
    ) -> Result<(Applied, u64), LedgerError> {
        match rows {
            Listing::PoolTags(rows) => self.write_listed::<PoolTags>(batch, list, rows),
            Listing::Profiles(rows) => self.write_listed::<Profiles>(batch, list, rows),
        }
    }

    fn write_listed<T: ListingTable>(
        &self,
        batch: &mut Batch<'_>,
        list: &Slug,
        rows: &[T::Value],
    ) -> Result<(Applied, u64), LedgerError>
    where
        Listing: From<Vec<T::Value>>,
    {
        let provenance = &self.document.provenance;
        let state = self.state(&self.hash())?;
        let own = ListKey { source: provenance.source.clone(), list: list.clone() };
        let said = self.view.ledger().listing::<T>(&own)?.map(|of| of.rows).unwrap_or_default();
        // In whatever row it stands.
        let said: HashSet<T::Value> = said.iter().map(|row| row.at_row(0)).collect();
        let repeats: Vec<bool> = rows.iter().map(|row| said.contains(&row.at_row(0))).collect();
        if state.withdrawn == 0 {
            rows.iter().for_each(|row| batch.put_row::<T>(&listing_key(provenance, list, row.row()), row));
        }
        let taken = self.note(batch, &repeats, state);
        let mut seq = self.seq + 1;
        let per_row = <T::Value as Listed>::PER_ROW;
        for (rows, repeats) in rows.chunks(per_row).zip(repeats.chunks(per_row)) {
            let (list, repeats) = (list.clone(), repeats.to_vec());
            let row = EventRow::Listing { document: self.seq, list, repeats, rows: rows.to_vec().into() };
            batch.put_row::<Events>(&seq, &row);
            seq += rows.len() as u64;
        }
        Ok((taken, seq - 1))
    }
}

/// Removes the content of some rows of a document.
pub(super) fn take_back(batch: &mut Batch<'_>, provenance: &Provenance, list: &Slug, rows: &Listing) {
    match rows {
        Listing::PoolTags(rows) => take_back_rows::<PoolTags>(batch, provenance, list, rows),
        Listing::Profiles(rows) => take_back_rows::<Profiles>(batch, provenance, list, rows),
    }
}

fn take_back_rows<T: ListingTable>(batch: &mut Batch<'_>, provenance: &Provenance, list: &Slug, rows: &[T::Value]) {
    rows.iter().for_each(|row| batch.delete_row::<T>(&listing_key(provenance, list, row.row())));
}
