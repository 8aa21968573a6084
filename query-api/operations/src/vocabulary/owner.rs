//! Assessment of the owner of an address, as its kept label has it.

use cairn_tables::labels::ScriptHash;

use super::{assessment::AssessmentState, label::ShortLabel};
use crate::operation::prelude::*;

/// Known facts about the owner.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Assessment {
    /// State of the label. Without a label: `no_history` if no block has a transaction of the address (unconfirmed ones
    /// do not count), `not_examined` if no labels are loaded, otherwise `examined_no_match`. `trust-safety` says on
    /// what the label rests, and also counts claims that the address inherits from its cluster.
    state: AssessmentState,
    /// Owner or kind according to the claims of sources; null without such a claim.
    label: Option<ShortLabel>,
}

impl Assessment {
    /// The assessment that follows from the label that is kept of a script. One row read.
    pub(crate) fn find(ctx: &Ctx<'_>, script: &[u8; 32], has_history: bool) -> Result<Self, ApiError> {
        let view = ctx.view()?;
        let kept = view.labels().of_hash(&ScriptHash(*script))?;
        let label = kept.and_then(|kept| ShortLabel::of(&kept, ctx.now()));
        let state = match &label {
            Some(label) => label.state(),
            None if !has_history => AssessmentState::NoHistory,
            None if !view.claims().has_any()? => AssessmentState::NotExamined,
            None => AssessmentState::ExaminedNoMatch,
        };
        Ok(Assessment { state, label })
    }
}
