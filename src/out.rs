//! Results on standard output.

use std::io::{self, Write};

use jiff::Timestamp;

use crate::exit::{Exit, Failure, plain};

/// Writes text. A reader that closes the pipe early (`| head`) is not a failure.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    written(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// Converts the result of writing to standard output. A full disk there is not reported as a full disk of the index:
/// the index is not affected.
pub(crate) fn written(result: io::Result<()>) -> Result<(), Failure> {
    match result {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            let failure = Failure::new(Exit::Other, format!("standard output cannot be written: {}", plain(&error)));
            Err(failure.hint("any changes to the index or its databases are done; only the output is incomplete"))
        }
        _ => Ok(()),
    }
}

/// Aligns columns: those marked `>` to the right, others to the left.
pub(crate) fn table(header: &[&str], rows: &[Vec<String>]) -> String {
    let header = header.iter().map(|h| h.strip_prefix('>').map_or((*h, false), |h| (h, true))).collect::<Vec<_>>();
    let widths: Vec<usize> = (0..header.len())
        .map(|i| {
            rows.iter().filter_map(|row| row.get(i)).map(|c| c.chars().count()).fold(header[i].0.len(), usize::max)
        })
        .collect();
    let names: Vec<String> = header.iter().map(|(name, _)| (*name).to_owned()).collect();
    let mut text = String::new();
    for row in std::iter::once(&names).chain(rows) {
        let mut line = String::new();
        for ((cell, width), (_, right)) in row.iter().zip(&widths).zip(&header) {
            line += &if *right { format!("{cell:>width$}  ") } else { format!("{cell:<width$}  ") };
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}

/// Formats the columns of [`table`] as CSV (RFC 4180, with simple line ends). Spaces in names become underscores.
pub(crate) fn csv(header: &[&str], rows: &[Vec<String>]) -> String {
    let names: Vec<String> = header.iter().map(|name| name.trim_start_matches('>').replace(' ', "_")).collect();
    let field = |text: &String| {
        let is_quoted = text.contains([',', '"', '\n', '\r']);
        if is_quoted { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.clone() }
    };
    let line = |row: &Vec<String>| row.iter().map(field).collect::<Vec<_>>().join(",") + "\n";
    std::iter::once(&names).chain(rows).map(line).collect()
}

/// Formats a number with thousands separators: 1,234,567.
pub(crate) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a time as in RFC 3339.
pub(crate) fn time(seconds: u64) -> String {
    let time = i64::try_from(seconds).ok().and_then(|seconds| Timestamp::from_second(seconds).ok());
    time.map_or_else(|| format!("@{seconds}"), |time| time.to_string())
}

/// Makes a client's text safe for a terminal: replaces control characters, invisible characters and those that change
/// the direction of text with their code points.
pub(crate) fn harmless(text: &str) -> String {
    let moves = |c: char| {
        matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
    };
    let mut shown = String::new();
    for c in text.chars() {
        if c == '\t' {
            shown.push(' ');
        } else if c.is_control() || moves(c) {
            shown.extend(c.escape_unicode());
        } else {
            shown.push(c);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns() {
        let rows = [vec!["a".to_owned(), "10".to_owned()], vec!["long".to_owned(), "9".to_owned()]];
        assert_eq!(table(&["name", ">n"], &rows), "name   n\na     10\nlong   9\n");
    }

    #[test]
    fn fields_of_csv_are_quoted_where_they_must_be() {
        let rows = [vec!["a,b".to_owned(), "say \"x\"".to_owned()], vec!["plain".to_owned(), String::new()]];
        let text = csv(&["paid at", ">n"], &rows);
        assert_eq!(text, "paid_at,n\n\"a,b\",\"say \"\"x\"\"\"\nplain,\n");
        assert_eq!(csv(&["n"], &[]), "n\n");
    }

    #[test]
    fn numbers() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(thousands), ["0", "999", "1,000", "1,234,567"]);
    }
}
