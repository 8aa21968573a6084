//! Provenance of events.

use std::{fmt, str::FromStr};

/// SHA-256 of the bytes of a document as they were received; of a packed file, of its content; of rows that a fetcher
/// brings, of the rows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct DocumentHash(pub [u8; 32]);

impl fmt::Display for DocumentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Not a hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not the SHA-256 of a document: write 64 small hexadecimal digits")]
pub struct DocumentHashError;

impl FromStr for DocumentHash {
    type Err = DocumentHashError;

    fn from_str(text: &str) -> Result<Self, DocumentHashError> {
        let small = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if text.len() != 64 || !small {
            return Err(DocumentHashError);
        }
        let mut hash = [0; 32];
        for (to, digits) in hash.iter_mut().zip(text.as_bytes().chunks(2)) {
            let digits = str::from_utf8(digits).map_err(|_| DocumentHashError)?;
            *to = u8::from_str_radix(digits, 16).map_err(|_| DocumentHashError)?;
        }
        Ok(DocumentHash(hash))
    }
}

/// Short name of a source or licence: 1 to 32 small letters, digits, dots, hyphens and underscores.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Slug(String);

/// Not a short name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a short name; write 1 to 32 small letters, digits, dots, hyphens and underscores")]
pub struct SlugError;

impl Slug {
    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Slug {
    type Err = SlugError;

    fn from_str(text: &str) -> Result<Self, SlugError> {
        let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b".-_".contains(&byte);
        let valid = (1..=32).contains(&text.len()) && text.bytes().all(allowed);
        if valid { Ok(Slug(text.to_owned())) } else { Err(SlugError) }
    }
}

impl fmt::Display for Slug {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Provenance of a document.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Provenance {
    /// The source. Quotes of one source for one candle replace each other; those of different sources coexist.
    pub source: Slug,
    /// The licence under which it is used, as SPDX identifier in small letters where there is one, else a short name.
    pub licence: Slug,
    /// Where it was fetched, or the name of the file; without credentials. At most 2,000 bytes.
    pub origin: String,
    /// When it was fetched or, for a file, last written: seconds since 1970 (UTC). The newer of two documents of a
    /// source replaces the older one's statements; at the same second, the one with the greater hash counts as newer.
    pub retrieved_at: u32,
    /// Its hash.
    pub document: DocumentHash,
}
