//! Errors of lower layers as clients see them.

use cairn_http::{ApiError, ErrorCode};
use cairn_reader::{Damages, NAMELESS, ReadError};

/// Explains an error that another layer caused. Details are in the log, and damage is noted.
pub(crate) fn explain(damages: &Damages, source: &(dyn std::error::Error + Send + Sync + 'static)) -> ApiError {
    match source.downcast_ref::<ReadError>() {
        Some(ReadError::Empty) => ApiError::syncing("nothing has been indexed yet"),
        Some(ReadError::Unfinished(stage)) => {
            ApiError::syncing(format!("the tables of stage {stage} are being rebuilt"))
        }
        Some(ReadError::Stopped(stopped)) => (*stopped).into(),
        Some(error @ ReadError::StageVersion { stage, .. }) => {
            // It lasts until the serving program has the indexer's version, or the tables are rebuilt.
            tracing::error!(%error, "tables of another version");
            ApiError::syncing(format!("the tables of stage {stage} have another version"))
        }
        Some(error) if error.is_damage() => {
            note(damages, error);
            ApiError::new(ErrorCode::IndexDamaged, damaged(error.damaged_table().as_slice()))
        }
        Some(error) => {
            tracing::error!(%error, "the index could not be read");
            ApiError::internal()
        }
        None => {
            tracing::error!(error = %source, "a request failed");
            ApiError::internal()
        }
    }
}

/// Notes damage, and logs it if it is new: once for each table, not for each request.
pub(crate) fn note(damages: &Damages, error: &ReadError) {
    if error.is_damage() && damages.note(error) {
        let table = error.damaged_table().unwrap_or(NAMELESS);
        tracing::error!(%error, table, "the index is damaged: `cairn verify` reports the damage and its repair");
    }
}

/// That these tables are damaged, and what the operator does about it.
pub(crate) fn damaged(tables: &[&str]) -> String {
    let what = match tables {
        [] => "the index is damaged".to_owned(),
        [NAMELESS] => "rows of the index contradict each other".to_owned(),
        [table] => format!("table {table} of the index is damaged"),
        tables => format!("these tables of the index are damaged: {}", tables.join(", ")),
    };
    format!("{what}; the operator can run `cairn verify`, which names the command that repairs it")
}
