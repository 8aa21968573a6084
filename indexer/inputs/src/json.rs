//! The rows of a JSON file, one after the other: arrays or objects of scalars that stand in an array.
//!
//! Numbers stay text, so that none passes through floating point. Memory is bounded: a row has at most 64 cells and
//! 64 KiB, nesting ends at 16.

use std::io::BufRead;

use crate::{csv::Cells, error::InputError};

const MAX_CELLS: usize = 64;
const MAX_BYTES: usize = 65_536;
const MAX_DEPTH: usize = 16;

/// The next part of the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Item {
    /// A row: [`JsonRows::cells`], and [`JsonRows::keys`] if it is an object.
    Row,
    /// A scalar with a key, outside of rows: [`JsonRows::key`] and [`JsonRows::value`].
    Field,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Expect {
    Value,
    ValueOrEnd,
    Key,
    KeyOrEnd,
    Colon,
    CommaOrEnd,
    Nothing,
}

struct Frame {
    is_array: bool,
    is_row: bool,
}

pub(crate) struct JsonRows<R> {
    input: R,
    line: u64,
    stack: Vec<Frame>,
    expect: Expect,
    /// Line where the row begins.
    pub(crate) row_line: u64,
    pub(crate) cells: Cells,
    pub(crate) keys: Cells,
    pub(crate) key: String,
    pub(crate) value: String,
}

impl<R: BufRead> JsonRows<R> {
    pub(crate) fn new(input: R) -> Self {
        JsonRows {
            input,
            line: 1,
            stack: Vec::new(),
            expect: Expect::Value,
            row_line: 1,
            cells: Cells::default(),
            keys: Cells::default(),
            key: String::new(),
            value: String::new(),
        }
    }

    fn error(&self, what: &'static str) -> InputError {
        InputError::Json { line: self.line, what }
    }

