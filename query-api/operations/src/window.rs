//! Lists of transactions, the newest first: the part of the chain that one covers, where a page of it begins, and how
//! much is looked through for a page.

use cairn_http::{Location, Work};

use crate::{operation::prelude::*, parameters::since::SinceParam, vocabulary::cursor::Cursors};

/// Blocks from one height to the one before another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Window {
    pub(crate) since: Height,
    /// One past the last block.
    pub(crate) until: Height,
    /// Its transactions: the first, and one past the last.
    pub(crate) first: TxNum,
    pub(crate) end: TxNum,
}

impl Window {
    /// Without `since` the 24 hours before the newest block; without `until` up to the newest block.
    ///
    /// # Errors
    /// 422 if it ends before it begins.
    pub(crate) fn of(view: &View<'_>, since: Option<SinceParam>, until: Option<SinceParam>) -> Result<Self, ApiError> {
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

    /// Its blocks, as answers show them.
    pub(crate) fn blocks(&self) -> BlockSpan {
        BlockSpan { since_height: self.since, until_height: self.until }
    }
}

/// The blocks of a window, as answers show them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
pub(crate) struct BlockSpan {
    /// Height of the first requested block.
    since_height: Height,
    /// Height after the last requested block.
    until_height: Height,
}

/// Inputs that a position can distinguish within a transaction: more than a block has room for.
const INPUTS: u64 = 1 << 24;

/// Where a page begins: at an input of a transaction, and the older transactions after it. So it stays where it is when
/// blocks are added, and expires only if a reorg replaces the block of that transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PagePosition {
    pub(crate) tx_num: TxNum,
    pub(crate) vin: u32,
}

impl PagePosition {
    /// The place of a cursor.
    ///
    /// # Errors
    /// 422 if it is of another list; 409 after a reorg.
    pub(crate) fn read(token: &str, cursors: &Cursors<'_>) -> Result<Self, ApiError> {
        let position = cursors.read(token)?;
        let (tx_num, vin) = (position / INPUTS, position % INPUTS);
        match u32::try_from(vin) {
            Ok(vin) if tx_num < TxNum::LIMIT => Ok(PagePosition { tx_num: TxNum(tx_num), vin }),
            _ => Err(cursors.no_fit()),
        }
    }

    /// Its cursor. One row read.
    pub(crate) fn token(self, view: &View<'_>, cursors: &Cursors<'_>) -> Result<String, ApiError> {
        let height = view.chain().height_of(self.tx_num).unwrap_or(view.tip().height);
        cursors.token_at(height, self.tx_num.0.saturating_mul(INPUTS).saturating_add(self.vin.into()))
    }
}

/// Scan limit of one page, in rows of a table: some 20 milliseconds.
const MAX_LOOKED_THROUGH: usize = 30_000;
/// Cost of reading a transaction with its inputs, in such rows.
pub(crate) const TX: usize = 30;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ScanStep<R> {
    /// A transaction that may fit, with its row.
    Tx(TxNum, R),
    End,
    /// Enough was looked through for one page: all from this transaction on.
    Enough(TxNum),
}

/// Looks through the rows of transactions, the newest first, as many as one page may cost.
pub(crate) struct BoundedScan {
    first: TxNum,
    looked_through: usize,
    last: Option<TxNum>,
}

impl BoundedScan {
    pub(crate) fn back_to(first: TxNum) -> Self {
        BoundedScan { first, looked_through: 0, last: None }
    }

    /// Further work for a row besides reading it, in rows.
    pub(crate) fn spend(&mut self, rows: usize) {
        self.looked_through = self.looked_through.saturating_add(rows);
    }

    /// The next one that fits; `older` reads a row.
    pub(crate) fn next<R>(
        &mut self,
        work: &Work,
        mut older: impl FnMut() -> Result<Option<(TxNum, R)>, ApiError>,
        fits: impl Fn(&R) -> bool,
    ) -> Result<ScanStep<R>, ApiError> {
        loop {
            if let Some(last) = self.last.filter(|_| self.looked_through >= MAX_LOOKED_THROUGH) {
                return Ok(ScanStep::Enough(last));
            }
            work.poll()?;
            let Some((tx, row)) = older()?.filter(|(tx, _)| *tx >= self.first) else { return Ok(ScanStep::End) };
            self.last = Some(tx);
            self.spend(1);
            if fits(&row) {
                return Ok(ScanStep::Tx(tx, row));
            }
        }
    }
}

pub(crate) struct Page<T> {
    pub(crate) rows: Vec<T>,
    /// Where the next page begins; `None` at the end.
    pub(crate) next: Option<PagePosition>,
    /// The page covers the blocks from this height on.
    pub(crate) covered_from: Height,
    /// True if the scan limit ended the page early.
    pub(crate) is_cut: bool,
}

impl<T> Page<Vec<T>> {
    /// The page with the rows of its transactions in one list.
    pub(crate) fn flatten(self) -> Page<T> {
        let Page { rows, next, covered_from, is_cut } = self;
        Page { rows: rows.into_iter().flatten().collect(), next, covered_from, is_cut }
    }
}

impl<T> Page<T> {
    /// Reads a page of at most `limit` rows of a window. `next` gives the next transaction that may fit, and `row` what
    /// the page shows of it, if it fits.
    pub(crate) fn read<R>(
        view: &View<'_>,
        window: Window,
        limit: usize,
        mut next: impl FnMut() -> Result<ScanStep<R>, ApiError>,
        mut row: impl FnMut(TxNum, R) -> Result<Option<T>, ApiError>,
    ) -> Result<Self, ApiError> {
        let mut page = Page { rows: Vec::new(), next: None, covered_from: window.since, is_cut: false };
        let mut last = window.end;
        loop {
            let (stop, is_cut) = match next()? {
                ScanStep::End => return Ok(page),
                ScanStep::Enough(tx) => (tx, true),
                // There may be no further one, which the next page says.
                ScanStep::Tx(..) if page.rows.len() == limit => (last, false),
                ScanStep::Tx(tx, found) => {
                    page.rows.extend(row(tx, found)?);
                    last = tx;
                    continue;
                }
            };
            page.next = Some(PagePosition { tx_num: stop, vin: 0 });
            page.covered_from = view.chain().height_of(stop).unwrap_or_default();
            page.is_cut = is_cut;
            return Ok(page);
        }
    }
}
