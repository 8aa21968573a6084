//! The mark of a replica: a data folder whose index is replaced by newer copies of another machine's index. Nothing
//! writes to such an index, since the next copy would undo it.

use std::{fs, io, path::Path};

/// Name of the file in the data folder. It has the place that copies come from.
pub const REPLICA: &str = "replica";

/// The place that the copies of a data folder come from; `None` if the folder is not a replica.
pub fn replica_of(datadir: &Path) -> io::Result<Option<String>> {
    match fs::read_to_string(datadir.join(REPLICA)) {
        Ok(from) => Ok(Some(from.trim().to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Makes a data folder a replica of the checkpoints at a place.
pub fn mark_replica(datadir: &Path, from: &str) -> io::Result<()> {
    fs::write(datadir.join(REPLICA), format!("{from}\n"))?;
    fs::File::open(datadir)?.sync_all()
}
