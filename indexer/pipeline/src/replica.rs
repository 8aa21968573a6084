//! Refuses to write to a replica.

use std::path::Path;

use cairn_reader::{REPLICA, replica_of};

use crate::PipelineError;

/// Refuses to write in a data folder that is a replica. Only its mark decides.
pub fn refuse_replica(datadir: &Path) -> Result<(), PipelineError> {
    match replica_of(datadir).map_err(PipelineError::io(&datadir.join(REPLICA)))? {
        None => Ok(()),
        Some(from) => Err(PipelineError::Replica { datadir: datadir.to_owned(), from }),
    }
}
