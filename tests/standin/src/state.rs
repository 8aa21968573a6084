//! The state that the server's threads share.

use std::collections::BTreeMap;

use parking_lot::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use crate::http::{Call, Faults, When};
use crate::options::StandInOptions;
use crate::{Topic, World};

/// The part of the state that changes with a restart.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    /// The value that the Authorization header must have.
    pub(crate) authorization: String,
    pub(crate) started: Instant,
    pub(crate) addresses: BTreeMap<Topic, String>,
}

/// The node behind the server.
#[derive(Debug)]
pub(crate) struct Shared {
    world: Mutex<World>,
    faults: Mutex<Faults>,
    session: Mutex<Session>,
    pub(crate) version: u32,
    pub(crate) rest: bool,
    pub(crate) txindex: bool,
    pub(crate) coinstatsindex: bool,
    pub(crate) high_water_mark: i32,
}

impl Shared {
    pub(crate) fn new(world: World, options: &StandInOptions) -> Self {
        let session = Session { authorization: String::new(), started: Instant::now(), addresses: BTreeMap::new() };
        Self {
            world: Mutex::new(world),
            faults: Mutex::new(Faults::new(options.seed)),
            session: Mutex::new(session),
            version: options.version,
            rest: options.rest,
            txindex: options.txindex,
            coinstatsindex: options.coinstatsindex,
            high_water_mark: options.zmq.high_water_mark,
        }
    }

    pub(crate) fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock()
    }

    pub(crate) fn faults(&self) -> MutexGuard<'_, Faults> {
        self.faults.lock()
    }

    pub(crate) fn set_session(&self, session: Session) {
        *self.session.lock() = session;
    }

    pub(crate) fn authorization(&self) -> String {
        self.session.lock().authorization.clone()
    }

    pub(crate) fn uptime(&self) -> Duration {
        self.session.lock().started.elapsed()
    }

    pub(crate) fn zmq_addresses(&self) -> BTreeMap<Topic, String> {
        self.session.lock().addresses.clone()
    }

    /// Runs what waits for this point of this call.
    pub(crate) fn run_hooks(&self, when: When, call: &Call) {
        let due = self.faults().due(when, call);
        for hook in due {
            (hook.action)(&mut self.world());
        }
    }
}
