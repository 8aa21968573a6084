//! Rows that the tables of alerts have of given transactions, for answers that begin with an address.
//! A reading fails with [`ReadError::Unfinished`] while a stage that it needs is being rebuilt.

use cairn_model::TxNum;
use cairn_tables::{
    ages::{DormantRow, DormantSpends},
    stages::{AGES, CLUSTERS, TRANSFERS},
    transfers::{Consolidations, GatheredRow, LargeChange, LargeTransfers},
};

use crate::{ReadError, Transfer, subjects::MovementView};

impl MovementView<'_> {
    /// Those of the transactions that pay 100 BTC or more to scripts that they do not spend from, in the order of the
    /// transactions; two look-ups.
    pub fn transfers_of(self, txs: &[TxNum]) -> Result<Vec<Option<Transfer>>, ReadError> {
        self.view.require(&TRANSFERS)?;
        self.view.require(&CLUSTERS)?;
        let large = self.view.rows_of_each::<LargeTransfers>(txs)?;
        let found: Vec<TxNum> = txs.iter().zip(&large).filter_map(|(tx, row)| row.map(|_| *tx)).collect();
        let mut changes = found.iter().zip(self.view.rows_of_each::<LargeChange>(&found)?);
        let transfer = |(tx_num, row): (&TxNum, Option<cairn_tables::transfers::LargeRow>)| {
            let Some(row) = row else { return Ok(None) };
            let change = changes.next().and_then(|(_, change)| change).map_or(0, |change| change.0);
            let net = row.sats.checked_sub(change);
            let net_external = net.ok_or_else(|| self.view.broken("a transaction keeps more than it pays"))?;
            Ok(Some(Transfer { tx_num: *tx_num, net_external, coinjoin: row.coinjoin }))
        };
        txs.iter().zip(large).map(transfer).collect()
    }

    /// The transactions as ones that gather many coins in few, in their order; `None` for others. One look-up.
    pub fn consolidations_of(self, txs: &[TxNum]) -> Result<Vec<Option<GatheredRow>>, ReadError> {
        self.view.require(&TRANSFERS)?;
        self.view.rows_of_each::<Consolidations>(txs)
    }

    /// The transactions as ones that spend coins of a year and more, in their order; `None` for others. One look-up.
    pub fn dormant_of(self, txs: &[TxNum]) -> Result<Vec<Option<DormantRow>>, ReadError> {
        self.view.require(&AGES)?;
        self.view.rows_of_each::<DormantSpends>(txs)
    }
}
