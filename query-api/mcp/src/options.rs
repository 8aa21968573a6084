//! What the protocol's routes are given.

use cairn_http::MAX_TOOL_ANSWER;
use cairn_model::CancelToken;

/// Bounds, and the end.
#[derive(Clone, Debug)]
pub struct Options {
    /// Open streams of the old transport, over all clients.
    pub max_streams: usize,
    /// Open streams of the old transport of one client, as limits count clients.
    pub max_streams_per_client: usize,
    /// Messages in a batch.
    pub max_batch: usize,
    /// Largest answer of a tool in bytes of JSON; a larger one becomes a failure that says how to ask for less.
    pub max_answer_bytes: usize,
    /// Cancelled when the server stops: streams end then.
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
