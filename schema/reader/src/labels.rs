//! Labels of scripts, as they are kept beside the chain.

use bitcoin::hashes::{Hash, sha256};
use cairn_events::Slug;
use cairn_model::{Sats, ScriptId};
use cairn_tables::{
    Table,
    label_sources::{LabelSource, LabelSources, SourceSum},
    labels::{JOINED, LabelDue, Labels, ScriptHash, ScriptLabel, is_joined_at},
};

use rocksdb::DBRawIteratorWithThreadMode;

use crate::{Db, ReadError, subjects::LabelView};

/// How much of the chain a source labels.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SourceShare {
    /// The source; `None`: all together.
    pub source: Option<Slug>,
    /// Scripts that are labelled.
    pub scripts: u64,
    /// Their unspent satoshis.
    pub unspent: Sats,
}

/// Most sources that are listed.
pub const MAX_SOURCES: usize = 1_000;

impl LabelView<'_> {
    /// How much of the chain is labelled: all together, then by source, ascending, at most [`MAX_SOURCES`]. A row read
    /// for each.
    pub fn shares(self) -> Result<Vec<SourceShare>, ReadError> {
        let rows = self.view.scan::<LabelSources>(None)?.take(MAX_SOURCES + 1);
        rows.map(|row| {
            let (LabelSource(source), sums) = row?;
            let of = |sum: SourceSum| {
                let broken = || ReadError::Broken("a sum of a source is below zero or too large".to_owned());
                u64::try_from(sums.get(sum.position())).map_err(|_| broken())
            };
            let unspent = of(SourceSum::Funded)?.saturating_sub(of(SourceSum::Spent)?);
            Ok(SourceShare { source, scripts: of(SourceSum::Scripts)?, unspent })
        })
        .collect()
    }

    /// The label of a script by the SHA-256 of the script; `None` if no claim gives one. One row read, which the filter
    /// mostly saves.
    pub fn of_hash(self, script: &ScriptHash) -> Result<Option<ScriptLabel>, ReadError> {
        self.view.get::<Labels>(script)
    }

    /// The labels of many scripts, in their order, in one look-up. A script may stand more than once.
    pub fn of_hashes(self, scripts: &[ScriptHash]) -> Result<Vec<Option<ScriptLabel>>, ReadError> {
        self.view.rows_of_each::<Labels>(scripts)
    }

    /// As [`LabelView::of_hashes`], by the scripts themselves.
    pub fn of_scripts<'s>(
        self,
        scripts: impl IntoIterator<Item = &'s [u8]>,
    ) -> Result<Vec<Option<ScriptLabel>>, ReadError> {
        let hashes = scripts.into_iter().map(|script| ScriptHash(sha256::Hash::hash(script).to_byte_array()));
        self.of_hashes(&hashes.collect::<Vec<_>>())
    }

    /// The label of a script by its id, with the hash of the script. A row read for each label with the prefix of the
    /// id: mostly none, because of the filter.
    pub fn of_id(self, id: ScriptId) -> Result<Option<(ScriptHash, ScriptLabel)>, ReadError> {
        self.label_at(&mut self.view.prefix_iterator::<Labels>()?, id)
    }

    /// As [`LabelView::of_id`], of many scripts, in their order.
    pub fn of_ids(self, ids: &[ScriptId]) -> Result<Vec<Option<(ScriptHash, ScriptLabel)>>, ReadError> {
        let mut rows = self.view.prefix_iterator::<Labels>()?;
        ids.iter().map(|id| self.label_at(&mut rows, *id)).collect()
    }

    fn label_at(
        self,
        rows: &mut DBRawIteratorWithThreadMode<'_, Db>,
        id: ScriptId,
    ) -> Result<Option<(ScriptHash, ScriptLabel)>, ReadError> {
        rows.seek(id.prefix.0);
        loop {
            self.view.count(Labels::NAME)?;
            rows.status().map_err(|e| ReadError::of_table(Labels::NAME, e))?;
            let Some((key, value)) = rows.item().filter(|(key, _)| key.starts_with(&id.prefix.0)) else {
                return Ok(None);
            };
            self.view.count_bytes(value)?;
            let (hash, label) = (Labels::decode_key(key)?, Labels::decode_value(value)?);
            if label.id(&hash) == Some(id) {
                return Ok(Some((hash, label)));
            }
            rows.next();
        }
    }

    /// At most `limit` scripts to judge again, ascending. While there is one, labels and entities do not yet follow
    /// from all claims that were imported.
    pub fn due(self, limit: usize) -> Result<Vec<ScriptHash>, ReadError> {
        self.view.scan::<LabelDue>(None)?.take(limit).map(|row| row.map(|(script, ())| script)).collect()
    }

    /// True if labels and entities follow from all claims and from the chain up to the tip. Else they are being made,
    /// or documents are being worked in. No row is read if they did at this tip before; else up to three.
    pub fn are_settled(self) -> Result<bool, ReadError> {
        if self.view.settled {
            return Ok(true);
        }
        let tip = self.view.tip();
        // Without an input event there is no claim.
        let is_made = tip.seq == 0
            || self.view.checkpoint(JOINED)?.is_some_and(|found| is_joined_at(&found, tip.height, tip.hash));
        Ok(is_made && self.due(1)?.is_empty() && self.view.clusters().owners_due(None, 1)?.is_empty())
    }

    /// True if a script has a label. One row read.
    pub fn has_any(self) -> Result<bool, ReadError> {
        self.view.has_row::<Labels>()
    }
}
