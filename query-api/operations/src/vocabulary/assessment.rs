//! How far it is known whom an address belongs to.

use schemars::JsonSchema;
use serde::Serialize;

/// State of an assessment, first that holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum AssessmentState {
    // No label source is loaded.
    NotExamined,
    // No block has a transaction of it, whatever is unconfirmed.
    NoHistory,
}

/// What is known about whom it belongs to.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Assessment {
    /// `no_history` if no block has a transaction of it, whatever is unconfirmed; else `not_examined` where no label
    /// source is loaded.
    state: AssessmentState,
}

impl Assessment {
    /// Of an address that the chain knows, or does not.
    pub(crate) fn unlabeled(has_history: bool) -> Self {
        Assessment { state: if has_history { AssessmentState::NotExamined } else { AssessmentState::NoHistory } }
    }
}
