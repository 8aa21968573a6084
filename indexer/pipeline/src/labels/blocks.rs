//! Changes of the joined tables by a block, forward and back.

use cairn_model::{Block, BlockHash, Height, OutputMeta, ScriptId, ScriptPrefix, SpentCoin, TxNum};
use cairn_reader::{AsOf, ReadError, Reader, View};
use cairn_stages::FoldDirection;
use cairn_tables::{
    Table,
    labels::{JOINED, ScriptHash, ScriptLabel, SeenScript},
    totals::TotalsTable,
};
use cairn_writer::{Batch, Writer};

use super::{
    LabelledScript, ScriptSums,
    forest::{BlockForest, ForestRow, Heir, Movement},
    is_current, put_checkpoint,
    rows::Changes,
};
use crate::{PipelineError, newest::newest_after};

pub(crate) struct BlockChanges {
    changes: Changes,
    /// Scripts that the block may bring into a cluster.
    heirs: Vec<Heir>,
    /// Movements of scripts in clusters that a list attributes to an entity.
    movements: Vec<Movement>,
    direction: FoldDirection,
    first_tx: TxNum,
    tip: (Height, BlockHash),
}

impl BlockChanges {
    /// Writes it, with their checkpoint. `forest` is what the block changes of the clusters; the reader has the index
    /// before that.
    pub(crate) fn write(
        mut self,
        (writer, reader): (&Writer, &Reader),
        forest: &[ForestRow],
        batch: &mut Batch<'_>,
    ) -> Result<(), PipelineError> {
        put_checkpoint(batch, self.tip);
        let view = reader.view()?;
        match self.direction {
            FoldDirection::Forward => {
                let of = BlockForest::connecting(self.first_tx, forest, &self.heirs, &self.movements)?;
                of.connect(&view, &mut self.changes)?;
            }
            FoldDirection::Back => {
                let before = AsOf { height: self.tip.0, tx_end: self.first_tx };
                let of = BlockForest::disconnecting(&view, self.first_tx, forest, &self.movements)?;
                of.disconnect(&view, before, &mut self.changes)?;
            }
        }
        self.changes.write(writer, batch)
    }
}

/// Effect of a block on a script.
struct Touched<'b> {
    id: ScriptId,
    moved: ScriptSums,
    /// Its transactions in the block.
    txs: u64,
    /// The newest of them.
    last: TxNum,
    /// An output that pays it, if there is one.
    output: Option<&'b OutputMeta>,
}

impl<'b> Touched<'b> {
    fn spent(coin: &SpentCoin, tx: TxNum) -> Self {
        let moved = ScriptSums { spent: coin.value.into(), spent_count: 1, ..ScriptSums::default() };
        Touched { id: coin.script, moved, txs: 1, last: tx, output: None }
    }

    fn paid(output: &'b OutputMeta, tx: TxNum) -> Self {
        let moved = ScriptSums { funded: output.value.into(), funded_count: 1, ..ScriptSums::default() };
        Touched { id: output.id, moved, txs: 1, last: tx, output: Some(output) }
    }

    /// Adds the effect of another coin of the same script, in the same transaction or a later one.
    fn add(&mut self, other: &Touched<'b>) {
        self.moved.funded += other.moved.funded;
        self.moved.spent += other.moved.spent;
        self.moved.funded_count += other.moved.funded_count;
        self.moved.spent_count += other.moved.spent_count;
        self.txs += u64::from(other.last != self.last);
        self.last = other.last;
        self.output = self.output.or(other.output);
    }
}

/// Every script that the block touches, ascending.
fn touched(block: &Block) -> Vec<Touched<'_>> {
    let mut all = Vec::with_capacity(block.inputs.len() + block.outputs.len());
    for (i, tx) in block.txs.iter().enumerate() {
        let tx_num = block.tx_num(i);
        let gone = block.overwritten.iter().filter(|gone| gone.by as usize == i).map(|gone| &gone.coin);
        all.extend(gone.chain(block.inputs_of(tx)).map(|coin| Touched::spent(coin, tx_num)));
        let outputs = block.outputs_of(tx).iter().filter(|output| output.spendable);
        all.extend(outputs.map(|output| Touched::paid(output, tx_num)));
    }
    // Stable: of each script the transactions stay in order.
    all.sort_by_key(|touched| touched.id);
    all.dedup_by(|next, kept| {
        let is_same = next.id == kept.id;
        if is_same {
            kept.add(next);
        }
        is_same
    });
    all
}

