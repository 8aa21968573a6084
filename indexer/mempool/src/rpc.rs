//! Requests, and the pause after a failed one.

use cairn_node::NodeError;

/// First pause in milliseconds; it doubles with each failure.
const FIRST_PAUSE: u64 = 100;
/// Maximum pause in milliseconds.
const LONGEST_PAUSE: u64 = 5_000;

#[derive(Debug, Default)]
pub(crate) struct Rpc {
    /// Before this time (in elapsed milliseconds), no request is sent.
    paused_until: u64,
    failures: u32,
    error: Option<String>,
}

impl Rpc {
    /// Milliseconds until the next request may be sent; 0 for now.
    pub(crate) fn pause(&self, passed: u64) -> u64 {
        self.paused_until.saturating_sub(passed)
    }

    pub(crate) fn error(&self) -> Option<&str> {
        self.error.as_deref()
    }

    /// Records the result of a request. After an error there is a pause.
    pub(crate) fn note<T>(&mut self, outcome: Result<T, NodeError>, passed: u64) -> Result<T, NodeError> {
        match &outcome {
            Ok(_) => {
                (self.failures, self.error) = (0, None);
                self.paused_until = 0;
            }
            Err(error) => {
                let pause = FIRST_PAUSE.saturating_mul(1 << self.failures.min(10)).min(LONGEST_PAUSE);
                self.failures = self.failures.saturating_add(1);
                self.paused_until = passed.saturating_add(pause);
                let words = error.to_string();
                if self.error.as_ref() != Some(&words) {
                    tracing::warn!(error = words, "the node does not answer; the mempool waits");
                    self.error = Some(words);
                }
            }
        }
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_until_an_answer_comes() {
        let mut rpc = Rpc::default();
        for pause in [100, 200, 400, 800, 1600, 3200, 5000, 5000] {
            assert!(rpc.note::<()>(Err(NodeError::Unsettled), 1_000).is_err());
            assert_eq!((rpc.pause(1_000), rpc.pause(1_000 + pause)), (pause, 0));
        }
        assert!(rpc.error().is_some());
        assert_eq!(rpc.note(Ok(5), 1_000).ok(), Some(5));
        assert_eq!((rpc.pause(1_000), rpc.error()), (0, None));
    }
}
