//! Text in the chain, written by anyone.

/// The bytes as text, if they are UTF-8 with at least one character and no control characters but line breaks and tabs.
#[must_use]
pub fn readable(bytes: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(bytes).ok().filter(|t| !t.is_empty())?;
    let odd = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t');
    (!text.chars().any(odd)).then_some(text)
}

/// Runs of at least `least` printable ASCII characters, joined with spaces: the readable text of a coinbase.
#[must_use]
pub fn printable_ascii(bytes: &[u8], least: usize) -> String {
    let runs = bytes.split(|b| !(0x20..0x7f).contains(b));
    let runs = runs.filter(|run| run.len() >= least.max(1));
    let texts: Vec<_> = runs.map(|run| String::from_utf8_lossy(run).trim().to_owned()).collect();
    texts.into_iter().filter(|t| !t.is_empty()).collect::<Vec<_>>().join(" ")
}

/// URLs in a text.
#[must_use]
pub fn urls(text: &str) -> Vec<&str> {
    let words = text.split(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '<' | '>'));
    let starts = |word: &str| ["https://", "http://", "ipfs://"].iter().filter_map(|s| word.find(s)).min();
    words
        .filter_map(|word| starts(word).map(|at| word[at..].trim_end_matches(['.', ',', ';', ')', ']'])))
        .filter(|url| url.split_once("://").is_some_and(|(_, rest)| !rest.is_empty()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_text_is_text() {
        assert_eq!(readable("grüße\n".as_bytes()), Some("grüße\n"));
        assert_eq!(readable(b"\x00abc"), None);
        assert_eq!(readable(b"\xff"), None);
        assert_eq!(readable(b""), None);
    }

    #[test]
    fn coinbase_texts() {
        let coinbase =
            b"\x04\xff\xff\x00\x1d\x01\x04EThe Times 03/Jan/2009 Chancellor on brink of second bailout for banks";
        assert_eq!(
            printable_ascii(coinbase, 4),
            "EThe Times 03/Jan/2009 Chancellor on brink of second bailout for banks"
        );
        assert_eq!(printable_ascii(b"\x03abc\x00/pool/\xff", 4), "/pool/");
        assert_eq!(printable_ascii(b"", 0), "");
    }

    #[test]
    fn finds_urls() {
        assert_eq!(
            urls("see (https://example.org/a?b=1), or http://x.y."),
            ["https://example.org/a?b=1", "http://x.y"]
        );
        assert!(urls("https:// nothing").is_empty());
        assert_eq!(urls("a=ipfs://Qm"), ["ipfs://Qm"]);
    }
}
