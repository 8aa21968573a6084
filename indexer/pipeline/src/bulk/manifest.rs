//! The finished parts of a bulk run, from which a killed run continues.

use std::{
    fs::File,
    hash::{BuildHasher, DefaultHasher, Hasher, RandomState},
    io::{Read, Write},
    path::{Path, PathBuf},
    time::Instant,
};

use cairn_model::{ScriptPrefix, TxNum};
use cairn_tables::{Family, journal::CollidingScripts};
use serde::{Deserialize, Serialize};

use super::{
    Plan,
    spill::{Lengths, SpillWriter},
    write_behind::WriteBehind,
};
use crate::PipelineError;

/// Colliding scripts, as the manifest holds them.
pub(crate) type CollisionRows = Vec<([u8; 8], Vec<(u64, Vec<u8>)>)>;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) enum BulkPhase {
    Link,
    Join,
    Coins,
    Fold,
    Tables,
}

/// How far an unfinished phase had come when it was last made durable.
#[derive(Serialize, Deserialize, Debug)]
struct PartialPhase {
    phase: BulkPhase,
    /// Units done: blocks or partitions.
    done: u64,
    /// Lengths of the spills that belong to them.
    lengths: Lengths,
}

/// State of the second pass over the blocks between two blocks, besides the rows that it has written.
#[derive(Serialize, Deserialize, Debug, Clone, Default)]
pub(crate) struct FoldState {
    /// Balance of coins made and coins spent; see `source::mark`.
    pub(crate) balance: u64,
    /// Coins of repeated transactions that are not spent: TxNum, vout, value, script id, birth height, code of
    /// the script's template.
    pub(crate) live: Vec<(u64, u32, u64, [u8; 9], u32, u8)>,
    /// Number of the next file of each lane that rises with the chain.
    pub(crate) numbers: Vec<u32>,
}

/// The working folder and what is finished in it.
#[derive(Serialize, Deserialize, Debug)]
pub(crate) struct Manifest {
    #[serde(skip)]
    dir: PathBuf,
    #[serde(skip)]
    behind: WriteBehind,
    /// The job; leftovers of another job are of no use.
    job: String,
    pub(crate) plan: Plan,
    /// Random; makes what is hashed with it unforeseeable.
    pub(crate) salt: u64,
    finished: Vec<BulkPhase>,
    partway: Option<PartialPhase>,
    /// Prefixes that more than one script has.
    pub(crate) colliding_prefixes: Vec<[u8; 8]>,
    /// Numbers of transactions that share a txid with another (BIP 30), each txid's in order.
    pub(crate) repeated_txids: Vec<Vec<u64>>,
    /// Scripts of colliding prefixes, in order of first appearance.
    pub(crate) collisions: CollisionRows,
    pub(crate) fold: FoldState,
    /// Table files: index of the family, name, hash of the bytes.
    files: Vec<(usize, String, u64)>,
    /// Lanes and partitions whose tables are written, of an unfinished phase.
    pub(crate) tables: Vec<(usize, usize)>,
}

const NAME: &str = "manifest.json";

impl Manifest {
    /// Returns the manifest of an earlier try at the same job; `None` if there was none.
    pub(crate) fn resume(dir: &Path, job: &str, plan: Plan) -> Option<Self> {
        let found = std::fs::read(dir.join(NAME)).ok().and_then(|b| serde_json::from_slice::<Manifest>(&b).ok());
        // Only the cut into partitions has to be the same; how much is done at a time may change.
        let same = |m: &Manifest| (m.plan.partitions, m.plan.tx_end) == (plan.partitions, plan.tx_end);
        let found = found.filter(|m| m.job == job && same(m))?;
        let manifest = Manifest { dir: dir.to_owned(), plan, ..found };
        // The database takes table files in without reading them.
        match manifest.damaged_file() {
            Some(file) => {
                let file = file.display();
                tracing::warn!(%file, "a table file of an earlier run is damaged: the work starts again");
                None
            }
            None => Some(manifest),
        }
    }

    /// An empty working folder for a job; leftovers are removed.
    pub(crate) fn begin(dir: &Path, job: &str, plan: Plan) -> Result<Self, PipelineError> {
        remove_dir(dir)?;
        std::fs::create_dir_all(dir).map_err(PipelineError::io(dir))?;
        Ok(Manifest {
            dir: dir.to_owned(),
            behind: WriteBehind::default(),
            job: job.to_owned(),
            plan,
            salt: RandomState::new().hash_one(job),
            finished: Vec::new(),
            partway: None,
            colliding_prefixes: Vec::new(),
            repeated_txids: Vec::new(),
            collisions: Vec::new(),
            fold: FoldState::default(),
            files: Vec::new(),
            tables: Vec::new(),
        })
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Whether a phase is finished.
    pub(crate) fn done(&self, phase: BulkPhase) -> bool {
        self.finished.contains(&phase)
    }

    /// Units of a phase that are finished, and the lengths of the spills by then.
    pub(crate) fn partway(&self, phase: BulkPhase) -> (u64, Lengths) {
        match &self.partway {
            Some(partway) if partway.phase == phase => (partway.done, partway.lengths.clone()),
            _ => (0, Lengths::new()),
        }
    }

    /// A spill of the plan's partitions, as long as `lengths` says.
    pub(crate) fn spill(&self, name: &str, lengths: &Lengths) -> Result<SpillWriter, PipelineError> {
        let (partitions, buffer) = (self.plan.partitions, self.plan.spill_buffer());
        SpillWriter::open(&self.dir, name, partitions, buffer, lengths, self.behind.clone())
    }

    /// Makes spills durable and notes how many units of the phase are finished.
    pub(crate) fn save_partway<'s>(
        &mut self,
        phase: BulkPhase,
        done: u64,
        spills: impl IntoIterator<Item = &'s mut SpillWriter>,
    ) -> Result<(), PipelineError> {
        let mut lengths = Lengths::new();
        spills.into_iter().try_for_each(|spill| spill.save(&mut lengths))?;
        self.partway = Some(PartialPhase { phase, done, lengths });
        self.save()
    }

