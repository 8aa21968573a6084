//! A reader over bytes that never panics and never copies.

/// Largest value that Bitcoin Core accepts as a CompactSize of a count or length.
const MAX_COMPACT_SIZE: u64 = 0x0200_0000;

/// Errors of reading primitive values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The bytes end inside a value.
    #[error("the data ends early")]
    Truncated,
    /// A CompactSize is not in its shortest form.
    #[error("a count is not in its shortest form")]
    NonCanonical,
    /// A count or a number is larger than the data or the protocol allows.
    #[error("a count or number is too large")]
    TooLarge,
}

#[derive(Clone)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Cursor { bytes, at: 0 }
    }

    /// Bytes consumed so far.
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    pub(crate) fn remaining(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// The next byte, not consumed.
    pub(crate) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Bytes between two positions that were already passed.
    pub(crate) fn between(&self, from: usize, to: usize) -> &'a [u8] {
        self.bytes.get(from..to).unwrap_or_default()
    }

    #[inline]
    pub(crate) fn take(&mut self, n: usize) -> Result<&'a [u8], ReadError> {
        // `at` never exceeds the length, so the tail always exists.
        let taken = self.bytes.get(self.at..).and_then(|tail| tail.get(..n)).ok_or(ReadError::Truncated)?;
        self.at += n;
        Ok(taken)
    }

    #[inline]
    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], ReadError> {
        let mut out = [0u8; N];
        out.copy_from_slice(self.take(N)?);
        Ok(out)
    }

    #[inline]
    pub(crate) fn u8(&mut self) -> Result<u8, ReadError> {
        let byte = self.peek().ok_or(ReadError::Truncated)?;
        self.at += 1;
        Ok(byte)
    }

    #[inline]
    pub(crate) fn u32(&mut self) -> Result<u32, ReadError> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    #[inline]
    pub(crate) fn u64(&mut self) -> Result<u64, ReadError> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// A CompactSize, with the checks of Bitcoin Core's `ReadCompactSize`.
    #[inline]
    pub(crate) fn compact_size(&mut self) -> Result<usize, ReadError> {
        let (value, least) = match self.u8()? {
            0xfd => (u64::from(u16::from_le_bytes(self.array()?)), 0xfd),
            0xfe => (u64::from(self.u32()?), 0x1_0000),
            0xff => (self.u64()?, 0x1_0000_0000),
            small => return Ok(usize::from(small)),
        };
        if value < least {
            return Err(ReadError::NonCanonical);
        }
        if value > MAX_COMPACT_SIZE {
            return Err(ReadError::TooLarge);
        }
        Ok(value as usize)
    }

    /// A count of items of at least `least` bytes each. A count that exceeds the remaining bytes is refused before
    /// anything is allocated.
    #[inline]
    pub(crate) fn count(&mut self, least: usize) -> Result<usize, ReadError> {
        let n = self.compact_size()?;
        if n > self.remaining() / least { Err(ReadError::TooLarge) } else { Ok(n) }
    }

    /// Bitcoin Core's VARINT (base 128, most significant first, one form for each number); not a CompactSize.
    #[inline]
    pub(crate) fn varint(&mut self) -> Result<u64, ReadError> {
        let mut n: u64 = 0;
        loop {
            let byte = self.u8()?;
            if n > u64::MAX >> 7 {
                return Err(ReadError::TooLarge);
            }
            n = n << 7 | u64::from(byte & 0x7f);
            if byte & 0x80 == 0 {
                return Ok(n);
            }
            n = n.checked_add(1).ok_or(ReadError::TooLarge)?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compact_size_has_one_form() {
        let read = |b: &[u8]| Cursor::new(b).compact_size();
        assert_eq!(read(&[0xfc]), Ok(0xfc));
        assert_eq!(read(&[0xfd, 0xfd, 0]), Ok(0xfd));
        assert_eq!(read(&[0xfd, 0xfc, 0]), Err(ReadError::NonCanonical));
        assert_eq!(read(&[0xfe, 0xff, 0xff, 0, 0]), Err(ReadError::NonCanonical));
        assert_eq!(read(&[0xfe, 0, 0, 0, 2]), Ok(0x0200_0000));
        assert_eq!(read(&[0xfe, 1, 0, 0, 2]), Err(ReadError::TooLarge));
        assert_eq!(read(&[0xff, 0, 0, 0, 0, 1, 0, 0, 0]), Err(ReadError::TooLarge));
        assert_eq!(read(&[0xfd, 1]), Err(ReadError::Truncated));
        assert_eq!(read(&[]), Err(ReadError::Truncated));
    }

    #[test]
    fn varint_as_documented_in_core() {
        // The table in Bitcoin Core's serialize.h.
        for (bytes, n) in [
            (&[0x00u8][..], 0u64),
            (&[0x01], 1),
            (&[0x7f], 127),
            (&[0x80, 0x00], 128),
            (&[0x80, 0x7f], 255),
            (&[0x81, 0x00], 256),
            (&[0xfe, 0x7f], 16383),
            (&[0xff, 0x00], 16384),
            (&[0x82, 0xfe, 0x7f], 65535),
            (&[0x8e, 0xfe, 0xfe, 0xff, 0x00], 1 << 32),
        ] {
            assert_eq!(Cursor::new(bytes).varint(), Ok(n));
        }
        assert_eq!(Cursor::new(&[0xff; 12]).varint(), Err(ReadError::TooLarge));
        assert_eq!(Cursor::new(&[0xff; 3]).varint(), Err(ReadError::Truncated));
    }
}
