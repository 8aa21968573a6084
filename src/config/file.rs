//! `cairn.toml`: one key per setting, nothing else.

use std::{
    collections::BTreeMap,
    fs::{self, File, Metadata},
    io::{self, Read},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use clap::{Arg, Command, error::ContextKind, error::ContextValue};
use toml::{Table, Value};

use super::{is_setting, reference};
use crate::exit::{Exit, Failure};

/// The file's values, as the command line would give them.
#[derive(Debug)]
pub(crate) struct ConfigFile {
    path: PathBuf,
    values: BTreeMap<String, Vec<String>>,
    warning: Option<String>,
}

/// Why somebody else may have written a file.
fn distrust(owner: u32, mode: u32, user: u32) -> Option<String> {
    match (owner, mode) {
        (owner, _) if owner != user && owner != 0 => Some(format!("it belongs to another user (uid {owner})")),
        (_, mode) if mode & 0o002 != 0 => Some("every user may change it".to_owned()),
        _ => None,
    }
}

fn opened(path: &Path) -> io::Result<(Metadata, String)> {
    let mut file = File::open(path)?;
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    // Of the file that was read, whatever has its name by now.
    Ok((file.metadata()?, text))
}

impl ConfigFile {
    /// Reads a file that the user named.
    ///
    /// # Errors
    /// It cannot be read, is not TOML, or contains tables.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let (meta, text) = opened(path).map_err(|e| Failure::new(Exit::Usage, format!("{}: {e}", path.display())))?;
        let why = distrust(meta.uid(), meta.mode(), meta.uid());
        let warning = why.map(|why| format!("the settings in {} are used, but {why}", path.display()));
        Ok(ConfigFile { warning, ..Self::parse(path, &text)? })
    }

    /// Reads a file that was found, not named. Its settings decide where credentials are sent, so it must be of this user
    /// or of root.
    ///
    /// # Errors
    /// As for [`ConfigFile::read`]; or somebody else may have written it.
    pub(crate) fn read_found(path: &Path) -> Result<Self, Failure> {
        let wrong = |e: io::Error| Failure::new(Exit::Usage, format!("{}: {e}", path.display()));
        let user = rustix::process::geteuid().as_raw();
        // A link leads elsewhere: who made it counts too. Its mode means nothing.
        let link = fs::symlink_metadata(path).map_err(wrong)?;
        let (meta, text) = opened(path).map_err(wrong)?;
        match distrust(link.uid(), 0, user).or_else(|| distrust(meta.uid(), meta.mode(), user)) {
            None => Self::parse(path, &text),
            Some(why) => {
                let name = path.display();
                let failure = Failure::usage(format!("{name} in the current folder is not read: {why}"));
                Err(failure.hint(format!("if you trust it, name it: --config {name}; or change its owner or mode")))
            }
        }
    }

    /// A warning about the file, for the log.
    pub(crate) fn warning(&self) -> Option<&str> {
        self.warning.as_deref()
    }

    /// Parses a file's text.
    ///
    /// # Errors
    /// It is not TOML, or contains tables.
    pub(super) fn parse(path: &Path, text: &str) -> Result<Self, Failure> {
        let wrong = |what: String| Failure::usage(format!("{}: {what}", path.display()));
        let table: Table = text.parse().map_err(|e: toml::de::Error| {
            let line = e.span().and_then(|s| Some(text.get(..s.start)?.lines().count().max(1)));
            wrong(format!("{}{}", line.map(|n| format!("line {n}: ")).unwrap_or_default(), e.message()))
        })?;
        let mut values = BTreeMap::new();
        for (key, value) in table {
            let list = match value {
                Value::Array(list) => list.iter().map(scalar).collect(),
                one => scalar(&one).map(|text| vec![text]),
            };
            let list = list.ok_or_else(|| wrong(format!("{key} must be a value or a list of values")))?;
            values.insert(key, list);
        }
        Ok(ConfigFile { path: path.to_owned(), values, warning: None })
    }

    /// Where it was read.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The values of a key; `None` if the file does not set it. An empty list counts as not set.
    pub(super) fn values(&self, key: &str) -> Option<&[String]> {
        self.values.get(key).map(Vec::as_slice).filter(|v| !v.is_empty())
    }

    /// Checks that every key is a setting and every value is valid for it.
    ///
    /// # Errors
    /// The first mistake, with the file's name.
    pub(super) fn check(&self, command: &Command) -> Result<(), Failure> {
        let settings = reference::settings(command);
        for (key, values) in &self.values {
            let wrong = |what: String| Failure::usage(format!("{}: {what}", self.path.display()));
            let Some(setting) = settings.iter().find(|s| s.arg.get_id() == key.as_str()) else {
                let near = settings.iter().map(|s| s.arg.get_id().as_str()).min_by_key(|id| distance(id, key));
                let failure = wrong(format!("unknown key {key}"));
                return Err(match near.filter(|id| distance(id, key) <= 3) {
                    Some(id) => failure.hint(format!("did you mean {id}?")),
                    None => failure.hint("`cairn config --reference` lists all keys"),
                });
            };
            if let Err(what) = check_values(&setting.arg, values) {
                return Err(wrong(format!("{key} = {:?}: {what}", values.join(","))));
            }
        }
        Ok(())
    }
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        Value::Boolean(answer) => Some(answer.to_string()),
        Value::Datetime(time) => Some(time.to_string()),
        Value::Array(_) | Value::Table(_) => None,
    }
}

/// Lets clap parse the values as a command line with only this argument.
fn check_values(arg: &Arg, values: &[String]) -> Result<(), String> {
    let only = arg.clone().env(None::<&str>).required(false).global(false).default_value(None::<&str>);
    debug_assert!(is_setting(arg));
    let flag = format!("--{}", arg.get_long().unwrap_or_default());
    let args = ["cairn".to_owned()].into_iter().chain(values.iter().map(|value| format!("{flag}={value}")));
    let tried = Command::new("cairn").arg(only).try_get_matches_from(args);
    tried.map(|_| ()).map_err(|error| {
        if let Some(source) = std::error::Error::source(&error) {
            return source.to_string();
        }
        match error.get(ContextKind::ValidValue) {
            Some(ContextValue::Strings(valid)) => format!("expected one of {}", valid.join(", ")),
            _ => "invalid value for this setting; see `cairn config --reference`".to_owned(),
        }
    })
}

/// Edits between two words.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let changed = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_this_user_and_of_root_are_trusted() {
        for (owner, mode, user, trusted) in [
            (1000, 0o100_644, 1000, true),
            (1000, 0o100_664, 1000, true),
            (0, 0o100_644, 1000, true),
            (0, 0o100_600, 0, true),
            (1001, 0o100_600, 1000, false),
            (1000, 0o100_600, 0, false),
            (1000, 0o100_666, 1000, false),
            (0, 0o100_602, 1000, false),
        ] {
            assert_eq!(distrust(owner, mode, user).is_none(), trusted, "{owner} {mode:o} {user}");
        }
    }

    #[test]
    fn distances() {
        assert_eq!(distance("listen", "listen"), 0);
        assert_eq!(distance("listen", "lisetn"), 2);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
