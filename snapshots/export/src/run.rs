//! An export from beginning to end.

use std::{
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
};

use cairn_model::CancelToken;
use cairn_reader::{Reader, View};
use cairn_store::on_threads;
use cairn_tables::{TABLES, Table, totals::TotalsTable};
use parking_lot::Mutex;

use crate::{
    Dataset, Destination, ExportError, ExportOptions, FileEntry, Manifest, Part,
    columns::Extra,
    dataset::{Scope, Source},
    first_seen::{FirstSeen, Spool},
    grid::parts,
    part::Target,
    plan::Plan,
    spent::{Answers, Asking, Spent},
    work::WorkFolder,
};

/// How far an export is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ExportStep {
    /// Bytes of block data whose rows are in files.
    pub bytes: u64,
    /// Bytes of block data in all.
    pub of_bytes: u64,
    /// Files that are complete.
    pub files: u64,
    /// Files in all.
    pub of_files: u64,
}

/// Result of an export.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Exported {
    /// The manifest, which is in the folder now.
    pub manifest: Manifest,
    /// Files that this run wrote.
    pub written: u64,
    /// Files that an earlier run of the same export wrote.
    pub resumed: u64,
}

/// Most groups of parts: each has an open file while rows are divided.
const MAX_GROUPS: usize = 512;
/// Memory of a script while it waits for its first output.
const SCRIPT_BYTES: u64 = 80;
/// Memory of an input while it waits for the coin that it spends.
const INPUT_BYTES: u64 = 112;

/// Exports the index in `index` to a place. `work` is a folder for temporary files, on the file system of the index. It
/// is removed at the end; after an error or a stop, the same call goes on with it.
///
/// # Errors
/// Leaves no manifest in `out`.
pub fn export(
    index: &Path,
    out: Destination<'_>,
    work: &Path,
    options: &ExportOptions,
    cancel: &CancelToken,
    progress: &(dyn Fn(ExportStep) + Sync),
) -> Result<Exported, ExportError> {
    let work = WorkFolder::begin(index, out, work, options)?;
    let reader = Reader::open(&work.index())?;
    let view = reader.view()?;
    let parts = parts(&view, options.grid)?;
    let plan = Plan::make(out, &parts, options, &work, cancel)?;
    let groups = groups(&reader, &parts, options)?;
    let spool = match plan.wants(|dataset| matches!(dataset.source, Source::FirstOutputs(_))) {
        true => Some(Spool::write(&view, &groups, &work.spool(), cancel)?),
        false => None,
    };
    let answers = match options.format.has_spent() && plan.wants(is_of_inputs) {
        true => Some(ask(&reader, &groups, &plan, &work.spool(), options, cancel)?),
        false => None,
    };
    let run = Run {
        reader: &reader,
        groups: &groups,
        plan: &plan,
        spool,
        answers,
        options,
        work: &work,
        target: Target {
            place: out,
            staging: work.staging(),
            format: options.format,
            budget: usize::try_from(options.memory / options.workers.max(1) as u64 / 8).unwrap_or(usize::MAX),
        },
        cancel,
        progress,
        total: ExportStep {
            bytes: 0,
            of_bytes: parts.iter().filter(|part| plan.by_part.contains_key(&part.folder)).map(|part| part.bytes).sum(),
            files: 0,
            of_files: plan.count(),
        },
        bytes: AtomicU64::new(0),
        files: AtomicU64::new(0),
        made: Mutex::default(),
    };
    let made = run.all()?;
    let (written, resumed) = (made.len() as u64, plan.done.len() as u64 - plan.kept);
    let manifest = plan.manifest(&view, parts, made, options)?;
    work.end(&manifest)?;
    Ok(Exported { manifest, written, resumed })
}

fn is_of_inputs(dataset: &Dataset) -> bool {
    dataset.columns.iter().any(|column| column.extra == Some(Extra::Txids))
}

