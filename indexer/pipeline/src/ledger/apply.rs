//! Takes a document in.

use std::time::Instant;

use cairn_events::{Body, ClaimType, Document, DocumentHash, Quote, QuoteRow, Slug, choose};
use cairn_model::BlockHash;
use cairn_reader::{ReadError, Versions};
use cairn_stages::CHAIN;
use cairn_tables::{
    Table,
    checkpoints::{Checkpoint, Checkpoints},
    events::{Candle, DocumentState, Documents, EventRow, Events, QUOTES_PER_ROW, QuoteVersion, QuoteVersions, Quotes},
    feed::FeedKind,
};
use cairn_writer::Batch;

use super::{
    Applied, Ledger, LedgerError,
    claims::ClaimsTakenBack,
    contests, listings, redaction,
    taking::{Taking, prefix},
};
use crate::{NoProgress, feed::announce_labels};

/// Whether a document is a list of sanctions.
fn lists_sanctions(body: &Body) -> bool {
    matches!(body, Body::Claims { rows, .. } if rows.iter().any(|claim| claim.claim_type == ClaimType::ListedBy))
}

impl Ledger<'_> {
    /// As [`Engine::take_document`](crate::Engine::take_document).
    pub(super) fn take_document(&self, document: &Document, now: u32) -> Result<Applied, LedgerError> {
        let applied = self.write_document(document, now)?;
        let (Applied::Taken { seq, .. } | Applied::Known { seq, .. }) = applied;
        self.archive_document(seq)?;
        if document.body.redacts() {
            // Every file that has what is blanked now is written again.
            self.write_archive(true)?;
        }
        Ok(applied)
    }

    /// As [`Ledger::take_document`], without the archive.
    pub(super) fn write_document(&self, document: &Document, now: u32) -> Result<Applied, LedgerError> {
        document.check()?;
        let view = self.engine.reader.view()?;
        let taking = Taking { view: &view, document, now, seq: self.engine.writer.last_event()? + 1 };
        if let Some(known) = taking.known()? {
            drop(view);
            // If it was killed then, there is still something to follow.
            self.follow_document(document)?;
            return Ok(known);
        }
        let begun = Instant::now();
        taking.mark_ended(&self.engine.writer)?;
        let mut applied = None;
        self.engine.writer.commit::<LedgerError>(|batch| {
            let (taken, last) = taking.write(batch)?;
            taking.announce(&taken, batch)?;
            applied = Some(taken);
            let tip = view.tip();
            taking.checkpoint(batch, (tip.height, tip.hash), last)
        })?;
        drop(view);
        let (ledger, begun) = (begun.elapsed(), Instant::now());
        self.follow_document(document)?;
        let [ledger_ms, labels_ms] = [ledger, begun.elapsed()].map(|of| of.as_millis());
        tracing::debug!(ledger_ms, labels_ms, "a document is taken, and labels follow");
        Ok(applied.ok_or_else(|| ReadError::Broken("a commit wrote nothing".to_owned()))?)
    }

    /// Does the work that follows after a document is in the ledger. Doing it again changes nothing, so after an
    /// interruption the document is taken again.
    fn follow_document(&self, document: &Document) -> Result<(), LedgerError> {
        let followed = self.engine.follow_claims(&NoProgress);
        self.engine.writer.flush()?;
        followed?;
        if document.body.redacts() {
            redaction::merge(&self.engine.writer)?;
        }
        Ok(())
    }
}

