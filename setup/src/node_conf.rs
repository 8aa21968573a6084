//! The node's configuration file, `bitcoin.conf`, read as Bitcoin Core reads it.
//!
//! Rules of Bitcoin Core: `key=value` lines; `#` begins a comment; `[section]` begins the settings of one network, and
//! `section.key=value` is the same for one line; a setting of the network's section comes before one that is outside of
//! all sections, and of several lines with the same key the first counts; `nokey=1` is `key=0`; `includeconf` adds a
//! file at the end, once, without includes of its own; some settings count for networks other than main only in their
//! section.

use std::{
    fmt,
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

use cairn_model::Network;
use cairn_node::core_name;

/// Most bytes that are read of one file.
const MAX_FILE_BYTES: u64 = 1 << 20;
/// Most included files.
const MAX_INCLUDES: usize = 16;

/// Settings that count only in the section of a network, unless it is the main one.
const SECTION_ONLY: [&str; 3] = ["rpcport", "rpcbind", "port"];
/// Settings whose value is a secret: it is not kept, only that there is one.
const SECRET: [&str; 2] = ["rpcpassword", "rpcauth"];

/// Why a configuration cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ConfError {
    /// The operating system's error.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// The file is too long to be a configuration.
    #[error("{}: longer than {} KiB, and so not read", path.display(), MAX_FILE_BYTES >> 10)]
    TooLong {
        /// The file.
        path: PathBuf,
    },
    /// The file is not text.
    #[error("{}: not a text file in UTF-8", path.display())]
    NotText {
        /// The file.
        path: PathBuf,
    },
    /// A line that the node refuses, too. Its text is not repeated, because it may contain a password.
    #[error("{}, line {line}: {reason}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The number of the line, from 1.
        line: usize,
        /// The mistake.
        reason: &'static str,
    },
}

/// A line of the configuration.
#[derive(Clone, PartialEq, Eq)]
struct Entry {
    /// The network's name in Bitcoin Core; `None` outside of all sections.
    section: Option<String>,
    key: String,
    /// `None` for a secret.
    value: Option<String>,
    file: usize,
    line: usize,
}

/// The settings of a node. Passwords are not kept.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct NodeConf {
    entries: Vec<Entry>,
    files: Vec<PathBuf>,
}

/// Without values: some may be secrets under names that are not known here.
impl fmt::Debug for NodeConf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NodeConf").field("files", &self.files).field("lines", &self.entries.len()).finish()
    }
}

