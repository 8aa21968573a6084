//! `cairn.toml`: one key per setting, nothing else.

use std::{
    collections::BTreeMap,
    fs::{self, File, Metadata},
    io::{self, Read},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use clap::Command;
use toml::{Spanned, Value};

use super::{
    reference,
    values::{self, Origin, nearest},
};
use crate::exit::{Failure, plain};

/// The file's values, as the command line would give them.
#[derive(Debug)]
pub(crate) struct ConfigFile {
    path: PathBuf,
    values: BTreeMap<String, Entry>,
    warning: Option<String>,
}

/// A key's value, and the line that it begins on.
#[derive(Debug)]
struct Entry {
    line: usize,
    values: Vec<String>,
}

/// The reason why another user may have written a file.
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
    // Use the metadata of the file that was read; another one may have its name by now.
    Ok((file.metadata()?, text))
}

impl ConfigFile {
    /// Reads a file that the user named.
    ///
    /// # Errors
    /// Fails if the file cannot be read, is not TOML, or contains tables.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let (meta, text) = opened(path).map_err(|error| {
            Failure::usage(format!("the settings file {} cannot be read: {}", path.display(), plain(&error)))
                .hint("--config or CAIRN_CONFIG names it; without them, cairn.toml of the current folder is read if it exists")
        })?;
        let why = distrust(meta.uid(), meta.mode(), meta.uid());
        let warning = why.map(|why| format!("the settings in {} are used, but {why}", path.display()));
        Ok(ConfigFile { warning, ..Self::parse(path, &text)? })
    }

    /// Reads a file that was found, not named. Its settings decide where credentials are sent, so it must be of this
    /// user or of root.
    ///
    /// # Errors
    /// Fails as [`ConfigFile::read`] does, and if somebody else may have written the file.
    pub(crate) fn read_found(path: &Path) -> Result<Self, Failure> {
        let wrong = |e: io::Error| Failure::usage(format!("{}: {}", path.display(), plain(&e)));
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
    /// Fails if the text is not TOML, or contains tables.
    pub(super) fn parse(path: &Path, text: &str) -> Result<Self, Failure> {
        let line_of = |at: usize| text.get(..at).map_or(1, |before| before.matches('\n').count() + 1);
        let wrong = |line: usize, what: &str| Failure::usage(format!("{}, line {line}: {what}", path.display()));
        let table: BTreeMap<String, Spanned<Value>> = toml::from_str(text).map_err(|e| {
            // The parser reports text that is missing at the end of a line behind that line.
            let at = e.span().map_or(0, |span| span.start);
            let at = text.get(..at).map_or(0, |before| before.trim_end_matches('\n').len());
            wrong(line_of(at), e.message())
        })?;
        let mut values = BTreeMap::new();
        for (key, value) in table {
            let line = line_of(value.span().start);
            let list = match value.into_inner() {
                Value::Array(list) => list.iter().map(scalar).collect(),
                one => scalar(&one).map(|text| vec![text]),
            };
            let list = list.ok_or_else(|| wrong(line, &format!("{key} must be a value or a list of values")))?;
            values.insert(key, Entry { line, values: list });
        }
        Ok(ConfigFile { path: path.to_owned(), values, warning: None })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The values of a key; `None` if the file does not set it. An empty list counts as not set.
    pub(super) fn values(&self, key: &str) -> Option<&[String]> {
        self.values.get(key).map(|given| given.values.as_slice()).filter(|v| !v.is_empty())
    }

    /// Checks that every key is a setting and every value is valid for it.
    ///
    /// # Errors
    /// Reports the first mistake, with the file's name.
    pub(super) fn check(&self, command: &Command) -> Result<(), Failure> {
        let settings = reference::settings(command);
        for (key, Entry { line, values }) in &self.values {
            let Some(setting) = settings.iter().find(|s| s.arg.get_id() == key.as_str()) else {
                let failure = Failure::usage(format!("{}, line {line}: unknown key {key}", self.path.display()));
                return Err(match nearest(settings.iter().map(|s| s.arg.get_id().as_str()), key) {
                    Some(id) => failure.hint(format!("did you mean {id}?")),
                    None => failure.hint("`cairn config --reference` lists all keys"),
                });
            };
            values::check(&setting.arg, values, Origin::File(&self.path, *line))?;
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
}
