//! Faults of requests, and events while they are answered.

use std::fmt;
use std::time::Duration;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::World;

/// Which requests a rule is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Match {
    /// All.
    Any,
    /// All of JSON-RPC.
    AnyRpc,
    /// Calls of one method; a batch matches if it holds one.
    Rpc(&'static str),
    /// REST requests whose path (after `/rest/`) begins so; empty is all of REST.
    Rest(&'static str),
}

/// A call of a request: a method of JSON-RPC, or a path of REST.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    Rpc(String),
    Rest(String),
}

impl Match {
    pub(crate) fn covers(&self, call: &Call) -> bool {
        match (self, call) {
            (Match::Any, _) | (Match::AnyRpc, Call::Rpc(_)) => true,
            (Match::Rpc(wanted), Call::Rpc(method)) => wanted == method,
            (Match::Rest(wanted), Call::Rest(path)) => path.starts_with(wanted),
            _ => false,
        }
    }
}

/// A fault of one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HttpFault {
    /// The answer comes this much later (it is computed after the wait).
    Delay(Duration),
    /// The body comes in pieces of this many bytes, with a pause before each.
    Trickle(usize, Duration),
    /// The connection is reset instead of an answer; nothing is executed.
    Reset,
    /// The request is executed, but the connection is reset in the middle of the answer.
    ResetInBody,
    /// The request is executed, but the connection is closed in the middle of the body.
    Truncate,
    /// The answer is complete, but then the connection is closed without warning.
    CloseAfter,
    /// The connection is closed instead of an answer; nothing is executed.
    Close,
    /// This text again and again, until the client goes; nothing is executed.
    Endless(&'static str),
    /// An answer with this status and body; nothing is executed.
    Status(u16, &'static str),
    /// Each call has this JSON as its result; nothing is executed. REST: an answer with this body.
    Result(&'static str),
    /// 503 `Work queue depth exceeded`.
    QueueFull,
    /// Error -28 with this message (REST: 503).
    WarmUp(&'static str),
}

/// When a fault happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpRule {
    /// To which requests.
    pub on: Match,
    /// The fault.
    pub fault: HttpFault,
    /// Chance for each request, of 1000.
    pub per_mille: u16,
    /// Matching requests that pass untouched at first.
    pub skip: u32,
    /// How often at most.
    pub times: Option<u32>,
}

impl HttpRule {
    /// The fault happens to the next `times` matching requests.
    pub fn times(times: u32, on: Match, fault: HttpFault) -> Self {
        Self { on, fault, per_mille: 1000, skip: 0, times: Some(times) }
    }

    /// The fault happens to every matching request.
    pub fn always(on: Match, fault: HttpFault) -> Self {
        Self { on, fault, per_mille: 1000, skip: 0, times: None }
    }

    /// The fault happens now and then.
    pub fn sometimes(per_mille: u16, on: Match, fault: HttpFault) -> Self {
        Self { on, fault, per_mille, skip: 0, times: None }
    }
}

/// At which point of a request something happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Before the call is executed. In a batch: after the calls before it.
    Before,
    /// After it is executed, before the answer is sent.
    After,
    /// When half of the answer's body was sent.
    InBody,
}

/// Something that happens to the world while a request is answered, once.
pub(crate) struct Hook {
    pub(crate) on: Match,
    pub(crate) when: When,
    pub(crate) skip: u32,
    pub(crate) action: Box<dyn FnOnce(&mut World) + Send>,
}

impl fmt::Debug for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hook").field("on", &self.on).field("when", &self.when).finish_non_exhaustive()
    }
}

/// The rules in force.
#[derive(Debug)]
pub(crate) struct Faults {
    rng: ChaCha8Rng,
    pub(crate) rules: Vec<HttpRule>,
    pub(crate) hooks: Vec<Hook>,
    /// Requests answered, faulty ones included.
    pub(crate) requests: u64,
}

impl Faults {
    pub(crate) fn new(seed: u64) -> Self {
        Self { rng: ChaCha8Rng::seed_from_u64(seed), rules: Vec::new(), hooks: Vec::new(), requests: 0 }
    }

    pub(crate) fn reseed(&mut self, seed: u64) {
        self.rng = ChaCha8Rng::seed_from_u64(seed);
    }

    /// The fault of a request: that of the first rule that strikes.
    pub(crate) fn strike(&mut self, calls: &[Call]) -> Option<HttpFault> {
        self.requests += 1;
        for rule in self.rules.iter_mut().filter(|rule| calls.iter().any(|call| rule.on.covers(call))) {
            if rule.skip > 0 {
                rule.skip -= 1;
                continue;
            }
            if rule.times == Some(0) || self.rng.random_range(0..1000) >= rule.per_mille {
                continue;
            }
            if let Some(times) = &mut rule.times {
                *times -= 1;
            }
            return Some(rule.fault.clone());
        }
        None
    }

    /// The hooks that go off at this point.
    pub(crate) fn due(&mut self, when: When, call: &Call) -> Vec<Hook> {
        let (mut due, mut left) = (Vec::new(), Vec::new());
        for mut hook in self.hooks.drain(..) {
            if hook.when != when || !hook.on.covers(call) {
                left.push(hook);
            } else if hook.skip > 0 {
                hook.skip -= 1;
                left.push(hook);
            } else {
                due.push(hook);
            }
        }
        self.hooks = left;
        due
    }
}
