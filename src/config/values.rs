//! Values of settings from `cairn.toml` and the environment: whether they are valid, and what a mistake says.

use std::{fmt, ops::RangeInclusive, path::Path};

use clap::{
    Arg, Command,
    error::{ContextKind, ContextValue},
};

use super::{is_secret, is_setting, toml_value::value_of};
use crate::exit::Failure;

/// The place where a value was given.
#[derive(Clone, Copy, Debug)]
pub(super) enum Origin<'a> {
    /// In an environment variable.
    Variable(&'a str),
    /// In a file, on this line.
    File(&'a Path, usize),
}

impl Origin<'_> {
    /// An assignment, as one writes it there.
    fn assignment(self, arg: &Arg, value: &str) -> String {
        match self {
            Origin::Variable(name) => format!("{name}={value}"),
            Origin::File(..) if arg.get_value_delimiter().is_some() => {
                let list = value.split(',').map(|one| value_of(one.as_ref())).collect();
                format!("{} = {}", arg.get_id(), toml::Value::Array(list))
            }
            Origin::File(..) => format!("{} = {}", arg.get_id(), value_of(value.as_ref())),
        }
    }
}

impl fmt::Display for Origin<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Variable(_) => f.write_str("environment"),
            Origin::File(path, line) => write!(f, "{}, line {line}", path.display()),
        }
    }
}

/// Checks the values of a setting.
///
/// # Errors
/// Reports where the invalid value was given, the allowed values, and an example.
pub(super) fn check(arg: &Arg, values: &[String], origin: Origin<'_>) -> Result<(), Failure> {
    let Err(why) = parsed(arg, values) else { return Ok(()) };
    let name = match origin {
        Origin::Variable(name) => name,
        Origin::File(..) => arg.get_id().as_str(),
    };
    let shown = if is_secret(arg) { "a secret".to_owned() } else { format!("{:?}", values.join(",")) };
    let failure = Failure::usage(format!("{origin}: {name} = {shown}: {why}"));
    Err(match example(arg) {
        Some(value) => failure.hint(format!("for example {}", origin.assignment(arg, &value))),
        None => failure.hint("`cairn config --reference` describes every setting"),
    })
}

/// Lets clap parse the values as a command line with only this argument; the error says what is allowed.
fn parsed(arg: &Arg, values: &[String]) -> Result<(), String> {
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
            _ => "invalid value for this setting".to_owned(),
        }
    })
}

/// Valid values by the name that the help gives a value; for arguments without a default.
const EXAMPLES: &[(&str, &str)] = &[
    ("ADDR:PORT", "127.0.0.1:8080"),
    ("COLLECTOR", "http://127.0.0.1:4318"),
    ("COUNT", "100"),
    ("DATE", "2026-11-29"),
    ("HEIGHT", "800000"),
    ("HEX", "51"),
    ("INTERVAL", "day"),
    ("MS", "1000"),
    ("N", "100"),
    ("NAME=URL", "kraken=https://mirror.example"),
    ("NETWORK", "main"),
    ("NETWORKS", "10.0.0.0/8,fd00::/8"),
    ("ORIGINS", "https://app.example"),
    ("PAIR", "BTC/USD"),
    ("SECONDS", "60"),
    ("SATS", "50000"),
    ("SIZE", "4G"),
    ("TIME", "31d"),
    ("TRANSACTIONS", "10000"),
    ("URL", "https://cairn.example"),
    ("ZONE", "America/New_York"),
];

/// A valid value of an argument: its default, the first of its possible values, or one of its kind.
fn example(arg: &Arg) -> Option<String> {
    let default = || arg.get_default_values().first().map(|value| value.to_string_lossy().into_owned());
    let possible = || arg.get_possible_values().first().map(|value| value.get_name().to_owned());
    let of_kind = || {
        let name = arg.get_value_names()?.first()?;
        EXAMPLES.iter().find(|(kind, _)| kind == name).map(|(_, value)| (*value).to_owned())
    };
    default().or_else(possible).or_else(of_kind)
}

