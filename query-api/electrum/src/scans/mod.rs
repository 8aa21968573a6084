//! Silent payments over the Electrum protocol, as the server Frigate has them: a client lends its scan key for as long
//! as it is connected, and hears of each transaction that pays it.
//!
//! ```text
//! methods ─► Scans ─► task of each subscription ─► a piece of blocks as work of the client
//!   session ◄── lines ◄──┘       ▲
//!                          Unconfirmed ◄─ watch      tweaks of the mempool, computed once for all
//! ```
//!
//! A task scans from the first block that is asked for, and then follows tip and mempool. Each piece is work as a
//! request is: it is charged to the client, and waits for a place. A client that does not read stops its own scans.
//! Keys are in the memory of the task alone.

mod name;
mod scan;
pub(crate) mod shared;
mod unconfirmed;

use std::{collections::HashMap, sync::Arc};

use cairn_domain::silent_payments::Scanner;
use cairn_http::Asker;
use cairn_model::Network;
use tokio::{sync::mpsc, task::AbortHandle};

use self::shared::AllScans;
pub(crate) use self::{
    name::{ScanName, ScanRange},
    scan::not_indexed,
};
use crate::{electrum::Electrum, failure::Failure};

/// Most subscriptions of a connection.
const MAX_OF_CONNECTION: usize = 16;
/// Lines that wait to be sent to a client. A line has at most 100 transactions, which take 22 KB.
const WAITING_LINES: usize = 4;

/// A scan that runs. It ends when this is dropped.
struct Running {
    range: ScanRange,
    task: AbortHandle,
    all: Arc<AllScans>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
        self.all.end();
    }
}

/// The scans of a connection. They end when it is dropped.
pub(crate) struct Scans {
    running: HashMap<String, Running>,
    send: mpsc::Sender<String>,
    lines: mpsc::Receiver<String>,
}

impl Scans {
    pub(crate) fn new() -> Self {
        let (send, lines) = mpsc::channel(WAITING_LINES);
        Scans { running: HashMap::new(), send, lines }
    }

    /// The next notification, with its line break.
    pub(crate) async fn next(&mut self) -> String {
        match self.lines.recv().await {
            Some(line) => line + "\n",
            // The sender lives as long as this.
            None => std::future::pending().await,
        }
    }

    /// Begins a scan, or begins it again from the earlier of the first blocks that were asked for. Gives its name.
    ///
    /// # Errors
    /// Fails at the limits.
    pub(crate) fn begin(
        &mut self,
        electrum: &Arc<Electrum>,
        asker: Asker,
        (scanner, network): (Scanner, Network),
        mut range: ScanRange,
    ) -> Result<ScanName, Failure> {
        let address = scanner.address(network.to_bitcoin());
        let before = self.running.remove(&address);
        if let Some(before) = &before {
            range.start = range.start.min(before.range.start);
            range.end = range.end.zip(before.range.end).map(|(end, other)| end.max(other));
        } else if self.running.len() >= MAX_OF_CONNECTION {
            let message = format!("at most {MAX_OF_CONNECTION} silent payment addresses are allowed on a connection");
            return Err(Failure::params(message));
        }
        drop(before);
        let all = Arc::clone(&electrum.scans);
        if !all.begin() {
            return Err(Failure::new(Failure::BUSY, "the server has no room for scans; try again later"));
        }
        let name = ScanName { address: address.clone(), labels: scanner.labels().collect(), start: range.start };
        let scan = scan::Scan::new(electrum, asker, scanner, (name.clone(), range), self.send.clone());
        let task = tokio::spawn(scan.run(all.changes())).abort_handle();
        self.running.insert(address, Running { range, task, all });
        Ok(name)
    }

    /// Ends a scan. False if there was none.
    pub(crate) fn end(&mut self, address: &str) -> bool {
        self.running.remove(address).is_some()
    }
}