impl NodeConf {
    /// Reads a file and those that it includes; relative names of includes are in the folder `base`. A missing file is
    /// an empty configuration, as for the node.
    pub fn read(path: &Path, base: &Path) -> Result<Self, ConfError> {
        let mut conf = NodeConf::default();
        match conf.add(path) {
            Err(ConfError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => return Ok(conf),
            read => read?,
        }
        let network = conf.network();
        let is_included = |entry: &&Entry| {
            entry.key == "includeconf" && entry.section.as_deref().is_none_or(|name| name == core_name(network))
        };
        let includes: Vec<PathBuf> = (conf.entries.iter().filter(is_included))
            .filter_map(|entry| entry.value.as_deref().filter(|name| !name.is_empty()))
            .take(MAX_INCLUDES)
            .map(|name| base.join(name))
            .collect();
        includes.iter().try_for_each(|include| conf.add(include))?;
        Ok(conf)
    }

    /// Parses the text of one file.
    ///
    /// # Errors
    /// Reports the first line that the node would refuse.
    pub fn parse(path: &Path, text: &str) -> Result<Self, ConfError> {
        let mut conf = NodeConf::default();
        conf.add_text(path, text)?;
        Ok(conf)
    }

    fn add(&mut self, path: &Path) -> Result<(), ConfError> {
        let io = |source| ConfError::Io { path: path.to_owned(), source };
        // A pipe would block, and a device has no end.
        if !path.metadata().map_err(io)?.is_file() {
            return Err(io(io::Error::new(io::ErrorKind::InvalidInput, "not a file")));
        }
        let mut bytes = Vec::new();
        File::open(path).and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)).map_err(io)?;
        if bytes.len() as u64 > MAX_FILE_BYTES {
            return Err(ConfError::TooLong { path: path.to_owned() });
        }
        let text = String::from_utf8(bytes).map_err(|_| ConfError::NotText { path: path.to_owned() })?;
        self.add_text(path, &text)
    }

    fn add_text(&mut self, path: &Path, text: &str) -> Result<(), ConfError> {
        let file = self.files.len();
        self.files.push(path.to_owned());
        let mut current: Option<String> = None;
        for (at, full) in text.lines().enumerate() {
            let wrong = |reason| ConfError::Line { path: path.to_owned(), line: at + 1, reason };
            let (line, has_comment) = full.split_once('#').map_or((full, false), |(line, _)| (line, true));
            let line = line.trim();
            if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                current = Some(name.to_owned());
                continue;
            }
            if line.is_empty() {
                continue;
            }
            if line.starts_with('-') {
                return Err(wrong("settings in a file have no leading dash"));
            }
            let (name, value) = line.split_once('=').ok_or_else(|| wrong("not of the form setting=value"))?;
            let (name, value) = (name.trim(), value.trim());
            let (section, key) = match name.split_once('.') {
                Some((section, key)) if current.is_none() => (Some(section.to_owned()), key),
                _ => (current.clone(), name),
            };
            if has_comment && key == "rpcpassword" {
                return Err(wrong("a # in rpcpassword begins a comment, so that the node refuses the file"));
            }
            let (key, value) = match key.strip_prefix("no") {
                Some(rest) if !rest.is_empty() => (rest, if is_true(value) { "0" } else { "1" }),
                _ => (key, value),
            };
            let value = (!SECRET.contains(&key)).then(|| value.to_owned());
            self.entries.push(Entry { section, key: key.to_owned(), value, file, line: at + 1 });
        }
        Ok(())
    }

    /// The network that the file chooses: main unless it names another one.
    #[must_use]
    pub fn network(&self) -> Network {
        let outside = |key: &str| self.entries.iter().find(|entry| entry.section.is_none() && entry.key == key);
        let text = |key: &str| outside(key).and_then(|entry| entry.value.as_deref());
        if let Some(name) = text("chain") {
            return Network::ALL.into_iter().find(|network| core_name(*network) == name).unwrap_or(Network::Main);
        }
        let flags = [
            ("regtest", Network::Regtest),
            ("signet", Network::Signet),
            ("testnet4", Network::Testnet4),
            ("testnet", Network::Testnet3),
        ];
        flags.into_iter().find(|(key, _)| text(key).is_some_and(is_true)).map_or(Network::Main, |(_, network)| network)
    }

    /// True if some lines are in a section: a line that is added at the end then belongs to the last section.
    #[must_use]
    pub fn has_sections(&self) -> bool {
        self.entries.iter().any(|entry| entry.section.is_some())
    }

    /// The lines of a setting that count for a network, the first of which decides.
    fn entries<'a, 'k>(&'a self, network: Network, key: &'k str) -> impl Iterator<Item = &'a Entry> + use<'a, 'k> {
        let own = core_name(network);
        let is_shared = network == Network::Main || !SECTION_ONLY.contains(&key);
        let same = move |entry: &&'a Entry| entry.key == key;
        let of_section = self.entries.iter().filter(move |entry| entry.section.as_deref() == Some(own));
        let outside = self.entries.iter().filter(move |entry| is_shared && entry.section.is_none());
        of_section.chain(outside).filter(same)
    }

    /// The value of a setting for a network; `None` if it is not set, or if it is a secret.
    #[must_use]
    pub fn value(&self, network: Network, key: &str) -> Option<&str> {
        self.entries(network, key).next()?.value.as_deref()
    }

    /// All values of a setting that may be given several times.
    #[must_use]
    pub fn values(&self, network: Network, key: &str) -> Vec<&str> {
        self.entries(network, key).filter_map(|entry| entry.value.as_deref()).collect()
    }

    /// True or false as the node understands the value; `None` if the setting is not given.
    #[must_use]
    pub fn flag(&self, network: Network, key: &str) -> Option<bool> {
        self.value(network, key).map(is_true)
    }

    /// True if a setting is given, a secret one too.
    #[must_use]
    pub fn has(&self, network: Network, key: &str) -> bool {
        self.entries(network, key).next().is_some()
    }

    /// Where a setting is given, as file and line.
    #[must_use]
    pub fn place(&self, network: Network, key: &str) -> Option<String> {
        let entry = self.entries(network, key).next()?;
        Some(format!("{}, line {}", self.files.get(entry.file)?.display(), entry.line))
    }

    /// A line of a setting that the node ignores: outside of all sections, where it counts for the main network only.
    #[must_use]
    pub fn ignored_place(&self, network: Network, key: &str) -> Option<String> {
        if network == Network::Main || !SECTION_ONLY.contains(&key) || self.has(network, key) {
            return None;
        }
        let entry = self.entries.iter().find(|entry| entry.section.is_none() && entry.key == key)?;
        Some(format!("{}, line {}", self.files.get(entry.file)?.display(), entry.line))
    }
}

