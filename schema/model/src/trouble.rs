//! Troubles: why a part of the service does not work at present, for health checks and readers in other processes.

use serde::{Deserialize, Serialize};

/// Maximum length of a reason in characters.
const MAX_REASON: usize = 300;

crate::words! {
    /// The part of the service that does not work.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Part {
        /// The node: it does not answer, or its answers cannot be used.
        Node = "node",
        /// The node's ZMQ publishers: the node is asked for news instead.
        Zmq = "zmq",
        /// The node's mempool: blocks arrive, unconfirmed transactions do not.
        Mempool = "mempool",
        /// The block files.
        BlockFiles = "block_files",
        /// The index: it cannot be written or read.
        Index = "index",
        /// The disk of the index: it is full or read-only.
        Disk = "disk",
        /// The process that writes the index.
        Indexer = "indexer",
        /// The database of the service state.
        State = "state",
    }
    /// Its name in answers and metrics.
    pub fn name;
}

/// Something that keeps a part of the service from working. Indexed data is served meanwhile.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Trouble {
    /// The part that does not work.
    pub part: Part,
    /// Why it does not work: one line, without addresses and folders.
    pub reason: String,
    /// Remedy that the service tries.
    pub next: String,
    /// Since when, in seconds since 1970.
    pub since: u64,
}

impl Trouble {
    /// A trouble, with the message of an error as its reason. Everybody may read it: of addresses and paths, only the
    /// last component stays.
    #[must_use]
    pub fn new(part: Part, error: &str, next: &str, since: u64) -> Self {
        Trouble { part, reason: without_paths(&one_line(error, MAX_REASON)), next: next.to_owned(), since }
    }
}

/// The beginning of a text as one line without control characters. Texts of others go into logs and messages this way.
#[must_use]
pub fn one_line(text: &str, max_chars: usize) -> String {
    let mut line = String::new();
    let mut chars = 0;
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()) {
        let gap = usize::from(!line.is_empty());
        let left = max_chars.saturating_sub(chars + gap);
        if gap == 1 && left > 0 {
            line.push(' ');
        }
        let mut rest = word.chars();
        line.extend(rest.by_ref().take(left));
        if rest.next().is_some() {
            line.push('…');
            return line;
        }
        chars += gap + word.chars().count();
    }
    line
}

/// The text with each address (`http://host:port`) replaced, and each path cut to its last component.
fn without_paths(line: &str) -> String {
    let shorten = |word: &str| -> String {
        let (body, tail) = word.split_at(word.trim_end_matches([':', ',', ';', '.', ')', '"', '\'']).len());
        match body.rsplit_once('/') {
            _ if body.contains("://") => format!("…{tail}"),
            Some((_, last)) if !last.is_empty() => format!("{last}{tail}"),
            Some(_) => format!("…{tail}"),
            None => word.to_owned(),
        }
    };
    line.split(' ').map(shorten).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_short_and_one() {
        assert_eq!(one_line("two\n  lines\tand\u{7}a bell \n", 100), "two lines and a bell");
        assert_eq!(one_line("éééé", 4), "éééé");
        assert_eq!(one_line("ééééé", 4), "éééé…");
        assert_eq!(one_line("ab cdef", 5), "ab cd…");
        assert_eq!(one_line(&"x ".repeat(1 << 20), 7).chars().count(), 8);
        assert_eq!(one_line("", 5), "");
    }

    #[test]
    fn a_reason_names_no_address_and_no_folder() {
        let reason = |error: &str| Trouble::new(Part::Node, error, "", 0).reason;
        assert_eq!(
            reason("no answer from the node at http://10.1.2.3:8332: connection refused"),
            "no answer from the node at …: connection refused"
        );
        assert_eq!(reason("cookie file /srv/ann/.bitcoin/.cookie: not found"), "cookie file .cookie: not found");
        assert_eq!(reason("(/srv/cairn/index/000012.sst): No space\nleft"), "000012.sst): No space left");
        assert_eq!(reason("the folder /srv/: gone"), "the folder …: gone");
    }
}
