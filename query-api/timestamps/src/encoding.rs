//! Bytes of the format: its marks, and its numbers and lists of bytes.

use crate::{flaw::Flaw, limits::MAX_URI_BYTES};

/// The bytes that every proof begins with, before the version.
pub(crate) const MAGIC: &[u8; 31] = b"\x00OpenTimestamps\x00\x00Proof\x00\xbf\x89\xe2\xe8\x84\xe8\x92\x94";
pub(crate) const VERSION: u64 = 1;
/// The byte before an attestation.
pub(crate) const ATTESTATION: u8 = 0x00;
/// The byte before each branch of a message but the last.
pub(crate) const FORK: u8 = 0xff;

/// Where, and why.
pub(crate) type Fault = (usize, Flaw);

/// Bytes that are being read.
pub(crate) struct Input<'b> {
    pub(crate) bytes: &'b [u8],
    pub(crate) at: usize,
}

impl<'b> Input<'b> {
    pub(crate) fn byte(&mut self) -> Result<u8, Fault> {
        let byte = *self.bytes.get(self.at).ok_or((self.bytes.len(), Flaw::End))?;
        self.at += 1;
        Ok(byte)
    }

    /// Reads this many bytes.
    pub(crate) fn take(&mut self, length: usize) -> Result<&'b [u8], Fault> {
        let end = self.at.checked_add(length).ok_or((self.bytes.len(), Flaw::End))?;
        let taken = self.bytes.get(self.at..end).ok_or((self.bytes.len(), Flaw::End))?;
        self.at = end;
        Ok(taken)
    }

    pub(crate) fn rest(&mut self) -> &'b [u8] {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        self.at = self.bytes.len();
        rest
    }

    /// Reads a number: seven bits in each byte, the lowest first; all bytes but the last have the eighth bit.
    pub(crate) fn number(&mut self) -> Result<u64, Fault> {
        let start = self.at;
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            // Of the tenth byte, one bit fits.
            if shift == 63 && bits > 1 {
                break;
            }
            number |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err((start, Flaw::Number))
    }

    /// Reads a length and as many bytes.
    pub(crate) fn bytes(&mut self, max: usize, flaw: Flaw) -> Result<&'b [u8], Fault> {
        let start = self.at;
        let length = self.number()?;
        match usize::try_from(length) {
            Ok(length) if length <= max => self.take(length),
            _ => Err((start, flaw)),
        }
    }

    /// Reads the address of a calendar.
    pub(crate) fn uri(&mut self) -> Result<String, Fault> {
        let bytes = self.bytes(MAX_URI_BYTES, Flaw::Uri)?;
        match bytes.iter().position(|byte| !is_uri_byte(*byte)) {
            Some(bad) => Err((self.at - bytes.len() + bad, Flaw::Uri)),
            None => Ok(bytes.iter().map(|byte| char::from(*byte)).collect()),
        }
    }

    /// Fails if anything is left.
    pub(crate) fn end(&self, flaw: Flaw) -> Result<(), Fault> {
        if self.at == self.bytes.len() { Ok(()) } else { Err((self.at, flaw)) }
    }
}

/// True for the characters that addresses of calendars have.
pub(crate) fn is_uri_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._/:".contains(&byte)
}

/// Writes a number: seven bits in each byte, the lowest first.
pub(crate) fn put_number(out: &mut Vec<u8>, mut number: u64) {
    while number > 0x7f {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

pub(crate) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_number(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}
