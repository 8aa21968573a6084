//! Tools that counting needs: Valgrind, and gungraun's runner of the same version as its library.

use std::{
    collections::BTreeMap,
    env,
    ffi::OsString,
    fs,
    path::PathBuf,
    process::{Command, Stdio},
};

/// Version of gungraun: the root `Cargo.toml` fixes it.
fn version() -> String {
    let text = fs::read_to_string(cairn_testkit::workspace_root().join("Cargo.toml")).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("gungraun = \"="));
    line.and_then(|line| line.strip_suffix('"')).expect("a fixed version of gungraun").to_owned()
}

/// Where `benches/instructions.sh` puts the runner.
fn runner_folder() -> Option<PathBuf> {
    let cache = env::var_os("XDG_CACHE_HOME").filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let cache = cache.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cache")))?;
    Some(cache.join("cairn/tools/bin"))
}

/// `PATH` with that folder in front.
pub(crate) fn path() -> OsString {
    let path = env::var_os("PATH").unwrap_or_default();
    env::join_paths(runner_folder().into_iter().chain(env::split_paths(&path))).unwrap_or(path)
}

/// The first line that a program prints; `None` if it is not there.
fn first_line(program: &str, args: &[&str]) -> Option<String> {
    let output = Command::new(program).args(args).env("PATH", path()).stdin(Stdio::null()).output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).lines().next()?.trim().to_owned())
}

/// Tools and processor that counts depend on; the error names a tool that is missing.
pub(crate) fn made_with() -> Result<BTreeMap<String, String>, String> {
    let valgrind = first_line("valgrind", &["--version"]).ok_or("valgrind is not installed")?;
    let runner = first_line("gungraun-runner", &["--version"]).ok_or("gungraun-runner is not installed")?;
    let wanted = version();
    if runner.split_whitespace().last() != Some(&wanted) {
        return Err(format!("{runner} is installed, not version {wanted}"));
    }
    let tools = [
        ("rustc", first_line("rustc", &["--version"]).ok_or("rustc is not installed")?),
        // RocksDB's.
        ("c++", first_line("c++", &["--version"]).ok_or("c++ is not installed")?),
        ("valgrind", valgrind),
        ("processor", processor()),
    ];
    Ok(tools.map(|(name, version)| (name.to_owned(), version)).into())
}

/// Features of the real processor that Valgrind's takes over, as far as code asks for them.
#[cfg(target_arch = "x86_64")]
fn processor() -> String {
    let avx2 = std::arch::is_x86_feature_detected!("avx2");
    format!("{}, {} AVX2", env::consts::ARCH, if avx2 { "with" } else { "without" })
}

#[cfg(not(target_arch = "x86_64"))]
fn processor() -> String {
    env::consts::ARCH.to_owned()
}