    /// Notes that a phase is finished; its files must be durable by then.
    pub(crate) fn finish(&mut self, phase: BulkPhase) -> Result<(), PipelineError> {
        self.finished.push(phase);
        self.partway = None;
        self.save()
    }

    pub(crate) fn save(&self) -> Result<(), PipelineError> {
        let (path, draft) = (self.dir.join(NAME), self.dir.join("manifest.draft"));
        let bytes = serde_json::to_vec(self).map_err(|e| PipelineError::io(&path)(e.into()))?;
        let write = |draft: &Path| -> std::io::Result<()> {
            let mut file = File::create(draft)?;
            file.write_all(&bytes)?;
            file.sync_all()?;
            std::fs::rename(draft, &path)?;
            File::open(&self.dir)?.sync_all()
        };
        write(&draft).map_err(PipelineError::io(&path))
    }

    /// Notes a finished table file of a family, with the hash of its bytes.
    pub(crate) fn add_file(&mut self, family: Family, name: String) -> Result<(), PipelineError> {
        let path = self.dir.join(&name);
        let hash = hash_of(&path).map_err(PipelineError::io(path))?;
        self.files.push((family.index(), name, hash));
        Ok(())
    }

    pub(crate) fn forget_files(&mut self) {
        self.files.clear();
    }

    /// A table file whose bytes are not those that were written. One that is gone was taken in.
    fn damaged_file(&self) -> Option<PathBuf> {
        let files = self.files.iter().map(|(_, name, hash)| (self.dir.join(name), *hash));
        files
            .filter(|(path, _)| path.exists())
            .find(|(path, hash)| hash_of(path).ok() != Some(*hash))
            .map(|file| file.0)
    }

    pub(crate) fn table_path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// True if every table file is in the folder: those that are ingested leave it.
    pub(crate) fn has_all_files(&self) -> bool {
        self.files.iter().all(|(_, name, _)| self.dir.join(name).exists())
    }

    /// Table files of a family that are not taken in yet.
    pub(crate) fn waiting(&self, family: Family) -> Vec<PathBuf> {
        let of_family = self.files.iter().filter(|(index, ..)| *index == family.index());
        of_family.map(|(_, name, _)| self.dir.join(name)).filter(|path| path.exists()).collect()
    }

    /// Transactions that share a txid with others: to each, the ones before it.
    pub(crate) fn repeats(&self) -> impl Iterator<Item = (TxNum, Vec<TxNum>)> {
        self.repeated_txids.iter().flat_map(|numbers| {
            (0..numbers.len()).map(|i| (TxNum(numbers[i]), numbers[..i].iter().map(|n| TxNum(*n)).collect()))
        })
    }

    /// Rows of the `collisions` table.
    pub(crate) fn collision_rows(&self) -> impl Iterator<Item = (ScriptPrefix, CollidingScripts)> {
        self.collisions.iter().filter(|(_, scripts)| scripts.len() > 1).map(|(prefix, scripts)| {
            let scripts = scripts.iter().map(|(first, script)| (TxNum(*first), script.clone())).collect();
            (ScriptPrefix(*prefix), CollidingScripts(scripts))
        })
    }

    /// Removes the working folder: the job is committed.
    pub(crate) fn remove(&self) -> Result<(), PipelineError> {
        remove_dir(&self.dir)
    }
}

/// The hash of a file's bytes. It finds damage, not tampering.
fn hash_of(path: &Path) -> std::io::Result<u64> {
    let (mut file, mut hash) = (File::open(path)?, DefaultHasher::new());
    let mut bytes = vec![0; 1 << 18];
    loop {
        match file.read(&mut bytes)? {
            0 => return Ok(hash.finish()),
            n => hash.write(&bytes[..n]),
        }
    }
}

/// Says when it is time to make unfinished work durable.
pub(crate) struct Saver {
    plan: Plan,
    last: Instant,
}

impl Saver {
    pub(crate) fn new(plan: Plan) -> Self {
        Saver { plan, last: Instant::now() }
    }

    /// Whether it is time; then the time starts again.
    pub(crate) fn due(&mut self) -> bool {
        let due = self.last.elapsed().as_secs() >= self.plan.sizes.save_seconds;
        if due {
            self.last = Instant::now();
        }
        due
    }
}

/// Removes a working folder, if it exists.
pub(crate) fn remove_dir(dir: &Path) -> Result<(), PipelineError> {
    match std::fs::remove_dir_all(dir) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(PipelineError::io(dir)(e)),
        _ => Ok(()),
    }
}
