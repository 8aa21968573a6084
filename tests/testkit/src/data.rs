//! Folders: real chain data, the workspace, and temporary ones.

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use bitcoin::{Block, consensus::deserialize};
use cairn_model::Network;
use serde_json::Value;
use tempfile::TempDir;

/// The root of the workspace.
#[must_use]
pub fn workspace_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap_or_else(|error| {
        panic!("the workspace that this test was built in is gone: {error}");
    })
}

/// The folder of a crate that tests are built with, for the data in it.
///
/// # Panics
/// If `cargo metadata` fails, or names no such crate.
#[must_use]
pub fn crate_folder(name: &str) -> PathBuf {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version=1", "--locked", "--offline"])
        .current_dir(workspace_root())
        .output();
    let output = output.unwrap_or_else(|error| panic!("cargo metadata: {error}"));
    assert!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("cargo metadata: {error}"));
    let packages = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let manifest = packages.iter().find(|package| package["name"] == name).map(|package| &package["manifest_path"]);
    let manifest = manifest.and_then(Value::as_str).unwrap_or_else(|| panic!("no crate {name}"));
    Path::new(manifest).parent().unwrap_or_else(|| panic!("{manifest} has no folder")).to_owned()
}

/// The folder of real chain data: `CAIRN_SHARED_DATA`, else `../shared/data` beside the workspace; `None` where there
/// is neither, or where `CAIRN_SHARED_DATA` is set to nothing.
///
/// # Panics
/// If `CAIRN_SHARED_DATA` names something that is not a folder: that is a mistake, not an absence.
#[must_use]
pub fn shared_data() -> Option<PathBuf> {
    if let Some(named) = env::var_os("CAIRN_SHARED_DATA") {
        if named.is_empty() {
            return None;
        }
        let named = PathBuf::from(named);
        assert!(named.is_dir(), "CAIRN_SHARED_DATA={} is not a folder", named.display());
        return Some(named);
    }
    let beside = workspace_root().join("../shared/data");
    beside.is_dir().then_some(beside)
}

/// An empty folder that vanishes with the value.
///
/// # Panics
/// If none can be made.
#[must_use]
pub fn temp_dir() -> TempDir {
    TempDir::with_prefix("cairn-test-").unwrap_or_else(|error| panic!("no temporary folder: {error}"))
}

/// The blocks of a plain `blk*.dat` (no XOR, every record whole), in the order of the file.
///
/// # Panics
/// At anything else.
#[must_use]
pub fn read_block_file(path: &Path, network: Network) -> Vec<Block> {
    let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut blocks = Vec::new();
    let mut rest = &bytes[..];
    while !rest.is_empty() {
        let offset = bytes.len() - rest.len();
        let (magic, after) = rest.split_first_chunk::<4>().unwrap_or_else(|| panic!("cut short at {offset}"));
        assert_eq!(*magic, network.magic(), "magic at {offset}");
        let (size, after) = after.split_first_chunk::<4>().unwrap_or_else(|| panic!("cut short at {offset}"));
        let (block, after) = after
            .split_at_checked(u32::from_le_bytes(*size) as usize)
            .unwrap_or_else(|| panic!("cut short at {offset}"));
        blocks.push(deserialize(block).unwrap_or_else(|error| panic!("block at {offset}: {error}")));
        rest = after;
    }
    blocks
}

/// All files below a folder, by path from it, with their bytes.
///
/// # Panics
/// Panics if one cannot be read.
#[must_use]
pub fn files_in(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    fn walk(root: &Path, folder: &Path, found: &mut BTreeMap<String, Vec<u8>>) -> std::io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                walk(root, &path, found)?;
            } else {
                let name = path.strip_prefix(root).unwrap_or(&path).display().to_string();
                found.insert(name, fs::read(&path)?);
            }
        }
        Ok(())
    }
    let mut found = BTreeMap::new();
    walk(folder, folder, &mut found).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    found
}
