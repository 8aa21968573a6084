//! The coins of the index, for the mempool watcher.

use cairn_mempool::{CoinSource, CoinsError, ConfirmedCoin};
use cairn_model::Txid;
use cairn_reader::{UnspentCoin, View};

pub(super) struct IndexCoins<'v>(pub(super) &'v View<'v>);

impl IndexCoins<'_> {
    fn found(coin: Option<UnspentCoin>) -> Option<ConfirmedCoin> {
        coin.map(|c| ConfirmedCoin { value: c.value, script: c.script, height: c.height })
    }
}

impl CoinSource for IndexCoins<'_> {
    fn coin(&self, txid: &Txid, vout: u32) -> Result<Option<ConfirmedCoin>, CoinsError> {
        Ok(Self::found(self.0.transactions().coin(txid, vout)?))
    }

    fn coins(&self, outpoints: &[(Txid, u32)]) -> Result<Vec<Option<ConfirmedCoin>>, CoinsError> {
        Ok(self.0.transactions().coins(outpoints)?.into_iter().map(Self::found).collect())
    }
}
