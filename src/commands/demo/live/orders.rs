//! Orders for payments: files in the demo's folder. `cairn demo pay` writes them, the running demo carries them out.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process, thread,
    time::{Duration, Instant},
};

use cairn_demo::script_of;
use serde::{Deserialize, Serialize};

use crate::{
    commands::demo::folder::DemoFolder,
    exit::{Exit, Failure},
    out::print,
};

/// How long the command waits for the demo.
const PATIENCE: Duration = Duration::from_secs(30);
const GLANCE: Duration = Duration::from_millis(100);
/// Feerate of payments in satoshis per 1,000 virtual bytes.
pub(super) const FEERATE: u64 = 5_000;
const AT_A_TIME: usize = 100;

#[derive(Serialize, Deserialize, Clone, Debug)]
pub(super) struct Order {
    pub(super) address: String,
    pub(super) sats: u64,
    #[serde(default)]
    pub(super) txid: Option<String>,
    /// Why nothing pays.
    #[serde(default)]
    pub(super) error: Option<String>,
}

impl Order {
    /// Writes the order in one step: no process ever reads a partial file.
    pub(super) fn write(&self, path: &Path) -> Result<(), Failure> {
        let text = serde_json::to_vec(self).map_err(|error| Failure::new(Exit::Other, error.to_string()))?;
        let part = path.with_extension("part");
        fs::write(&part, text).and_then(|()| fs::rename(&part, path)).map_err(Failure::io(path))
    }

    fn read(path: &Path) -> Result<Self, Failure> {
        let bytes = fs::read(path).map_err(Failure::io(path))?;
        serde_json::from_slice(&bytes)
            .map_err(|error| Failure::new(Exit::Other, format!("{}: {error}", path.display())))
    }
}

/// Reads the orders in a folder, the oldest first. A file that cannot be read is removed.
pub(super) fn orders(folder: &Path) -> Result<Vec<(PathBuf, Order)>, Failure> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(Failure::io(folder))?,
    };
    let mut paths = Vec::new();
    for entry in entries {
        let entry = entry.map_err(Failure::io(folder))?;
        let path = entry.path();
        // Folders and links are not of `cairn demo pay`.
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if is_file && path.extension().is_some_and(|of| of == "json") {
            paths.push(path);
        }
    }
    paths.sort_unstable();
    let mut orders = Vec::new();
    for path in paths.into_iter().take(AT_A_TIME) {
        match Order::read(&path) {
            Ok(order) => orders.push((path, order)),
            Err(failure) => {
                tracing::warn!(%failure, "an order that cannot be read is removed");
                remove(&path);
            }
        }
    }
    Ok(orders)
}

pub(super) fn remove(path: &Path) {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            tracing::warn!(path = %path.display(), %error, "the file of an order cannot be removed");
        }
        _ => {}
    }
}

/// Orders a payment from the demo that runs in this folder, and prints its transaction.
pub(crate) fn pay(folder: &DemoFolder, address: &str, sats: u64) -> Result<Exit, Failure> {
    if script_of(address).is_none() {
        return Err(Failure::usage(format!("{address} is not a regtest address")));
    }
    let dir = folder.dir().display();
    let idle = || {
        Failure::new(Exit::Other, format!("no demo that adds blocks runs in {dir}"))
            .hint("start `cairn demo` without --still, and give the same --datadir here")
    };
    // No lock is created in a folder that is not a demo's.
    let orders = folder.payments()?.ok_or_else(idle)?;
    if folder.own()?.is_some() {
        return Err(idle());
    }
    fs::create_dir_all(&orders).map_err(Failure::io(&orders))?;
    let path = orders.join(format!("{:013}-{}.json", cairn_clock::now_ms(), process::id()));
    Order { address: address.to_owned(), sats, txid: None, error: None }.write(&path)?;
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
        thread::sleep(GLANCE);
        // The demo removes the file when a block has the payment; until then there is time to read it.
        let Ok(order) = Order::read(&path) else { break };
        if let Some(error) = order.error {
            remove(&path);
            return Err(Failure::new(Exit::Other, error));
        }
        if let Some(txid) = order.txid {
            print(&format!("{txid} pays {sats} sat to {address}; the next block has it\n"))?;
            return Ok(Exit::Done);
        }
    }
    Err(Failure::new(Exit::Other, "the demo does not answer").hint("its log says why"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_orders_are_taken() {
        let folder = cairn_testkit::temp_dir();
        let path = |name: &str| folder.path().join(name);
        let order = Order { address: "an address".to_owned(), sats: 5_000, txid: None, error: None };
        order.write(&path("1.json")).unwrap();
        fs::write(path("2.json"), [0xff; 64]).unwrap();
        fs::create_dir(path("3.json")).unwrap();
        std::os::unix::fs::symlink("/dev/zero", path("4.json")).unwrap();
        let taken = orders(folder.path()).unwrap();
        assert_eq!(taken.iter().map(|(_, order)| order.sats).collect::<Vec<_>>(), [5_000]);
        assert!(!path("2.json").exists() && path("3.json").exists() && path("4.json").is_symlink());
        assert!(orders(&path("missing")).unwrap().is_empty());
    }
}
