//! An export from beginning to end.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fs,
    path::Path,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use cairn_model::CancelToken;
use cairn_reader::{Reader, View};
use cairn_tables::{TABLES, Table, totals::TotalsTable};

use crate::{
    ColumnEntry, Dataset, DatasetEntry, ExportError, ExportOptions, FileEntry, Manifest, Part, SCHEMA_VERSION, Since,
    columns::{Extra, schema},
    dataset::{Scope, Source},
    first_seen::{FirstSeen, Spool},
    grid::parts,
    part::{Target, Wanted},
    spent::{Answers, Asking, Spent},
    verify::difference,
    work::WorkFolder,
    workers::on_threads,
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

/// What an export made.
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
const MOST_GROUPS: usize = 512;
/// What a script takes in memory while it waits for its first output.
const SCRIPT_BYTES: u64 = 80;
/// What an input takes while it waits to be written with what it spends.
const INPUT_BYTES: u64 = 112;

/// Exports the index in `index` to the folder `out`. `work` is a folder for what the export needs meanwhile, on the file system of
/// the index; it is gone at the end, and after an error or a stop, the same call goes on with it.
///
/// # Errors
/// See [`ExportError`]. There is no manifest in `out` then.
pub fn export(
    index: &Path,
    out: &Path,
    work: &Path,
    options: &ExportOptions,
    cancel: &CancelToken,
    progress: &(dyn Fn(ExportStep) + Sync),
) -> Result<Exported, ExportError> {
    let work = WorkFolder::begin(index, out, work, options)?;
    let reader = Reader::open(&work.index())?;
    let view = reader.view()?;
    let parts = parts(&view, options.grid)?;
    let plan = Plan::make(out, &parts, options, &work)?;
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
            folder: out,
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
    work.end(out, &manifest)?;
    Ok(Exported { manifest, written, resumed })
}

fn is_of_inputs(dataset: &Dataset) -> bool {
    dataset.columns.iter().any(|column| column.extra == Some(Extra::Txids))
}

/// Finds what inputs spend, for all files of inputs that are to be written.
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

/// Divides parts into groups: what scripts and inputs take of one group fits into a share of the memory.
fn groups(reader: &Reader, parts: &[Part], options: &ExportOptions) -> Result<Vec<Vec<Part>>, ExportError> {
    let table = TABLES.iter().find(|table| table.name == TotalsTable::NAME);
    let scripts = reader.table_size(table.ok_or(ExportError::Defect("the table of totals is not registered"))?)?.rows;
    let inputs: u64 = if options.format.has_spent() { parts.iter().map(|part| part.inputs).sum() } else { 0 };
    let workers = options.workers.max(1) as u64;
    let bytes = scripts * SCRIPT_BYTES + inputs * INPUT_BYTES;
    let wanted = (bytes / (options.memory / workers / 4).max(1)).max(workers * 4);
    let count = usize::try_from(wanted).unwrap_or(MOST_GROUPS).clamp(1, MOST_GROUPS);
    Ok(parts.chunks(parts.len().div_ceil(count).max(1)).map(<[Part]>::to_vec).collect())
}

/// What is to be written, and what is there.
struct Plan {
    /// Files of parts, by the folder of the part.
    by_part: BTreeMap<String, Vec<Wanted>>,
    whole: Vec<Wanted>,
    /// Files that are there and stay, by path.
    done: HashMap<String, FileEntry>,
    /// How many of them an earlier export made.
    kept: u64,
    since: Option<Since>,
}

impl Plan {
    fn make(out: &Path, parts: &[Part], options: &ExportOptions, work: &WorkFolder) -> Result<Self, ExportError> {
        let is_there =
            |file: &FileEntry| fs::metadata(out.join(&file.path)).is_ok_and(|found| found.len() == file.bytes);
        // Files are written in place: what another run has left is told apart by its hash.
        let is_as_before = |file: &FileEntry| {
            is_there(file) && (!work.may_have_replaced || matches!(difference(&out.join(&file.path), file), Ok(None)))
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
                match old
                    .get(path.as_str())
                    .filter(|file| is_same && dataset.is_of_blocks_alone() && is_as_before(file))
                {
                    Some(file) => {
                        kept += 1;
                        done.insert(path, (*file).clone());
                    }
                    None => by_part.entry(part.folder.clone()).or_insert_with(Vec::new).push(Wanted { dataset, path }),
                }
            }
        }
        for dataset in options.datasets.iter().filter(|dataset| !dataset.is_by_blocks()) {
            let path = format!("{}/part-0.parquet", dataset.name);
            if !done.contains_key(&path) {
                whole.push(Wanted { dataset, path });
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
    fn wants(&self, of: impl Fn(&Dataset) -> bool) -> bool {
        self.by_part.values().flatten().any(|file| of(file.dataset))
    }

    fn count(&self) -> u64 {
        (self.whole.len() + self.by_part.values().map(Vec::len).sum::<usize>()) as u64
    }

    fn manifest(
        &self,
        view: &View<'_>,
        parts: Vec<Part>,
        made: Vec<FileEntry>,
        options: &ExportOptions,
    ) -> Result<Manifest, ExportError> {
        let mut files: HashMap<String, FileEntry> = self.done.clone();
        files.extend(made.into_iter().map(|file| (file.path.clone(), file)));
        let tip = view.tip();
        let text = |time: u32| jiff::Timestamp::from_second(time.into()).unwrap_or_default().to_string();
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
            made_at: text(u32::try_from(cairn_clock::now_secs()).unwrap_or(u32::MAX)),
            network: view.network().name().to_owned(),
            tip_height: tip.height,
            tip_hash: tip.hash.to_string(),
            tip_time: text(tip.time),
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

/// What threads share.
struct Run<'r> {
    reader: &'r Reader,
    groups: &'r [Vec<Part>],
    plan: &'r Plan,
    /// What scripts have, if they are asked for.
    spool: Option<Spool>,
    /// What inputs spend, if that is asked for.
    answers: Option<Answers>,
    options: &'r ExportOptions,
    work: &'r WorkFolder,
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
        on_threads(self.reader, self.options.workers, jobs, self.cancel, |view, job| self.job(view, job))?;
        Ok(self.made.into_inner().unwrap_or_else(PoisonError::into_inner))
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
        self.made.lock().unwrap_or_else(PoisonError::into_inner).extend(files);
        let bytes = self.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let files = self.files.fetch_add(count, Ordering::Relaxed) + count;
        (self.progress)(ExportStep { bytes, files, ..self.total });
        Ok(())
    }
}
