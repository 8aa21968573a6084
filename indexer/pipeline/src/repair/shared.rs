//! Mends the family that small tables share: rows that can be read stay, look-ups are made again from the headers, and
//! what else is lost is made again by others. Rows of stages may be many: they are never all in memory.

use std::{collections::BTreeMap, path::Path};

use cairn_model::Height;
use cairn_reader::Facts;
use cairn_tables::{
    Family, Table,
    checkpoints::{Checkpoint, Checkpoints},
    encode_key, encode_value,
    facts::{Fact, Facts as FactsTable},
    format::Format,
    headers::HeaderRow,
    heights::{HeightByHash, HeightByTime},
    keys::HashPrefix,
    labels::JOINED,
    late::LateUndo,
    stages::{CHAIN, LATE, STAGES, StageInfo},
};
use cairn_writer::Writer;

use super::{Cannot, MendError, swap::Replacement};
use crate::labels;

/// Rows of the shared family that no stage but the journal's own makes.
pub(crate) struct Shared {
    rows: BTreeMap<Vec<u8>, Vec<u8>>,
    /// True if some could not be read.
    pub(crate) unreadable: bool,
    /// True if some could not be read, or belong to no table.
    pub(crate) damaged: bool,
}

/// Whether a row is one of its table; `None` if no table of this program has its tag.
fn is_row(key: &[u8], value: &[u8]) -> Option<bool> {
    macro_rules! of_table {
        ($($module:ident: $($table:ident),+;)*) => {
            $($({
                type Of = cairn_tables::$module::$table;
                if Of::TAG.is_some() && key.first().copied() == Of::TAG {
                    return Some(Of::decode_key(key).is_ok() && Of::decode_value(value).is_ok());
                }
            })+)*
        };
    }
    cairn_tables::for_each_table!(of_table);
    None
}

/// The stages that are built from the journal, and the late ones, with each of their tables' tags in the shared family.
fn derived() -> impl Iterator<Item = (&'static StageInfo, u8)> {
    let stages = STAGES.iter().filter(|stage| stage.name != CHAIN.name).chain(LATE);
    stages.flat_map(|stage| stage.tables.iter().filter_map(move |table| Some((stage, table.tag?))))
}

/// Whether a row is of one of their tables, of a joined table, or of the rows that late stages replaced: these may be
/// many, too.
fn is_derived(key: &[u8]) -> bool {
    let others = || labels::tables().filter_map(|table| table.tag).chain(LateUndo::TAG);
    key.first().is_some_and(|first| derived().any(|(_, tag)| tag == *first) || others().any(|tag| tag == *first))
}

impl Shared {
    /// Reads all that can be read.
    pub(crate) fn read(writer: &Writer) -> Result<Self, MendError> {
        let (mut rows, mut broken, mut unknown) = (BTreeMap::new(), 0u64, 0u64);
        let places = writer.salvage::<MendError>(Family::SHARED, |key, value| {
            match is_row(key, value) {
                Some(true) if is_derived(key) => {}
                Some(true) => drop(rows.insert(key.to_vec(), value.to_vec())),
                Some(false) => broken += 1,
                None => unknown += 1,
            }
            Ok(())
        })?;
        let unreadable = places > 0 || broken > 0;
        Ok(Shared { rows, unreadable, damaged: unreadable || unknown > 0 })
    }

    fn get<T: Table>(&self, key: &T::Key) -> Option<T::Value> {
        T::decode_value(self.rows.get(&encode_key::<T>(key))?).ok()
    }

    fn put<T: Table>(&mut self, key: &T::Key, value: &T::Value) {
        self.rows.insert(encode_key::<T>(key), encode_value::<T>(value));
    }

    fn clear<T: Table>(&mut self) {
        self.rows.retain(|key, _| key.first().copied() != T::TAG);
    }

    /// Height of the chain stage, if its checkpoint is there.
    pub(crate) fn tip(&self) -> Option<Height> {
        self.get::<Checkpoints>(&CHAIN.name.to_owned()).map(|checkpoint| checkpoint.height)
    }

    /// True if the parameters of the index are there.
    pub(crate) fn has_facts(&self) -> bool {
        let names = ["network", "script_prefix", "txid_prefix"];
        names.iter().all(|name| self.get::<FactsTable>(&(*name).to_owned()).is_some())
    }

    /// Replaces the family by the rows that were read, with look-ups made from the headers, and with `facts` if they
    /// are lost. Rows of stages and joined tables stay. If rows were lost, some of these may have been among them: then
    /// every stage that has a table here and the joined tables are rebuilt later, and readers wait until the rest is
    /// made.
    pub(crate) fn replace(
        mut self,
        writer: &Writer,
        datadir: &Path,
        headers: &BTreeMap<Height, HeaderRow>,
        facts: &Facts,
    ) -> Result<(), MendError> {
        if !self.has_facts() {
            facts.rows().iter().for_each(|(name, fact)| self.put::<FactsTable>(name, fact));
        }
        let tip = self.tip().or_else(|| headers.keys().next_back().copied());
        let Some((height, hash)) = tip.and_then(|tip| Some((tip, headers.get(&tip)?.hash))) else {
            return Err(Cannot("the tip is lost".to_owned()).into());
        };
        self.clear::<HeightByHash>();
        self.clear::<HeightByTime>();
        for (height, row) in headers.range(..=height) {
            self.put::<HeightByHash>(&(HashPrefix::of_block(&row.hash), *height), &());
            self.put::<HeightByTime>(&(row.mono_time, *height), &());
        }
        let checkpoint = Checkpoint::of(&CHAIN, height, hash).with_events(&CHAIN, writer.last_event()?);
        self.put::<Checkpoints>(&CHAIN.name.to_owned(), &checkpoint);
        if self.get::<Format>(&()).is_none() {
            self.put::<Format>(&(), &cairn_tables::format::FORMAT);
        }
        if self.damaged {
            for (stage, _) in derived() {
                self.rows.remove(&encode_key::<Checkpoints>(&stage.name.to_owned()));
            }
            self.rows.remove(&encode_key::<Checkpoints>(&JOINED.to_owned()));
            self.put::<FactsTable>(&Facts::REPAIRING.to_owned(), &Fact("collisions".to_owned()));
        }
        let mut replacement = Replacement::begin(datadir, Family::SHARED)?;
        let mut rows = self.rows.iter().peekable();
        // Rows of stages are taken over one by one, between the others.
        if !self.damaged {
            let places = writer.salvage::<MendError>(Family::SHARED, |key, value| {
                if !is_derived(key) {
                    return Ok(());
                }
                while let Some((before, its)) = rows.next_if(|(before, _)| before.as_slice() < key) {
                    replacement.put(before, its)?;
                }
                Ok(replacement.put(key, value)?)
            })?;
            if places > 0 {
                return Err(Cannot("small tables could be read once, and then no more".to_owned()).into());
            }
        }
        rows.try_for_each(|(key, value)| replacement.put(key, value))?;
        Ok(replacement.finish(writer)?)
    }
}
