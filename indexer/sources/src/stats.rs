//! Progress and statistics of a survey.

use cairn_model::BlockHash;

/// Phase of a survey.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SurveyPhase {
    /// Reading headers from the block files.
    Blocks,
    /// Finding the undo data of the chain's blocks.
    Undo,
}

/// Progress of a survey.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SurveyProgress {
    /// Current phase.
    pub phase: SurveyPhase,
    /// Files finished in this phase.
    pub files_done: usize,
    /// Files to do in this phase.
    pub files_total: usize,
    /// Blocks found so far.
    pub blocks: u64,
}

/// Position of a damaged record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DamagedPlace {
    /// Number of the block file.
    pub file: u32,
    /// Offset of the record's magic.
    pub offset: u64,
}

/// Statistics of a survey.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct SurveyStats {
    /// Number of block files.
    pub files: u64,
    /// Sum of their lengths, in bytes.
    pub bytes: u64,
    /// Missing file numbers below the highest.
    pub missing_files: u64,
    /// Different blocks with proof of work.
    pub blocks: u64,
    /// Blocks on the best chain, genesis included.
    pub chain_blocks: u64,
    /// Blocks that descend from genesis and are not on the best chain.
    pub stale_blocks: u64,
    /// Blocks whose ancestors are not all in the files. More than a few mean a gap: the best chain ends before it.
    pub orphan_blocks: u64,
    /// Hashes of missing parents of orphans, the first few.
    pub missing_parents: Vec<BlockHash>,
    /// Further copies of blocks.
    pub duplicates: u64,
    /// Truncated or partly overwritten records.
    pub half_written: u64,
    /// Records that extend past the end of their file: being written, or truncated.
    pub unfinished: u64,
    /// Records whose size, header or count is wrong.
    pub damaged: u64,
    /// Positions of damaged and half-written records, the first few of each file.
    pub damaged_places: Vec<DamagedPlace>,
    /// How often the next record had to be searched for.
    pub resyncs: u64,
    /// Bytes that are preallocated and not written.
    pub zero_bytes: u64,
    /// Bytes between records.
    pub garbage_bytes: u64,
    /// Block files with blocks of the chain, genesis aside, that lack their undo file.
    pub missing_undo_files: u64,
    /// Blocks of the chain, genesis aside, without undo data.
    pub missing_undo: u64,
}
