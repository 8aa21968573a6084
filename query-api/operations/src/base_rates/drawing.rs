//! Draws scripts of recent blocks.

use std::collections::BTreeMap;

use cairn_domain::{
    base_rate::{RATE_BLOCKS, RATE_DRAWS, draw, weight},
    script_sha256,
};
use cairn_model::{BlockHash, DAY_SECS, Height, MonoTime, ScriptId, ScriptPrefix, TxNum, day_of};
use cairn_reader::{ReadError, StoredTx, View};
use cairn_tables::{Table, block_log::BlockLog, headers::Headers, totals::TotalsTable};

pub(super) type ScriptHash = [u8; 32];

const DRAWS_A_VIEW: u32 = 8;
const HEADERS_AT_A_TIME: usize = 256;
const TXS_AT_A_TIME: u32 = 64;

/// Blocks that base rates are about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Window {
    pub(super) first: Height,
    pub(super) last: Height,
    pub(super) hash: BlockHash,
    pub(super) time: MonoTime,
}

impl Window {
    /// The blocks up to the end of the last day (UTC) before that of the tip; `None` if all blocks are of one day.
    pub(super) fn of(view: &View<'_>) -> Result<Option<Self>, ReadError> {
        let Some(end) = day_of(view.tip().mono_time).checked_mul(DAY_SECS).and_then(|begin| begin.checked_sub(1))
        else {
            return Ok(None);
        };
        let Some(last) = view.chain().height_at(end) else { return Ok(None) };
        let row = view.header(last)?.ok_or_else(|| lacks::<Headers>(format!("block {last}")))?;
        let first = (last + 1).saturating_sub(RATE_BLOCKS);
        Ok(Some(Window { first, last, hash: row.hash, time: row.mono_time }))
    }

    /// Its transactions: the first, and one past the last.
    fn txs(&self, view: &View<'_>) -> [TxNum; 2] {
        [self.first, self.last + 1]
            .map(|height| view.chain().get(height).map_or(view.tip().tx_end, |block| block.first_tx))
    }
}

/// Draws, as far as they are made.
#[derive(Debug)]
pub(super) struct Drawing {
    /// Number of inputs and outputs up to each block, itself included.
    places: Vec<u64>,
    next: u32,
    made: u32,
    weights: BTreeMap<ScriptHash, u128>,
}

impl Drawing {
    /// Counts the inputs and outputs of the blocks. Reads a row for each block.
    pub(super) fn begin(view: &View<'_>, window: &Window) -> Result<Self, ReadError> {
        let heights: Vec<Height> = (window.first..=window.last).collect();
        let (mut places, mut sum) = (Vec::with_capacity(heights.len()), 0u64);
        for some in heights.chunks(HEADERS_AT_A_TIME) {
            for (height, row) in some.iter().zip(view.headers(some)?) {
                let row = row.ok_or_else(|| lacks::<Headers>(format!("block {height}")))?;
                sum += u64::from(row.input_count) + u64::from(row.output_count);
                places.push(sum);
            }
        }
        Ok(Drawing { places, next: 0, made: 0, weights: BTreeMap::new() })
    }

    /// Makes some draws; false if all are made. An output that nobody can spend has no script: another is drawn then.
    pub(super) fn goes_on(&mut self, view: &View<'_>, window: &Window) -> Result<bool, ReadError> {
        let all = self.places.last().copied().unwrap_or(0);
        for _ in 0..DRAWS_A_VIEW {
            if self.made == RATE_DRAWS || self.next == 2 * RATE_DRAWS || all == 0 {
                return Ok(false);
            }
            let place = draw(&window.hash.0, self.next, all);
            self.next += 1;
            if let Some((script, weight)) = self.script_at(view, window, place)? {
                self.made += 1;
                *self.weights.entry(script).or_default() += weight;
            }
        }
        Ok(true)
    }

    /// The scripts that were drawn, each with the sum of the weights of its draws.
    pub(super) fn into_scripts(self) -> BTreeMap<ScriptHash, u128> {
        self.weights
    }

    /// The script of an input or output, and its weight.
    fn script_at(&self, view: &View<'_>, window: &Window, place: u64) -> Result<Option<(ScriptHash, u128)>, ReadError> {
        let block = self.places.partition_point(|upto| *upto <= place);
        let before = block.checked_sub(1).and_then(|at| self.places.get(at)).copied().unwrap_or(0);
        let height = window.first + block as Height;
        let Some((tx, place)) = find(view, height, place - before)? else { return Ok(None) };
        let Some(id) = script_of(view, &tx, place) else { return Ok(None) };
        let count = tx.logged_inputs().len() + tx.outputs().len();
        let own = (0..count).filter(|other| script_of(view, &tx, *other) == Some(id)).count() as u64;
        let missing = || lacks::<TotalsTable>(format!("the script of an output of block {height}"));
        let found = view.scripts().by_id(id)?.ok_or_else(missing)?;
        let [before, upto] = view.scripts().sums_before_each(&found, window.txs(view))?;
        let bytes = view.scripts().bytes_of(id)?.ok_or_else(missing)?;
        Ok(Some((script_sha256(&bytes), weight(own, upto.tx_count - before.tx_count))))
    }
}

/// The transaction of a block that has a place, and the place in it. Inputs come before outputs.
fn find(view: &View<'_>, height: Height, mut place: u64) -> Result<Option<(StoredTx, usize)>, ReadError> {
    let mut from = 0;
    loop {
        let some = view.transactions().brief(height, from, TXS_AT_A_TIME)?;
        if some.is_empty() {
            return Ok(None);
        }
        for tx in &some {
            let count = u64::from(tx.input_count) + u64::from(tx.output_count);
            if place < count {
                let first = view.chain().get(height).map(|block| block.first_tx);
                let missing = || lacks::<BlockLog>(format!("transactions of block {height}"));
                let number = TxNum(first.ok_or_else(missing)?.0 + u64::from(tx.index));
                let tx = view.transactions().get(number)?.ok_or_else(missing)?;
                return Ok(Some((tx, place as usize)));
            }
            place -= count;
        }
        from += TXS_AT_A_TIME;
    }
}

/// The script at a place of a transaction; `None` if nobody can spend it.
fn script_of(view: &View<'_>, tx: &StoredTx, place: usize) -> Option<ScriptId> {
    if let Some(input) = tx.logged_inputs().get(place) {
        return Some(input.script);
    }
    let output = tx.outputs().get(place - tx.logged_inputs().len()).filter(|output| output.spendable)?;
    let prefix = ScriptPrefix::of(tx.script(output), view.facts().script_prefix);
    Some(ScriptId { prefix, ordinal: output.id.ordinal })
}

/// The error that a table lacks a row which another one names.
fn lacks<T: Table>(what: String) -> ReadError {
    ReadError::Lacks { table: T::NAME, what }
}
