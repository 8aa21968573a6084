//! The cells of a row.

use std::ops::Range;

use crate::report::Code;

/// The cells of a row: their text in one string, without quotes. The room is used again for each row.
#[derive(Default, Debug)]
pub(crate) struct Cells {
    text: String,
    ranges: Vec<Range<usize>>,
}

impl Cells {
    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.ranges.clear();
    }

    pub(crate) fn len(&self) -> usize {
        self.ranges.len()
    }

    /// Bytes of all cells.
    pub(crate) fn bytes(&self) -> usize {
        self.text.len()
    }

    /// A cell, without spaces around it; empty where there is none.
    pub(crate) fn get(&self, at: usize) -> &str {
        self.ranges.get(at).and_then(|range| self.text.get(range.clone())).unwrap_or_default().trim()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).map(|at| self.get(at))
    }

    pub(crate) fn push(&mut self, cell: &str) {
        let start = self.text.len();
        self.text.push_str(cell);
        self.ranges.push(start..self.text.len());
    }

    /// Splits a line. A quoted cell may hold delimiters, and quotes written twice; it ends with its line.
    pub(crate) fn split(&mut self, line: &str, delimiter: u8) -> Result<(), Code> {
        self.clear();
        if !line.as_bytes().contains(&b'"') {
            self.text.push_str(line);
            let mut start = 0;
            for (at, byte) in line.bytes().enumerate() {
                if byte == delimiter {
                    self.ranges.push(start..at);
                    start = at + 1;
                }
            }
            self.ranges.push(start..line.len());
            return Ok(());
        }
        let mut rest = line;
        loop {
            let start = self.text.len();
            let unquoted = rest.trim_start_matches(' ');
            if let Some(mut quoted) = unquoted.strip_prefix('"') {
                loop {
                    let (part, after) = quoted.split_once('"').ok_or(Code::Quoting)?;
                    self.text.push_str(part);
                    let Some(twice) = after.strip_prefix('"') else {
                        rest = after.trim_start_matches(' ');
                        break;
                    };
                    self.text.push('"');
                    quoted = twice;
                }
                self.ranges.push(start..self.text.len());
                match rest.as_bytes().first() {
                    None => return Ok(()),
                    Some(byte) if *byte == delimiter => rest = &rest[1..],
                    Some(_) => return Err(Code::Quoting),
                }
            } else {
                let end = rest.bytes().position(|byte| byte == delimiter);
                self.push(&rest[..end.unwrap_or(rest.len())]);
                match end {
                    None => return Ok(()),
                    Some(end) => rest = &rest[end + 1..],
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn split(line: &str, delimiter: u8) -> Result<Vec<String>, Code> {
        let mut cells = Cells::default();
        cells.split(line, delimiter)?;
        Ok(cells.iter().map(str::to_owned).collect())
    }

    #[test]
    fn quoted_or_not() {
        assert_eq!(split("a,b ,,c", b',').unwrap(), ["a", "b", "", "c"]);
        assert_eq!(split("a,b,", b',').unwrap(), ["a", "b", ""]);
        assert_eq!(split("a;b,c", b';').unwrap(), ["a", "b,c"]);
        assert_eq!(
            split(r#""Nov 20, 2024","94,286.56", "x" ,y,"""""#, b',').unwrap(),
            ["Nov 20, 2024", "94,286.56", "x", "y", "\""]
        );
        assert_eq!(split(r#"a,"b","#, b',').unwrap(), ["a", "b", ""]);
        for line in [r#""a"#, r#"a,"b"c"#, r#""a""#, r#"""""#] {
            let is_whole = line == r#""a""#;
            assert_eq!(split(line, b',').is_ok(), is_whole, "{line}");
        }
    }

    proptest! {
        #[test]
        fn written_and_read_back(cells in prop::collection::vec("[a-z\",; ]{0,6}", 1..8)) {
            let written: Vec<String> = cells.iter().map(|cell| format!("\"{}\"", cell.replace('"', "\"\""))).collect();
            let expected: Vec<&str> = cells.iter().map(|cell| cell.trim()).collect();
            prop_assert_eq!(split(&written.join(","), b',').unwrap(), expected);
        }
    }
}
