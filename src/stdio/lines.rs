//! Lines of standard input and output.

use std::io::{self, BufRead, Read, Write};

use tokio::sync::mpsc::Receiver;

/// Longest message in bytes: the limit of a body over HTTP.
pub(super) const LONGEST: usize = 1 << 20;

#[derive(PartialEq, Eq, Debug)]
pub(super) enum Line {
    Message(Vec<u8>),
    /// More than [`LONGEST`] bytes, which were passed over.
    TooLong,
}

/// The next line that is not empty; `None` at the end.
pub(super) fn next(input: &mut impl BufRead) -> io::Result<Option<Line>> {
    loop {
        let mut line = Vec::new();
        let read = input.by_ref().take(LONGEST as u64 + 1).read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(None);
        }
        if line.len() > LONGEST && line.last() != Some(&b'\n') {
            pass_over(input)?;
            return Ok(Some(Line::TooLong));
        }
        let text = line.trim_ascii();
        if !text.is_empty() {
            return Ok(Some(Line::Message(text.to_vec())));
        }
    }
}

fn pass_over(input: &mut impl BufRead) -> io::Result<()> {
    loop {
        let some = input.fill_buf()?;
        let (length, is_end) = match some.iter().position(|byte| *byte == b'\n') {
            Some(at) => (at + 1, true),
            None => (some.len(), some.is_empty()),
        };
        input.consume(length);
        if is_end {
            return Ok(());
        }
    }
}

/// Writes answers, one a line, until all senders are gone.
pub(super) fn write_all(mut answers: Receiver<Vec<u8>>) -> io::Result<()> {
    let mut out = io::stdout().lock();
    while let Some(mut answer) = answers.blocking_recv() {
        answer.push(b'\n');
        out.write_all(&answer)?;
        out.flush()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_within_the_limit() {
        let long = "x".repeat(LONGEST);
        let text = format!("\n{{\"a\":1}}\r\n{long}\n{long}y\n  \n{long}{long}\nlast");
        let mut input = io::BufReader::with_capacity(7, text.as_bytes());
        let mut lines = Vec::new();
        while let Some(line) = next(&mut input).unwrap() {
            lines.push(line);
        }
        let message = |text: &str| Line::Message(text.as_bytes().to_vec());
        assert_eq!(lines.len(), 5);
        assert!(lines[1] == message(&long), "as long as the limit");
        lines.remove(1);
        assert_eq!(lines, [message("{\"a\":1}"), Line::TooLong, Line::TooLong, message("last")]);
    }
}
