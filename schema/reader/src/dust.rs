//! Pings of dust and their campaigns.

use std::ops::Range;

use cairn_model::{Height, TxNum};
use cairn_tables::{
    dust::{DustAlertRow, DustAlerts, DustGroup, DustGroupRow, DustGroups, DustPingRow, DustPings},
    stages::DUST,
};

use crate::{ReadError, subjects::MovementView};

impl MovementView<'_> {
    /// The newest block whose pings are known. One row read.
    pub fn dust_height(self) -> Result<Height, ReadError> {
        self.view.late(&DUST)
    }

    /// State of transactions as pings, in their order, in one look-up; `None` for others and for forgotten ones.
    pub fn dust_pings(self, txs: &[TxNum]) -> Result<Vec<Option<DustPingRow>>, ReadError> {
        self.view.rows_of_each::<DustPings>(txs)
    }

    /// A group of pings. One row read.
    pub fn dust_group(self, group: &DustGroup) -> Result<Option<DustGroupRow>, ReadError> {
        self.view.get::<DustGroups>(group)
    }

    /// The campaigns that began to count with the transactions of a range, ascending.
    pub fn dust_alerts(self, txs: Range<TxNum>) -> Result<Vec<(TxNum, DustGroup, DustAlertRow)>, ReadError> {
        self.view.late(&DUST)?;
        let first = (txs.start, DustGroup::Mark([0; 32]));
        let rows = self.view.scan_while::<DustAlerts>(first, |(tx_num, _)| *tx_num < txs.end)?;
        rows.map(|row| row.map(|((tx_num, group), row)| (tx_num, group, row))).collect()
    }
}
