#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::{collections::BTreeMap, path::Path};

use clap::{Arg, Command, CommandFactory, FromArgMatches};

use super::*;
use crate::{cli, exit::Exit};

/// Parses a command line as the program does, with a made-up environment that clap itself cannot see.
fn parsed(file: &str, env: &[(&str, &str)], args: &[&str]) -> Result<String, Failure> {
    let env: BTreeMap<String, String> = env.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    let file = ConfigFile::parse(Path::new("cairn.toml"), file)?;
    file.check(&cli::command())?;
    let command = prepare(cli::command(), Some(&file), &|name| env.get(name).map(OsString::from));
    let matches = command.clone().try_get_matches_from([&["cairn", "config"], args].concat());
    let matches = matches.map_err(|e| Failure::usage(e.to_string()))?;
    Ok(show(&cli::command(), &command, matches.subcommand().unwrap().1, Some(&file)))
}

#[test]
fn the_command_is_consistent() {
    cli::command().debug_assert();
    prepare(cli::Cli::command(), None, &|_| None).debug_assert();
}

#[test]
fn every_setting_is_in_the_reference_and_named_alike_everywhere() {
    fn walk(command: &Command, found: &mut Vec<Arg>) {
        found.extend(command.get_arguments().filter(|a| is_setting(a)).cloned());
        command.get_subcommands().for_each(|sub| walk(sub, found));
    }
    let command = cli::command();
    let settings = reference::settings(&command);
    let mut all = Vec::new();
    walk(&command, &mut all);
    assert!(all.len() > settings.len());
    for arg in all {
        let id = arg.get_id().as_str();
        assert!(settings.iter().any(|s| s.arg.get_id() == id), "{id} is no flag of `cairn config`");
        assert_eq!(arg.get_env().unwrap().to_str().unwrap(), format!("CAIRN_{}", id.to_uppercase()));
        assert!(arg.get_help().is_some_and(|help| !help.to_string().is_empty()), "{id} has no text");
    }
    for setting in settings {
        assert_eq!(setting.arg.get_long().unwrap(), setting.arg.get_id().as_str().replace('_', "-"));
        let global = setting.arg.is_global_set();
        assert!(global || !setting.commands.is_empty(), "{}: no command takes it", setting.arg.get_id());
    }
}

#[test]
fn the_file_beats_defaults_and_flags_beat_the_file() {
    let text = parsed("listen = '1.2.3.4:5'\nnetwork = 'signet'\n", &[], &["--network", "main"]).unwrap();
    assert!(text.contains("listen = \"1.2.3.4:5\"  # file\n"), "{text}");
    assert!(text.contains("network = \"main\"  # flag --network\n"), "{text}");
    assert!(text.contains("log = \"info\"  # default\n"), "{text}");
    assert!(text.contains("# datadir is not set\n"), "{text}");
}

#[test]
fn an_empty_variable_is_none() {
    let text = parsed("listen = '1.2.3.4:5'\n", &[("CAIRN_LISTEN", ""), ("CAIRN_DATADIR", "")], &[]).unwrap();
    assert!(text.contains("listen = \"1.2.3.4:5\"  # file\n") && text.contains("# datadir is not set"), "{text}");
}

#[test]
fn lists_are_arrays() {
    let text = parsed("showcase_addresses = ['a', 'b']\n", &[], &[]).unwrap();
    assert!(text.contains("showcase_addresses = [\"a\", \"b\"]  # file\n"), "{text}");
    let text = parsed("", &[], &["--showcase-addresses", "a,b"]).unwrap();
    assert!(text.contains("showcase_addresses = [\"a\", \"b\"]  # flag"), "{text}");
}

#[test]
fn what_config_prints_is_a_config_file_that_says_the_same() {
    let text = parsed("showcase_addresses = ['a']\nlisten = '[::1]:80'\n", &[], &["--datadir", "with \"quotes\""]);
    let text = text.unwrap();
    let again = parsed(&text, &[], &[]).unwrap();
    let values = |text: &str| text.parse::<toml::Table>().unwrap();
    assert_eq!(values(&text), values(&again));
}