/// Finds the coins that inputs spend, for all files of inputs to write.
fn ask(
    reader: &Reader,
    groups: &[Vec<Part>],
    plan: &Plan,
    folder: &Path,
    options: &ExportOptions,
    cancel: &CancelToken,
) -> Result<Answers, ExportError> {
    let ExportOptions { format, workers, .. } = *options;
    Asking { reader, groups, folder, format, workers, cancel }.answers(&|part| {
        plan.by_part.get(&part.folder).is_some_and(|files| files.iter().any(|file| is_of_inputs(file.dataset)))
    })
}

/// Divides parts into groups, so that the scripts and inputs of one group fit into a share of the memory.
fn groups(reader: &Reader, parts: &[Part], options: &ExportOptions) -> Result<Vec<Vec<Part>>, ExportError> {
    let table = TABLES.iter().find(|table| table.name == TotalsTable::NAME);
    let scripts = reader.table_size(table.ok_or(ExportError::Defect("the table of totals is not registered"))?)?.rows;
    let inputs: u64 = if options.format.has_spent() { parts.iter().map(|part| part.inputs).sum() } else { 0 };
    let workers = options.workers.max(1) as u64;
    let bytes = scripts * SCRIPT_BYTES + inputs * INPUT_BYTES;
    let wanted = (bytes / (options.memory / workers / 4).max(1)).max(workers * 4);
    let count = usize::try_from(wanted).unwrap_or(MAX_GROUPS).clamp(1, MAX_GROUPS);
    Ok(parts.chunks(parts.len().div_ceil(count).max(1)).map(<[Part]>::to_vec).collect())
}

/// State shared by threads.
struct Run<'r> {
    reader: &'r Reader,
    groups: &'r [Vec<Part>],
    plan: &'r Plan,
    /// Data of scripts, if requested.
    spool: Option<Spool>,
    /// Coins that inputs spend, if requested.
    answers: Option<Answers>,
    options: &'r ExportOptions,
    work: &'r WorkFolder<'r>,
    target: Target<'r>,
    cancel: &'r CancelToken,
    progress: &'r (dyn Fn(ExportStep) + Sync),
    total: ExportStep,
    bytes: AtomicU64,
    files: AtomicU64,
    made: Mutex<Vec<FileEntry>>,
}

impl Run<'_> {
    /// Writes all files: datasets without parts first, since each takes one thread for long, then groups of parts.
    fn all(self) -> Result<Vec<FileEntry>, ExportError> {
        let jobs = self.plan.whole.len() + self.groups.len();
        on_threads(
            self.options.workers,
            jobs,
            self.cancel,
            || Ok(self.reader.view()?),
            |view, job| self.job(view, job),
        )?;
        Ok(self.made.into_inner())
    }

    fn job(&self, view: &View<'_>, job: usize) -> Result<(), ExportError> {
        let mut scope = Scope {
            network: view.network(),
            chain: view.chain(),
            first_seen: FirstSeen::default(),
            spent: Spent::default(),
            format: self.options.format,
            memory: self.options.memory / 2,
            cancel: self.cancel,
        };
        if let Some(wanted) = self.plan.whole.get(job) {
            let file = self.target.write_whole(&scope, view, wanted)?;
            return self.made(vec![file], 0);
        }
        let at = job - self.plan.whole.len();
        let group = self.groups.get(at).ok_or(ExportError::Defect("a job without a group"))?;
        scope.first_seen = self.spool.as_ref().map(|spool| spool.take(at)).transpose()?.unwrap_or_default();
        scope.spent = self.answers.as_ref().map(|answers| answers.take(at)).transpose()?.unwrap_or_default();
        for part in group {
            let Some(wanted) = self.plan.by_part.get(&part.folder) else { continue };
            scope.check()?;
            scope.first_seen.skip_to(part.first_tx);
            let files = self.target.write_part(&mut scope, view, part, wanted)?;
            self.made(files, part.bytes)?;
        }
        Ok(())
    }

    /// Notes files that are complete.
    fn made(&self, files: Vec<FileEntry>, bytes: u64) -> Result<(), ExportError> {
        self.work.note(&files)?;
        let count = files.len() as u64;
        self.made.lock().extend(files);
        let bytes = self.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let files = self.files.fetch_add(count, Ordering::Relaxed) + count;
        (self.progress)(ExportStep { bytes, files, ..self.total });
        Ok(())
    }
}
