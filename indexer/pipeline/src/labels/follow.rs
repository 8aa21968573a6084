//! Keeps the joined tables with the chain and the claims.

use cairn_model::{Block, BlockHash, Height, TxNum};
use cairn_reader::{ClusterRoot, View};
use cairn_stages::FoldDirection;
use cairn_tables::{
    DecodeError, Table,
    claims::Claims,
    cluster_owners::OwnersDue,
    labels::{JOINED, LabelDue, Labels, ScriptHash},
    stages::{CLUSTERS, SCRIPTS},
};
use cairn_writer::WriteError;

use super::{
    BlockChanges, Changes, LabelledScript, Marks, changes_of_block, forget, is_current, judge, judge_owners, marked,
    put_checkpoint, tables,
};
use crate::{Engine, Phase, PipelineError, Progress, ProgressStep, resolve::look_up_pieces};

/// Scripts that are judged first. Nothing is written concurrently, so they are few; each step has twice as many as the
/// one before.
const FIRST_STEP: usize = 512;
/// Most scripts that are judged and written in one commit: some megabytes. Rows that they have in common, as the sums
/// of an entity, are read and written once.
const MAX_IN_STEP: usize = 8_192;
/// Scripts that are written between two flushes: what a kill can lose of the work. A flush for each document suffices.
const FLUSH_SCRIPTS: usize = 1 << 19;

/// Clusters that are judged and written in one commit: each has the claims of 16 scripts.
const OWNERS_IN_STEP: usize = 1_024;
/// Rows of the forest that are read between two looks at whether to stop.
const ROWS_OF_FOREST: usize = 1 << 20;

/// Fewer replaced labels leave too few deleted rows to matter to a scan.
const MANY_REPLACED: usize = 16_384;
/// The tables are rewritten once at least one in this many labels was replaced.
const REPLACED_SHARE: usize = 8;

/// Keeps the joined tables of an engine with its chain and its claims.
pub(crate) struct LabelFollower<'e> {
    pub(crate) engine: &'e Engine,
}

