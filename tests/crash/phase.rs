//! How far bulk work has come, as its working folder shows from outside.

use std::{fmt, fs, path::Path};

use serde_json::Value;

/// In the order in which they pass.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Phase {
    /// There is no working folder yet: the database is being opened, the files are being surveyed.
    Start,
    Link,
    Join,
    Coins,
    Fold,
    Tables,
    /// All table files are written, none is taken in.
    Ingest,
    /// Some are taken in; the commit and the removal of the folder follow.
    Commit,
    /// The folder is gone again.
    Done,
}

impl Phase {
    /// The phases of bulk indexing out of block files.
    pub const OF_FILES: [Phase; 7] =
        [Phase::Link, Phase::Join, Phase::Coins, Phase::Fold, Phase::Tables, Phase::Ingest, Phase::Commit];
    /// The phases of rebuilding a stage out of the journal.
    pub const OF_JOURNAL: [Phase; 4] = [Phase::Fold, Phase::Tables, Phase::Ingest, Phase::Commit];
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", format!("{self:?}").to_lowercase())
    }
}

/// The phase that the working folder shows; `None` if there is none. `journal`: a stage is being rebuilt.
pub fn seen(datadir: &Path, journal: bool) -> Option<Phase> {
    let dir = datadir.join("bulk");
    let Some(manifest) = read(&dir) else {
        let first = if journal { Phase::Fold } else { Phase::Link };
        return dir.exists().then_some(first);
    };
    let finished = |phase: &str| manifest["finished"].as_array().unwrap().iter().any(|done| done == phase);
    let files = || manifest["files"].as_array().unwrap().iter().map(|file| file[1].as_str().unwrap());
    let phase = match () {
        () if finished("Tables") && files().any(|name| !dir.join(name).exists()) => Phase::Commit,
        () if finished("Tables") => Phase::Ingest,
        () if finished("Fold") => Phase::Tables,
        () if finished("Coins") || journal => Phase::Fold,
        () if finished("Join") => Phase::Coins,
        () if finished("Link") => Phase::Join,
        () => Phase::Link,
    };
    // It may have vanished while it was looked at.
    dir.exists().then_some(phase)
}

/// The manifest; it is replaced in one step, so what is there is whole.
fn read(dir: &Path) -> Option<Value> {
    let bytes = fs::read(dir.join("manifest.json")).ok()?;
    Some(serde_json::from_slice(&bytes).expect("the manifest is whole"))
}
