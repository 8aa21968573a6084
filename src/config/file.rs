//! `cairn.toml`: one key per setting, nothing else.

use std::{
    collections::BTreeMap,
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
}

impl ConfigFile {
    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read, is not TOML, or contains tables.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let text =
            std::fs::read_to_string(path).map_err(|e| Failure::new(Exit::Usage, format!("{}: {e}", path.display())))?;
        Self::parse(path, &text)
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
        Ok(ConfigFile { path: path.to_owned(), values })
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
    fn distances() {
        assert_eq!(distance("listen", "listen"), 0);
        assert_eq!(distance("listen", "lisetn"), 2);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