/// Adds to an error of the command line what clap leaves out: the choices of a missing argument, and an example for an
/// invalid one.
pub(crate) fn explained(mut error: clap::Error, command: &Command, args: &[std::ffi::OsString]) -> clap::Error {
    // Options may precede the name of a command. If the value of one is the name of a command, the example is missing.
    let leaf = args
        .iter()
        .skip(1)
        .filter_map(|arg| arg.to_str())
        .fold(command, |command, arg| command.find_subcommand(arg).unwrap_or(command));
    let named: Vec<String> = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(one)) => vec![one.clone()],
        Some(ContextValue::Strings(several)) => several.clone(),
        _ => Vec::new(),
    };
    let is_missing = error.kind() == clap::error::ErrorKind::MissingRequiredArgument;
    if !is_missing && error.kind() != clap::error::ErrorKind::ValueValidation {
        return error;
    }
    // An argument shows its form only when its command is built.
    let (mut leaf, mut command) = (leaf.clone(), command.clone());
    leaf.build();
    command.build();
    let arguments = leaf.get_arguments().chain(command.get_arguments());
    let arguments = arguments.filter(|arg| named.contains(&arg.to_string()));
    let tips = arguments.filter_map(|arg| {
        let flag = arg.get_long().map(|long| format!("--{long}"))?;
        let possible: Vec<String> = arg.get_possible_values().iter().map(|v| v.get_name().to_owned()).collect();
        if !possible.is_empty() {
            return Some(format!("{flag} is one of {}", possible.join(", ")).into());
        }
        example(arg).map(|value| format!("for example {flag} {value}").into())
    });
    let tips: Vec<clap::builder::StyledStr> = tips.collect();
    if !tips.is_empty() {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
    }
    error
}

/// A parser of whole numbers from a range, whose error says what is allowed.
pub(crate) fn whole<T: TryFrom<u64>>(range: RangeInclusive<u64>) -> impl Fn(&str) -> Result<T, String> + Clone {
    move |text| {
        let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let number = if is_plain { text.parse::<u64>().ok() } else { None };
        number
            .filter(|number| range.contains(number))
            .and_then(|number| T::try_from(number).ok())
            .ok_or_else(|| format!("must be a whole number from {} to {}", range.start(), range.end()))
    }
}

/// The one of some names that is nearest to a mistyped one, if it is near enough to be meant.
pub(crate) fn nearest<'a>(names: impl Iterator<Item = &'a str>, typed: &str) -> Option<&'a str> {
    let edits = names.map(|name| (strsim::osa_distance(name, typed), name));
    edits.min_by_key(|(edits, _)| *edits).filter(|(edits, _)| *edits <= 3).map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli;

    #[test]
    fn every_setting_that_can_be_wrong_says_what_is_allowed_and_gives_an_example() {
        let mut checked = 0;
        for setting in super::super::reference::settings(&cli::command()) {
            let arg = &setting.arg;
            let id = arg.get_id();
            let wrong = ["~".to_owned()];
            let variable = setting.variable();
            let Err(failure) = check(arg, &wrong, Origin::Variable(&variable)) else { continue };
            checked += 1;
            let said = failure.to_string();
            assert!(said.starts_with(&format!("error: environment: {variable} = ")), "{said}");
            for bare in ["invalid digit", "invalid socket", "invalid value", "provided string"] {
                assert!(!said.contains(bare), "{id}: {said}");
            }
            let value = example(arg).unwrap_or_else(|| panic!("{id} has no example"));
            assert_eq!(parsed(arg, std::slice::from_ref(&value)), Ok(()), "{id}: {value}");
            assert!(said.ends_with(&format!("hint: for example {variable}={value}")), "{said}");
        }
        assert!(checked > 20, "{checked}");
    }

    #[test]
    fn whole_numbers() {
        let parse = whole::<u16>(1..=600);
        assert_eq!((parse("1"), parse("600")), (Ok(1), Ok(600)));
        for text in ["", "0", "601", "abc", "+5", "1e2", "1.0", "-1", "99999999999999999999999"] {
            assert_eq!(parse(text), Err("must be a whole number from 1 to 600".to_owned()), "{text}");
        }
    }

    #[test]
    fn the_nearest_name_is_one_of_few_edits() {
        let names = ["listen", "datadir", "network"];
        for (typed, expected) in [("lisetn", Some("listen")), ("data_dir", Some("datadir")), ("x", None)] {
            assert_eq!(nearest(names.into_iter(), typed), expected, "{typed}");
        }
    }
}
