//! How far the feed is, for streams.

use std::time::{Duration, Instant};

use cairn_link::IndexSource;
use parking_lot::Mutex;

/// How long it is remembered: a thousand streams ask for it four times a second.
const REMEMBERED: Duration = Duration::from_millis(200);

/// How far the feed is, as it was a moment ago.
#[derive(Default)]
pub(crate) struct FeedMark(Mutex<Option<(Instant, u64)>>);

impl FeedMark {
    /// A number that changes when there is something new; three rows are read at most, five times a second.
    pub(crate) fn read(&self, index: &dyn IndexSource) -> u64 {
        let mut known = self.0.lock();
        if let Some((_, mark)) = known.filter(|(at, _)| at.elapsed() < REMEMBERED) {
            return mark;
        }
        // Unreadable rows are reported to the request that needs them.
        let feed = index.reader().and_then(|reader| reader.view().ok()?.feed().span().ok()?);
        let mark = feed.map_or(0, |feed| end(index.feed_end(), feed.last) ^ u64::from(feed.epoch) << 32);
        *known = Some((Instant::now(), mark));
        mark
    }
}

/// The newest announcement that may be shown: one that is on disk. If the process is killed, the others are lost, and
/// later announcements get their numbers.
pub(crate) fn end(on_disk: Option<u64>, last: u64) -> u64 {
    on_disk.map_or(last, |on_disk| on_disk.min(last))
}
