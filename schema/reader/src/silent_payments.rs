//! Tweaks of silent payments, block by block: as far as an operator has them made.

use cairn_model::{BlockHash, Height};
use cairn_tables::tweaks::{TweakHead, TweakHeadRow, TweakRow, Tweaks};

use crate::{ReadError, subjects::SilentPaymentView};

/// Rows of gone blocks that are passed below the newest row. A reorganization this deep takes more than a day, in which
/// the rows are made again.
const MAX_GONE: u32 = 144;

impl SilentPaymentView<'_> {
    /// The row of a block; `None` if none is made of this block. One row read.
    pub fn block(self, height: Height) -> Result<Option<TweakRow>, ReadError> {
        let row = self.view.get::<Tweaks>(&height)?;
        Ok(row.filter(|row| self.view.chain().is(height, &row.hash)))
    }

    /// The first block with a row, and the newest one that is still in the chain; `None` while no tweaks
    /// are made. One row read, and one more for each block of a reorganization.
    pub fn span(self) -> Result<Option<TweakHeadRow>, ReadError> {
        let Some(head) = self.stored_head()? else { return Ok(None) };
        let (mut height, mut hash) = (head.height, head.hash);
        while !self.view.chain().is(height, &hash) {
            let below = height.checked_sub(1).filter(|below| *below >= head.first && head.height - below <= MAX_GONE);
            let Some(below) = below else { return Ok(None) };
            // A row that is missing is of a block that is gone, too.
            hash = self.view.get::<Tweaks>(&below)?.map_or_else(BlockHash::default, |row| row.hash);
            height = below;
        }
        Ok(Some(TweakHeadRow { height, hash, first: head.first }))
    }

    /// As it is stored: the newest row may be of a block that is gone.
    pub fn stored_head(self) -> Result<Option<TweakHeadRow>, ReadError> {
        self.view.get::<TweakHead>(&())
    }
}
