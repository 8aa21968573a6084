//! Block files as a source: surveyed, indexed in bulk or block by block, and checked again each second.

mod footprint;
mod gap;
mod logs;

use std::{
    io,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use cairn_clock::now_secs;
use cairn_link::Publish;
use cairn_model::{BlockHash, ChainParams, Height, Part, SourceKind, SourceStatus};
use cairn_pipeline::{Driver, Phase, PipelineError, ProgressStep, SyncOptions};
use cairn_sources::{BlockFiles, SourceError, Survey, SurveyPhase, SurveyProgress};

use crate::{ActiveSource, FollowError, OpenIndex, Reached, Source, Until};
use footprint::Footprint;
use gap::GapWatch;

/// Interval of checks of the block files.
const POLL: Duration = Duration::from_secs(1);
/// Maximum number of consecutive attempts at which a block had moved; then it is an error. A node appends to the files,
/// and overwrites them only after a crash.
const MOVES: u32 = 5;

/// A folder of block files.
pub struct FileSource {
    files: BlockFiles,
    folder: PathBuf,
}

impl FileSource {
    /// The block files in a folder. `memory` limits the bytes of memory of a survey.
    pub fn open(folder: &Path, chain: impl Into<ChainParams>, memory: u64) -> Result<Self, FollowError> {
        let files = BlockFiles::open(folder, chain)?.with_survey_memory(memory);
        let canonical = folder.canonicalize();
        let folder = canonical.map_err(|error| FollowError::Folder { path: folder.to_owned(), error })?;
        Ok(FileSource { files, folder })
    }

    /// The folder as an absolute path, valid in any working directory.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Source for FileSource {
    fn begin(self: Box<Self>, index: &mut OpenIndex, until: Until) -> Result<Box<dyn ActiveSource>, FollowError> {
        let progress = index.progress.as_ref();
        progress.begin(None);
        let survey = self.files.survey(&|at| progress.step(survey_step(at)));
        progress.end();
        let survey = survey?;
        logs::survey(&survey.stats());
        Ok(Box::new(SurveyedFiles {
            files: self.files,
            survey,
            gap: GapWatch::new(),
            missing: None,
            waits_for_more: !matches!(until, Until::Tip { .. }),
            refused: None,
            moves: 0,
            unusable: 0,
        }))
    }
}

/// Undo files come second; both are one phase.
fn survey_step(at: SurveyProgress) -> ProgressStep {
    let behind = if at.phase == SurveyPhase::Undo { at.files_total } else { 0 };
    let total = (at.files_total * 2) as u64;
    ProgressStep { phase: Phase::Survey, done: (at.files_done + behind) as u64, total, bytes: 0, of_bytes: 0 }
}

struct SurveyedFiles {
    files: BlockFiles,
    survey: Survey,
    gap: GapWatch,
    /// The gap in the files at the last look, if it is reported.
    missing: Option<String>,
    waits_for_more: bool,
    /// The last block that broke a rule, and the rule.
    refused: Option<(BlockHash, String)>,
    /// Number of consecutive attempts at which a block had moved.
    moves: u32,
    /// Blocks with unusable undo data that were already reported.
    unusable: u64,
}

impl SurveyedFiles {
    /// Publishes the best height, that blocks come from readable files, what they lack, and that there is no mempool.
    fn publish(&mut self, index: &OpenIndex) {
        let now = now_secs();
        let gap = self.gap.look(&self.survey, Instant::now());
        index.readers.publish_best_height(gap::best_height(&self.survey, gap));
        let gap = gap.map(ToString::to_string);
        index.readers.publish_source(&SourceStatus {
            kind: SourceKind::Files,
            at: now,
            reachable: true,
            last_answer: Some(now),
            blocks: self.survey.tip().map(|tip| tip.height),
            gap: gap.clone(),
            ..SourceStatus::default()
        });
        self.missing = gap;
    }

    /// Reports the troubles that stay once the files could be read and their blocks are indexed: blocks are missing, or
    /// a branch is left out.
    fn report(&self, index: &OpenIndex) {
        if let Some(gap) = &self.missing {
            return index.troubles.set(Part::BlockFiles, gap, "waits for the missing blocks");
        }
        match self.refused.as_ref().filter(|_| self.survey.ignores_more_work()) {
            Some((_, why)) => index.troubles.set(
                Part::BlockFiles,
                &format!("a branch of blocks is ignored: {why}"),
                "follows the best of the other branches",
            ),
            None => index.troubles.clear(Part::BlockFiles),
        }
    }

    fn sync(&self, index: &mut OpenIndex, to: Option<Height>) -> Result<(), PipelineError> {
        let started = Instant::now();
        let tip = index.engine.tip()?;
        index.progress.begin(tip.map(|(height, _)| height));
        let options = SyncOptions { driver: Driver::Auto, to, ignore_undo: false };
        // The cost is logged when an index is made from nothing.
        let footprint = tip.is_none().then(|| Footprint::watch(&index.datadir));
        let report = index.engine.sync(&self.files, &self.survey, &options, index.progress.as_ref());
        index.progress.end();
        let report = report?;
        // The events of the new blocks are announced with them.
        let mut wrote = index.engine.follow_up(index.progress.as_ref(), !self.waits_for_more)?;
        wrote |= index.engine.follow_feed(u32::try_from(now_secs()).unwrap_or(u32::MAX))?;
        if wrote {
            index.engine.settle()?;
        }
        index.readers.publish_tip(report.tip);
        index.count(|figures| figures.blocks(report.connected, report.disconnected));
        logs::sync(&report, self.survey.tip().map(|tip| tip.height), started.elapsed());
        if let Some(footprint) = footprint.filter(|_| report.bulk) {
            logs::cost(&report, started.elapsed(), footprint.usage());
        }
        Ok(())
    }
}

/// True for an error that passes when a file is put in the place of another: a block has moved, or a file is gone that
/// was there when the folder was listed. If it stays away, the next look reports that it is missing.
fn is_passing(error: &SourceError) -> bool {
    match error {
        SourceError::BlockChanged { .. } => true,
        SourceError::Io { source, .. } => source.kind() == io::ErrorKind::NotFound,
        _ => false,
    }
}

/// Logs an error that may pass, and reports it as a trouble from the second attempt on.
fn report_passing(index: &OpenIndex, error: &SourceError, attempts: u32) {
    let next = "reads the block files again";
    tracing::warn!(%error, "{next}");
    if attempts > 1 {
        index.troubles.set(Part::BlockFiles, error, next);
    }
}

/// Waits until the files are looked at again; takes in files of the inbox meanwhile. True if cancelled.
fn pause(index: &OpenIndex) -> Result<bool, FollowError> {
    for _ in 0..4 {
        if index.cancel_token().wait(POLL / 4) {
            return Ok(true);
        }
        index.take_events()?;
        index.take_tweaks()?;
    }
    Ok(false)
}

impl ActiveSource for SurveyedFiles {
    fn advance(&mut self, index: &mut OpenIndex, to: Option<Height>) -> Result<Reached, FollowError> {
        self.publish(index);
        match self.sync(index, to) {
            Ok(()) => {
                self.moves = 0;
                self.report(index);
            }
            Err(PipelineError::Source(error)) if is_passing(&error) && self.moves < MOVES && self.waits_for_more => {
                self.moves += 1;
                report_passing(index, &error, self.moves);
            }
            Err(error) => return Err(error.into()),
        }
        if self.files.unusable_undo() > self.unusable {
            self.unusable = self.files.unusable_undo();
            tracing::warn!(
                blocks = self.unusable,
                "undo data of a very old node cannot be used: indexing without it takes longer"
            );
        }
        Ok(Reached::Tip)
    }

    fn wait(&mut self, index: &mut OpenIndex) -> Result<(), FollowError> {
        let mut vanished = 0;
        while !pause(index)? {
            let changed = match self.survey.refresh(&self.files) {
                Ok(refreshed) => refreshed.changed(),
                Err(error) if is_passing(&error) && vanished < MOVES => {
                    vanished += 1;
                    report_passing(index, &error, vanished);
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            vanished = 0;
            self.publish(index);
            if !index.paused && self.moves == 0 {
                self.report(index);
            }
            if changed || self.moves > 0 {
                break;
            }
        }
        Ok(())
    }

    fn check_complete(&self, index: &OpenIndex, to: Option<Height>) -> Result<(), FollowError> {
        let tip = index.height()?;
        match gap::at_the_end(&self.survey) {
            Some(gap) if to.is_none() || tip < to => Err(FollowError::CutShort { gap: gap.clone(), tip }),
            _ => Ok(()),
        }
    }

    fn part(&self) -> Part {
        Part::BlockFiles
    }

    /// Leaves out a block that breaks a rule. A node does the same, and keeps such a block in its files.
    fn recover(&mut self, index: &mut OpenIndex, error: &FollowError) -> Result<(), FollowError> {
        index.progress.end();
        let Some(hash) = error.refused_block() else { return Ok(()) };
        // Bulk work on one chain is of no use for another.
        if index.height()?.is_none() || self.refused.as_ref().is_some_and(|(before, _)| *before == hash) {
            return Ok(());
        }
        self.refused = Some((hash, error.to_string()));
        self.survey.reject(&self.files, &hash)?;
        Ok(())
    }

    fn end(self: Box<Self>, _: &mut OpenIndex) -> Result<(), FollowError> {
        Ok(())
    }
}
