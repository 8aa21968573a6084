//! Outputs of coinbases that cannot be spent yet.

use std::collections::HashMap;

use cairn_model::{Height, Sats};

use crate::{FoundScript, ReadError, subjects::ScriptView};

/// Confirmations from which the outputs of a coinbase can be spent: Bitcoin Core's `COINBASE_MATURITY`. A spend may
/// stand in the block that is the hundredth after the coinbase's, so an output is mature as soon as its own block has
/// 100 confirmations.
pub const COINBASE_MATURITY: u32 = 100;

/// Satoshis that each script gets from the coinbases with fewer than [`COINBASE_MATURITY`] confirmations.
pub type YoungCoinbases = HashMap<Box<[u8]>, Sats>;

impl ScriptView<'_> {
    /// The lowest block whose coinbase is immature. The output of genesis is not a coin.
    fn first_immature(self) -> Height {
        self.view.tip().height.saturating_sub(COINBASE_MATURITY - 2).max(1)
    }

    /// True if a script may have immature outputs, by its newest transaction. No row read.
    #[must_use]
    pub fn may_be_immature(self, script: &FoundScript) -> bool {
        self.view.chain().get(self.first_immature()).is_some_and(|block| script.totals.last >= block.first_tx)
    }

    /// Satoshis that the immature coinbases at this view's tip pay to each script. None of them can be spent yet, so
    /// the scripts still hold them. Reads a row for each of up to 99 blocks.
    pub fn young_coinbases(self) -> Result<YoungCoinbases, ReadError> {
        let mut young = YoungCoinbases::new();
        for height in self.first_immature()..=self.view.tip().height {
            let Some(block) = self.view.chain().get(height) else { break };
            let coinbase = self
                .view
                .transactions()
                .get(block.first_tx)?
                .ok_or_else(|| self.view.broken("a block without a coinbase"))?;
            for output in coinbase.outputs().iter().filter(|output| output.spendable) {
                let sum = young.entry(coinbase.script(output).into()).or_default();
                *sum = sum.saturating_add(output.value);
            }
        }
        Ok(young)
    }
}
