//! Files of the folder, read by position, with the XOR key removed.

use std::{
    fs::File,
    io,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use crate::error::SourceError;

/// Bytes of one read while walking from record to record. Records of the first years are shorter than a page, so one
/// read serves many of them; of larger records only this much is read.
const WINDOW: usize = 4096;
/// Bytes per read where all bytes are needed.
const CHUNK: usize = 1 << 20;

/// Key of `xor.dat`, applied by absolute offset in a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct XorKey(pub(crate) [u8; 8]);

impl XorKey {
    /// Applies the key to bytes that start at `offset` of the file.
    pub(crate) fn apply(self, bytes: &mut [u8], offset: u64) {
        if self.0 == [0; 8] {
            return;
        }
        let mut key = self.0;
        key.rotate_left((offset % 8) as usize);
        let word = u64::from_ne_bytes(key);
        let mut chunks = bytes.chunks_exact_mut(8);
        for chunk in &mut chunks {
            let mut b = [0u8; 8];
            b.copy_from_slice(chunk);
            chunk.copy_from_slice(&(u64::from_ne_bytes(b) ^ word).to_ne_bytes());
        }
        for (byte, k) in chunks.into_remainder().iter_mut().zip(key) {
            *byte ^= k;
        }
    }
}

/// An open file and the last window read of it. Its length is fixed when it is opened.
pub(crate) struct RawFile {
    file: File,
    path: PathBuf,
    key: XorKey,
    len: u64,
    window: Vec<u8>,
    window_at: u64,
}

impl RawFile {
    pub(crate) fn open(path: &Path, key: XorKey) -> Result<Self, SourceError> {
        let file = File::open(path).map_err(SourceError::io(path))?;
        let len = file.metadata().map_err(SourceError::io(path))?.len();
        Ok(RawFile { file, path: path.to_owned(), key, len, window: Vec::new(), window_at: 0 })
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Fills `buf` with raw bytes from `at`; returns fewer only at the end of the file.
    fn read_raw(&self, buf: &mut [u8], at: u64) -> Result<usize, SourceError> {
        let mut done = 0;
        while done < buf.len() {
            match self.file.read_at(&mut buf[done..], at + done as u64) {
                Ok(0) => break,
                Ok(n) => done += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(SourceError::io(&self.path)(e)),
            }
        }
        Ok(done)
    }

    /// Up to `n` raw bytes from `at`, fewer at the end of the file. `n` is at most [`WINDOW`].
    fn raw(&mut self, at: u64, n: usize) -> Result<&[u8], SourceError> {
        let n = n.min(WINDOW).min(usize::try_from(self.len.saturating_sub(at)).unwrap_or(WINDOW));
        let inside = at >= self.window_at && at + n as u64 <= self.window_at + self.window.len() as u64;
        if !inside {
            let mut window = std::mem::take(&mut self.window);
            window.resize(WINDOW, 0);
            let got = self.read_raw(&mut window, at)?;
            window.truncate(got);
            self.window = window;
            self.window_at = at;
        }
        let from = (at - self.window_at) as usize;
        let to = (from + n).min(self.window.len());
        Ok(&self.window[from.min(to)..to])
    }

    /// Up to `N` bytes from `at` without the key: the bytes, and how many the file has of them.
    pub(crate) fn head<const N: usize>(&mut self, at: u64) -> Result<([u8; N], usize), SourceError> {
        let key = self.key;
        let raw = self.raw(at, N)?;
        let mut out = [0u8; N];
        out[..raw.len()].copy_from_slice(raw);
        let n = raw.len();
        key.apply(&mut out[..n], at);
        Ok((out, n))
    }

    /// True if the 8 raw bytes at `at` (fewer at the end of the file) are zero: preallocated space, to which no key was
    /// applied.
    pub(crate) fn is_unwritten(&mut self, at: u64) -> Result<bool, SourceError> {
        Ok(self.raw(at, 8)?.iter().all(|b| *b == 0))
    }

    /// First position from `at` on whose raw byte is not zero.
    pub(crate) fn skip_zeros(&self, mut at: u64) -> Result<Option<u64>, SourceError> {
        let mut chunk = vec![0u8; CHUNK];
        loop {
            let n = self.read_raw(&mut chunk, at)?;
            if let Some(i) = chunk[..n].iter().position(|b| *b != 0) {
                return Ok(Some(at + i as u64));
            }
            if n < chunk.len() {
                return Ok(None);
            }
            at += n as u64;
        }
    }

    /// Positions of `magic` (without the key) in `from..to`, in order, one at a time.
    pub(crate) fn find_magic(&self, magic: [u8; 4], from: u64, to: u64) -> MagicSearch<'_> {
        let to = to.min(self.len);
        MagicSearch { file: self, magic, to, at: from, chunk: Vec::new(), chunk_at: from, step: WINDOW }
    }

    /// The `len` bytes from `offset` without the key; fewer at the end of the file.
    pub(crate) fn read(&self, offset: u64, len: usize, buf: &mut Vec<u8>) -> Result<(), SourceError> {
        let available = usize::try_from(self.len.saturating_sub(offset)).unwrap_or(usize::MAX);
        buf.resize(len.min(available), 0);
        let got = self.read_raw(buf, offset)?;
        buf.truncate(got);
        self.key.apply(buf, offset);
        Ok(())
    }
}

/// See [`RawFile::find_magic`].
pub(crate) struct MagicSearch<'a> {
    file: &'a RawFile,
    magic: [u8; 4],
    to: u64,
    at: u64,
    chunk: Vec<u8>,
    chunk_at: u64,
    /// Bytes of the next read; grows, because the next magic is mostly near.
    step: usize,
}

