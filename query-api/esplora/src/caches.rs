//! Answers that many requests share.

/// Answers that many requests share.
#[derive(Debug, Default)]
pub(crate) struct Caches {}
