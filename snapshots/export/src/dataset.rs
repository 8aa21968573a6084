//! Definition of a dataset.

use cairn_model::{Block, Height, MonoTime, Network, TxNum};
use cairn_reader::{ChainIndex, ReadError, View};
use cairn_store::StoreError;

use crate::{
    ExportError, Part, columns::Column, first_seen::FirstSeen, forms::Format, rows::Rows, sink::Sink, spent::Spent,
};

/// A dataset: a folder of files with the same columns.
#[derive(Clone, Copy, Debug)]
pub struct Dataset {
    /// Its name, which is that of its folder.
    pub name: &'static str,
    /// Meaning of its rows, as sentences.
    pub about: &'static str,
    /// Columns that the rows of a file are sorted by, ascending; files ascend likewise.
    pub sorted_by: &'static [&'static str],
    /// Its columns.
    pub columns: &'static [Column],
    pub(crate) source: Source,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Source {
    /// Blocks alone: a file of a part does not change as long as its blocks are there.
    Blocks(BlockRows),
    /// The first outputs of their scripts, and the data of these scripts as of the tip.
    FirstOutputs(BlockRows),
    /// The rows as of the tip for things that the blocks of a part have made.
    Made(fn(&Scope<'_>, &View<'_>, &Part, &mut Sink) -> Result<(), ExportError>),
    /// All rows as of the tip, in one file.
    Whole(fn(&Scope<'_>, &View<'_>, &mut Sink) -> Result<(), ExportError>),
}

pub(crate) type BlockRows = fn(&mut Scope<'_>, &Block, &mut Rows) -> Result<(), ExportError>;

/// Further data that rows need.
pub(crate) struct Scope<'v> {
    /// The network, for addresses.
    pub(crate) network: Network,
    /// Times of blocks.
    pub(crate) chain: &'v ChainIndex,
    /// Scripts whose first outputs are in the part; empty if no dataset asks for them.
    pub(crate) first_seen: FirstSeen,
    /// Coins that the inputs of the part spend; empty if not requested.
    pub(crate) spent: Spent,
    /// How values are written.
    pub(crate) format: Format,
    /// Bytes of memory that rows may take which are held together.
    pub(crate) memory: u64,
    /// Ends the work.
    pub(crate) cancel: &'v cairn_model::CancelToken,
}

impl Scope<'_> {
    pub(crate) fn time_at(&self, height: Height) -> Result<MonoTime, ReadError> {
        let brief = self.chain.get(height);
        brief.map(|brief| brief.mono_time).ok_or_else(|| ReadError::Broken(format!("block {height} is not there")))
    }

    pub(crate) fn block_of(&self, tx_num: TxNum) -> Result<(Height, MonoTime), ReadError> {
        let height = self.chain.height_of(tx_num).ok_or(ReadError::Empty)?;
        Ok((height, self.time_at(height)?))
    }

    /// As [`Sink::settle`]; looks whether the work was cancelled whenever rows were encoded.
    pub(crate) fn settle(&self, sink: &mut Sink) -> Result<(), ExportError> {
        sink.settle()?;
        if sink.rows.len() == 0 { self.check() } else { Ok(()) }
    }

    /// An error if the work was cancelled.
    pub(crate) fn check(&self) -> Result<(), ExportError> {
        if self.cancel.is_cancelled() { Err(StoreError::Stopped.into()) } else { Ok(()) }
    }
}

impl Dataset {
    /// True if its files are divided by blocks.
    #[must_use]
    pub fn is_by_blocks(&self) -> bool {
        !matches!(self.source, Source::Whole(_))
    }

    /// True if a file of it does not change as long as its blocks are there.
    pub(crate) fn is_of_blocks_alone(&self) -> bool {
        matches!(self.source, Source::Blocks(_))
    }
}
