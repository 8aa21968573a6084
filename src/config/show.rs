//! The settings in force, printed as an equivalent `cairn.toml`.

use std::ffi::OsStr;

use clap::{ArgMatches, Command, parser::ValueSource};
use toml::Value;

use super::{ConfigFile, is_secret, reference, toml_value::value_of};

/// Shown in place of a secret.
const MASK: &str = "********";

/// The settings in force and the source of each. `plain` is the definition of the command line, `prepared` the one that
/// parsed it; `leaf` are the matches of `cairn config`.
pub(crate) fn show(plain: &Command, prepared: &Command, leaf: &ArgMatches, file: Option<&ConfigFile>) -> String {
    let mut text = match file {
        Some(file) => format!("# read from {}\n", file.path().display()),
        None => "# no cairn.toml was read\n".to_owned(),
    };
    let prepared = reference::settings(prepared);
    for setting in reference::settings(plain) {
        let id = setting.arg.get_id().as_str();
        let raw = leaf.try_get_raw(id).ok().flatten().map(Iterator::collect::<Vec<_>>).unwrap_or_default();
        let source = match leaf.value_source(id) {
            Some(ValueSource::CommandLine) => format!("flag --{}", setting.arg.get_long().unwrap_or_default()),
            Some(ValueSource::EnvVariable) => {
                // The filter may have come from RUST_LOG.
                let read = prepared.iter().find(|s| s.arg.get_id() == id).unwrap_or(&setting);
                format!("environment {}", read.variable())
            }
            Some(_) if file.is_some_and(|f| f.values(id).is_some()) => "file".to_owned(),
            Some(_) => "default".to_owned(),
            None => String::new(),
        };
        if raw.is_empty() {
            text.push_str(&format!("# {id} is not set\n"));
            continue;
        }
        let shown = |value: &OsStr| if is_secret(&setting.arg) { Value::from(MASK) } else { value_of(value) };
        let value = match raw[..] {
            [one] if setting.arg.get_value_delimiter().is_none() => shown(one),
            _ => Value::Array(raw.iter().map(|value| shown(value)).collect()),
        };
        text.push_str(&format!("{id} = {value}  # {source}\n"));
    }
    text
}
