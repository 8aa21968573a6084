//! Cursors: opaque tokens for the next page. A cursor is bound to the filters and to the chain: after a reorg below the
//! block that it names, it has expired.

use std::{borrow::Cow, ops::Deref};

use cairn_http::{ApiError, BadText, ErrorCode, Location, TextFormat, trimmed};
use cairn_model::{BlockHash, Height};
use cairn_reader::View;
use cairn_tables::headers::Headers;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::context::lacks;

/// Error for a cursor of another list.
pub(crate) const NO_FIT: &str = "does not match this list and these filters";

/// Cursors of all lists. Their form is checked with the other parameters, so that one answer names all that is wrong;
/// whether a cursor fits its list shows only when the list is read.
pub(crate) const CURSOR: TextFormat = TextFormat {
    name: "cursor",
    codes: &[],
    takes_numbers: false,
    canonical: trimmed,
    example: None,
    look: |_, text, _| {
        // A list that begins with unconfirmed transactions adds the sort key of the last one.
        let (head, key) = text.split_once('-').map_or((text, None), |(head, key)| (head, Some(key)));
        let is_hex = |text: &str, length: usize| text.len() == length && text.bytes().all(|b| b.is_ascii_hexdigit());
        if is_hex(head, 2 * LEN) && key.is_none_or(|key| is_hex(key, KEY_DIGITS)) {
            return Ok(());
        }
        Err(BadText::new(
            "is not a cursor; pass next_cursor of the previous page unchanged, or none for the first page",
        ))
    },
};

/// A cursor in a request.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(transparent)]
pub(crate) struct CursorParam(String);

impl Deref for CursorParam {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl JsonSchema for CursorParam {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Cursor".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "`next_cursor` of the previous page.",
            "minLength": 1,
            "maxLength": 256,
            "format": CURSOR.name,
        })
    }
}

/// Digits of a time in milliseconds and a txid.
pub(crate) const KEY_DIGITS: usize = 80;

/// A position in a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Cursor {
    /// The position, as the list counts.
    pub(crate) position: u64,
}

const VERSION: u8 = 1;
const LEN: usize = 1 + 8 + 8 + 4 + 32;

/// Fingerprint of a list's filters: the same for all its pages.
fn fingerprint(filters: &[&[u8]]) -> [u8; 8] {
    let mut hash = Sha256::new();
    for filter in filters {
        hash.update((filter.len() as u64).to_be_bytes());
        hash.update(filter);
    }
    let mut out = [0u8; 8];
    out.copy_from_slice(&hash.finalize()[..8]);
    out
}

impl Cursor {
    /// The token, bound to the filters and the tip of the view.
    pub(crate) fn token(self, view: &View<'_>, filters: &[&[u8]]) -> String {
        self.encode(view.tip().height, &view.tip().hash.0, filters)
    }

    /// The token, bound to the filters and to a block: for a list of which what follows depends on this block and those
    /// before it alone.
    pub(crate) fn token_at(self, view: &View<'_>, height: Height, filters: &[&[u8]]) -> Result<String, ApiError> {
        let row = view.header(height)?.ok_or_else(|| lacks::<Headers>(format!("block {height}")))?;
        Ok(self.encode(height, &row.hash.0, filters))
    }

    fn encode(self, height: Height, hash: &[u8; 32], filters: &[&[u8]]) -> String {
        let mut bytes = Vec::with_capacity(LEN);
        bytes.push(VERSION);
        bytes.extend_from_slice(&fingerprint(filters));
        bytes.extend_from_slice(&self.position.to_be_bytes());
        bytes.extend_from_slice(&height.to_be_bytes());
        bytes.extend_from_slice(hash);
        hex::encode(bytes)
    }

    fn decode(token: &str, filters: &[&[u8]]) -> Option<(Self, Height, [u8; 32])> {
        let bytes = (token.len() == 2 * LEN).then(|| hex::decode(token).ok())??;
        let (version, rest) = bytes.split_first()?;
        let (found, rest) = rest.split_first_chunk::<8>()?;
        let (position, rest) = rest.split_first_chunk::<8>()?;
        let (height, hash) = rest.split_first_chunk::<4>()?;
        let fits = *version == VERSION && *found == fingerprint(filters);
        let cursor = Cursor { position: u64::from_be_bytes(*position) };
        fits.then_some((cursor, u32::from_be_bytes(*height), hash.try_into().ok()?))
    }

    /// Reads a token of the same filters.
    ///
    /// # Errors
    /// Returns 422 for an invalid token; 409 after a reorg below the block that it is bound to.
    pub(crate) fn read(token: &str, view: &View<'_>, filters: &[&[u8]]) -> Result<Self, ApiError> {
        Cursor::read_from(token, view, filters, Location::Query)
    }

    /// The same, of a token that was given elsewhere.
    pub(crate) fn read_from(token: &str, view: &View<'_>, filters: &[&[u8]], at: Location) -> Result<Self, ApiError> {
        let (cursor, height, hash) =
            Cursor::decode(token, filters).ok_or_else(|| ApiError::validation(at, "cursor", NO_FIT))?;
        if view.chain().is(height, &BlockHash(hash)) { Ok(cursor) } else { Err(expired()) }
    }
}

fn expired() -> ApiError {
    let detail = "a reorg replaced blocks that the cursor refers to; start again from the first page";
    ApiError::new(ErrorCode::CursorExpired, detail)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn tokens_read_back_only_with_their_filters() {
        let token = Cursor { position: 77 }.encode(5, &[9; 32], &[b"a", b"b"]);
        assert_eq!(Cursor::decode(&token, &[b"a", b"b"]), Some((Cursor { position: 77 }, 5, [9; 32])));
        assert_eq!(Cursor::decode(&token, &[b"ab"]), None);
        assert_eq!(Cursor::decode(&token, &[b"ab", b""]), None);
    }

    proptest::proptest! {
        #[test]
        fn garbage_is_refused(token in "[0-9a-fé]{0,120}") {
            proptest::prop_assert!(Cursor::decode(&token, &[b"a"]).is_none());
        }
    }
}
