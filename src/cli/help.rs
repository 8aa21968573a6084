//! The help of `cairn` itself: commands in groups, how settings are given, examples, exit codes, where to read on.

use std::fmt::Write;

use clap::Command;

use crate::exit::Exit;

/// The commands in groups, each once.
const GROUPS: [(&str, &[&str]); 6] = [
    ("Start", &["demo", "init", "plan", "run", "index", "serve", "mcp"]),
    ("Look at the chain", &["ask", "cluster", "evidence", "snapshot"]),
    ("Import what is said of addresses, and prices", &["labels", "pools", "sanctions", "prices", "events"]),
    ("Look after clients", &["keys", "access", "feedback", "reports", "state"]),
    ("Look after the index", &["doctor", "ready", "verify", "repair", "stages", "reindex", "unwind", "db"]),
    ("Settings and interface", &["config", "openapi", "completions", "manual"]),
];

/// How the three commands relate that are easily mixed up.
const ROLES: &str = "`index` writes an index, `serve` answers requests from one, `run` does both in one process.\n";

const EXAMPLES: &str = "\
Examples:
  cairn demo
      a small chain with invented actors, at http://127.0.0.1:8080
  cairn run --network main --datadir ~/cairn --blocks-dir ~/.bitcoin/blocks
      indexes the block files of a node, follows the chain and serves
  cairn verify --datadir ~/cairn
      checks everything that is in the index
";

const READ_ON: &str = "\
Settings: a flag beats the environment (CAIRN_DATADIR for --datadir), which beats cairn.toml.
  `cairn config` prints what is in force and where it comes from, `cairn config --reference` explains each.

Guides: README.md and docs/operators.md of the source; /getting-started and /api/reference/ of a running server.
";

/// Columns of a line.
const WIDTH: usize = 80;
/// Columns before the texts of commands.
const INDENT: usize = 14;

pub(super) fn with_help(command: Command) -> Command {
    let groups = groups(&command);
    let template =
        format!("{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}Options:\n{{options}}{{after-help}}");
    let short = format!("{EXAMPLES}\n`cairn help` says more, `cairn help COMMAND` explains a command.");
    let long = format!("{EXAMPLES}\n{READ_ON}\nExit codes:\n{}", Exit::list());
    command.help_template(template).after_help(short).after_long_help(long)
}

/// The commands in their groups, with the first sentence of each.
fn groups(command: &Command) -> String {
    let mut text = String::new();
    for (title, names) in GROUPS {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{title}:");
        for name in names {
            let about = command.find_subcommand(name).and_then(Command::get_about).map(ToString::to_string);
            let about = about.unwrap_or_default();
            let sentence = about.split(". ").next().unwrap_or_default().trim_end_matches('.');
            let _ = writeln!(text, "  {name:<width$}{}", wrapped(sentence), width = INDENT - 2);
        }
        if title == "Start" {
            let _ = write!(text, "  {ROLES}");
        }
        text.push('\n');
    }
    text
}

/// A text in lines that begin below each other.
fn wrapped(text: &str) -> String {
    let (mut lines, mut length) = (String::new(), INDENT);
    for word in text.split_whitespace() {
        if length > INDENT && length + 1 + word.len() > WIDTH {
            lines.push('\n');
            lines.extend(std::iter::repeat_n(' ', INDENT));
            length = INDENT;
        } else if length > INDENT {
            lines.push(' ');
            length += 1;
        }
        lines.push_str(word);
        length += word.len();
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli;

    #[test]
    fn every_command_is_in_one_group() {
        let command = cli::command();
        let mut listed: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let mut all: Vec<&str> =
            command.get_subcommands().map(Command::get_name).filter(|name| *name != "help").collect();
        listed.sort_unstable();
        all.sort_unstable();
        assert_eq!(listed, all);
    }

    #[test]
    fn the_help_fits_a_terminal() {
        let mut command = cli::command();
        for help in [command.render_help().to_string(), command.render_long_help().to_string()] {
            for title in ["Start:", "Look after the index:", "Options:", "Examples:"] {
                assert!(help.contains(&format!("{title}\n")), "{title}: {help}");
            }
            assert!(!help.contains('{') && !help.contains("Commands:"), "{help}");
            assert!(groups(&cli::command()).lines().all(|line| line.len() <= 100), "{help}");
        }
    }
}
