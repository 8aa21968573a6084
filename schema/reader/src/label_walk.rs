//! Look-ups of many labels by the ids of their scripts, as a block asks for them.

use cairn_model::ScriptPrefix;
use cairn_tables::{
    Table,
    labels::{Labels, ScriptHash, ScriptLabel},
};
use rocksdb::DBRawIteratorWithThreadMode;

use crate::{Db, ReadError, View, subjects::LabelView};

/// Bytes of a key that the filter of the table covers.
const FILTERED: usize = 8;

/// Looks labels up by prefix, with one iterator for all of them.
pub struct LabelWalk<'v> {
    rows: DBRawIteratorWithThreadMode<'v, Db>,
    view: &'v View<'v>,
    /// Bytes of a prefix that count.
    significant: usize,
}

impl<'v> LabelView<'v> {
    /// Begins to look up labels by the prefixes of their scripts' ids.
    pub fn walk(self) -> Result<LabelWalk<'v>, ReadError> {
        let significant = self.view.facts().script_prefix.min(FILTERED);
        // The filter knows whole prefixes only. Shorter ones are for tests of collisions.
        let is_whole = significant == FILTERED;
        let rows =
            if is_whole { self.view.prefix_iterator::<Labels>()? } else { self.view.raw_iterator::<Labels>()? };
        Ok(LabelWalk { rows, view: self.view, significant })
    }
}

impl LabelWalk<'_> {
    /// The labels of all scripts with this prefix, mostly none: then the filter saves the read. One row read, and one
    /// more for each label.
    pub fn of_prefix(&mut self, prefix: &ScriptPrefix) -> Result<Vec<(ScriptHash, ScriptLabel)>, ReadError> {
        let mut found = Vec::new();
        let wanted = prefix.0.get(..self.significant).unwrap_or(&prefix.0);
        self.rows.seek(prefix.0);
        loop {
            self.view.count(Labels::NAME)?;
            self.rows.status().map_err(|e| ReadError::of_table(Labels::NAME, e))?;
            let Some((key, value)) = self.rows.item().filter(|(key, _)| key.starts_with(wanted)) else {
                return Ok(found);
            };
            self.view.count_bytes(value)?;
            found.push((Labels::decode_key(key)?, Labels::decode_value(value)?));
            self.rows.next();
        }
    }
}
