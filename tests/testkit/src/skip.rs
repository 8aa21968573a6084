//! Tests that cannot run say so by name instead of passing in silence.

use std::{env, fs::OpenOptions, io::Write};

/// Notes that a test did not run: on standard error, and as a line of the file that `CAIRN_SKIPPED_FILE` names, which
/// `make test` prints at its end. Use it through [`skip!`](crate::skip).
pub fn note_skipped(test: &str, reason: &str) {
    let line = format!("{test}: {reason}\n");
    // Written past the capture of the test harness, which shows nothing of a test that passes.
    let _ = write!(std::io::stderr(), "SKIPPED {line}");
    if let Some(path) = env::var_os("CAIRN_SKIPPED_FILE")
        && let Ok(mut file) = OpenOptions::new().create(true).append(true).open(path)
    {
        // One write per line: tests run at the same time.
        let _ = file.write_all(line.as_bytes());
    }
}

/// Leaves the test (a function that returns nothing), having noted its name and the reason.
///
/// ```text
/// let Some(data) = cairn_testkit::shared_data() else { cairn_testkit::skip!("no shared data folder") };
/// ```
#[macro_export]
macro_rules! skip {
    ($($reason:tt)+) => {{
        fn here() {}
        let name = ::std::any::type_name_of_val(&here);
        $crate::note_skipped(name.strip_suffix("::here").unwrap_or(name), &::std::format!($($reason)+));
        return;
    }};
}

/// The folder of real chain data; leaves the test, by name, where there is none.
#[macro_export]
macro_rules! shared_data_or_skip {
    () => {{
        match $crate::shared_data() {
            Some(folder) => folder,
            None => $crate::skip!("no shared data folder (CAIRN_SHARED_DATA)"),
        }
    }};
}

#[cfg(test)]
mod tests {
    use std::{env, fs, process::Command};

    const CHILD: &str = "CAIRN_TESTKIT_SKIP_CHILD";

    /// Skips itself, in a process of its own (the environment belongs to the process).
    #[test]
    fn child_that_skips() {
        if env::var_os(CHILD).is_some() {
            crate::skip!("for {}", "a reason");
            #[allow(unreachable_code)]
            {
                panic!("skip! did not leave the test");
            }
        }
    }

    #[test]
    fn skipped_tests_are_named() {
        let folder = crate::temp_dir();
        let file = folder.path().join("skipped");
        let output = Command::new(env::current_exe().unwrap())
            .args(["--exact", "skip::tests::child_that_skips"])
            .env(CHILD, "1")
            .env("CAIRN_SKIPPED_FILE", &file)
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        let line = "cairn_testkit::skip::tests::child_that_skips: for a reason\n";
        assert_eq!(fs::read_to_string(&file).unwrap(), line);
        assert!(String::from_utf8_lossy(&output.stderr).contains(&format!("SKIPPED {line}")));
    }
}
