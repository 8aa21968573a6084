//! Packed files: gzip, and ZIP archives with one member. The unpacked size is bounded, whatever sizes the files state.

use std::io::{self, Cursor, Read};

use flate2::{
    Crc,
    read::{DeflateDecoder, MultiGzDecoder},
};

/// Why a packed file cannot be unpacked.
#[derive(Debug, thiserror::Error)]
pub enum PackError {
    /// Reading failed.
    #[error("cannot read: {0}")]
    Io(#[from] io::Error),
    /// The file is a ZIP archive that is damaged or cut short.
    #[error("the ZIP archive is damaged or cut short: {0}")]
    Damaged(&'static str),
    /// The ZIP archive has no file in it, or several.
    #[error("the ZIP archive has {0} members; unpack it, and import the file that you mean")]
    Members(u16),
    /// The ZIP archive is encrypted, in the 64-bit format, or packed by a method other than deflate.
    #[error("the ZIP archive is {0}; unpack it, and import the file")]
    Unsupported(&'static str),
    /// The ZIP archive is too long to be held in memory.
    #[error("the ZIP archive is longer than {0} bytes; unpack it, or allow more (--max-size)")]
    TooLong(u64),
}

/// A reader that fails after `most` bytes.
pub(crate) struct Capped<R> {
    from: R,
    most: u64,
    left: u64,
}

impl<R: Read> Capped<R> {
    pub(crate) fn new(from: R, most: u64) -> Self {
        Capped { from, most, left: most }
    }
}

impl<R: Read> Read for Capped<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(to)?;
        self.left = self.left.checked_sub(read as u64).ok_or_else(|| {
            io::Error::other(format!("it unpacks to more than {} bytes; allow more with --max-unpacked", self.most))
        })?;
        Ok(read)
    }
}

/// Returns the content of a file that may be packed: of a gzip file or a ZIP archive, which the first bytes show, the
/// unpacked content; of any other file, the file itself. A ZIP archive is held in memory and has at most `packed`
/// bytes. Packed content unpacks to at most `unpacked` bytes, or reading fails.
///
/// # Errors
/// Fails if the archive does not have exactly one file, or if reading fails.
pub fn unpack<'r>(mut from: impl Read + 'r, packed: u64, unpacked: u64) -> Result<Box<dyn Read + 'r>, PackError> {
    let mut start = Vec::new();
    (&mut from).take(4).read_to_end(&mut start)?;
    let (is_gzip, is_zip) =
        (start.starts_with(&[0x1f, 0x8b]), start.starts_with(b"PK\x03\x04") || start == b"PK\x05\x06");
    let mut whole = Cursor::new(start).chain(from);
    if is_gzip {
        return Ok(Box::new(Capped::new(MultiGzDecoder::new(whole), unpacked)));
    }
    if !is_zip {
        return Ok(Box::new(whole));
    }
    let mut archive = Vec::new();
    (&mut whole).take(packed.saturating_add(1)).read_to_end(&mut archive)?;
    if archive.len() as u64 > packed {
        return Err(PackError::TooLong(packed));
    }
    let member = member(&archive)?;
    let data = Cursor::new(archive.get(member.data.0..member.data.1).unwrap_or_default().to_vec());
    let content: Box<dyn Read> = if member.is_deflated { Box::new(DeflateDecoder::new(data)) } else { Box::new(data) };
    Ok(Box::new(Checked {
        from: Capped::new(content, unpacked),
        crc: Crc::new(),
        expected: (member.crc, member.length),
    }))
}

/// Compares length and CRC-32 with those of the archive at the end.
struct Checked<R> {
    from: R,
    crc: Crc,
    expected: (u32, u32),
}

impl<R: Read> Read for Checked<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(to)?;
        self.crc.update(to.get(..read).unwrap_or_default());
        if read == 0 && !to.is_empty() && (self.crc.sum(), self.crc.amount()) != self.expected {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the member of the ZIP archive is damaged"));
        }
        Ok(read)
    }
}

/// The one member of an archive.
struct Member {
    is_deflated: bool,
    crc: u32,
    length: u32,
    /// From, to.
    data: (usize, usize),
}

fn u16_at(bytes: &[u8], at: usize) -> Result<u16, PackError> {
    let found = bytes.get(at..).and_then(|rest| rest.first_chunk::<2>());
    found.map(|found| u16::from_le_bytes(*found)).ok_or(PackError::Damaged("a header is cut off"))
}

