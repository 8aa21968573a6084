//! The coins of the index, for whoever watches the mempool.

use cairn_mempool::{Coin, Coins, CoinsError};
use cairn_model::Txid;
use cairn_reader::{UnspentCoin, View};

/// The coins at the tip of a view.
pub(super) struct IndexCoins<'v>(pub(super) &'v View<'v>);

impl IndexCoins<'_> {
    fn found(coin: Option<UnspentCoin>) -> Option<Coin> {
        coin.map(|c| Coin { value: c.value, script: c.script, height: c.height })
    }
}

impl Coins for IndexCoins<'_> {
    fn coin(&self, txid: &Txid, vout: u32) -> Result<Option<Coin>, CoinsError> {
        Ok(Self::found(self.0.coin_of(txid, vout)?))
    }

    fn coins(&self, outpoints: &[(Txid, u32)]) -> Result<Vec<Option<Coin>>, CoinsError> {
        Ok(self.0.coins_of_outpoints(outpoints)?.into_iter().map(Self::found).collect())
    }
}
