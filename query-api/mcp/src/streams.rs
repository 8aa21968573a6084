//! Unsent messages of the streams of the old transport.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tokio::sync::mpsc::Sender;

/// Maximum size of the unread answers of a stream in bytes. The first one may be longer.
const MAX_UNREAD: usize = 1 << 20;

/// An answer that nobody has read yet. It counts for its stream until it is dropped.
pub(crate) struct UnreadAnswer {
    pub(crate) text: String,
    counted: Arc<AtomicUsize>,
}

impl UnreadAnswer {
    /// Counts an answer, if there is room for it.
    fn count(text: String, counted: &Arc<AtomicUsize>) -> Option<Self> {
        let before = counted.fetch_add(text.len(), Ordering::Relaxed);
        let unread = UnreadAnswer { text, counted: Arc::clone(counted) };
        // Dropping it takes it off.
        (before == 0 || before.saturating_add(unread.text.len()) <= MAX_UNREAD).then_some(unread)
    }
}

impl Drop for UnreadAnswer {
    fn drop(&mut self) {
        self.counted.fetch_sub(self.text.len(), Ordering::Relaxed);
    }
}

/// Where the answers of a stream go.
#[derive(Clone)]
pub(crate) struct Outlet {
    pub(crate) sender: Sender<UnreadAnswer>,
    unread: Arc<AtomicUsize>,
}

impl Outlet {
    pub(crate) fn new(sender: Sender<UnreadAnswer>) -> Self {
        Outlet { sender, unread: Arc::default() }
    }

    /// An answer to send; `None` if too much is unread.
    pub(crate) fn count(&self, text: String) -> Option<UnreadAnswer> {
        UnreadAnswer::count(text, &self.unread)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unread_answers_are_bounded() {
        let (sender, _receiver) = tokio::sync::mpsc::channel(4);
        let outlet = Outlet::new(sender);
        let first = outlet.count("x".repeat(2 * MAX_UNREAD)).unwrap();
        assert!(outlet.count("x".to_owned()).is_none());
        drop(first);
        let half = outlet.count("x".repeat(MAX_UNREAD / 2)).unwrap();
        let other = outlet.count("x".repeat(MAX_UNREAD / 2)).unwrap();
        assert!(outlet.count("x".to_owned()).is_none());
        drop((half, other));
        assert_eq!(outlet.unread.load(Ordering::Relaxed), 0);
    }
}