fn u32_at(bytes: &[u8], at: usize) -> Result<u32, PackError> {
    let found = bytes.get(at..).and_then(|rest| rest.first_chunk::<4>());
    found.map(|found| u32::from_le_bytes(*found)).ok_or(PackError::Damaged("a header is cut off"))
}

fn place_at(bytes: &[u8], at: usize) -> Result<usize, PackError> {
    usize::try_from(u32_at(bytes, at)?).map_err(|_| PackError::Damaged("a place lies outside"))
}

// Fixed lengths of the records: end of the directory, header in it, header before the member.
const END: usize = 22;
const CENTRAL: usize = 46;
const LOCAL: usize = 30;

/// Finds the member by the directory at the end (APPNOTE.TXT 4.3).
fn member(zip: &[u8]) -> Result<Member, PackError> {
    let last = zip.len().checked_sub(END).ok_or(PackError::Damaged("it is too short"))?;
    // Behind the record is a comment of the length that it states.
    let is_end = |at: &usize| {
        zip.get(*at..).is_some_and(|rest| rest.starts_with(b"PK\x05\x06"))
            && u16_at(zip, at + 20).is_ok_and(|comment| at + END + usize::from(comment) == zip.len())
    };
    let end = (last.saturating_sub(0xffff)..=last).rev().find(is_end);
    let end = end.ok_or(PackError::Damaged("its directory is missing"))?;
    let count = u16_at(zip, end + 10)?;
    if count == 0xffff {
        return Err(PackError::Unsupported("in the 64-bit format"));
    }
    if count != 1 {
        return Err(PackError::Members(count));
    }
    let header = place_at(zip, end + 16)?;
    if !zip.get(header..).is_some_and(|rest| rest.starts_with(b"PK\x01\x02")) || zip.len() < header + CENTRAL {
        return Err(PackError::Damaged("its directory has no entry"));
    }
    let (flags, method) = (u16_at(zip, header + 8)?, u16_at(zip, header + 10)?);
    if flags & 1 != 0 {
        return Err(PackError::Unsupported("encrypted"));
    }
    if !matches!(method, 0 | 8) {
        return Err(PackError::Unsupported("packed by another method than deflate"));
    }
    let (crc, packed, length) = (u32_at(zip, header + 16)?, u32_at(zip, header + 20)?, u32_at(zip, header + 24)?);
    if packed == u32::MAX || length == u32::MAX {
        return Err(PackError::Unsupported("in the 64-bit format"));
    }
    let local = place_at(zip, header + 42)?;
    if !zip.get(local..).is_some_and(|rest| rest.starts_with(b"PK\x03\x04")) {
        return Err(PackError::Damaged("its member is missing"));
    }
    let names = usize::from(u16_at(zip, local + 26)?) + usize::from(u16_at(zip, local + 28)?);
    let from = local + LOCAL + names;
    let to = usize::try_from(packed).ok().and_then(|packed| from.checked_add(packed));
    match to.filter(|to| *to <= zip.len()) {
        Some(to) => Ok(Member { is_deflated: method == 8, crc, length, data: (from, to) }),
        None => Err(PackError::Damaged("its member is cut off")),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::{
        Compression,
        write::{DeflateEncoder, GzEncoder},
    };
    use proptest::prelude::*;

    use super::*;

    fn gz(content: &[u8]) -> Vec<u8> {
        let mut to = GzEncoder::new(Vec::new(), Compression::best());
        to.write_all(content).unwrap();
        to.finish().unwrap()
    }

    /// An archive, written by hand.
    fn zip(members: &[(&str, &[u8])], method: u16, comment: &[u8]) -> Vec<u8> {
        let (mut out, mut directory) = (Vec::new(), Vec::new());
        for (name, content) in members {
            let mut crc = Crc::new();
            crc.update(content);
            let packed = if method == 8 {
                let mut to = DeflateEncoder::new(Vec::new(), Compression::best());
                to.write_all(content).unwrap();
                to.finish().unwrap()
            } else {
                content.to_vec()
            };
            let mut common = vec![20, 0, 0, 0];
            common.extend(method.to_le_bytes());
            common.extend([0; 4]);
            common.extend(crc.sum().to_le_bytes());
            common.extend((packed.len() as u32).to_le_bytes());
            common.extend((content.len() as u32).to_le_bytes());
            common.extend((name.len() as u16).to_le_bytes());
            directory.extend(b"PK\x01\x02\x14\x00");
            directory.extend(&common);
            directory.extend([0; 12]);
            directory.extend((out.len() as u32).to_le_bytes());
            directory.extend(name.as_bytes());
            out.extend(b"PK\x03\x04");
            out.extend(&common);
            out.extend([0; 2]);
            out.extend(name.as_bytes());
            out.extend(packed);
        }
        let at = out.len() as u32;
        out.extend(&directory);
        out.extend(b"PK\x05\x06\0\0\0\0");
        out.extend((members.len() as u16).to_le_bytes());
        out.extend((members.len() as u16).to_le_bytes());
        out.extend((directory.len() as u32).to_le_bytes());
        out.extend(at.to_le_bytes());
        out.extend((comment.len() as u16).to_le_bytes());
        out.extend(comment);
        out
    }

    fn read(bytes: &[u8]) -> Result<Vec<u8>, String> {
        let mut content = Vec::new();
        let mut reader = unpack(bytes, 1 << 20, 1 << 20).map_err(|error| error.to_string())?;
        reader.read_to_end(&mut content).map_err(|error| error.to_string())?;
        Ok(content)
    }

    #[test]
    fn what_is_packed_is_unpacked() {
        let content: Vec<u8> = (0..50_000u32).flat_map(|n| format!("{n},\n").into_bytes()).collect();
        assert_eq!(read(&content).unwrap(), content);
        assert_eq!(read(&gz(&content)).unwrap(), content);
        assert_eq!(read(&[gz(b"a"), gz(b"b")].concat()).unwrap(), b"ab");
        for (method, comment) in [(0, &b""[..]), (8, b"PK\x05\x06 in a comment, which is longer than the record")] {
            assert_eq!(read(&zip(&[("a.csv", &content)], method, comment)).unwrap(), content);
        }
        assert_eq!((read(b"").unwrap(), read(b"PK").unwrap()), (vec![], b"PK".to_vec()));
    }

    #[test]
    fn bombs_and_other_archives_are_refused() {
        let bomb = vec![0; 2 << 20];
        for packed in [gz(&bomb), zip(&[("a", &bomb)], 8, b"")] {
            assert!(packed.len() < 20_000);
            assert!(read(&packed).unwrap_err().contains("more than 1048576 bytes"), "{:?}", read(&packed));
        }
        // A header that states less than there is.
        let mut lying = zip(&[("a", &bomb)], 8, b"");
        let at = lying.len() - 22 - 47 + 24;
        lying[at..at + 4].copy_from_slice(&5u32.to_le_bytes());
        assert!(read(&lying).unwrap_err().contains("more than 1048576 bytes"));
        assert!(read(&zip(&[("a", b"x"), ("b", b"y")], 8, b"")).unwrap_err().contains("2 members"));
        assert!(read(&zip(&[], 8, b"")).unwrap_err().contains("0 members"));
        assert!(read(&zip(&[("a", b"x")], 12, b"")).unwrap_err().contains("another method"));
        assert!(read(&zip(&[("a", &vec![7; 2 << 20])], 0, b"")).unwrap_err().contains("longer than 1048576"));
        let whole = zip(&[("a", b"some content")], 0, b"");
        let mut damaged = whole.clone();
        damaged[35] ^= 1;
        assert!(read(&damaged).unwrap_err().contains("damaged"));
        for cut in 4..whole.len() {
            assert!(read(&whole[..cut]).is_err(), "{cut}");
        }
        let whole = gz(b"some content");
        for cut in 2..whole.len() {
            assert!(read(&whole[..cut]).is_err(), "{cut}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic(at in 0usize..200, byte in any::<u8>(), start in 0usize..3, noise in prop::collection::vec(any::<u8>(), 0..80)) {
            let mut bytes = zip(&[("a.csv", b"date,close\n2020-01-01,1\n")], 8, b"x");
            if let Some(place) = bytes.get_mut(at) {
                *place = byte;
            }
            let _ = read(&bytes);
            let _ = read(&[[&b"PK\x03\x04"[..], b"PK\x05\x06", &[0x1f, 0x8b]][start], &noise].concat());
        }
    }
}
