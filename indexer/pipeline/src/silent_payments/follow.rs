//! Brings the tweaks to the tip.

use std::sync::Arc;

use cairn_model::Height;
use cairn_reader::View;
use cairn_tables::{
    TableInfo,
    tweaks::{TweakHead, TweakHeadRow, Tweaks},
};

use super::{first_block, make::make};
use crate::{Engine, Phase, PipelineError, Progress, ProgressStep, background::Outcome, silent_payments::NewTweaks};

/// Brings the tweaks of an engine to its tip, if the operator asks for them.
pub(crate) struct TweakFollower<'e> {
    pub(crate) engine: &'e Engine,
}

impl TweakFollower<'_> {
    /// As [`Engine::follow_silent_payments`].
    pub(crate) fn follow(&self, progress: &dyn Progress, waits: bool) -> Result<bool, PipelineError> {
        let making = &self.engine.tweaks;
        if !making.is_on || self.engine.tip()?.is_none() {
            return Ok(false);
        }
        let mut wrote = false;
        if let Some(made) = making.thread.take(waits) {
            wrote |= self.take(made)?;
        }
        let first = self.next()?.0;
        loop {
            let (next, took_back) = self.next()?;
            wrote |= took_back;
            let view = self.engine.reader.view()?;
            let tip = view.tip().height;
            if next > tip || making.thread.is_busy(tip) {
                return Ok(wrote);
            }
            let whole_blocks = making.whole_blocks.lock().clone();
            if !waits {
                let reader = Arc::clone(&self.engine.reader);
                let work = move |cancel: &_| make(&reader.view()?, next, whole_blocks.as_ref(), cancel);
                making.thread.start("tweaks", work);
                return Ok(wrote);
            }
            if !self.take(make(&view, next, whole_blocks.as_ref(), progress.cancel_token()))? {
                return Ok(wrote);
            }
            wrote = true;
            let (done, total) = (u64::from(self.next()?.0 - first), u64::from(tip + 1 - first));
            progress.step(ProgressStep { phase: Phase::Late, done, total, bytes: 0, of_bytes: 0 });
        }
    }

    /// The block whose row comes next, after the rows of gone blocks are taken back; and whether there were any.
    fn next(&self) -> Result<(Height, bool), PipelineError> {
        let view = self.engine.reader.view()?;
        let first = first_block(self.engine.facts.network);
        let Some(stored) = view.silent_payments().stored_head()? else { return Ok((first, false)) };
        match view.silent_payments().span()? {
            Some(span) if span == stored => Ok((span.height + 1, false)),
            Some(span) => {
                self.engine.writer.commit::<PipelineError>(|batch| {
                    batch.delete_range::<Tweaks>(&(span.height + 1), &stored.height);
                    batch.put_row::<TweakHead>(&(), &span);
                    Ok(())
                })?;
                Ok((span.height + 1, true))
            }
            None => {
                tracing::info!("the blocks that tweaks of silent payments were made of are gone: they are made again");
                self.forget()?;
                Ok((first, true))
            }
        }
    }

    /// Writes the rows of blocks that are still in the chain. Damage of the tables that they are made from does not
    /// stop blocks.
    fn take(&self, made: Outcome<NewTweaks>) -> Result<bool, PipelineError> {
        let view = self.engine.reader.view()?;
        let rests = || self.engine.tweaks.thread.rest(view.tip().height);
        match made {
            Ok(Some(made)) => self.write(&view, made),
            // The block may come: it is tried again with one of the next blocks.
            Ok(None) => {
                rests();
                Ok(false)
            }
            Err(error) if error.is_damage() => {
                tracing::error!(%error, "tweaks of silent payments cannot be made: `cairn verify` says what is damaged");
                rests();
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    fn write(&self, view: &View<'_>, made: NewTweaks) -> Result<bool, PipelineError> {
        let (next, _) = self.next()?;
        let follow = |(at, (height, row)): &(Height, (Height, _))| {
            let row: &cairn_tables::tweaks::TweakRow = row;
            *height == next + at && view.chain().is(*height, &row.hash)
        };
        let rows: Vec<_> = (0..).zip(made.rows).take_while(follow).map(|(_, row)| row).collect();
        let Some((height, newest)) = rows.last() else { return Ok(false) };
        let first = view.silent_payments().stored_head()?.map_or(next, |head| head.first);
        let head = TweakHeadRow { height: *height, hash: newest.hash, first };
        self.engine.writer.commit::<PipelineError>(|batch| {
            rows.iter().for_each(|(height, row)| batch.put_row::<Tweaks>(height, row));
            batch.put_row::<TweakHead>(&(), &head);
            Ok(())
        })?;
        Ok(true)
    }

    /// Removes the tweaks: they are made again when the chain is followed next, if the operator asks for them.
    pub(crate) fn forget(&self) -> Result<(), PipelineError> {
        [TableInfo::of::<TweakHead>(), TableInfo::of::<Tweaks>()]
            .iter()
            .try_for_each(|table| Ok(self.engine.writer.clear(table)?))
    }
}
