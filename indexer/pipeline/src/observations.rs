//! Stores observations in the index: of the mempool, so that first-seen times survive a restart and stress has a
//! history, and the newest prices. No stage owns these rows; the chain's rows do not depend on them.

use std::sync::Arc;

use cairn_events::LiveQuote;
use cairn_model::{MempoolSample, MempoolTx, Txid};
use cairn_tables::{
    Table, encode_key,
    live_quotes::{LiveQuotes, LiveRow},
    mempool::{KeptMempool, MempoolSamples},
};
use cairn_writer::WriteError;

use crate::{Engine, PipelineError};

impl Engine {
    /// Stores added transactions and removes others: visible at once, durable with the next [`Engine::settle`],
    /// atomically with its blocks. Both lists are net changes since the last call; a transaction in both stays, as in
    /// `added`. Unknown ones may be removed.
    ///
    /// # Errors
    /// Writes nothing if the database fails.
    pub fn keep_mempool(&self, added: &[Arc<MempoolTx>], removed: &[Txid]) -> Result<(), PipelineError> {
        if added.is_empty() && removed.is_empty() {
            return Ok(());
        }
        self.writer.commit(|batch| {
            removed.iter().for_each(|txid| batch.delete_row::<KeptMempool>(txid));
            added.iter().for_each(|tx| batch.put_row::<KeptMempool>(&tx.txid, tx));
            Ok(())
        })
    }

    /// All stored transactions, ascending by the bytes of the txid. These rows are observations, not part of the chain:
    /// damaged ones are dropped, and a warning gives their number.
    pub fn kept_mempool(&self) -> Result<Vec<Arc<MempoolTx>>, PipelineError> {
        let (mut kept, mut damaged) = (Vec::new(), Vec::new());
        let walked = self.writer.rows::<KeptMempool>(|key, value| {
            let tx = KeptMempool::decode_value(value).ok().filter(|tx| tx.txid.0[..] == *key);
            match tx {
                Some(tx) => kept.push(Arc::new(tx)),
                None => damaged.push(key.to_vec()),
            }
        });
        match walked {
            Ok(()) if damaged.is_empty() => {}
            Ok(()) => {
                tracing::warn!(rows = damaged.len(), "damaged rows of the stored mempool are dropped");
                self.writer.commit::<WriteError>(|batch| {
                    damaged.iter().for_each(|key| batch.delete(KeptMempool::FAMILY, key));
                    Ok(())
                })?;
            }
            // A block of rows that fails its checksum, or a file that is gone, ends the walk: the rows behind it cannot
            // be read one by one.
            Err(e) if e.is_damage() => {
                tracing::warn!(%e, kept = kept.len(), "the stored mempool is damaged: the rest of it is dropped");
                self.writer.make_anew(KeptMempool::FAMILY)?;
                self.keep_mempool(&kept, &[])?;
                self.settle()?;
            }
            Err(e) => return Err(e.into()),
        }
        Ok(kept)
    }

    /// Writes the stored transactions that can be read into new files: with a file that is gone, the index does not
    /// open.
    pub(crate) fn mend_mempool(&self) -> Result<(), PipelineError> {
        let kept = self.kept_mempool()?;
        self.writer.make_anew(KeptMempool::FAMILY)?;
        self.keep_mempool(&kept, &[])?;
        self.settle()
    }

    /// Appends a sample of the mempool to the journal: visible at once, durable with the next [`Engine::settle`].
    /// Samples are observations that nothing can make again: one that stands for the same second is kept as it is.
    /// Returns whether the sample was written.
    pub fn put_sample(&self, sample: &MempoolSample) -> Result<bool, PipelineError> {
        let key = encode_key::<MempoolSamples>(&sample.time_unix);
        if self.writer.get(MempoolSamples::FAMILY, &key)?.is_some() {
            return Ok(false);
        }
        self.writer.commit::<PipelineError>(|batch| {
            batch.put_row::<MempoolSamples>(&sample.time_unix, sample);
            Ok(())
        })?;
        Ok(true)
    }
    /// Replaces the newest price of each pair: visible at once, durable with the next [`Engine::settle`].
    pub fn keep_live_quotes(&self, quotes: &[LiveQuote]) -> Result<(), PipelineError> {
        if quotes.is_empty() {
            return Ok(());
        }
        self.writer.commit(|batch| {
            let rows = quotes.iter().map(|quote| ((quote.base, quote.quote), LiveRow::of(quote)));
            rows.for_each(|(pair, row)| batch.put_row::<LiveQuotes>(&pair, &row));
            Ok(())
        })
    }
}
