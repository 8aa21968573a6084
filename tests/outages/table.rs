//! The troubles, one a line.

use std::time::Duration;

use cairn_standin::{HttpFault, HttpRule, Match};
use cairn_support::Form;

use crate::{
    actions::{Action, act, skipped_where},
    rig::Rig,
};

/// A trouble.
pub(crate) struct Outage {
    pub(crate) name: &'static str,
    /// The part that health names, and words of its reason.
    pub(crate) named: (&'static str, &'static str),
    pub(crate) kind: Kind,
}

/// How a trouble begins and ends.
pub(crate) enum Kind {
    /// Requests to the node meet a fault.
    Http(Match, HttpFault),
    /// Something else is done, and undone.
    Act(Action),
}

/// A reset in the middle of a trouble: the node has a payment more, and another tip.
pub(crate) fn stir(rig: &Rig) {
    let mut world = rig.node.world();
    // It may have no coin at the moment.
    let _ = world.send(&cairn_standin::Payment::at(5_000));
    world.reorg(1, 2).unwrap();
}

impl Outage {
    /// Begins it. False: this machine does not let it happen.
    pub(crate) fn begin(&self, rig: &mut Rig) -> bool {
        match &self.kind {
            Kind::Http(on, fault) => {
                rig.node.http_faults(1, vec![HttpRule::always(on.clone(), fault.clone())]);
                stir(rig);
                true
            }
            Kind::Act(action) => (action.begin)(rig),
        }
    }

    /// Ends it.
    pub(crate) fn end(&self, rig: &mut Rig) {
        match &self.kind {
            Kind::Http(..) => rig.node.http_faults(0, Vec::new()),
            Kind::Act(action) => (action.end)(rig),
        }
    }
}

const PAGE: &str = "<html>\r\n<head><title>Sign in</title></head>\r\n<body>Please sign in</body></html>";
const REFUSED: &str = r#"{"result":null,"error":{"code":-1,"message":"out of sorts"},"id":null}"#;
const UNASKED: &str = r#"[{"result":null,"error":null,"id":999999999}]"#;
const OTHER_ID: &str = r#"{"result":null,"error":null,"id":999999999}"#;
const NOT_NODE: &str = "not Bitcoin Core";
const BAD: &str = "invalid answer";
const BUSY: &str = "overloaded";

fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// A text that lasts as long as the test.
fn lasting(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

/// All troubles of a follower of a node.
#[rustfmt::skip]
pub(crate) fn outages() -> Vec<Outage> {
    use HttpFault::{Close, Delay, Endless, Reset, ResetInBody, Status, Trickle, Truncate, WarmUp};
    let any = || Match::Any;
    let http = |name, on, fault, words| Outage { name, named: ("node", words), kind: Kind::Http(on, fault) };
    let status = |name, status, words| http(name, any(), Status(status, ""), words);
    let other = |name, part, words, action| Outage { name, named: (part, words), kind: Kind::Act(action) };
    let deep = lasting("[".repeat(400_000));
    let long = lasting(format!(r#"{{"result":null,"error":{{"code":-1,"message":"{}"}},"id":null}}"#, "so it is; ".repeat(90_000)));
    vec![
        http("the page of a proxy", any(), Status(200, PAGE), NOT_NODE),
        http("an empty body", any(), Status(200, ""), NOT_NODE),
        http("a number for an object", any(), HttpFault::Result("17"), BAD),
        http("null for an object", any(), HttpFault::Result("null"), BAD),
        http("an object without fields", any(), HttpFault::Result("{}"), BAD),
        http("JSON too deep", any(), Status(200, deep), BAD),
        http("an RPC error", any(), Status(500, REFUSED), "out of sorts"),
        http("a very long RPC error", any(), Status(500, long), "so it is"),
        http("the answer to another request", any(), Status(200, OTHER_ID), BAD),
        http("a batch without answers", Match::Rpc("getblockhash"), Status(200, "[]"), "answers of the batch are missing"),
        http("a batch with a stranger's answer", Match::Rpc("getblockhash"), Status(200, UNASKED), "unknown request"),
        status("status 302", 302, NOT_NODE),
        status("status 401", 401, "rejects the cookie"),
        status("status 403", 403, "rpcwhitelist"),
        status("status 404", 404, NOT_NODE),
        status("status 429", 429, BUSY),
        status("status 500", 500, BUSY),
        status("status 502", 502, BUSY),
        status("status 503", 503, BUSY),
        http("a cut answer", any(), Truncate, "no answer"),
        http("a reset in an answer", any(), ResetInBody, "no answer"),
        http("a reset connection", any(), Reset, "no answer"),
        http("a closed connection", any(), Close, "no answer"),
        http("an endless answer", any(), Endless("[0,"), "longer than"),
        http("a byte each half second", any(), Trickle(1, Duration::from_millis(500)), "no answer"),
        http("no answer", any(), Delay(secs(60)), "no answer"),
        http("warm-up", any(), WarmUp("Loading block index…"), "still starting"),
        other("a stopped node", "node", "connection refused", act(Rig::stop_node, Rig::start_node)),
        other("a node of another network", "node", "begins with block", act(Rig::leave_network, Rig::return_to_network)),
        other("a node back at its genesis", "node", "is behind", act(|rig| rig.invalidate_from(1), Rig::reconsider)),
        other("a shorter chain", "node", "is behind", act(|rig| rig.invalidate_from(rig.height() - 2), Rig::reconsider)),
        other("a pruned node", "node", "is pruned", act(Rig::prune, Rig::unprune)),
        other("a block that is garbage", "node", "instead of block", act(Rig::garble_blocks, Rig::heal_node)),
        other("a mempool that is garbage", "mempool", BAD, act(Rig::garble_mempool, Rig::heal_node)),
        other("ZMQ is gone", "zmq", "no connection", act(|rig| rig.node.close_zmq().unwrap(), |rig| rig.node.open_zmq().unwrap())),
        other("a full disk", "disk", "full", skipped_where(Rig::fill_disk, Rig::free_disk)),
        other("a disk that cannot be written", "disk", "cannot be written", skipped_where(Rig::lock_index, Rig::unlock_index)),
        other("a locked state database", "state", "locked", act(Rig::lock_state, Rig::unlock_state)),
        other("a missing state database", "state", "database", act(Rig::hide_state, Rig::show_state)),
        other("an indexer that was killed", "indexer", "is gone", skipped_where(|rig| rig.kill_indexer(Form::Two), Rig::start_indexer)),
    ]
}
