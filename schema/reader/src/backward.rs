//! Rows of transactions, the newest first.
//! A reading fails with [`ReadError::Unfinished`] while a stage that it needs is being rebuilt.

use cairn_model::TxNum;
use cairn_tables::{
    Table,
    ages::DormantSpends,
    encode_key,
    flushes::InputKey,
    old_coins::OldMovements,
    stages::{AGES, CLUSTERS, TRANSFERS},
    transfers::{ChangeRow, Consolidations, LargeChange, LargeRow, LargeTransfers},
};
use rocksdb::DBRawIteratorWithThreadMode;

use crate::{Db, ReadError, View, subjects::MovementView};

/// Walks through the rows of a table that is keyed by transaction, the newest first.
pub struct Backward<'v, T> {
    view: &'v View<'v>,
    rows: DBRawIteratorWithThreadMode<'v, Db>,
    started: bool,
    table: std::marker::PhantomData<fn() -> T>,
}

/// Walks through transactions that spend coins of a year and more.
pub type DormantWalk<'v> = Backward<'v, DormantSpends>;

/// Walks through transactions that move many coins of five years and more.
pub type MovementWalk<'v> = Backward<'v, OldMovements>;

/// Walks through transactions that gather many coins in few.
pub type ConsolidationWalk<'v> = Backward<'v, Consolidations>;

/// Keys that begin with a transaction.
pub trait OfTx {
    /// The greatest key of a transaction.
    fn last_of(tx_num: TxNum) -> Self;
}

impl OfTx for TxNum {
    fn last_of(tx_num: TxNum) -> Self {
        tx_num
    }
}

impl OfTx for InputKey {
    fn last_of(tx_num: TxNum) -> Self {
        InputKey { tx_num, vin: u32::MAX }
    }
}

impl OfTx for (TxNum, InputKey) {
    fn last_of(tx_num: TxNum) -> Self {
        (tx_num, InputKey { tx_num: TxNum(TxNum::LIMIT - 1), vin: u32::MAX })
    }
}

impl<'v, T: Table<Key: OfTx>> Backward<'v, T> {
    /// Begins at the newest row before `end`.
    pub(crate) fn before(view: &'v View<'v>, end: TxNum) -> Result<Option<Self>, ReadError> {
        let Some(last) = end.0.checked_sub(1) else { return Ok(None) };
        let mut rows = view.raw_iterator::<T>()?;
        rows.seek_for_prev(encode_key::<T>(&T::Key::last_of(TxNum(last))));
        Ok(Some(Backward { view, rows, started: false, table: std::marker::PhantomData }))
    }

    /// The next older one. One row read.
    pub fn older(&mut self) -> Result<Option<(T::Key, T::Value)>, ReadError> {
        if self.started {
            self.rows.prev();
        }
        self.started = true;
        self.view.count(T::NAME)?;
        self.rows.status().map_err(|e| ReadError::of_table(T::NAME, e))?;
        // Before the first row of a table in the shared family lie those of another.
        let of_table = |(key, _): &(&[u8], &[u8])| T::TAG.is_none_or(|tag| key.first() == Some(&tag));
        let Some((key, value)) = self.rows.item().filter(of_table) else { return Ok(None) };
        self.view.count_bytes(value)?;
        Ok(Some((T::decode_key(key)?, T::decode_value(value)?)))
    }
}

/// A transaction that pays 100 BTC or more to scripts that it does not spend from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transfer {
    /// The transaction.
    pub tx_num: TxNum,
    /// Satoshis that it pays to others. Payments to scripts that it spends from do not count, nor those to their
    /// clusters, as of this transaction. For a CoinJoin, only payments to its own scripts do not count.
    pub net_external: u64,
    /// True if it has the form of a CoinJoin.
    pub coinjoin: bool,
}

/// Walks through such transactions, the newest first.
pub struct TransferWalk<'v> {
    transfers: Backward<'v, LargeTransfers>,
    changes: Backward<'v, LargeChange>,
    /// The next row of `changes`.
    change: Option<(TxNum, ChangeRow)>,
}

impl<'v> MovementView<'v> {
    /// Begins at the newest transaction before `end` that spends coins of a year and more.
    pub fn dormant_before(self, end: TxNum) -> Result<Option<DormantWalk<'v>>, ReadError> {
        self.view.require(&AGES)?;
        Backward::before(self.view, end)
    }

    /// Begins at the newest transaction before `end` whose coins of five years and more are worth 10 BTC or more
    /// together.
    pub fn old_before(self, end: TxNum) -> Result<Option<MovementWalk<'v>>, ReadError> {
        self.view.require(&AGES)?;
        Backward::before(self.view, end)
    }

    /// Begins at the newest transaction before `end` that gathers many coins in few.
    pub fn consolidations_before(self, end: TxNum) -> Result<Option<ConsolidationWalk<'v>>, ReadError> {
        self.view.require(&TRANSFERS)?;
        Backward::before(self.view, end)
    }

    /// Begins at the newest transaction before `end` that pays 100 BTC or more to scripts that it does not spend from.
    pub fn transfers_before(self, end: TxNum) -> Result<Option<TransferWalk<'v>>, ReadError> {
        self.view.require(&TRANSFERS)?;
        self.view.require(&CLUSTERS)?;
        let (Some(transfers), Some(mut changes)) =
            (Backward::before(self.view, end)?, Backward::before(self.view, end)?)
        else {
            return Ok(None);
        };
        let change = changes.older()?;
        Ok(Some(TransferWalk { transfers, changes, change }))
    }
}

impl TransferWalk<'_> {
    /// The next older one. Two rows read at most.
    pub fn older(&mut self) -> Result<Option<Transfer>, ReadError> {
        let Some((tx_num, LargeRow { sats, coinjoin })) = self.transfers.older()? else { return Ok(None) };
        // A change without its transfer is damage: it is skipped here, and `cairn verify` reports it.
        while self.change.is_some_and(|(of, _)| of > tx_num) {
            self.change = self.changes.older()?;
        }
        let change = self.change.filter(|(of, _)| *of == tx_num).map_or(0, |(_, change)| change.0);
        let net_external = sats
            .checked_sub(change)
            .ok_or_else(|| self.transfers.view.broken("a transaction keeps more than it pays"))?;
        Ok(Some(Transfer { tx_num, net_external, coinjoin }))
    }
}
