//! Log lines about block files and their indexing.

use std::time::Duration;

use cairn_model::Height;
use cairn_pipeline::SyncReport;
use cairn_sources::SurveyStats;

use super::footprint::ResourceUsage;
use crate::{round, size};

/// Logs the result of an update of the index from files whose chain ends at `files`.
pub(super) fn sync(report: &SyncReport, files: Option<Height>, took: Duration) {
    let Some((height, hash)) = report.tip else { return };
    let seconds = round(took.as_secs_f64());
    let SyncReport { connected, disconnected, bytes, bulk, .. } = *report;
    if disconnected > 0 {
        tracing::warn!(disconnected, connected, height, %hash, seconds, "reorganization");
    } else if bulk {
        tracing::info!(connected, height, %hash, bytes, seconds, "indexed in bulk");
    } else if connected > 0 {
        tracing::info!(connected, height, %hash, bytes, seconds, "indexed");
    } else if files.is_some_and(|files| files < height) {
        tracing::warn!(
            height, %hash, files_end_at = files,
            "the index is ahead of the block files: nothing to do until they reach its height; raw bytes of later blocks are missing"
        );
    } else {
        tracing::info!(height, %hash, "the index is at the tip");
    }
}

/// Logs the cost of bulk indexing, per byte of block data where that is meaningful.
pub(super) fn cost(report: &SyncReport, took: Duration, usage: ResourceUsage) {
    let per_byte = |bytes: u64| (bytes as f64 * 1_000.0 / report.bytes.max(1) as f64).round() / 1_000.0;
    tracing::info!(
        mb_per_second = round(report.bytes as f64 / 1e6 / took.as_secs_f64()),
        index = size(usage.disk),
        index_per_block_byte = per_byte(usage.disk),
        most_disk_of_index = (usage.most_disk as f64 * 100.0 / usage.disk.max(1) as f64).round() / 100.0,
        written_per_block_byte = usage.written.map(per_byte),
        most_memory = usage.most_memory.map(size),
        "cost"
    );
}

/// Logs the content of the block files; each problem is a separate warning.
pub(super) fn survey(found: &SurveyStats) {
    tracing::info!(
        files = found.files,
        size = size(found.bytes),
        chain_blocks = found.chain_blocks,
        stale_blocks = found.stale_blocks,
        duplicates = found.duplicates,
        half_written = found.half_written,
        unfinished = found.unfinished,
        missing_undo = found.missing_undo,
        "block files surveyed"
    );
    if found.missing_files > 0 {
        tracing::warn!(files = found.missing_files, "block files are missing between the first and the last");
    }
    if found.orphan_blocks > 0 {
        let first = found.missing_parents.first().map(ToString::to_string);
        tracing::warn!(
            blocks = found.orphan_blocks,
            missing_parent = first,
            "blocks without ancestors: they are not on the chain"
        );
    }
    if found.damaged > 0 {
        let first = found.damaged_places.first().map(|at| format!("blk{:05}.dat, offset {}", at.file, at.offset));
        tracing::warn!(records = found.damaged, first, "damaged records");
    }
    let blocks = found.missing_undo;
    if found.missing_undo_files > 0 {
        tracing::warn!(
            blocks,
            files = found.missing_undo_files,
            "undo files (rev*.dat) are missing: indexing finds the coins that their blocks spend in the chain, which takes longer"
        );
    } else if blocks > 0 {
        tracing::warn!(
            blocks,
            "the undo files (rev*.dat) have no undo data for some blocks, usually because the node has not written it yet: \
             indexing finds the coins that they spend in the chain, which takes longer"
        );
    }
}