/// Bitcoin Core's reading of a yes or no: the number that the text begins with is not 0; an empty text is a yes.
fn is_true(text: &str) -> bool {
    let digits = text.trim_start_matches(['+', '-']);
    let digits = &digits[..digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len())];
    text.is_empty() || digits.bytes().any(|digit| digit != b'0')
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;

    use super::*;

    fn parsed(text: &str) -> NodeConf {
        NodeConf::parse(Path::new("bitcoin.conf"), text).unwrap()
    }

    #[test]
    fn sections_and_order_are_those_of_the_node() {
        let conf = parsed(
            "# a node\n rest = 1 # on\nrpcport=1111\nsignet.rpcport=2222\nnolisten=1\nprune=0\nprune=550\n\n[test]\nrpcport=3333\nrest=0\n\
             [regtest]\nzmqpubrawtx=tcp://127.0.0.1:1\nzmqpubrawtx=tcp://127.0.0.1:2\n",
        );
        assert_eq!(conf.network(), Network::Main);
        let ports = Network::ALL.map(|network| conf.value(network, "rpcport"));
        assert_eq!(ports, [Some("1111"), Some("3333"), None, Some("2222"), None]);
        assert_eq!((conf.flag(Network::Main, "rest"), conf.flag(Network::Testnet3, "rest")), (Some(true), Some(false)));
        assert_eq!(conf.flag(Network::Main, "listen"), Some(false));
        assert_eq!(conf.value(Network::Main, "prune"), Some("0"));
        assert_eq!(conf.values(Network::Regtest, "zmqpubrawtx"), ["tcp://127.0.0.1:1", "tcp://127.0.0.1:2"]);
        assert_eq!(conf.place(Network::Signet, "rpcport").unwrap(), "bitcoin.conf, line 4");
        assert_eq!(conf.ignored_place(Network::Regtest, "rpcport").unwrap(), "bitcoin.conf, line 3");
        assert_eq!(conf.ignored_place(Network::Signet, "rpcport"), None);
        assert!(!conf.has(Network::Main, "zmqpubrawtx"));
    }

    #[test]
    fn networks() {
        for (text, expected) in [
            ("", Network::Main),
            ("signet=1", Network::Signet),
            ("testnet=1", Network::Testnet3),
            ("testnet4=1", Network::Testnet4),
            ("chain=regtest", Network::Regtest),
            ("chain=nonsense", Network::Main),
            ("regtest=0", Network::Main),
            // Inside a section it does not count.
            ("[main]\nregtest=1", Network::Main),
        ] {
            assert_eq!(parsed(text).network(), expected, "{text}");
        }
    }

    #[test]
    fn yes_and_no() {
        for (text, expected) in
            [("", true), ("1", true), ("0", false), ("00", false), ("-1", true), ("yes", false), ("2x", true)]
        {
            assert_eq!(is_true(text), expected, "{text}");
        }
    }

    #[test]
    fn secrets_are_neither_kept_nor_shown() {
        let conf = parsed("rpcuser=ann\nrpcpassword=hunter2\nrpcauth=bob:salt$hunter2\n");
        assert!(conf.has(Network::Main, "rpcpassword") && conf.has(Network::Main, "rpcauth"));
        assert_eq!(
            (conf.value(Network::Main, "rpcpassword"), conf.value(Network::Main, "rpcuser")),
            (None, Some("ann"))
        );
        assert!(!format!("{conf:?}").contains("hunter2"));
        assert!(
            !conf.entries.iter().any(|entry| entry.value.as_deref().is_some_and(|value| value.contains("hunter2")))
        );
        let error = NodeConf::parse(Path::new("c"), "x=1\nrpcpassword=hunter2#3").unwrap_err().to_string();
        assert!(error.starts_with("c, line 2: ") && !error.contains("hunter2"), "{error}");
    }

    #[test]
    fn lines_that_the_node_refuses() {
        for (text, says) in [("-rest=1", "leading dash"), ("rest=1\nserver", "line 2: not of the form")] {
            let error = NodeConf::parse(Path::new("c"), text).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }

    #[test]
    fn included_files_come_last_and_include_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
        write("bitcoin.conf", "includeconf=more.conf\nrest=0\n[signet]\nincludeconf=signet.conf\n");
        write("more.conf", "rest=1\nserver=0\nincludeconf=third.conf\n");
        let read = || NodeConf::read(&dir.path().join("bitcoin.conf"), dir.path());
        let conf = read().unwrap();
        assert_eq!((conf.flag(Network::Main, "rest"), conf.flag(Network::Main, "server")), (Some(false), Some(false)));
        assert!(conf.place(Network::Main, "server").unwrap().ends_with("more.conf, line 2"));
        fs::remove_file(dir.path().join("more.conf")).unwrap();
        assert!(matches!(read(), Err(ConfError::Io { .. })));
        assert_eq!(NodeConf::read(&dir.path().join("none"), dir.path()).unwrap(), NodeConf::default());
    }

    #[test]
    fn long_and_binary_files_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("bitcoin.conf");
        File::create(&path).unwrap().set_len(1 << 30).unwrap();
        assert!(matches!(NodeConf::read(&path, dir.path()), Err(ConfError::TooLong { .. })));
        fs::write(&path, b"rest=\xff").unwrap();
        assert!(matches!(NodeConf::read(&path, dir.path()), Err(ConfError::NotText { .. })));
        assert!(matches!(NodeConf::read(Path::new("/dev/zero"), dir.path()), Err(ConfError::Io { .. })));
    }
}
