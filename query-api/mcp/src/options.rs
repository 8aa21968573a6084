//! What the protocol's routes are given.

use cairn_http::MAX_TOOL_ANSWER;
use cairn_model::CancelToken;

/// Limits, and the shutdown signal.
#[derive(Clone, Debug)]
pub struct Options {
    /// Maximum number of open streams of the old transport.
    pub max_streams: usize,
    /// Maximum number of open streams of the old transport per client.
    pub max_streams_per_client: usize,
    /// Maximum number of messages in a batch.
    pub max_batch: usize,
    /// Maximum size of a tool's answer in bytes of JSON. A larger answer becomes an error that says how to request
    /// less.
    pub max_answer_bytes: usize,
    /// Cancelled when the server stops; streams then end.
    pub stop: CancelToken,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            max_streams: 256,
            max_streams_per_client: 32,
            max_batch: 20,
            max_answer_bytes: MAX_TOOL_ANSWER,
            stop: CancelToken::new(),
        }
    }
}
