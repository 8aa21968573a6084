//! Troubles besides faults of single requests: how they begin and end.

use std::fs;

use bitcoin::Network;
use cairn_standin::{HttpFault, HttpRule, Match, Restart, ZmqFault, ZmqRule};
use cairn_support::Form;
use sqlx::{ConnectOptions, sqlite::SqliteConnectOptions};

use crate::{
    disk::{Disk, set_immutable},
    rig::{Rig, StateLock},
    table::stir,
};

/// How a trouble begins, and how it ends.
pub(crate) struct Action {
    /// False: this machine or this form does not let it happen.
    pub(crate) begin: Box<dyn Fn(&mut Rig) -> bool>,
    pub(crate) end: Box<dyn Fn(&mut Rig)>,
}

/// An action that can always happen.
pub(crate) fn act(begin: impl Fn(&mut Rig) + 'static, end: impl Fn(&mut Rig) + 'static) -> Action {
    let begin = move |rig: &mut Rig| {
        begin(rig);
        true
    };
    Action { begin: Box::new(begin), end: Box::new(end) }
}

/// An action that may need rights or a form of processes that are not there.
pub(crate) fn skipped_where(begin: impl Fn(&mut Rig) -> bool + 'static, end: impl Fn(&mut Rig) + 'static) -> Action {
    Action { begin: Box::new(begin), end: Box::new(end) }
}

impl Rig {
    pub(crate) fn stop_node(&mut self) {
        self.node.stop();
    }

    pub(crate) fn start_node(&mut self) {
        self.node.start_again(&Restart::default()).unwrap();
    }

    pub(crate) fn leave_network(&mut self) {
        self.node.restart(&Restart { network: Some(Network::Signet), ..Restart::default() }).unwrap();
    }

    pub(crate) fn return_to_network(&mut self) {
        self.node.restart(&Restart { network: Some(Network::Regtest), ..Restart::default() }).unwrap();
    }

    pub(crate) fn height(&self) -> u32 {
        self.node.world().height()
    }

    /// Takes the blocks from a height on off the node. It still knows their headers.
    pub(crate) fn invalidate_from(&mut self, height: u32) {
        let mut world = self.node.world();
        let hash = world.hash_at(height).unwrap();
        world.invalidate(&hash).unwrap();
        self.invalid = Some(hash);
    }

    pub(crate) fn reconsider(&mut self) {
        self.node.world().reconsider(&self.invalid.take().unwrap()).unwrap();
    }

    /// The node deletes a block before it was asked for it.
    pub(crate) fn prune(&mut self) {
        self.node.close_zmq().unwrap();
        let mut world = self.node.world();
        let height = world.height();
        world.prune(Some(height + 2));
        world.mine(2).unwrap();
    }

    pub(crate) fn unprune(&mut self) {
        self.node.world().prune(None);
        self.node.open_zmq().unwrap();
    }

    /// All bytes of blocks are others; the rest is as it should be.
    pub(crate) fn garble_blocks(&mut self) {
        let rules = [
            (Match::Rest("block/"), HttpFault::Status(404, "")),
            (Match::Rpc("getblock"), HttpFault::Result("\"00ff\"")),
        ];
        self.node.http_faults(1, rules.map(|(on, fault)| HttpRule::always(on, fault)).into());
        stir(self);
    }

    /// The list of the mempool is another thing, at a time at which it is needed.
    pub(crate) fn garble_mempool(&mut self) {
        self.node.http_faults(1, vec![HttpRule::always(Match::Rpc("getrawmempool"), HttpFault::Result("[1]"))]);
        self.node.zmq_faults(1, vec![ZmqRule::sometimes(1_000, ZmqFault::Drop)]).unwrap();
        stir(self);
        self.node.zmq_faults(1, Vec::new()).unwrap();
        stir(self);
    }

    pub(crate) fn heal_node(&mut self) {
        self.node.http_faults(0, Vec::new());
    }

    pub(crate) fn fill_disk(&mut self) -> bool {
        self.disk.as_ref().map(Disk::fill).is_some()
    }

    pub(crate) fn free_disk(&mut self) {
        self.disk.as_ref().unwrap().free();
    }

    /// No file can be made in the folder of the index.
    pub(crate) fn lock_index(&mut self) -> bool {
        let locked = set_immutable(&self.cast.world.path("data/index"), true);
        if locked {
            stir(self);
        }
        locked
    }

    pub(crate) fn unlock_index(&mut self) {
        assert!(set_immutable(&self.cast.world.path("data/index"), false));
    }

    /// Another process writes the database, and does not end.
    pub(crate) fn lock_state(&mut self) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let options = SqliteConnectOptions::new().filename(self.cast.world.path("data/state.sqlite"));
        let connection = runtime.block_on(async {
            let mut connection = options.connect().await.unwrap();
            sqlx::raw_sql("BEGIN IMMEDIATE").execute(&mut connection).await.unwrap();
            connection
        });
        self.lock = Some(StateLock { runtime, connection });
    }

    pub(crate) fn unlock_state(&mut self) {
        let StateLock { runtime, mut connection } = self.lock.take().unwrap();
        runtime.block_on(sqlx::raw_sql("ROLLBACK").execute(&mut connection)).unwrap();
    }

    pub(crate) fn hide_state(&mut self) {
        let path = |name| self.cast.world.path(name);
        fs::rename(path("data/state.sqlite"), path("data/hidden")).unwrap();
    }

    pub(crate) fn show_state(&mut self) {
        let path = |name| self.cast.world.path(name);
        fs::rename(path("data/hidden"), path("data/state.sqlite")).unwrap();
    }

    /// Kills the process that writes, where another one serves.
    pub(crate) fn kill_indexer(&mut self, form: Form) -> bool {
        let other = self.cast.form == form;
        if other {
            self.cast.end_writer("KILL");
        }
        other
    }

    pub(crate) fn start_indexer(&mut self) {
        self.cast.start_writer();
    }
}
