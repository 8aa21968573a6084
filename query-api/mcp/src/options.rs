//! Options of the protocol's routes.

use std::time::Duration;

use cairn_http::MAX_TOOL_ANSWER;
use cairn_model::CancelToken;

/// Default of [`Options::short_answer_bytes`]: what a model reads without losing the thread.
pub const SHORT_TOOL_ANSWER: usize = 24_000;

/// Limits, and the shutdown signal.
#[derive(Clone, Debug)]
pub struct Options {
    /// Maximum number of open streams of the old transport. Beyond it, a client whose network has fewer than another
    /// takes the place of the other's stream that was silent longest.
    pub max_streams: usize,
    /// Maximum number of open streams of the old transport per client.
    pub max_streams_per_client: usize,
    /// Maximum number of messages in a batch.
    pub max_batch: usize,
    /// Maximum size of all answers of a batch in bytes. An answer that does not fit becomes an error that says so.
    pub max_batch_bytes: usize,
    /// A stream of the old transport without a message for this long ends.
    pub stream_idle: Duration,
    /// Size of a tool's answer in bytes of JSON beyond which its lists are cut, unless the request names a limit.
    pub short_answer_bytes: usize,
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
            max_batch_bytes: 1 << 20,
            stream_idle: Duration::from_secs(10 * 60),
            short_answer_bytes: SHORT_TOOL_ANSWER,
            max_answer_bytes: MAX_TOOL_ANSWER,
            stop: CancelToken::new(),
        }
    }
}
