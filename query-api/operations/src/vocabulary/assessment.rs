//! States of an assessment of the owner of an address.

use cairn_domain::claims;
use schemars::JsonSchema;
use serde::Serialize;

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
