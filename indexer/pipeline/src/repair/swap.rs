//! Replaces a whole column family: its new rows are written beside the index first, so that a process that is killed
//! at any time leaves either the old rows, or all that is needed to finish.
//!
//! ```text
//! repair/*.sst       the new rows
//! repair/ready.json  all of them are there: from now on the old ones are dropped
//! ```

use std::{
    fs::File,
    io::Write,
    path::{Path, PathBuf},
};

use cairn_reader::Facts;
use cairn_tables::{
    Family,
    facts::{Fact, Facts as FactsTable},
};
use cairn_writer::{SstWriter, WriteError, Writer};
use serde::{Deserialize, Serialize};

use crate::{PipelineError, bulk};

/// Bytes of rows in one file.
const FILE_BYTES: u64 = 256 << 20;

#[derive(Serialize, Deserialize)]
struct ReadySwap {
    family: String,
    /// Below the data folder.
    files: Vec<PathBuf>,
}

fn folder(datadir: &Path) -> PathBuf {
    datadir.join("repair")
}

/// True if a replacement has begun whose new rows are all there.
pub(crate) fn has_begun(datadir: &Path) -> bool {
    folder(datadir).join("ready.json").exists()
}

/// New rows of a family, in ascending order of keys.
pub(crate) struct Replacement<'r> {
    datadir: &'r Path,
    family: Family,
    open: Option<SstWriter>,
    files: Vec<PathBuf>,
}

impl<'r> Replacement<'r> {
    pub(crate) fn begin(datadir: &'r Path, family: Family) -> Result<Self, PipelineError> {
        let dir = folder(datadir);
        bulk::remove_dir(&dir)?;
        std::fs::create_dir_all(&dir).map_err(PipelineError::io(&dir))?;
        Ok(Replacement { datadir, family, open: None, files: Vec::new() })
    }

    pub(crate) fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), PipelineError> {
        if let Some(full) = self.open.take_if(|file| file.bytes() > FILE_BYTES) {
            full.finish()?;
        }
        let file = match &mut self.open {
            Some(file) => file,
            None => {
                let name = PathBuf::from(format!("repair/{}.{:05}.sst", self.family.name(), self.files.len()));
                let file = SstWriter::create(self.family, self.datadir.join(&name))?;
                self.files.push(name);
                self.open.insert(file)
            }
        };
        Ok(file.put(key, value)?)
    }

    /// Replaces the family's rows by the new ones.
    pub(crate) fn finish(self, writer: &Writer) -> Result<(), PipelineError> {
        if let Some(last) = self.open {
            last.finish()?;
        }
        swap(writer, self.datadir, self.family, self.files)
    }
}

/// Replaces the rows of a family by those of table files below the data folder.
pub(crate) fn swap(writer: &Writer, datadir: &Path, family: Family, files: Vec<PathBuf>) -> Result<(), PipelineError> {
    let dir = folder(datadir);
    std::fs::create_dir_all(&dir).map_err(PipelineError::io(&dir))?;
    let ready = ReadySwap { family: family.name().to_owned(), files };
    let (path, draft) = (dir.join("ready.json"), dir.join("ready.draft"));
    let write = || -> std::io::Result<()> {
        let mut file = File::create(&draft)?;
        file.write_all(&serde_json::to_vec(&ready)?)?;
        file.sync_all()?;
        std::fs::rename(&draft, &path)?;
        File::open(&dir)?.sync_all()
    };
    write().map_err(PipelineError::io(&path))?;
    go_on(writer, datadir)
}

/// Finishes a replacement whose rows are all there. Removes other files of an interrupted one.
pub(crate) fn go_on(writer: &Writer, datadir: &Path) -> Result<(), PipelineError> {
    let dir = folder(datadir);
    let path = dir.join("ready.json");
    let bytes = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return bulk::remove_dir(&dir),
        Err(e) => return Err(PipelineError::io(&path)(e)),
    };
    let ready: Option<ReadySwap> = serde_json::from_slice(&bytes).ok();
    let family = |ready: &ReadySwap| Family::ALL.into_iter().find(|family| family.name() == ready.family);
    let Some((ready, family)) = ready.and_then(|ready| family(&ready).map(|family| (ready, family))) else {
        return Err(PipelineError::Spill { path, what: "it is not a list of files: run `cairn repair`" });
    };
    let files: Vec<PathBuf> = ready.files.iter().map(|file| datadir.join(file)).collect();
    // They are moved, all or none, and then removed here one by one.
    if files.iter().all(|file| file.exists()) {
        // Readers must not take missing rows for none. The facts themselves are in the shared family.
        if family != Family::SHARED {
            writer.commit::<WriteError>(|batch| {
                let name = Facts::REPAIRING.to_owned();
                batch.put_row::<FactsTable>(&name, &Fact(family.name().to_owned()));
                Ok(())
            })?;
            writer.flush()?;
        }
        writer.make_anew(family)?;
        writer.ingest(family, files)?;
    }
    if family != Family::SHARED {
        finished(writer)?;
    }
    writer.flush()?;
    bulk::remove_dir(&dir)
}

/// Readers may open the index again.
pub(crate) fn finished(writer: &Writer) -> Result<(), PipelineError> {
    writer.commit::<WriteError>(|batch| {
        batch.delete_row::<FactsTable>(&Facts::REPAIRING.to_owned());
        Ok(())
    })?;
    Ok(writer.flush()?)
}
