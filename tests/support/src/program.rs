//! The program that is tested, and how its commands fail.

use std::process::Command;

use assert_cmd::assert::Assert;

/// The path of the program. Cargo gives it only to test programs and benches of the package `cairn`, while it compiles
/// them; so each of them passes it on: `Program::new(env!("CARGO_BIN_EXE_cairn"))`.
#[derive(Clone, Copy, Debug)]
pub struct Program(&'static str);

impl Program {
    /// The program at this path.
    pub const fn new(path: &'static str) -> Self {
        Program(path)
    }

    /// Returns a command without any setting from outside.
    pub fn command(self) -> Command {
        let mut command = Command::new(self.0);
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("CAIRN_") || text == "RUST_LOG" {
                command.env_remove(&name);
            }
        }
        command
    }
}

/// Checks a failed command: its exit code, and that it prints one error line. All of its errors, with the line of a
/// hint if there is one, contain each word of `says`.
#[track_caller]
pub fn fails(assert: Assert, code: i32, says: &[&str]) {
    let assert = assert.code(code);
    let text = String::from_utf8_lossy(&assert.get_output().stderr).into_owned();
    let errors: Vec<&str> = text.lines().filter(|line| line.starts_with("error: ")).collect();
    assert_eq!(errors.len(), 1, "one error line: {text}");
    for word in says {
        assert!(text.contains(word), "{text:?} does not say {word:?}");
    }
    assert!(!text.contains("panicked") && !text.contains("backtrace"), "{text}");
}
