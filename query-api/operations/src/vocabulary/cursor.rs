//! Cursors: opaque tokens for the next page. A cursor is bound to the fingerprint of its request and to the chain:
//! after a reorg below the block that it names, it has expired.

use std::ops::Deref;

use cairn_http::{BadText, Fingerprint, Location, TextFormat};
use cairn_model::BlockHash;
use cairn_tables::headers::Headers;

use crate::{operation::prelude::*, parsed::schema};

/// Cursors of all lists. Their form is checked with the other parameters, so that one answer names all that is wrong;
/// whether a cursor fits its list shows only when the list is read.
pub(crate) const CURSOR: TextFormat = TextFormat::trimmed("cursor", |_, text, _| {
    // A list that begins with unconfirmed transactions adds the sort key of the last one.
    let (head, key) = text.split_once('-').map_or((text, None), |(head, key)| (head, Some(key)));
    let is_hex = |text: &str, length: usize| text.len() == length && text.bytes().all(|b| b.is_ascii_hexdigit());
    if is_hex(head, 2 * LEN) && key.is_none_or(|key| is_hex(key, KEY_DIGITS)) {
        return Ok(());
    }
    Err(BadText::new("is not a cursor; pass next_cursor of the previous page unchanged, or none for the first page"))
});

#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(transparent)]
pub(crate) struct CursorParam(String);

impl Deref for CursorParam {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

schema!(inline CursorParam, "Cursor", {
    "type": "string",
    "description": "`next_cursor` of the previous page.",
    "minLength": 1,
    "maxLength": 256,
    "format": CURSOR.name,
});

/// Digits of a time in milliseconds and a txid.
pub(crate) const KEY_DIGITS: usize = 80;

const VERSION: u8 = 1;
const LEN: usize = 1 + 8 + 8 + 4 + 32;

/// The cursors of one list, each for a position in it, as the list counts.
#[derive(Clone, Copy)]
pub(crate) struct Cursors<'v> {
    view: &'v View<'v>,
    fingerprint: [u8; 8],
    location: Location,
}

impl<'v> Cursors<'v> {
    /// The cursors of the list with this fingerprint, in the query string.
    pub(crate) fn new(view: &'v View<'v>, fingerprint: &Fingerprint) -> Self {
        Cursors { view, fingerprint: fingerprint.hash(), location: Location::Query }
    }

    /// The same cursors in the body.
    pub(crate) fn in_body(self) -> Self {
        Cursors { location: Location::Body, ..self }
    }

    /// Returns the token for a position, bound to the tip of the view.
    pub(crate) fn token(&self, position: u64) -> String {
        let tip = self.view.tip();
        encode(self.fingerprint, position, tip.height, &tip.hash.0)
    }

    /// Returns the token for a position, bound to a block: for a list whose further rows depend on this block and those
    /// before it alone.
    pub(crate) fn token_at(&self, height: Height, position: u64) -> Result<String, ApiError> {
        let row = self.view.header(height)?.ok_or_else(|| lacks::<Headers>(format!("block {height}")))?;
        Ok(encode(self.fingerprint, position, height, &row.hash.0))
    }

    /// Reads the position of a token of this list.
    ///
    /// # Errors
    /// 422 for an invalid token; 409 after a reorg below the block that it is bound to.
    pub(crate) fn read(&self, token: &str) -> Result<u64, ApiError> {
        let (position, height, hash) = decode(self.fingerprint, token).ok_or_else(|| self.no_fit())?;
        if self.view.chain().is(height, &BlockHash(hash)) { Ok(position) } else { Err(expired()) }
    }

    /// The error for a cursor of another list.
    pub(crate) fn no_fit(&self) -> ApiError {
        ApiError::validation(self.location, "cursor", "does not match this list and these filters")
    }
}

fn encode(fingerprint: [u8; 8], position: u64, height: Height, hash: &[u8; 32]) -> String {
    let mut bytes = Vec::with_capacity(LEN);
    bytes.push(VERSION);
    bytes.extend_from_slice(&fingerprint);
    bytes.extend_from_slice(&position.to_be_bytes());
    bytes.extend_from_slice(&height.to_be_bytes());
    bytes.extend_from_slice(hash);
    hex::encode(bytes)
}

/// Position, height and hash of a token with this fingerprint.
fn decode(fingerprint: [u8; 8], token: &str) -> Option<(u64, Height, [u8; 32])> {
    let bytes = (token.len() == 2 * LEN).then(|| hex::decode(token).ok())??;
    let (version, rest) = bytes.split_first()?;
    let (found, rest) = rest.split_first_chunk::<8>()?;
    let (position, rest) = rest.split_first_chunk::<8>()?;
    let (height, hash) = rest.split_first_chunk::<4>()?;
    let fits = *version == VERSION && *found == fingerprint;
    fits.then_some((u64::from_be_bytes(*position), u32::from_be_bytes(*height), hash.try_into().ok()?))
}

fn expired() -> ApiError {
    let detail = "a reorg replaced blocks that the cursor refers to; start again from the first page";
    ApiError::new(ErrorCode::CursorExpired, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_read_back_only_with_their_fingerprint() {
        let token = encode([1; 8], 77, 5, &[9; 32]);
        assert_eq!(decode([1; 8], &token), Some((77, 5, [9; 32])));
        assert_eq!(decode([2; 8], &token), None);
        assert_eq!(decode([1; 8], &token.replacen("01", "02", 1)), None);
    }

    proptest::proptest! {
        #[test]
        fn garbage_is_refused(token in "[0-9a-fé]{0,120}") {
            proptest::prop_assert!(decode([1; 8], &token).is_none());
        }
    }
}
