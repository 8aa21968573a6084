//! A client that reads all the time.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use cairn_support::Client;

/// Between two reads.
const PAUSE: Duration = Duration::from_millis(20);
/// Failures that are kept.
const MAX_FAILURES: usize = 20;

/// Reads so far, and their failures.
#[derive(Default)]
struct Count {
    reads: AtomicU64,
    failures: Mutex<Vec<String>>,
    stop: AtomicBool,
}

/// Reads a thing that stays as it is, and the tip, until it is dropped.
pub(crate) struct Reads {
    count: Arc<Count>,
    thread: Option<JoinHandle<()>>,
}

impl Reads {
    /// Begins to read at `address`: what is at `pointer` in the answer to `path` now, and stays.
    pub(crate) fn start(address: &str, path: &str, pointer: &'static str) -> Self {
        let count = Arc::new(Count::default());
        let (ours, mut client, path) = (Arc::clone(&count), Client::new(address), path.to_owned());
        let known = client.ok(&path).unwrap().pointer(pointer).unwrap().clone();
        let thread = thread::spawn(move || {
            while !ours.stop.load(Ordering::SeqCst) {
                let stays = client.ok(&path).and_then(|body| match body.pointer(pointer) {
                    Some(found) if *found == known => Ok(()),
                    found => Err(format!("{path} has {found:?} instead of {known}")),
                });
                let tip = client.ok("/v1/chain/recent-blocks?limit=1").map(drop);
                for failure in [stays, tip].into_iter().filter_map(Result::err) {
                    let mut failures = ours.failures.lock().unwrap();
                    if failures.len() < MAX_FAILURES {
                        failures.push(failure);
                    }
                }
                ours.reads.fetch_add(2, Ordering::SeqCst);
                thread::sleep(PAUSE);
            }
        });
        Reads { count, thread: Some(thread) }
    }

    /// How many reads there were.
    pub(crate) fn count(&self) -> u64 {
        self.count.reads.load(Ordering::SeqCst)
    }

    /// Reads that failed since the last call.
    pub(crate) fn failures(&self) -> Vec<String> {
        std::mem::take(&mut self.count.failures.lock().unwrap())
    }
}

impl Drop for Reads {
    fn drop(&mut self) {
        self.count.stop.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            // A panic in it shows by itself.
            let _ = thread.join();
        }
    }
}
