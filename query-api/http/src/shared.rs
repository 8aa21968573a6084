//! What all requests share.

use std::sync::Arc;

use cairn_link::IndexSource;

use crate::{
    admission::Admission, budget::Budgets, config::ApiConfig, document::Document, metrics::Metrics, node::NodeAccess,
    operation::Registered, session::Sessions,
};

/// What all requests share.
pub(crate) struct Shared {
    pub(crate) index: Arc<dyn IndexSource>,
    pub(crate) config: ApiConfig,
    pub(crate) node: Option<Arc<dyn NodeAccess>>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) sessions: Sessions,
    pub(crate) operations: Vec<Registered>,
    pub(crate) admission: Admission,
    pub(crate) budgets: Budgets,
    /// Version of the configuration, as far as answers show it.
    pub(crate) state_version: [u8; 16],
    pub(crate) documents: Vec<Document>,
}
