//! Ordinals of scripts whose prefixes collide.

use std::collections::{HashMap, HashSet};

use cairn_model::{ScriptPrefix, TxNum};
use cairn_tables::journal::CollidingScripts;

use crate::PipelineError;

/// The scripts of a prefix, in order of first appearance.
pub(crate) type PrefixScripts = Vec<(TxNum, Vec<u8>)>;

/// Prefixes that several scripts share; mainnet should have none.
#[derive(Default)]
pub(crate) struct Collisions {
    scripts: HashMap<ScriptPrefix, PrefixScripts>,
    changed: HashSet<ScriptPrefix>,
}

impl Collisions {
    /// With the colliding prefixes known in advance, but not yet their scripts (bulk).
    pub(crate) fn of_prefixes(prefixes: impl Iterator<Item = ScriptPrefix>) -> Self {
        Collisions { scripts: prefixes.map(|p| (p, Vec::new())).collect(), changed: HashSet::new() }
    }

    /// Takes over the ordinals of an earlier run (bulk).
    pub(crate) fn know(&mut self, rows: impl Iterator<Item = (ScriptPrefix, PrefixScripts)>) {
        self.scripts.extend(rows);
    }

    /// All colliding prefixes with the scripts found so far, by ascending prefix.
    pub(crate) fn rows(&self) -> Vec<(ScriptPrefix, PrefixScripts)> {
        let met = self.scripts.iter().filter(|(_, scripts)| !scripts.is_empty());
        let mut rows: Vec<_> = met.map(|(prefix, scripts)| (*prefix, scripts.clone())).collect();
        rows.sort_unstable_by_key(|(prefix, _)| *prefix);
        rows
    }

    /// True if no prefix collides.
    pub(crate) fn is_empty(&self) -> bool {
        self.scripts.is_empty()
    }

    /// The collisions of the index (tip).
    pub(crate) fn of_rows(rows: impl Iterator<Item = (ScriptPrefix, CollidingScripts)>) -> Self {
        Collisions { scripts: rows.map(|(p, row)| (p, row.0)).collect(), changed: HashSet::new() }
    }

    /// True if a prefix collides.
    pub(crate) fn has(&self, prefix: ScriptPrefix) -> bool {
        self.scripts.contains_key(&prefix)
    }

    /// Ordinal of a known script; `None` if the script is unknown and its prefix collides. 0 if the prefix does not
    /// collide.
    pub(crate) fn find(&self, prefix: ScriptPrefix, script: &[u8]) -> Option<u8> {
        match self.scripts.get(&prefix) {
            None => Some(0),
            Some(scripts) => scripts.iter().position(|(_, s)| s == script).map(|i| i as u8),
        }
    }

    /// Ordinal of a script in an output of `tx_num`; a new script gets a new ordinal.
    pub(crate) fn assign(&mut self, prefix: ScriptPrefix, script: &[u8], tx_num: TxNum) -> Result<u8, PipelineError> {
        let Some(scripts) = self.scripts.get_mut(&prefix) else { return Ok(0) };
        if let Some(known) = scripts.iter().position(|(_, s)| s == script) {
            return Ok(known as u8);
        }
        let ordinal = u8::try_from(scripts.len()).map_err(|_| PipelineError::TooManyCollisions(prefix.0))?;
        scripts.push((tx_num, script.to_vec()));
        self.changed.insert(prefix);
        Ok(ordinal)
    }

    /// Registers a new collision: until now only `known` had the prefix.
    pub(crate) fn discover(&mut self, prefix: ScriptPrefix, known: (TxNum, Vec<u8>)) {
        self.scripts.insert(prefix, vec![known]);
        self.changed.insert(prefix);
    }

    /// Removes the scripts that first appeared at `from` or later (a disconnected block). A prefix with only one script
    /// left no longer collides.
    pub(crate) fn forget_from(&mut self, from: TxNum, prefixes: impl Iterator<Item = ScriptPrefix>) {
        for prefix in prefixes {
            let Some(scripts) = self.scripts.get_mut(&prefix) else { continue };
            let before = scripts.len();
            scripts.retain(|(first, _)| *first < from);
            if scripts.len() != before {
                self.changed.insert(prefix);
            }
            if scripts.len() < 2 {
                self.scripts.remove(&prefix);
            }
        }
    }

    /// Rows that changed since the last call; `None` for a removed row.
    pub(crate) fn take_changes(&mut self) -> Vec<(ScriptPrefix, Option<CollidingScripts>)> {
        let mut changes: Vec<_> = self
            .changed
            .drain()
            .map(|prefix| {
                let scripts = self.scripts.get(&prefix).filter(|s| s.len() > 1);
                (prefix, scripts.map(|s| CollidingScripts(s.clone())))
            })
            .collect();
        changes.sort_unstable_by_key(|(prefix, _)| *prefix);
        changes
    }
}
