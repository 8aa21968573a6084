//! The targets for libFuzzer's programs: those that need no index. Here is only the way to the files, which the tests
//! of the workspace share.

#[path = "../targets/parsers/mod.rs"]
mod parsers;

/// Runs a target over bytes.
///
/// # Panics
/// The target found something, or there is none of this name.
pub fn run(name: &str, bytes: &[u8]) {
    let found = parsers::TARGETS.iter().copied().find(|(target, _)| *target == name);
    let (_, target) = found.unwrap_or_else(|| panic!("no target {name}"));
    target(bytes);
}
