//! Outputs of coinbases that cannot be spent yet.

use cairn_model::{Outpoint, Sats};
use cairn_tables::{coins::CoinsByScript, stages::COINS};

use crate::{FoundScript, ReadError, View};

/// Confirmations from which the outputs of a coinbase can be spent: Bitcoin Core's `COINBASE_MATURITY`. A spend may stand in the block
/// that is the hundredth after the coinbase's, so an output is mature as soon as its own block has 100 confirmations.
pub const COINBASE_MATURITY: u32 = 100;

impl View<'_> {
    /// What a script holds in outputs of coinbases with fewer than [`COINBASE_MATURITY`] confirmations. No row read for a script whose
    /// newest transaction is older than that; otherwise at most as many as its coins since then, and about 200.
    ///
    /// # Errors
    /// The database cannot be read, or rows are damaged.
    pub fn immature_sats(&self, script: &FoundScript) -> Result<Sats, ReadError> {
        let (tip, chain) = (self.tip(), self.chain());
        // Genesis' output is no coin.
        let mut height = tip.height.saturating_sub(COINBASE_MATURITY - 2).max(1);
        let coinbase_of = |height| chain.get(height).map(|block| block.first_tx);
        let Some(first) = coinbase_of(height).filter(|first| script.totals.last >= *first) else { return Ok(0) };
        self.require(&COINS)?;
        let mut sum: Sats = 0;
        let mut rows = self.scan::<CoinsByScript>(Some(&(script.id, Outpoint { tx_num: first, vout: 0 })))?;
        while let Some(row) = rows.next() {
            let ((found, outpoint), value) = row?;
            if found != script.id {
                break;
            }
            // The first coinbase from this coin on. Coins of others are passed over by a seek, so that a busy script costs no more than
            // the blocks have coinbases.
            while coinbase_of(height).is_some_and(|coinbase| coinbase < outpoint.tx_num) {
                height += 1;
            }
            match coinbase_of(height) {
                Some(coinbase) if coinbase == outpoint.tx_num => sum = sum.saturating_add(value.0),
                Some(coinbase) => rows.seek(&(script.id, Outpoint { tx_num: coinbase, vout: 0 }))?,
                None => break,
            }
        }
        Ok(sum)
    }
}
