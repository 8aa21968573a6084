//! The part of the chain that a list covers, and where a page of it begins.

use cairn_http::{ApiError, Location};
use cairn_model::{Height, TxNum};
use cairn_reader::View;

use crate::{
    parameters::since::SinceParam,
    vocabulary::cursor::{Cursor, NO_FIT},
};

/// Blocks from one height to the one before another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Window {
    /// The first block.
    pub(super) since: Height,
    /// One past the last block.
    pub(super) until: Height,
    /// Its transactions: the first, and one past the last.
    pub(super) first: TxNum,
    pub(super) end: TxNum,
}

impl Window {
    /// Without `since` the 24 hours before the newest block; without `until` up to the newest block.
    ///
    /// # Errors
    /// 422 if it ends before it begins.
    pub(super) fn of(view: &View<'_>, since: Option<SinceParam>, until: Option<SinceParam>) -> Result<Self, ApiError> {
        let after_tip = view.tip().height.saturating_add(1);
        let since = since.unwrap_or(SinceParam::Days(1)).height(view);
        let until = until.map_or(after_tip, |until| until.height(view));
        if until < since {
            let message = format!("is before since: it names block {until}, since names block {since}");
            return Err(ApiError::validation(Location::Query, "until", message));
        }
        let first_of = |height: Height| view.chain().get(height).map_or(view.tip().tx_end, |block| block.first_tx);
        Ok(Window { since, until, first: first_of(since), end: first_of(until) })
    }
}

/// Inputs that a position can tell apart within a transaction: more than a block has room for.
const INPUTS: u64 = 1 << 24;

/// Where a page begins: at an input of a transaction, and the older transactions after it. So it stays where it is when blocks
/// are added, and expires only if a reorg replaces the block of that transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place {
    pub(super) tx_num: TxNum,
    pub(super) vin: u32,
}

impl Place {
    /// The place of a cursor.
    ///
    /// # Errors
    /// 422 if it is of another list; 409 after a reorg.
    pub(super) fn read(token: &str, view: &View<'_>, filters: &[&[u8]]) -> Result<Self, ApiError> {
        let position = Cursor::read(token, view, filters)?.position;
        let (tx_num, vin) = (position / INPUTS, position % INPUTS);
        match u32::try_from(vin) {
            Ok(vin) if tx_num < TxNum::LIMIT => Ok(Place { tx_num: TxNum(tx_num), vin }),
            _ => Err(ApiError::validation(Location::Query, "cursor", NO_FIT)),
        }
    }

    /// Its cursor. One row read.
    ///
    /// # Errors
    /// The header of its block cannot be read.
    pub(super) fn token(self, view: &View<'_>, filters: &[&[u8]]) -> Result<String, ApiError> {
        let height = view.chain().height_of(self.tx_num).unwrap_or(view.tip().height);
        Cursor { position: self.tx_num.0.saturating_mul(INPUTS).saturating_add(self.vin.into()) }
            .token_at(view, height, filters)
    }
}
