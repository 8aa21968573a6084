//! Lines of at most 64 KiB, from any reader.

use std::io::{self, BufRead};

use crate::report::Code;

/// Bytes of a line.
const MAX_LINE: usize = 65_536;

/// A line that is not blank.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// From 1.
    pub(crate) number: u64,
    /// Its text, or what is wrong with it.
    pub(crate) text: Result<String, Code>,
}

impl Line {
    pub(crate) fn new() -> Self {
        Line { number: 0, text: Ok(String::new()) }
    }
}

pub(crate) struct Lines<R> {
    input: R,
    number: u64,
    bytes: Vec<u8>,
}

impl<R: BufRead> Lines<R> {
    /// The lines of what is left of a file, of which some lines have been read.
    pub(crate) fn starting(input: R, number: u64) -> Self {
        Lines { input, number, bytes: Vec::new() }
    }

    /// The next line that is not blank, without its end; false at the end of the file.
    pub(crate) fn next(&mut self, line: &mut Line) -> io::Result<bool> {
        while let Some(is_long) = self.fill()? {
            self.number = self.number.saturating_add(1);
            if !is_long && self.bytes.trim_ascii().is_empty() {
                continue;
            }
            line.number = self.number;
            // The room of the last line is used again.
            let mut room = std::mem::replace(&mut line.text, Err(Code::TooLong)).unwrap_or_default();
            line.text = if is_long {
                Err(Code::TooLong)
            } else if self.bytes.contains(&0) {
                Err(Code::Nul)
            } else if let Ok(text) = str::from_utf8(&self.bytes) {
                room.clear();
                room.push_str(text);
                Ok(room)
            } else {
                Err(Code::Encoding)
            };
            return Ok(true);
        }
        Ok(false)
    }

    /// Reads a line; whether it was longer than allowed, or `None` at the end. The rest of a long line is skipped.
    fn fill(&mut self) -> io::Result<Option<bool>> {
        self.bytes.clear();
        let (mut is_long, mut is_any) = (false, false);
        loop {
            let buffer = match self.input.fill_buf() {
                Ok(buffer) => buffer,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if buffer.is_empty() {
                break;
            }
            is_any = true;
            let end = buffer.iter().position(|byte| *byte == b'\n');
            let part = &buffer[..end.unwrap_or(buffer.len())];
            if self.bytes.len() + part.len() > MAX_LINE {
                is_long = true;
            } else if !is_long {
                self.bytes.extend_from_slice(part);
            }
            let used = part.len() + usize::from(end.is_some());
            self.input.consume(used);
            if end.is_some() {
                break;
            }
        }
        if self.bytes.last() == Some(&b'\r') {
            self.bytes.pop();
        }
        Ok(is_any.then_some(is_long))
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    fn all(bytes: &[u8]) -> Vec<(u64, Result<String, Code>)> {
        // A small buffer, so that lines lie across its ends.
        let mut lines = Lines::starting(BufReader::with_capacity(7, bytes), 0);
        let (mut line, mut all) = (Line::new(), Vec::new());
        while lines.next(&mut line).unwrap() {
            all.push((line.number, line.text.clone()));
        }
        all
    }

    #[test]
    fn ends_of_lines() {
        let expected = vec![(1, Ok("a".to_owned())), (3, Ok("b, c".to_owned())), (4, Ok("d".to_owned()))];
        assert_eq!(all(b"a\n\nb, c\nd"), expected);
        assert_eq!(all(b"a\r\n\r\nb, c\r\nd\r\n"), expected);
        assert_eq!(all(b"a\n \t\nb, c\nd\n\n\n"), expected);
        assert_eq!(all(b""), []);
        assert_eq!(all(b"\n\n"), []);
    }

    #[test]
    fn lines_that_are_no_text() {
        let mut bytes = b"a\n".to_vec();
        bytes.extend_from_slice(&[b'x'; MAX_LINE]);
        bytes.push(b'\n');
        bytes.extend_from_slice(&[b'x'; MAX_LINE + 1]);
        bytes.extend_from_slice(b"\nb\0c\n\xff\xfe\nlast");
        let texts: Vec<_> = all(&bytes).into_iter().map(|(_, text)| text).collect();
        let expected = [
            Ok("a".to_owned()),
            Ok("x".repeat(MAX_LINE)),
            Err(Code::TooLong),
            Err(Code::Nul),
            Err(Code::Encoding),
            Ok("last".to_owned()),
        ];
        assert_eq!(texts, expected);
    }
}
