//! Parts that an export must write, and those that exist.

use std::collections::{BTreeMap, HashMap, HashSet};

use cairn_model::{CancelToken, rfc3339};
use cairn_reader::View;

use crate::{
    ColumnEntry, Dataset, DatasetEntry, Destination, ExportError, ExportOptions, FileEntry, Manifest, Part,
    SCHEMA_VERSION, Since, columns::schema, part::PlannedFile, verify::difference, work::WorkFolder,
};

/// Parts to write, and parts that exist.
pub(crate) struct Plan {
    /// Files of parts, by the folder of the part.
    pub(crate) by_part: BTreeMap<String, Vec<PlannedFile>>,
    pub(crate) whole: Vec<PlannedFile>,
    /// Files that are there and stay, by path.
    pub(crate) done: HashMap<String, FileEntry>,
    /// How many of them an earlier export made.
    pub(crate) kept: u64,
    since: Option<Since>,
}

impl Plan {
    pub(crate) fn make(
        out: Destination<'_>,
        parts: &[Part],
        options: &ExportOptions,
        work: &WorkFolder<'_>,
        cancel: &CancelToken,
    ) -> Result<Self, ExportError> {
        let sizes = out.sizes(&Dataset::names())?;
        let is_there = |file: &FileEntry| sizes.get(&file.path) == Some(&file.bytes);
        // Files are written in place: the hash distinguishes a file from one that another run has left.
        let is_as_before = |file: &FileEntry| -> Result<bool, ExportError> {
            Ok(is_there(file) && (!work.may_have_replaced || difference(out, file, cancel)?.is_none()))
        };
        let mut done: HashMap<String, FileEntry> =
            work.done()?.into_iter().filter(is_there).map(|file| (file.path.clone(), file)).collect();
        let previous = work.previous(options)?;
        let before: HashMap<&str, &Part> =
            previous.iter().flat_map(|previous| &previous.parts).map(|part| (part.folder.as_str(), part)).collect();
        let old: HashMap<&str, &FileEntry> =
            previous.iter().flat_map(Manifest::files).map(|file| (file.path.as_str(), file)).collect();
        let (mut by_part, mut whole, mut kept, mut rewritten) = (BTreeMap::new(), Vec::new(), 0, Vec::new());
        for part in parts {
            let is_same = before.get(part.folder.as_str()).is_some_and(|before| before.has_blocks_of(part));
            if !is_same && before.contains_key(part.folder.as_str()) {
                rewritten.push(part.folder.clone());
            }
            for dataset in options.datasets.iter().filter(|dataset| dataset.is_by_blocks()) {
                let path = format!("{}/{}/part-0.parquet", dataset.name, part.folder);
                if done.contains_key(&path) {
                    continue;
                }
                let old = old.get(path.as_str()).filter(|_| is_same && dataset.is_of_blocks_alone());
                match old {
                    Some(file) if is_as_before(file)? => {
                        kept += 1;
                        done.insert(path, (*file).clone());
                    }
                    _ => {
                        by_part.entry(part.folder.clone()).or_insert_with(Vec::new).push(PlannedFile { dataset, path })
                    }
                }
            }
        }
        for dataset in options.datasets.iter().filter(|dataset| !dataset.is_by_blocks()) {
            let path = format!("{}/part-0.parquet", dataset.name);
            if !done.contains_key(&path) {
                whole.push(PlannedFile { dataset, path });
            }
        }
        // Parts of blocks that a reorganization took away, and that no block has taken the place of.
        let now: HashSet<&str> = parts.iter().map(|part| part.folder.as_str()).collect();
        rewritten.extend(before.keys().filter(|folder| !now.contains(*folder)).map(|folder| (*folder).to_owned()));
        rewritten.sort_unstable();
        let since = previous.as_ref().map(|previous| Since {
            tip_height: previous.tip_height,
            tip_hash: previous.tip_hash.clone(),
            kept,
            rewritten,
        });
        Ok(Plan { by_part, whole, done, kept, since })
    }

    /// True if a file of such a dataset is to be written for some part.
    pub(crate) fn wants(&self, of: impl Fn(&Dataset) -> bool) -> bool {
        self.by_part.values().flatten().any(|file| of(file.dataset))
    }

    pub(crate) fn count(&self) -> u64 {
        (self.whole.len() + self.by_part.values().map(Vec::len).sum::<usize>()) as u64
    }

    pub(crate) fn manifest(
        &self,
        view: &View<'_>,
        parts: Vec<Part>,
        made: Vec<FileEntry>,
        options: &ExportOptions,
    ) -> Result<Manifest, ExportError> {
        let mut files: HashMap<String, FileEntry> = self.done.clone();
        files.extend(made.into_iter().map(|file| (file.path.clone(), file)));
        let tip = view.tip();
        let dataset = |dataset: &Dataset| {
            let paths: Vec<String> = match dataset.is_by_blocks() {
                true => parts.iter().map(|part| format!("{}/{}/part-0.parquet", dataset.name, part.folder)).collect(),
                false => vec![format!("{}/part-0.parquet", dataset.name)],
            };
            let mut found = Vec::with_capacity(paths.len());
            for path in paths {
                found.push(files.remove(&path).ok_or(ExportError::Defect("a file was not written"))?);
            }
            let columns = schema(dataset.columns, options.format);
            Ok(DatasetEntry {
                name: dataset.name.to_owned(),
                rows: found.iter().map(|file| file.rows).sum(),
                bytes: found.iter().map(|file| file.bytes).sum(),
                sorted_by: dataset.sorted_by.iter().map(|&name| name.to_owned()).collect(),
                columns: columns
                    .fields()
                    .iter()
                    .map(|field| ColumnEntry {
                        name: field.name().clone(),
                        r#type: field.data_type().to_string(),
                        nullable: field.is_nullable(),
                    })
                    .collect(),
                files: found,
            })
        };
        let mut dataset = dataset;
        Ok(Manifest {
            schema_version: SCHEMA_VERSION,
            program: format!("cairn {}", env!("CARGO_PKG_VERSION")),
            made_at: rfc3339(u32::try_from(cairn_clock::now_secs()).unwrap_or(u32::MAX)),
            network: view.network().name().to_owned(),
            signet_challenge: view.facts().challenge.map(|challenge| challenge.to_hex().to_owned()),
            tip_height: tip.height,
            tip_hash: tip.hash.to_string(),
            tip_time: rfc3339(tip.time),
            transactions: tip.tx_end.0,
            event_seq: tip.seq,
            hashes: options.format.hashes.name().to_owned(),
            amounts: options.format.amounts.name().to_owned(),
            txids: options.format.txids,
            addresses: options.format.addresses,
            partitions: options.grid.to_string(),
            datasets: options.datasets.iter().map(|found| dataset(found)).collect::<Result<_, ExportError>>()?,
            parts,
            since: self.since.clone(),
        })
    }
}