impl MagicSearch<'_> {
    /// The next position, or `None` at the end of the range.
    pub(crate) fn next(&mut self) -> Result<Option<u64>, SourceError> {
        loop {
            let from = (self.at - self.chunk_at) as usize;
            let rest = self.chunk.get(from..).unwrap_or_default();
            if let Some(i) = find(rest, self.magic) {
                let found = self.at + i as u64;
                self.at = found + 1;
                return Ok((found < self.to).then_some(found));
            }
            // The last three bytes may begin a magic that the next chunk ends.
            self.at += rest.len().saturating_sub(3) as u64;
            if self.at + 4 > self.to {
                return Ok(None);
            }
            let want = usize::try_from(self.to - self.at).unwrap_or(CHUNK).min(self.step);
            self.step = (self.step * 2).min(CHUNK);
            let mut chunk = std::mem::take(&mut self.chunk);
            self.file.read(self.at, want, &mut chunk)?;
            if chunk.len() < 4 {
                return Ok(None);
            }
            self.chunk = chunk;
            self.chunk_at = self.at;
        }
    }
}

fn find(bytes: &[u8], magic: [u8; 4]) -> Option<usize> {
    let mut from = 0;
    loop {
        let i = from + bytes.get(from..)?.iter().position(|b| *b == magic[0])?;
        if bytes.get(i..i + 4)? == magic {
            return Some(i);
        }
        from = i + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_follows_the_offset() {
        let key = XorKey([1, 2, 3, 4, 5, 6, 7, 8]);
        let plain: Vec<u8> = (0..100).collect();
        let mut whole = plain.clone();
        key.apply(&mut whole, 0);
        assert_eq!(whole[9], 9 ^ 2);
        for from in 0..20 {
            let mut part = plain[from..60].to_vec();
            key.apply(&mut part, from as u64);
            assert_eq!(part, whole[from..60], "{from}");
        }
    }

    #[test]
    fn magic_is_found_across_chunks_and_at_the_edges() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        let magic = [0xf9, 0xbe, 0xb4, 0xd9];
        let mut bytes = vec![0xf9u8; 2 * CHUNK + 100];
        let places = [0, 17, CHUNK - 2, CHUNK + 9, 2 * CHUNK - 1, bytes.len() - 4];
        for p in places {
            bytes[p..p + 4].copy_from_slice(&magic);
        }
        let key = XorKey([9, 0, 8, 0, 7, 0, 6, 0]);
        let mut on_disk = bytes.clone();
        key.apply(&mut on_disk, 0);
        std::fs::write(&path, &on_disk).unwrap();
        let file = RawFile::open(&path, key).unwrap();
        let mut search = file.find_magic(magic, 0, u64::MAX);
        let mut found = Vec::new();
        while let Some(p) = search.next().unwrap() {
            found.push(p as usize);
        }
        assert_eq!(found, places);
        assert_eq!(file.find_magic(magic, 18, 100).next().unwrap(), None);
        assert_eq!(file.skip_zeros(5).unwrap(), Some(5));
    }
}