#[test]
fn mistakes_in_the_file_are_named() {
    for (file, message) in [
        ("lisetn = 'x'", "unknown key lisetn"),
        ("something_else = 1", "unknown key something_else"),
        ("listen = 'nowhere'", "listen = \"nowhere\""),
        ("network = 'mainnet'", "unknown network \"mainnet\""),
        ("signet_challenge = '5'", "pairs of hexadecimal digits; expected a script of 1 to 10000 bytes"),
        ("signet_challenge = ''", "the challenge is empty; expected a script of 1 to 10000 bytes"),
        ("log_format = 'xml'", "expected one of text, json"),
        ("config = 'other.toml'", "unknown key config"),
        ("a = 1\n[b]\nc = 1", "b must be a value or a list of values"),
        ("listen = 'x'\nlisten", "cairn.toml, line 2: "),
        ("\n\nlog = 'loud'", "cairn.toml, line 3: log = \"loud\""),
    ] {
        let failure = parsed(file, &[], &[]).unwrap_err();
        assert_eq!(failure.exit, Exit::Usage);
        assert!(failure.to_string().contains(message), "{file:?}: {failure}");
        assert!(failure.to_string().contains("cairn.toml"), "{failure}");
    }
    let near = parsed("lisetn = 'x'", &[], &[]).unwrap_err();
    assert_eq!(near.hint.as_deref(), Some("did you mean listen?"));
}

/// The network and signet that flags name.
fn chain(flags: &[&str]) -> Result<ChainParams, Failure> {
    let wrong = |error: clap::Error| Failure::usage(error.to_string());
    let command = Chain::augment_args(Command::new("cairn"));
    let matches = command.try_get_matches_from([&["cairn"], flags].concat()).map_err(wrong)?;
    Chain::from_arg_matches(&matches).map_err(wrong)?.params()
}

#[test]
fn a_challenge_is_for_signets() {
    let challenge = "51".parse().unwrap();
    let custom = chain(&["--network", "signet", "--signet-challenge", "51"]).unwrap();
    assert_eq!(custom, ChainParams::signet(challenge));
    assert_eq!(chain(&["--network", "signet"]).unwrap(), Network::Signet.into());
    let of_default = chain(&["--network", "signet"]).unwrap().challenge_hex().unwrap();
    let default = chain(&["--network", "signet", "--signet-challenge", of_default]).unwrap();
    assert_eq!(default, Network::Signet.into());
    for network in Network::ALL.into_iter().filter(|network| *network != Network::Signet) {
        let refused = chain(&["--network", network.name(), "--signet-challenge", "51"]).unwrap_err();
        assert_eq!(refused.exit, Exit::Usage);
        assert_eq!(
            refused.to_string(),
            format!(
                "error: --signet-challenge is for --network signet, not for {network}\n hint: leave \
                 --signet-challenge out, or give --network signet"
            )
        );
    }
    let long = "51".repeat(10_001);
    for (text, said) in [("", "is empty"), ("xy", "hexadecimal digits"), ("515", "hexadecimal"), (&long, "10001 bytes")]
    {
        let refused = chain(&["--network", "signet", &format!("--signet-challenge={text}")]).unwrap_err().to_string();
        assert!(refused.contains(said) && refused.contains("1 to 10000 bytes"), "{refused}");
    }
}

#[test]
fn secrets_are_masked() {
    let secret = Arg::new("token").long("token").env("CAIRN_TOKEN").hide_env_values(true).help("A secret");
    let command = Command::new("cairn").subcommand(Command::new("config").arg(secret));
    let matches = command.clone().get_matches_from(["cairn", "config", "--token", "hunter2"]);
    let text = show(&command, &command, matches.subcommand().unwrap().1, None);
    assert!(text.contains("token = \"********\"") && !text.contains("hunter2"), "{text}");
    assert!(reference(&command).contains("Secret: never shown."));
}
