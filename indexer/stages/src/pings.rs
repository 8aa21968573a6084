//! `pings`: transactions that pay dust to others which have a history. It hears the groups of the stage `scripts`.

use cairn_domain::dust;
use cairn_model::ScriptId;
use cairn_tables::{
    pings::{PingRow, Pings},
    stages::{self, StageInfo},
};

use crate::{
    deltas::{Lane, StageError},
    hearing::HearContext,
    per_tx::{Finder, PerTxStage, lanes},
    scripts::Change,
};

pub(crate) struct PingsStage;

// A change of the rules must also raise the version of this stage and of the late stage `dust`.
const _: () = assert!(dust::RULES == 2);

impl PerTxStage for PingsStage {
    const INFO: StageInfo = stages::PINGS;
    const LANES: [Lane; 2] = lanes::<Pings>("pinged");

    type Table = Pings;
    type Found = PingRow;
    type Finder<'c> = PingFinder<'c>;

    fn finder(context: HearContext<'_>) -> PingFinder<'_> {
        PingFinder { context, script: None }
    }

    fn row(first: PingRow, scripts: usize) -> PingRow {
        PingRow { scripts: scripts as u32, ..first }
    }
}

/// Finds the pings, script by script.
pub(crate) struct PingFinder<'c> {
    context: HearContext<'c>,
    /// The script of the transaction before: one that comes again has a history.
    script: Option<ScriptId>,
}

impl Finder for PingFinder<'_> {
    type Found = PingRow;

    fn find(&mut self, script: ScriptId, change: &Change) -> Result<Option<PingRow>, StageError> {
        let has_history = self.script.replace(script) == Some(script);
        // Look up only scripts that receive dust.
        let Some(ping) = change.ping() else { return Ok(None) };
        Ok((has_history || self.context.past.is_known(script)?).then_some(ping))
    }
}