/// Returns the changes by the block once it is connected or disconnected. The view is of the index before that. `None`
/// if the tables are not made up to there: they are made as a whole later.
pub(crate) fn changes_of_block(
    view: &View<'_>,
    block: &Block,
    direction: FoldDirection,
) -> Result<Option<BlockChanges>, PipelineError> {
    let before = view.tip();
    if !is_current(view.checkpoint(JOINED)?.as_ref(), (before.height, before.hash)) {
        return Ok(None);
    }
    let mut changes = BlockChanges {
        changes: Changes::default(),
        heirs: Vec::new(),
        movements: Vec::new(),
        direction,
        first_tx: block.first_tx,
        tip: newest_after(block, direction),
    };
    if view.labels().has_any()? {
        let mut walk = view.labels().walk()?;
        for same_prefix in touched(block).chunk_by(|a, b| a.id.prefix == b.id.prefix) {
            let Some(first) = same_prefix.first() else { continue };
            let labels = walk.of_prefix(&first.id.prefix)?;
            if labels.is_empty() {
                continue;
            }
            for touched in same_prefix {
                if let Some((hash, label)) = labels.iter().find(|(_, label)| is_of(block, touched, label)) {
                    changes.change(view, touched, (*hash, label))?;
                }
            }
        }
    }
    Ok(Some(changes))
}

/// True if a label with the prefix of a script is that of the script. One that no block had before has no ordinal yet:
/// but then the block pays it.
fn is_of(block: &Block, touched: &Touched<'_>, label: &ScriptLabel) -> bool {
    match (touched.output, label.seen) {
        (Some(output), _) => block.script(output) == &label.script[..],
        (None, Some(seen)) => seen.ordinal == touched.id.ordinal,
        (None, None) => false,
    }
}

impl BlockChanges {
    /// Notes the changes by the block for a script with a label.
    fn change(
        &mut self,
        view: &View<'_>,
        touched: &Touched<'_>,
        (hash, before): (ScriptHash, &ScriptLabel),
    ) -> Result<(), PipelineError> {
        let is_forward = self.direction == FoldDirection::Forward;
        let (seen, moved) = match self.direction {
            FoldDirection::Forward => (Some(touched.last), touched.moved),
            FoldDirection::Back => (last_before(view, touched)?, touched.moved.negated()),
        };
        let seen = seen.map(|last| SeenScript { ordinal: touched.id.ordinal, last });
        // A script that a block brought into a cluster leaves it with the block.
        let node = before.node.filter(|node| is_forward || *node < self.first_tx);
        let after = ScriptLabel { seen, node, ..before.clone() };
        if is_forward && node.is_none() && touched.moved.spent_count > 0 {
            self.heirs.push(Heir { id: touched.id, hash, before: before.clone(), after, moved });
            return Ok(());
        }
        self.movements.extend(before.node.filter(|_| before.names_somebody()).map(|node| (node, moved)));
        let side = |label, moved| LabelledScript { label, moved, path: None };
        self.changes.replace(hash, Some(side(before, ScriptSums::default())), Some(side(&after, moved)))
    }
}

/// The newest transaction of a script before those of the block, out of tables that have the block.
fn last_before(view: &View<'_>, touched: &Touched<'_>) -> Result<Option<TxNum>, PipelineError> {
    let lacks = || {
        let ScriptId { prefix: ScriptPrefix(prefix), ordinal } = touched.id;
        ReadError::Lacks { table: TotalsTable::NAME, what: format!("script {prefix:02x?} {ordinal}") }
    };
    let found = view.scripts().by_id(touched.id)?.ok_or_else(lacks)?;
    Ok(view.scripts().history(&found, touched.txs, 1)?.first().map(|entry| entry.tx_num))
}
