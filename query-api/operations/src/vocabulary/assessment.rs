//! Assessment of the owner of an address.

use schemars::JsonSchema;
use serde::Serialize;

/// State of an assessment: the first that applies.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum AssessmentState {
    // No label source is loaded.
    NotExamined,
    // No block has a transaction of it; unconfirmed ones do not count.
    NoHistory,
}

/// What is known about the owner.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Assessment {
    /// `no_history` if no block has a transaction of it (unconfirmed ones do not count); otherwise `not_examined` if no
    /// label source is loaded.
    state: AssessmentState,
}

impl Assessment {
    /// The assessment of an address without labels.
    pub(crate) fn unlabeled(has_history: bool) -> Self {
        Assessment { state: if has_history { AssessmentState::NotExamined } else { AssessmentState::NoHistory } }
    }
}