    fn peek(&mut self) -> Result<Option<u8>, InputError> {
        loop {
            match self.input.fill_buf() {
                Ok(buffer) => return Ok(buffer.first().copied()),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn bump(&mut self, byte: u8) {
        self.input.consume(1);
        if byte == b'\n' {
            self.line = self.line.saturating_add(1);
        }
    }

    /// The next row or field; `None` at the end of a whole document.
    pub(crate) fn next(&mut self) -> Result<Option<Item>, InputError> {
        loop {
            let Some(byte) = self.peek()? else {
                let is_whole = self.expect == Expect::Nothing;
                return if is_whole { Ok(None) } else { Err(self.error("the JSON text ends too early")) };
            };
            if matches!(byte, b' ' | b'\t' | b'\r' | b'\n') {
                self.bump(byte);
                continue;
            }
            let in_row = self.stack.last().is_some_and(|frame| frame.is_row);
            match (self.expect, byte) {
                (Expect::Value | Expect::ValueOrEnd, b'[' | b'{') => {
                    self.bump(byte);
                    self.open(byte == b'[', in_row)?;
                }
                (Expect::ValueOrEnd, b']') | (Expect::KeyOrEnd, b'}') => {
                    self.bump(byte);
                    if self.close() {
                        return Ok(Some(Item::Row));
                    }
                }
                (Expect::CommaOrEnd, b']' | b'}') if self.is_array() == (byte == b']') => {
                    self.bump(byte);
                    if self.close() {
                        return Ok(Some(Item::Row));
                    }
                }
                (Expect::CommaOrEnd, b',') => {
                    self.bump(byte);
                    self.expect = if self.is_array() { Expect::Value } else { Expect::Key };
                }
                (Expect::Key | Expect::KeyOrEnd, b'"') => {
                    self.bump(byte);
                    self.string()?;
                    std::mem::swap(&mut self.key, &mut self.value);
                    self.expect = Expect::Colon;
                }
                (Expect::Colon, b':') => {
                    self.bump(byte);
                    self.expect = Expect::Value;
                }
                (Expect::Value | Expect::ValueOrEnd, _) => {
                    if byte == b'"' {
                        self.bump(byte);
                        self.string()?;
                    } else {
                        self.word()?;
                    }
                    self.expect = if self.stack.is_empty() { Expect::Nothing } else { Expect::CommaOrEnd };
                    if in_row {
                        self.cell()?;
                    } else if !self.is_array() && !self.stack.is_empty() {
                        return Ok(Some(Item::Field));
                    }
                }
                _ => return Err(self.error("not JSON")),
            }
        }
    }

    fn is_array(&self) -> bool {
        self.stack.last().is_some_and(|frame| frame.is_array)
    }

    fn open(&mut self, is_array: bool, in_row: bool) -> Result<(), InputError> {
        if in_row || self.stack.len() >= MAX_DEPTH {
            return Err(self.error("a row holds an array or object, or the nesting is too deep"));
        }
        let is_row = self.is_array();
        if is_row {
            self.cells.clear();
            self.keys.clear();
            self.row_line = self.line;
        }
        self.stack.push(Frame { is_array, is_row });
        self.expect = if is_array { Expect::ValueOrEnd } else { Expect::KeyOrEnd };
        Ok(())
    }

    /// Leaves an array or object; whether it was a row.
    fn close(&mut self) -> bool {
        let was_row = self.stack.pop().is_some_and(|frame| frame.is_row);
        self.expect = if self.stack.is_empty() { Expect::Nothing } else { Expect::CommaOrEnd };
        was_row
    }

    fn cell(&mut self) -> Result<(), InputError> {
        let bytes = self.cells.bytes() + self.keys.bytes() + self.value.len() + self.key.len();
        if self.cells.len() >= MAX_CELLS || bytes > MAX_BYTES {
            return Err(self.error("a row has more than 64 values or 65536 bytes"));
        }
        self.cells.push(&self.value);
        if !self.is_array() {
            self.keys.push(&self.key);
        }
        Ok(())
    }

    /// A number, or true, false or null, as text into `value`.
    fn word(&mut self) -> Result<(), InputError> {
        self.value.clear();
        while let Some(byte) = self.peek()? {
            if !byte.is_ascii_alphanumeric() && !matches!(byte, b'-' | b'+' | b'.') {
                break;
            }
            if self.value.len() >= MAX_BYTES {
                return Err(self.error("a value has more than 65536 bytes"));
            }
            self.value.push(char::from(byte));
            self.bump(byte);
        }
        let is_number = self.value.as_bytes().first().is_some_and(|byte| byte.is_ascii_digit() || *byte == b'-');
        let is_word = is_number || matches!(self.value.as_str(), "true" | "false" | "null");
        if is_word { Ok(()) } else { Err(self.error("not JSON")) }
    }

    /// The rest of a string, behind its first quote, into `value`.
    fn string(&mut self) -> Result<(), InputError> {
        self.value.clear();
        let mut bytes = Vec::new();
        loop {
            let byte = self.peek()?.ok_or_else(|| self.error("the JSON text ends too early"))?;
            if byte < b' ' {
                return Err(self.error("a control character in a string"));
            }
            self.bump(byte);
            match byte {
                b'"' => break,
                b'\\' => self.escape(&mut bytes)?,
                _ => bytes.push(byte),
            }
            if bytes.len() > MAX_BYTES {
                return Err(self.error("a value has more than 65536 bytes"));
            }
        }
        let text = str::from_utf8(&bytes).map_err(|_| self.error("not UTF-8"))?;
        self.value.push_str(text);
        Ok(())
    }

    fn escape(&mut self, bytes: &mut Vec<u8>) -> Result<(), InputError> {
        let byte = self.peek()?.ok_or_else(|| self.error("the JSON text ends too early"))?;
        self.bump(byte);
        let plain = match byte {
            b'"' | b'\\' | b'/' => byte,
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => {
                let mut code = 0u32;
                for _ in 0..4 {
                    let byte = self.peek()?.ok_or_else(|| self.error("the JSON text ends too early"))?;
                    let digit = char::from(byte).to_digit(16).ok_or_else(|| self.error("not JSON"))?;
                    self.bump(byte);
                    code = code * 16 + digit;
                }
                // Halves of a pair stand for no character that any layout has.
                let char = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
                bytes.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
                return Ok(());
            }
            _ => return Err(self.error("not JSON")),
        };
        bytes.push(plain);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use proptest::prelude::*;

    use super::*;

    fn read(text: &[u8]) -> Result<Vec<String>, InputError> {
        let mut rows = JsonRows::new(BufReader::with_capacity(3, text));
        let mut all = Vec::new();
        while let Some(item) = rows.next()? {
            let cells: Vec<&str> = rows.cells.iter().collect();
            let keys: Vec<&str> = rows.keys.iter().collect();
            all.push(match item {
                Item::Row => format!("{}: {} {}", rows.row_line, keys.join(","), cells.join(",")),
                Item::Field => format!("{}={}", rows.key, rows.value),
            });
        }
        Ok(all)
    }

    #[test]
    fn rows_and_fields() {
        assert_eq!(read(b"[[1, 2.50],\n [\"a\\u00e9\\n\",null]]").unwrap(), ["1:  1,2.50", "2:  a\u{e9},null"]);
        assert_eq!(
            read(br#" {"data": {"ohlc": [{"t":"1","c":2}], "pair":"BTC/USD"}, "x":[], "y":{}, "z":[1,[]]} "#).unwrap(),
            ["1: t,c 1,2", "pair=BTC/USD", "1:  "]
        );
        assert_eq!(read(b"[]").unwrap(), Vec::<String>::new());
    }

    #[test]
    fn what_is_no_json() {
        for text in [
            "",
            "[",
            "[1,]",
            "[1 2]",
            "{\"a\"}",
            "{\"a\":1,}",
            "{1:2}",
            "[1]]",
            "[}",
            "nul",
            "\"a",
            "\"\\x\"",
            "[[[1]]]",
            "[] []",
            "{\"a\":}",
        ] {
            assert!(matches!(read(text.as_bytes()), Err(InputError::Json { .. })), "{text}");
        }
        let long = format!("[[{}]]", vec!["1"; MAX_CELLS + 1].join(","));
        assert!(matches!(read(long.as_bytes()), Err(InputError::Json { .. })));
        let deep = "{\"a\":".repeat(MAX_DEPTH + 1);
        assert!(read(deep.as_bytes()).unwrap_err().to_string().contains("too deep"));
        let endless = format!("[[\"{}", "x".repeat(MAX_BYTES + 10));
        assert!(read(endless.as_bytes()).unwrap_err().to_string().contains("65536 bytes"));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), text in "[\\[\\]{}\",:0-9a-z\\\\ -]{0,60}") {
            let (_, _) = (read(&bytes), read(text.as_bytes()));
        }
    }
}
