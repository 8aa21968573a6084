//! Counts the processor's instructions for decoding, stages, row codecs and reads, and compares them with those that
//! `benches/instructions.json` keeps: unlike times, counts hardly depend on what else the machine does.
//!
//! A count that grew by more than the tolerance fails. One that fell by more asks to be recorded, which is done by
//! `benches/instructions.sh --record`.
//!
//! Valgrind counts, through gungraun. Its processor has no SHA extensions, so hashing is counted in the form for
//! processors without; and counts change with compilers and with other features of the processor. So compilers and
//! features are recorded too. Where they differ from the recorded ones, nothing is compared: the bench is skipped, by
//! name.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

mod counted;
mod fixture;
mod recorded;
mod tools;

use std::{
    collections::BTreeMap,
    env, fs,
    path::Path,
    process::{Command, ExitCode, Stdio},
};

use recorded::{Recorded, compare};
use serde_json::Value;

/// Set for the process that hands over to gungraun's runner.
const HANDS_OVER: &str = "CAIRN_INSTRUCTIONS_HANDS_OVER";

fn main() -> ExitCode {
    if env::args().nth(1).is_some_and(|arg| arg == "--gungraun-run") || env::var_os(HANDS_OVER).is_some() {
        counted::run();
        return ExitCode::SUCCESS;
    }
    let record = env::args().any(|arg| arg == "--record");
    let made_with = match tools::made_with() {
        Ok(made_with) => made_with,
        Err(missing) => return skipped(&missing, record),
    };
    let known = (!record).then(Recorded::read);
    if let Some(difference) = known.as_ref().and_then(|known| known.differs(&made_with)) {
        return skipped(&difference, record);
    }
    let folder = cairn_testkit::temp_dir();
    fixture::make(folder.path());
    let counts = count(folder.path());
    let now = Recorded { made_with, instructions: counts };
    match known {
        None => {
            now.write();
            println!("{} counts recorded", now.instructions.len());
            ExitCode::SUCCESS
        }
        Some(known) if compare(&known, &now) => ExitCode::SUCCESS,
        Some(_) => ExitCode::FAILURE,
    }
}

/// If counts cannot be compared, that is not a failure; if they cannot be recorded, it is.
fn skipped(reason: &str, record: bool) -> ExitCode {
    cairn_testkit::note_skipped("benches::instructions", reason);
    if record { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// Runs every benchmark under Valgrind: instructions by name.
fn count(folder: &Path) -> BTreeMap<String, u64> {
    let output = Command::new(env::current_exe().unwrap())
        .args(["--bench", "--output-format=json", "--parallel=auto", "--home"])
        .arg(folder.join("gungraun"))
        .env(HANDS_OVER, "1")
        .env(fixture::FOLDER, folder)
        .env("PATH", tools::path())
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "gungraun: {}\n{said}", output.status);
    let lines = std::str::from_utf8(&output.stdout).unwrap().lines().filter(|line| line.starts_with('{'));
    let counts: BTreeMap<String, u64> = lines.map(|line| of_summary(&serde_json::from_str(line).unwrap())).collect();
    assert!(!counts.is_empty(), "gungraun counted nothing:\n{said}");
    if let Some(path) = env::var_os("CAIRN_INSTRUCTIONS_RAW") {
        fs::write(path, &output.stdout).unwrap();
    }
    counts
}

/// Name and count of one benchmark's summary.
fn of_summary(summary: &Value) -> (String, u64) {
    let text = |field: &str| summary[field].as_str().unwrap_or_else(|| panic!("no {field} in {summary}"));
    let name = format!("{}::{}", text("function_name"), text("id"));
    let count = find(&summary["profiles"], "Ir").unwrap_or_else(|| panic!("no count of {name} in {summary}"));
    (name, count)
}

/// The first count of an event in gungraun's nested summary.
fn find(value: &Value, event: &str) -> Option<u64> {
    match value {
        Value::Object(members) => {
            members.iter().find_map(|(name, member)| if name == event { number(member) } else { find(member, event) })
        }
        Value::Array(elements) => elements.iter().find_map(|element| find(element, event)),
        _ => None,
    }
}

/// The first number in there.
fn number(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => number.as_u64(),
        Value::Object(members) => members.values().find_map(number),
        Value::Array(elements) => elements.iter().find_map(number),
        _ => None,
    }
}
