//! The feed: announcements and their retractions.

use cairn_model::Height;
use cairn_tables::{
    Table, encode_key,
    feed::{Announced, AnnouncedKey, Feed, FeedRow},
};

use crate::{ReadError, subjects::FeedView};

/// Most announcements that are read in one look-up.
pub const MAX_ANNOUNCED: usize = 1_000;

/// The whole feed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FeedSpan {
    /// When it began, in seconds since 1970: another feed has another time.
    pub epoch: u32,
    /// Sequence number of the newest announcement.
    pub last: u64,
}

impl FeedView<'_> {
    /// The feed; `None` if none has begun. Two rows read.
    pub fn span(self) -> Result<Option<FeedSpan>, ReadError> {
        let Some(begun) = self.view.get::<Feed>(&0)? else { return Ok(None) };
        let mut rows = self.view.raw_iterator::<Feed>()?;
        self.view.count(Feed::NAME)?;
        rows.seek_for_prev(encode_key::<Feed>(&u64::MAX));
        rows.status().map_err(|e| ReadError::of_table(Feed::NAME, e))?;
        let last = rows.key().filter(|key| key.first().copied() == Feed::TAG).map(Feed::decode_key).transpose()?;
        Ok(Some(FeedSpan { epoch: begun.at, last: last.unwrap_or(0) }))
    }

    /// An announcement. One row read.
    pub fn announcement(self, seq: u64) -> Result<Option<FeedRow>, ReadError> {
        self.view.get::<Feed>(&seq)
    }

    /// Announcements with the `limit` sequence numbers from `from` on, at most [`MAX_ANNOUNCED`], ascending, in one
    /// look-up. Those that a repair dropped are left out.
    pub fn announcements(self, from: u64, limit: usize) -> Result<Vec<(u64, FeedRow)>, ReadError> {
        let end = from.saturating_add(limit.min(MAX_ANNOUNCED) as u64);
        let seqs: Vec<u64> = (from..end).collect();
        let rows = self.view.rows_of_many::<Feed>(&seqs)?;
        Ok(seqs.into_iter().zip(rows).filter_map(|(seq, row)| Some((seq, row?))).collect())
    }

    /// Which of these announcements stand, in their order, in one look-up.
    pub fn stand(self, of: &[AnnouncedKey]) -> Result<Vec<bool>, ReadError> {
        Ok(self.view.rows_of_each::<Announced>(of)?.iter().map(Option::is_some).collect())
    }

    /// The greatest height below `below` that something was announced about and still stands, with the sequence
    /// numbers, ascending: the first is that of the block. `None` if there is none.
    pub fn announced_below(self, below: Option<Height>) -> Result<Option<(Height, Vec<u64>)>, ReadError> {
        let end = AnnouncedKey { height: below.unwrap_or(Height::MAX), seq: 0 };
        let mut rows = self.view.raw_iterator::<Announced>()?;
        rows.seek_for_prev(encode_key::<Announced>(&end));
        let mut found: Option<(Height, Vec<u64>)> = None;
        loop {
            self.view.count(Announced::NAME)?;
            rows.status().map_err(|e| ReadError::of_table(Announced::NAME, e))?;
            let Some(key) = rows.key().filter(|key| key.first().copied() == Announced::TAG) else { break };
            let AnnouncedKey { height, seq } = Announced::decode_key(key)?;
            let (of, seqs) = found.get_or_insert_with(|| (height, Vec::new()));
            if *of != height {
                break;
            }
            seqs.push(seq);
            rows.prev();
        }
        Ok(found.map(|(height, mut seqs)| {
            seqs.reverse();
            (height, seqs)
        }))
    }
}
