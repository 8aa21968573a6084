//! Streams connected blocks from the journal (`headers`, `block_log`, `prevouts`, `overwritten`) in order. Stages are
//! rebuilt from it.

use cairn_model::{Block, Height, ScriptPrefix, TxNum};
use cairn_tables::{
    Table,
    block_log::{BlockLog, Decoded, LogRow},
    headers::{HeaderRow, Headers},
    journal::OverwrittenCoins,
    prevouts::Prevouts,
};

use crate::{ReadError, Scan, View};

/// Blocks in ascending height.
pub struct JournalBlocks<'v, 'r> {
    view: &'v View<'r>,
    headers: Scan<'v, 'r, Headers>,
    log: Scan<'v, 'r, BlockLog>,
    prevouts: Scan<'v, 'r, Prevouts>,
    /// The current row of `prevouts`, not used by a block yet.
    waiting: Option<(TxNum, Vec<cairn_model::Outpoint>)>,
    last: Height,
}

impl<'r> View<'r> {
    /// Blocks `from` to `to` (or the tip, if lower).
    pub fn journal(&self, from: Height, to: Height) -> Result<JournalBlocks<'_, 'r>, ReadError> {
        let first_tx = self.chain().get(from).map_or(self.tip().tx_end, |b| b.first_tx);
        Ok(JournalBlocks {
            view: self,
            headers: self.scan::<Headers>(Some(&from))?,
            log: self.scan::<BlockLog>(Some(&first_tx))?,
            prevouts: self.scan::<Prevouts>(Some(&first_tx))?,
            waiting: None,
            last: to.min(self.tip().height),
        })
    }

    /// One block of the journal.
    pub fn journal_block(&self, height: Height) -> Result<Option<Block>, ReadError> {
        self.journal(height, height)?.next().transpose()
    }
}

impl JournalBlocks<'_, '_> {
    fn assemble(&mut self, height: Height, row: HeaderRow) -> Result<Block, ReadError> {
        let end = TxNum(row.first_tx.0 + u64::from(row.tx_count));
        let mut decoded = Decoded::default();
        let mut block = Block {
            height,
            hash: row.hash,
            header: row.header,
            mono_time: row.mono_time,
            first_tx: row.first_tx,
            size: row.size,
            position: row.position,
            coinbase_script: row.coinbase_script,
            txs: Vec::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            scripts: Vec::new(),
            overwritten: Vec::new(),
        };
        let mut outpoints = Vec::with_capacity(row.input_count as usize);
        let mut at = row.first_tx;
        while at < end {
            let broken = || self.view.broken("a row of block_log is missing");
            let (key, value) = self.log.next_bytes()?.ok_or_else(broken)?;
            if BlockLog::decode_key(key)? != at {
                return Err(broken());
            }
            let (found, first_index, _) = LogRow::decode_into(value, &mut decoded)?;
            if found != height || u64::from(first_index) != at.0 - row.first_tx.0 {
                return Err(self.view.broken("a row of block_log belongs to another block"));
            }
            if let Some(row) = self.prevouts_at(at)? {
                outpoints.extend(row);
            }
            let next = TxNum(row.first_tx.0 + decoded.txs.len() as u64);
            if next <= at {
                return Err(self.view.broken("a row of block_log is empty"));
            }
            at = next;
        }
        if outpoints.len() != decoded.inputs.len() || at != end {
            return Err(self.view.broken("prevouts and block_log differ in length"));
        }
        block.inputs = decoded.inputs.iter().zip(outpoints).map(|(input, outpoint)| input.coin(outpoint)).collect();
        let significant = self.view.facts().script_prefix;
        for output in &mut decoded.outputs {
            if output.spendable {
                let script = &decoded.scripts[output.script.start as usize..output.script.end as usize];
                output.id.prefix = ScriptPrefix::of(script, significant);
            }
        }
        block.txs = decoded.txs;
        block.outputs = decoded.outputs;
        block.scripts = decoded.scripts;
        // Only two blocks of mainnet overwrote coins; asking for each block costs one filtered look-up.
        if let Some(rows) = self.view.get::<OverwrittenCoins>(&height)? {
            block.overwritten = rows.0;
        }
        Ok(block)
    }

    /// The prevouts of the `block_log` row that starts at `first`; `None` if it has no inputs.
    fn prevouts_at(&mut self, first: TxNum) -> Result<Option<Vec<cairn_model::Outpoint>>, ReadError> {
        if self.waiting.is_none()
            && let Some(row) = self.prevouts.next()
        {
            let (key, row) = row?;
            self.waiting = Some((key, row.unpack(key)?));
        }
        Ok(self.waiting.take_if(|(key, _)| *key == first).map(|(_, outpoints)| outpoints))
    }
}

impl Iterator for JournalBlocks<'_, '_> {
    type Item = Result<Block, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        let (height, row) = match self.headers.next()? {
            Ok(found) => found,
            Err(e) => return Some(Err(e)),
        };
        (height <= self.last).then(|| self.assemble(height, row))
    }
}
