//! What is in force, as a `cairn.toml` that would say the same.

use clap::{ArgMatches, Command, parser::ValueSource};
use toml::Value;

use super::{ConfigFile, is_secret, reference};

/// What stands for a secret.
const MASK: &str = "********";

/// The settings in force, with where each comes from. `command` is the one that `matches` were parsed with; `leaf` are
/// the matches of `cairn config`.
pub(crate) fn show(command: &Command, leaf: &ArgMatches, file: Option<&ConfigFile>) -> String {
    let mut text = match file {
        Some(file) => format!("# read from {}\n", file.path().display()),
        None => "# no cairn.toml was read\n".to_owned(),
    };
    for setting in reference::settings(command) {
        let id = setting.arg.get_id().as_str();
        let raw = leaf.try_get_raw(id).ok().flatten().map(Iterator::collect::<Vec<_>>).unwrap_or_default();
        let source = match leaf.value_source(id) {
            Some(ValueSource::CommandLine) => format!("flag --{}", setting.arg.get_long().unwrap_or_default()),
            Some(ValueSource::EnvVariable) => format!("environment {}", setting.variable()),
            Some(_) if file.is_some_and(|f| f.values(id).is_some()) => "file".to_owned(),
            Some(_) => "default".to_owned(),
            None => String::new(),
        };
        if raw.is_empty() {
            text.push_str(&format!("# {id} is not set\n"));
            continue;
        }
        let shown = |value: &std::ffi::OsStr| {
            Value::String(if is_secret(&setting.arg) { MASK.to_owned() } else { value.to_string_lossy().into_owned() })
        };
        let value = match raw[..] {
            [one] if setting.arg.get_value_delimiter().is_none() => shown(one),
            _ => Value::Array(raw.iter().map(|value| shown(value)).collect()),
        };
        text.push_str(&format!("{id} = {value}  # {source}\n"));
    }
    text
}
