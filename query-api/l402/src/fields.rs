//! Fields of the binary format: type, length, content. The types are 1 byte each; a length is a varint.

use thiserror::Error;

const END_OF_SECTION: u8 = 0;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Kind {
    Location = 1,
    Identifier = 2,
    VerificationId = 4,
    Signature = 6,
}

/// Why bytes are not the field that must stand there.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub(crate) enum FieldError {
    #[error("the bytes end within a field")]
    End,
    #[error("a length is not in its shortest form, or is 16384 or more")]
    Length,
    #[error("another field stands there")]
    Kind,
}

/// Reads fields, from the first to the last.
pub(crate) struct Fields<'b> {
    rest: &'b [u8],
}

impl<'b> Fields<'b> {
    pub(crate) fn new(bytes: &'b [u8]) -> Self {
        Self { rest: bytes }
    }

    /// True if no byte is left.
    pub(crate) fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    /// Takes the field that comes next if it has this type.
    pub(crate) fn optional(&mut self, kind: Kind) -> Result<Option<&'b [u8]>, FieldError> {
        if self.rest.first() != Some(&(kind as u8)) {
            return Ok(None);
        }
        self.byte()?;
        let length = self.length()?;
        let (content, rest) = self.rest.split_at_checked(length).ok_or(FieldError::End)?;
        self.rest = rest;
        Ok(Some(content))
    }

    /// Takes the field that comes next, which has this type.
    pub(crate) fn required(&mut self, kind: Kind) -> Result<&'b [u8], FieldError> {
        let missing = if self.is_at_end() { FieldError::End } else { FieldError::Kind };
        self.optional(kind)?.ok_or(missing)
    }

    /// Takes the end of a section if it comes next.
    pub(crate) fn is_section_over(&mut self) -> Result<bool, FieldError> {
        let (first, rest) = self.rest.split_first().ok_or(FieldError::End)?;
        let is_over = *first == END_OF_SECTION;
        if is_over {
            self.rest = rest;
        }
        Ok(is_over)
    }

    fn byte(&mut self) -> Result<u8, FieldError> {
        let (first, rest) = self.rest.split_first().ok_or(FieldError::End)?;
        self.rest = rest;
        Ok(*first)
    }

    /// Takes a varint of 1 or 2 bytes in its shortest form: more than a macaroon of 4 096 bytes needs.
    fn length(&mut self) -> Result<usize, FieldError> {
        let low = self.byte()?;
        if low < 0x80 {
            return Ok(low.into());
        }
        let high = self.byte()?;
        if !(1..0x80).contains(&high) {
            return Err(FieldError::Length);
        }
        Ok(usize::from(low & 0x7f) | usize::from(high) << 7)
    }
}

pub(crate) fn append(bytes: &mut Vec<u8>, kind: Kind, content: &[u8]) {
    bytes.push(kind as u8);
    let mut length = content.len();
    while length >= 0x80 {
        bytes.push((length & 0x7f) as u8 | 0x80);
        length >>= 7;
    }
    bytes.push(length as u8);
    bytes.extend_from_slice(content);
}

pub(crate) fn end_section(bytes: &mut Vec<u8>) {
    bytes.push(END_OF_SECTION);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Result<&[u8], FieldError> {
        Fields::new(bytes).required(Kind::Identifier)
    }

    /// Varints of libmacaroons' test/varint.c (ca0211d) up to the largest one of 2 bytes.
    #[test]
    fn lengths_are_varints() {
        for (length, varint) in [(0, "00"), (5, "05"), (127, "7f"), (128, "8001"), (16_383, "ff7f")] {
            let content = vec![7u8; length];
            let mut bytes = Vec::new();
            append(&mut bytes, Kind::Identifier, &content);
            assert!(hex::encode(&bytes).starts_with(&format!("02{varint}")), "{length}");
            assert_eq!(read(&bytes), Ok(&content[..]));
        }
    }

    /// Cases of go-macaroon's packet-v2_test.go (1679699), and lengths in a longer form, which it takes.
    #[test]
    fn malformed_fields_are_refused() {
        for (bytes, error) in [
            (&b""[..], FieldError::End),
            (b"\x02", FieldError::End),
            (b"\x02\x80", FieldError::End),
            (b"\x02\x02a", FieldError::End),
            (b"\x02\xff\xff\xff\xff\xff\xff\x7f", FieldError::Length),
            (b"\x02\x81\x00a", FieldError::Length),
            (b"\x02\x80\x80\x01", FieldError::Length),
            (b"\x01\x00", FieldError::Kind),
            (b"\x82\x00\x01a", FieldError::Kind),
        ] {
            assert_eq!(read(bytes), Err(error), "{bytes:?}");
        }
    }
}
