//! What a survey tells about itself.

use cairn_model::BlockHash;

/// What a survey is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SurveyPhase {
    /// Reading headers from the block files.
    Blocks,
    /// Finding the undo data of the chain's blocks.
    Undo,
}

/// How far a survey is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SurveyProgress {
    /// What it is doing.
    pub phase: SurveyPhase,
    /// Files finished in this phase.
    pub files_done: usize,
    /// Files to do in this phase.
    pub files_total: usize,
    /// Blocks found so far.
    pub blocks: u64,
}

/// A place in a file where a record is damaged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DamagedPlace {
    /// Number of the block file.
    pub file: u32,
    /// Offset of the record's magic.
    pub offset: u64,
}

/// What a survey found, in counts.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct SurveyStats {
    /// Block files.
    pub files: u64,
    /// Bytes in them.
    pub bytes: u64,
    /// Numbers below the highest that no file has.
    pub missing_files: u64,
    /// Different blocks with proof of work.
    pub blocks: u64,
    /// Blocks on the best chain, genesis included.
    pub chain_blocks: u64,
    /// Blocks that descend from genesis beside the best chain.
    pub stale_blocks: u64,
    /// Blocks whose ancestors are not all in the files. More than a few mean a gap: the best chain ends before it.
    pub orphan_blocks: u64,
    /// Hashes of parents that orphans lack and no file has, the first few.
    pub missing_parents: Vec<BlockHash>,
    /// Further copies of blocks.
    pub duplicates: u64,
    /// Records cut short or overwritten in part.
    pub half_written: u64,
    /// Records that end after their file does: being written, or cut off.
    pub unfinished: u64,
    /// Records whose size, header or count is wrong.
    pub damaged: u64,
    /// Where damaged and half-written records begin, the first few of each file.
    pub damaged_places: Vec<DamagedPlace>,
    /// How often the next record had to be searched for.
    pub resyncs: u64,
    /// Bytes allocated ahead and not written.
    pub zero_bytes: u64,
    /// Bytes between records that belong to none.
    pub garbage_bytes: u64,
    /// Block files with blocks of the chain, genesis aside, that lack their undo file.
    pub missing_undo_files: u64,
    /// Blocks of the chain, genesis aside, without undo data.
    pub missing_undo: u64,
}