impl LabelFollower<'_> {
    /// True if the engine has the stages that the joined tables read.
    fn has_their_stages(&self) -> bool {
        [SCRIPTS, CLUSTERS].iter().all(|wanted| self.engine.stages.iter().any(|stage| stage.name() == wanted.name))
    }

    /// Returns the changes of the joined tables by a block; the view is of the index before it.
    pub(crate) fn changes_of_block(
        &self,
        view: &View<'_>,
        block: &Block,
        direction: FoldDirection,
    ) -> Result<Option<BlockChanges>, PipelineError> {
        // Without a stage they stay behind, and are made again once it is back.
        if self.has_their_stages() { changes_of_block(view, block, direction) } else { Ok(None) }
    }

    /// Brings the joined tables up to date with claims and chain: makes them again if they must be, then judges marked
    /// scripts and clusters. Does nothing while the tables that it reads are not at the tip. Returns whether it wrote
    /// anything, which is durable with the next flush.
    ///
    /// # Errors
    /// The database fails, or a row is damaged. [`PipelineError::Stopped`] if cancelled: what is marked stays marked.
    pub(crate) fn follow(&self, progress: &dyn Progress) -> Result<bool, PipelineError> {
        let Some(tip) = self.engine.tip()? else { return Ok(false) };
        for stage in [SCRIPTS, CLUSTERS] {
            let found = self.engine.writer.checkpoint(stage.name)?;
            if !found.is_some_and(|found| found.is_of(&stage) && (found.height, found.hash) == tip) {
                return Ok(false);
            }
        }
        if !self.has_their_stages() {
            return Ok(false);
        }
        let is_made = is_current(self.engine.writer.checkpoint(JOINED)?.as_ref(), tip);
        if !is_made {
            self.mark_all(tip, progress)?;
        }
        let judged = self.judge_marked(progress)?;
        let any_owners = self.judge_owners_due(progress)?;
        self.merge_after(judged.replaced)?;
        Ok(judged.any || any_owners || !is_made)
    }

    /// Rewrites the joined tables after many labels were replaced: every replaced one leaves deleted rows in each, and
    /// searches and lists would step over them one by one.
    fn merge_after(&self, replaced: usize) -> Result<(), PipelineError> {
        if replaced < MANY_REPLACED {
            return Ok(());
        }
        let many = replaced.saturating_mul(REPLACED_SHARE);
        if self.has_more_labels(many)? {
            return Ok(());
        }
        // Rows that are not flushed yet are not in a file.
        self.engine.writer.flush()?;
        Ok(tables().try_for_each(|table| self.engine.writer.merge(table))?)
    }

    /// True if there are more than `than` labels.
    fn has_more_labels(&self, than: usize) -> Result<bool, PipelineError> {
        let view = self.engine.reader.view()?;
        let (mut labels, mut rows) = (0, view.scan::<Labels>(None)?);
        while labels <= than && rows.next_bytes()?.is_some() {
            labels += 1;
        }
        Ok(labels > than)
    }

    /// Empties the joined tables and marks every script that has claims.
    fn mark_all(&self, tip: (Height, BlockHash), progress: &dyn Progress) -> Result<(), PipelineError> {
        // Without the checkpoint, a run that is interrupted is known as such.
        forget(&self.engine.writer)?;
        tables().try_for_each(|table| self.engine.writer.clear(table))?;
        let view = self.engine.reader.view()?;
        let mut marks = Marks::new(&self.engine.writer);
        let mut claims = view.scan::<Claims>(None)?;
        while let Some((key, _)) = claims.next_bytes()? {
            let short = DecodeError { table: Claims::NAME, what: "too short" };
            marks.add(ScriptHash(*key.first_chunk::<32>().ok_or(short)?))?;
            PipelineError::if_cancelled(progress.cancel_token())?;
        }
        marks.finish()?;
        self.note_suspects(&view, progress)?;
        self.engine.writer.commit::<WriteError>(|batch| {
            put_checkpoint(batch, tip);
            Ok(())
        })?;
        Ok(self.engine.writer.flush()?)
    }

    /// Judges all scripts that are marked. While some are written, the next ones are judged: no script's label depends
    /// on that of another.
    fn judge_marked(&self, progress: &dyn Progress) -> Result<JudgedMarks, PipelineError> {
        let (mut step, mut written, mut replaced, mut any) = (FIRST_STEP, 0, 0, false);
        let mut judged = self.judge_some(None, step)?;
        while let Some(some) = judged {
            if progress.cancel_token().is_cancelled() {
                self.engine.writer.flush()?;
                return Err(PipelineError::Stopped);
            }
            let to = some.last;
            replaced += some.replaced;
            step = (step * 2).min(MAX_IN_STEP);
            written += some.count;
            any = true;
            let (next, wrote) = rayon::join(|| self.judge_some(Some(&to), step), || self.write_judged(some));
            wrote?;
            judged = next?;
            if written >= FLUSH_SCRIPTS {
                self.engine.writer.flush()?;
                written = 0;
            }
            // Hashes are spread evenly, so the last one shows how much is done.
            let done = u64::from(u16::from_be_bytes([to.0[0], to.0[1]])) + 1;
            progress.step(ProgressStep { phase: Phase::Labels, done, total: 1 << 16, bytes: 0, of_bytes: 0 });
        }
        Ok(JudgedMarks { any, replaced })
    }

    /// Judges up to `most` marked scripts, ascending, after `after`; `None` if there are no more.
    fn judge_some(&self, after: Option<&ScriptHash>, most: usize) -> Result<Option<JudgedScripts>, PipelineError> {
        let due = marked(&self.engine.reader.view()?, after, most)?;
        let (Some(first), Some(last)) = (due.first(), due.last()) else { return Ok(None) };
        let pieces = look_up_pieces(&self.engine.reader, &due, |view, due| {
            let (mut claims, mut changes, mut replaced) = (view.claims().walk()?, Changes::default(), 0);
            for hash in due {
                let before = view.get::<Labels>(hash)?;
                let now = judge(view, &mut claims, hash, before.as_ref())?;
                let (before, after) = (before.as_ref(), now.label.as_ref());
                replaced += usize::from(before.is_some() && before != after);
                let side = |label| LabelledScript { label, moved: now.sums, path: Some(&now.path) };
                changes.replace(*hash, before.map(side), after.map(side))?;
                now.root_to_judge(before).iter().for_each(|root| changes.judge_again(*root));
            }
            Ok(vec![(changes, replaced)])
        })?;
        let replaced = pieces.iter().map(|(_, replaced)| replaced).sum();
        let mut pieces = pieces.into_iter().map(|(changes, _)| changes);
        let mut changes = pieces.next().unwrap_or_default();
        pieces.try_for_each(|more| changes.add(more))?;
        Ok(Some(JudgedScripts { first: *first, last: *last, count: due.len(), changes, replaced }))
    }

    /// Notes all merges of two large clusters.
    fn note_suspects(&self, view: &View<'_>, progress: &dyn Progress) -> Result<(), PipelineError> {
        let mut from = Some(TxNum(0));
        while let Some(at) = from {
            let (merges, next) = view.clusters().suspect_merges(at, ROWS_OF_FOREST)?;
            let mut changes = Changes::default();
            merges.iter().try_for_each(|(tie, path)| changes.add_suspect(tie.parent, path))?;
            self.engine.writer.commit::<PipelineError>(|batch| changes.write(&self.engine.writer, batch))?;
            PipelineError::if_cancelled(progress.cancel_token())?;
            from = next;
        }
        Ok(())
    }

    /// Judges the owners of all marked clusters. Returns whether there were any.
    fn judge_owners_due(&self, progress: &dyn Progress) -> Result<bool, PipelineError> {
        let (mut last, mut written) = (None, 0);
        loop {
            let view = self.engine.reader.view()?;
            let due = view.clusters().owners_due(last, OWNERS_IN_STEP)?;
            let Some(newest) = due.last() else { return Ok(last.is_some()) };
            if progress.cancel_token().is_cancelled() {
                self.engine.writer.flush()?;
                return Err(PipelineError::Stopped);
            }
            last = Some(*newest);
            let pieces = look_up_pieces(&self.engine.reader, &due, |view, due| {
                let (mut claims, mut changes) = (view.claims().walk()?, Changes::default());
                for root in due {
                    let before = view.clusters().owners(ClusterRoot(*root))?;
                    changes.replace_owners(*root, before.as_ref(), judge_owners(view, &mut claims, *root)?)?;
                }
                Ok(vec![changes])
            })?;
            let mut changes = Changes::default();
            pieces.into_iter().try_for_each(|piece| changes.add(piece))?;
            self.engine.writer.commit::<PipelineError>(|batch| {
                due.iter().for_each(|root| batch.delete_row::<OwnersDue>(root));
                changes.write(&self.engine.writer, batch)
            })?;
            written += due.len();
            if written >= FLUSH_SCRIPTS {
                self.engine.writer.flush()?;
                written = 0;
            }
        }
    }

    /// Writes the judged scripts, and removes their marks.
    fn write_judged(&self, judged: JudgedScripts) -> Result<(), PipelineError> {
        self.engine.writer.commit::<PipelineError>(|batch| {
            batch.delete_range::<LabelDue>(&judged.first, &judged.last);
            judged.changes.write(&self.engine.writer, batch)
        })
    }
}

struct JudgedScripts {
    first: ScriptHash,
    last: ScriptHash,
    count: usize,
    changes: Changes,
    /// Labels that are replaced or ended.
    replaced: usize,
}

struct JudgedMarks {
    /// True if there were any.
    any: bool,
    /// Labels that were replaced or ended.
    replaced: usize,
}