impl Taking<'_> {
    /// The answer, if the ledger has the document.
    fn known(&self) -> Result<Option<Applied>, LedgerError> {
        let DocumentState { seq, withdrawn } = self.state(&self.hash())?;
        if seq != 0 {
            return Ok(Some(Applied::Known { seq, withdrawn: withdrawn != 0 }));
        }
        let mut from = [0; 32];
        from[..8].copy_from_slice(&prefix(&self.hash()));
        for row in self.view.scan::<Documents>(Some(&DocumentHash(from)))? {
            let (known, _) = row?;
            if prefix(&known) != prefix(&self.hash()) {
                break;
            }
            if known != self.hash() {
                return Err(LedgerError::Alike { new: self.hash(), known });
            }
        }
        Ok(None)
    }

    /// Announces what the document may change of labels.
    fn announce(&self, taken: &Applied, batch: &mut Batch<'_>) -> Result<(), LedgerError> {
        let list = match &self.document.body {
            Body::Claims { list, .. } => list.name.as_str(),
            Body::Contest(_) => "contest",
            Body::Withdrawal { .. } => "withdrawal",
            Body::Quotes(_) | Body::Listing { .. } => return Ok(()),
        };
        let Applied::Taken { events: rows @ 1.., withdrawn: false, .. } = taken else { return Ok(()) };
        let text = format!("{}/{list}", self.document.provenance.source);
        let kind =
            if lists_sanctions(&self.document.body) { FeedKind::SanctionsListChange } else { FeedKind::LabelChange };
        Ok(announce_labels(self.view, batch, (kind, self.hash().0, u64::from(*rows), text), self.now)?)
    }

    fn checkpoint(&self, batch: &mut Batch<'_>, tip: (u32, BlockHash), seq: u64) -> Result<(), LedgerError> {
        let found = self.view.checkpoint(CHAIN)?.ok_or(ReadError::Empty)?;
        if (found.height, found.hash) != tip {
            return Err(ReadError::Broken("the checkpoint of the journal is not the tip".to_owned()).into());
        }
        batch.put_row::<Checkpoints>(&CHAIN.to_owned(), &Checkpoint { seq, ..found });
        Ok(())
    }

    /// Writes the document; returns the sequence number of its last event.
    fn write(&self, batch: &mut Batch<'_>) -> Result<(Applied, u64), LedgerError> {
        match &self.document.body {
            Body::Quotes(rows) => self.write_quotes(batch, rows),
            Body::Claims { list, rows } => self.write_claims(batch, list, rows),
            Body::Listing { list, rows } => self.write_listing(batch, list, rows),
            Body::Contest(contest) => self.write_contest(batch, contest),
            Body::Withdrawal { document, reason } => self.write_withdrawal(batch, document, reason),
        }
    }

    fn write_quotes(&self, batch: &mut Batch<'_>, rows: &[QuoteRow]) -> Result<(Applied, u64), LedgerError> {
        let provenance = &self.document.provenance;
        let state = self.state(&self.hash())?;
        let mut walk = self.view.ledger().quote_versions()?;
        let mut repeats = Vec::with_capacity(rows.len());
        for row in rows {
            let candle = Candle { series: row.series, closes_at: row.closes_at };
            let mut versions = walk.of(&candle)?;
            let own = versions.entry(provenance.source.clone()).or_default();
            repeats.push(own.last().is_some_and(|(.., quote)| *quote == row.quote));
            if state.withdrawn != 0 {
                continue;
            }
            own.push((provenance.retrieved_at, prefix(&self.hash()), row.quote));
            own.sort_unstable_by_key(|(retrieved_at, document, _)| (*retrieved_at, *document));
            batch.put_row::<QuoteVersions>(&self.version(candle), &row.quote);
            put_chosen(batch, candle, &versions);
        }
        let taken = self.note(batch, &repeats, state);
        let mut seq = self.seq + 1;
        let (mut rest, mut bits) = (rows, &repeats[..]);
        while let Some(first) = rest.first() {
            let same = rest.iter().take(QUOTES_PER_ROW).take_while(|row| row.series == first.series).count();
            let (chunk, rows_after) = rest.split_at(same);
            let (chunk_bits, bits_after) = bits.split_at(same);
            let row = EventRow::Quotes { document: self.seq, repeats: chunk_bits.to_vec(), rows: chunk.to_vec() };
            batch.put_row::<Events>(&seq, &row);
            seq += same as u64;
            (rest, bits) = (rows_after, bits_after);
        }
        Ok((taken, seq - 1))
    }

    fn version(&self, candle: Candle) -> QuoteVersion {
        let provenance = &self.document.provenance;
        QuoteVersion {
            candle,
            source: provenance.source.clone(),
            retrieved_at: provenance.retrieved_at,
            document: prefix(&provenance.document),
        }
    }

    fn write_withdrawal(
        &self,
        batch: &mut Batch<'_>,
        withdrawn: &DocumentHash,
        reason: &str,
    ) -> Result<(Applied, u64), LedgerError> {
        let state = self.state(withdrawn)?;
        let provenance = self.document.provenance.clone();
        batch.put_row::<Events>(
            &self.seq,
            &EventRow::Withdrawal {
                received_at: self.received_at(),
                provenance,
                document: *withdrawn,
                reason: reason.to_owned(),
            },
        );
        let own = self.state(&self.hash())?;
        batch.put_row::<Documents>(&self.hash(), &DocumentState { seq: self.seq, ..own });
        let repeated = u32::from(state.withdrawn != 0);
        if state.withdrawn == 0 {
            batch.put_row::<Documents>(withdrawn, &DocumentState { withdrawn: self.seq, ..state });
            if state.seq != 0 {
                self.take_back(batch, withdrawn, state.seq)?;
            }
        }
        Ok((Applied::Taken { seq: self.seq, events: 1 - repeated, repeated, withdrawn: false }, self.seq))
    }

    /// Removes the effects of a document, and chooses again among the quotes.
    fn take_back(&self, batch: &mut Batch<'_>, hash: &DocumentHash, seq: u64) -> Result<(), LedgerError> {
        let (provenance, rows) = match self.view.ledger().event(seq)? {
            Some((_, EventRow::Document { provenance, rows, .. })) => (provenance, rows),
            Some((_, EventRow::Contest { provenance, contest, .. })) => {
                contests::take_back(batch, &provenance, &contest);
                return Ok(());
            }
            // A withdrawal that is withdrawn still holds.
            _ => return Ok(()),
        };
        let mut walk = self.view.ledger().quote_versions()?;
        let mut left = u64::from(rows);
        let mut claims = ClaimsTakenBack::default();
        for row in self.view.scan::<Events>(Some(&(seq + 1)))? {
            let (_, row) = row?;
            let count = row.events();
            match row {
                EventRow::Quotes { document, rows, .. } if left > 0 && document == seq => {
                    for row in rows {
                        let candle = Candle { series: row.series, closes_at: row.closes_at };
                        let mut versions = walk.of(&candle)?;
                        if let Some(own) = versions.get_mut(&provenance.source) {
                            own.retain(|(_, document, _)| *document != prefix(hash));
                        }
                        batch.delete_row::<QuoteVersions>(&QuoteVersion {
                            candle,
                            source: provenance.source.clone(),
                            retrieved_at: provenance.retrieved_at,
                            document: prefix(hash),
                        });
                        put_chosen(batch, candle, &versions);
                    }
                }
                EventRow::Claims { document, list, claims: rows, .. } if left > 0 && document == seq => {
                    claims.take_back(batch, &provenance, &list, &rows);
                }
                EventRow::Listing { document, list, rows, .. } if left > 0 && document == seq => {
                    listings::take_back(batch, &provenance, &list, &rows);
                }
                _ => break,
            }
            left = left.saturating_sub(count);
        }
        if left == 0 {
            Ok(())
        } else {
            let what = format!("{left} rows of document {hash}");
            Err(ReadError::Lacks { table: Events::NAME, what }.into())
        }
    }
}

/// The last version of each source.
pub(crate) fn newest(versions: &Versions) -> Vec<(Slug, Quote)> {
    let last = versions.iter().filter_map(|(source, all)| Some((source.clone(), all.last()?.2)));
    last.collect()
}

fn put_chosen(batch: &mut Batch<'_>, candle: Candle, versions: &Versions) {
    match choose(&newest(versions)) {
        Some(chosen) => batch.put_row::<Quotes>(&candle, &chosen),
        None => batch.delete_row::<Quotes>(&candle),
    }
}
