//! Flows of exchanges, as they are kept beside the chain.

use std::ops::RangeInclusive;

use cairn_events::EntityName;
use cairn_model::Height;
use cairn_tables::{
    exchange_flows::{ExchangeFlows, FlowBlockRow, FlowBlocks, FlowKey, FlowMode, FlowsHead, FlowsHeadRow},
    sums::Sums,
};

use crate::{ReadError, subjects::FlowView};

/// The name in [`ReadError::Unfinished`] while there are no flows.
pub const EXCHANGE_FLOWS: &str = "exchange_flows";

impl FlowView<'_> {
    /// Block of the flows, without later blocks. One row read.
    ///
    /// # Errors
    /// Returns [`ReadError::Unfinished`] while the flows are being made: there are none, or their block is gone.
    pub fn head(self) -> Result<FlowsHeadRow, ReadError> {
        let head = self.view.get::<FlowsHead>(&())?;
        let head = head.filter(|head| self.view.chain().is(head.height, &head.hash));
        head.ok_or(ReadError::Unfinished(EXCHANGE_FLOWS))
    }

    /// The flows of an exchange, or of all together, on some days, ascending: those of the generation of a head alone.
    /// One row read for each.
    pub fn of_days(
        self,
        head: &FlowsHeadRow,
        mode: FlowMode,
        exchange: Option<&EntityName>,
        days: RangeInclusive<u32>,
    ) -> Result<Vec<(u32, Sums)>, ReadError> {
        let key = |day| FlowKey { generation: head.generation, mode, exchange: exchange.cloned(), day };
        let (first, last) = (key(*days.start()), key(*days.end()));
        let rows = self.view.scan_while::<ExchangeFlows>(first, |key| *key <= last)?;
        rows.map(|row| row.map(|(key, sums)| (key.day, sums))).collect()
    }

    /// The flows of the blocks that follow a height without a gap, as far as they are kept and their blocks are still
    /// there. One row read for each.
    pub fn blocks_after(self, height: Height) -> Result<Vec<(Height, FlowBlockRow)>, ReadError> {
        let mut found: Vec<(Height, FlowBlockRow)> = Vec::new();
        let mut next = height.saturating_add(1);
        for row in self.view.scan::<FlowBlocks>(Some(&next))? {
            let (height, row) = row?;
            if height != next || !self.view.chain().is(height, &row.hash) {
                break;
            }
            found.push((height, row));
            next = next.saturating_add(1);
        }
        Ok(found)
    }

    /// Identifies the data that is computed from the whole index and can change at one tip: the block of the watchlist,
    /// the generation and block of the flows, and whether they have the tip. Three row reads.
    pub fn made_beside(self) -> Result<Vec<u8>, ReadError> {
        let mut made = Vec::new();
        let mut add = |number: Option<Height>| made.extend(number.map_or([0xff; 4], Height::to_be_bytes));
        add(self.view.movements().watch_head()?.map(|head| head.height));
        let head = self.view.get::<FlowsHead>(&())?;
        add(head.as_ref().map(|head| head.height));
        add(head.map(|head| head.generation.into()));
        add(self.view.get::<FlowBlocks>(&self.view.tip().height)?.map(|_| 1));
        Ok(made)
    }
}
