//! Assessment of the owner of an address.

use cairn_domain::claims;
use cairn_http::ApiError;
use cairn_tables::labels::ScriptHash;
use schemars::JsonSchema;
use serde::Serialize;

use super::label::ShortLabel;
use crate::context::Ctx;

/// State of an assessment: the first that applies.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum AssessmentState {
    // No label source is loaded.
    NotExamined,
    // A claim is contested by the holder of the key or by the operator.
    Contested,
    // Sources name different entities, and none has three quarters of the votes.
    Conflicted,
    // A direct claim of level 40 or more stands.
    Labeled,
    // Only weaker or inherited claims stand.
    Inferred,
    // Only behaviour was observed.
    ObservedOnly,
    // No block has a transaction of it; unconfirmed ones do not count.
    NoHistory,
    // Labels are loaded, and none is about it.
    ExaminedNoMatch,
}

impl AssessmentState {
    /// The state of a judgement.
    pub(crate) fn of(state: claims::Assessment) -> Self {
        match state {
            claims::Assessment::NotExamined => AssessmentState::NotExamined,
            claims::Assessment::Contested => AssessmentState::Contested,
            claims::Assessment::Conflicted => AssessmentState::Conflicted,
            claims::Assessment::Labeled => AssessmentState::Labeled,
            claims::Assessment::Inferred => AssessmentState::Inferred,
            claims::Assessment::ObservedOnly => AssessmentState::ObservedOnly,
            claims::Assessment::NoHistory => AssessmentState::NoHistory,
            claims::Assessment::ExaminedNoMatch => AssessmentState::ExaminedNoMatch,
        }
    }

    /// The state in words.
    pub(crate) fn words(self) -> &'static str {
        match self {
            AssessmentState::NotExamined => "no labels are loaded",
            AssessmentState::Contested => "a claim is contested",
            AssessmentState::Conflicted => "sources disagree",
            AssessmentState::Labeled => "labeled by a source",
            AssessmentState::Inferred => "weak claims only",
            AssessmentState::ObservedOnly => "only behaviour was observed",
            AssessmentState::NoHistory => "never seen in a block",
            AssessmentState::ExaminedNoMatch => "no label found",
        }
    }
}

/// What is known about the owner.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Assessment {
    /// The state of the label; without one `no_history` if no block has a transaction of it (unconfirmed ones do not count),
    /// `not_examined` if no labels are loaded, otherwise `examined_no_match`. `trust-safety` says what it rests on.
    state: AssessmentState,
    /// Who or what sources say it is; null if no claim tells.
    label: Option<ShortLabel>,
}

impl Assessment {
    /// The assessment that follows from the label that is kept of a script. One row read, or two without a label.
    pub(crate) fn find(ctx: &Ctx<'_>, script: &[u8; 32], has_history: bool) -> Result<Self, ApiError> {
        let view = ctx.view()?;
        let kept = view.label(&ScriptHash(*script))?;
        let label = kept.and_then(|kept| ShortLabel::of(&kept, ctx.now()));
        let state = match &label {
            Some(label) => label.state(),
            None if !has_history => AssessmentState::NoHistory,
            // Without an input event there is no claim.
            None if view.tip().seq == 0 || !view.has_claims()? => AssessmentState::NotExamined,
            None => AssessmentState::ExaminedNoMatch,
        };
        Ok(Assessment { state, label })
    }
}
