//! Environment variables: those that set something, and those that look as if they did.

use std::collections::BTreeMap;

use clap::{Arg, Command};

use super::{
    FILE, LOG_FALLBACK, reference,
    values::{self, Origin, nearest},
};
use crate::exit::Failure;

/// Begins the name of every variable of ours.
const PREFIX: &str = "CAIRN_";
/// Variables that are read, but set no setting.
const OTHERS: [&str; 2] = ["CAIRN_CONFIG", "CAIRN_SIGNING_PASSWORD"];

/// Checks every variable that is a setting, as the keys of `cairn.toml` are checked; returns warnings about variables
/// that nothing reads.
///
/// # Errors
/// Reports the first variable with an invalid value.
pub(crate) fn check_environment(
    command: &Command,
    variables: &BTreeMap<String, String>,
) -> Result<Vec<String>, Failure> {
    let settings = reference::settings(command);
    let set = |name: &str| variables.get(name).filter(|value| !value.is_empty());
    for setting in &settings {
        let own = setting.variable();
        let name = if set(&own).is_none() && setting.arg.get_id() == "log" { LOG_FALLBACK } else { &own };
        let Some(value) = set(name) else { continue };
        values::check(&setting.arg, std::slice::from_ref(value), Origin::Variable(name))?;
    }
    let known: Vec<String> =
        settings.iter().map(reference::Setting::variable).chain(OTHERS.map(str::to_owned)).collect();
    debug_assert!(command.get_arguments().filter(|arg| arg.get_id() == FILE).all(|arg| is_known(arg, &known)));
    // Kubernetes describes a service named cairn to each of its containers.
    let is_service = variables.contains_key("CAIRN_SERVICE_HOST");
    let foreign = |name: &str| is_service && (name.starts_with("CAIRN_SERVICE_") || name.starts_with("CAIRN_PORT"));
    let unknown = variables.iter().filter(|(name, value)| {
        name.starts_with(PREFIX) && !value.is_empty() && !known.contains(name) && !foreign(name)
    });
    let warnings = unknown.map(|(name, _)| {
        let advice = match nearest(known.iter().map(String::as_str), name) {
            Some(near) => format!("did you mean {near}?"),
            None => "`cairn config --reference` lists all".to_owned(),
        };
        format!("the environment variable {name} is ignored: no setting has this name; {advice}")
    });
    Ok(warnings.collect())
}

fn is_known(arg: &Arg, known: &[String]) -> bool {
    arg.get_env().is_some_and(|name| known.iter().any(|known| name == known.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli;

    fn checked(variables: &[(&str, &str)]) -> Result<Vec<String>, Failure> {
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        check_environment(&cli::command(), &variables)
    }

    #[test]
    fn variables_that_nothing_reads_are_named() {
        let warnings = checked(&[
            ("CAIRN_DATADRI", "x"),
            ("CAIRN_SOMETHING_ELSE", "x"),
            ("CAIRN_LSITEN", ""),
            ("CAIRN_CONFIG", "x"),
            ("CAIRN_DATADIR", "x"),
            ("OTHER_DATADRI", "x"),
        ]);
        let warnings = warnings.unwrap();
        assert_eq!(warnings.len(), 2, "{warnings:?}");
        assert!(warnings[0].contains("CAIRN_DATADRI") && warnings[0].ends_with("did you mean CAIRN_DATADIR?"));
        assert!(warnings[1].contains("CAIRN_SOMETHING_ELSE") && warnings[1].contains("--reference"));
    }

    #[test]
    fn variables_of_kubernetes_are_no_mistakes() {
        let port = ("CAIRN_PORT_8080_TCP_ADDR", "10.0.0.1");
        assert_eq!(checked(&[("CAIRN_SERVICE_HOST", "10.0.0.1"), port]).unwrap(), Vec::<String>::new());
        assert_eq!(checked(&[("CAIRN_PORT", "80")]).unwrap().len(), 1);
    }

    #[test]
    fn the_filter_of_all_programs_is_checked_only_if_it_is_used() {
        let said = checked(&[("RUST_LOG", "loud")]).unwrap_err().to_string();
        assert!(said.contains("environment: RUST_LOG = \"loud\""), "{said}");
        assert!(checked(&[("RUST_LOG", "loud"), ("CAIRN_LOG", "info")]).is_ok());
    }
}
