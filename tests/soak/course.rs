//! Knowledge that clients and the one who disturbs them share: when a failure is explained, and when a tip may go back.

use std::{
    fmt,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use cairn_standin::StandIn;
use cairn_support::{Cast, ServedAddress};

/// The state that all share.
pub struct Course {
    pub served: Arc<ServedAddress>,
    ended: AtomicBool,
    /// Odd while a process is killed and started again.
    kills: AtomicU64,
    /// Odd while the node's chain is replaced from some height on, until that is served.
    reorgs: AtomicU64,
    pub answers: AtomicU64,
    /// Answers whose tip was compared with the one before.
    pub tips: AtomicU64,
    /// 503 and broken connections that were explained.
    pub explained: AtomicU64,
    faults: Mutex<Vec<String>>,
}

/// A moment, as far as failures and tips are concerned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Moment {
    kills: u64,
    reorgs: u64,
}

impl Moment {
    /// A process was killed, or not yet back, between this and a later moment.
    pub fn is_disturbed_until(self, later: Moment) -> bool {
        self.kills != later.kills || !self.kills.is_multiple_of(2)
    }

    /// The chain was replaced between this and a later moment.
    pub fn is_reorganized_until(self, later: Moment) -> bool {
        self.reorgs != later.reorgs || !self.reorgs.is_multiple_of(2)
    }
}

/// Ends the clients.
pub struct End<'c>(&'c Course);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.ended.store(true, Ordering::SeqCst);
    }
}

/// Answers so far.
pub struct Count(u64, u64, u64);

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} answers ({} with a tip, {} failures explained)", self.0, self.1, self.2)
    }
}

impl Course {
    pub fn new(served: Arc<ServedAddress>) -> Self {
        let number = || AtomicU64::new(0);
        Course {
            served,
            ended: AtomicBool::new(false),
            kills: number(),
            reorgs: number(),
            answers: number(),
            tips: number(),
            explained: number(),
            faults: Mutex::default(),
        }
    }

    pub fn now(&self) -> Moment {
        Moment { kills: self.kills.load(Ordering::SeqCst), reorgs: self.reorgs.load(Ordering::SeqCst) }
    }

    pub fn has_ended(&self) -> bool {
        self.ended.load(Ordering::SeqCst)
    }

    pub fn end_on_drop(&self) -> End<'_> {
        End(self)
    }

    /// Does something that explains failures.
    pub fn disturbed(&self, act: impl FnOnce()) {
        self.kills.fetch_add(1, Ordering::SeqCst);
        act();
        self.kills.fetch_add(1, Ordering::SeqCst);
    }

    /// Does something that explains lower tips.
    pub fn reorganized(&self, act: impl FnOnce()) {
        self.reorgs.fetch_add(1, Ordering::SeqCst);
        act();
        self.reorgs.fetch_add(1, Ordering::SeqCst);
    }

    /// Records a fault.
    pub fn wrong(&self, what: String) {
        self.faults.lock().unwrap().push(what);
    }

    /// The first fault.
    pub fn fault(&self) -> Option<String> {
        self.faults.lock().unwrap().first().cloned()
    }

    pub fn count(&self) -> Count {
        let [answers, tips, explained] =
            [&self.answers, &self.tips, &self.explained].map(|number| number.load(Ordering::Relaxed));
        Count(answers, tips, explained)
    }

    /// Waits until the node's tip and mempool are served.
    pub fn settle(&self, node: &StandIn, cast: &Cast) {
        let tip = node.world().tip().to_string();
        let mut client = cast.client();
        cast.wait_until("the node's tip and mempool", || {
            client.ok("/v1/mempool/stats").is_ok_and(|stats| stats["_meta"]["tip"]["hash"] == tip.as_str())
        });
    }
}
